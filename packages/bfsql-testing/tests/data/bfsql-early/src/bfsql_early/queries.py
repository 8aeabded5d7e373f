"""All that is asked of the store. With a database, its query texts would stand here.

Values never become query text: pass them as parameters.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bfsql.errors import StoreError
from bfsql.models import Triple

AT_MOST = 20
"""Candidates that a search gives."""


@dataclass(frozen=True, slots=True)
class Store:
    """A graph in dictionaries."""

    types: dict[str, str] = field(default_factory=dict)
    """Id of a node to its type."""
    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Id of a node to its metadata."""
    edges: dict[Triple, dict[str, Any]] = field(default_factory=dict)
    """Subject, predicate and object of an edge to its metadata."""
    leaving: dict[str, list[Triple]] = field(default_factory=dict)
    """Id of a node to the edges that leave it."""
    entering: dict[str, list[Triple]] = field(default_factory=dict)
    """Id of a node to the edges that enter it."""


def read(path: Path) -> Store:
    """The graph in a file.

    Raises:
        StoreError: There is no such file, or it is no graph.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return store(content["nodes"], content["edges"])
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}. Check --path.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"{path} is no graph: a JSON object with the lists 'nodes' and 'edges' is wanted. "
            "Make one with `bfsql load`."
        ) from error


def store(nodes: Iterable[Mapping[str, Any]], edges: Iterable[Mapping[str, Any]]) -> Store:
    """A graph from the objects of a file."""
    found = Store()
    for node in nodes:
        found.types[node["id"]] = node["type"]
        found.nodes[node["id"]] = node["metadata"]
    for edge in edges:
        triple = (edge["subject"], edge["predicate"], edge["object"])
        found.edges[triple] = edge["metadata"]
        found.leaving.setdefault(triple[0], []).append(triple)
        found.entering.setdefault(triple[2], []).append(triple)
    return found


def matching(graph: Store, query: str, node_types: Iterable[str]) -> list[str]:
    """Ids of the best candidates: the exact id, the exact name, then what holds the query."""
    wanted, types = query.strip().casefold(), set(node_types)
    if not wanted:
        return []
    ranked = []
    for entity_id, metadata in graph.nodes.items():
        if types and graph.types[entity_id] not in types:
            continue
        names = [text.strip().casefold() for text in _names(metadata)]
        tests = (
            entity_id == query,
            wanted in names[:1],
            wanted in names,
            any(wanted in name for name in (*names, entity_id.casefold())),
        )
        if any(tests):
            ranked.append((tests.index(True), entity_id))
    return [entity_id for _, entity_id in sorted(ranked)[:AT_MOST]]


def name_of(metadata: Mapping[str, Any]) -> str | None:
    """The display name, where there is one."""
    name = metadata.get("name")
    return name if isinstance(name, str) else None


def _names(metadata: Mapping[str, Any]) -> list[str]:
    synonyms = metadata.get("synonyms")
    further = synonyms if isinstance(synonyms, list) else []
    return [name_of(metadata) or "", *(text for text in further if isinstance(text, str))]
