"""Answers as rows: for networkx and for pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from bfsql.models import Edge

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

Row: TypeAlias = dict[str, Any]
Part: TypeAlias = Literal["nodes", "edges"]


def entities(content: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The entities in the structured content of any tool's answer; a schema has none."""
    if "id" in content:
        return [{name: value for name, value in content.items() if name != "notes"}]
    found: Sequence[Mapping[str, Any]] = content.get("nodes", content.get("result", ()))
    return found


def node_rows(content: Mapping[str, Any]) -> list[Row]:
    """The entities of an answer, in order: `id`, `entity_type`, other fields, and metadata.

    In an answer with seeds, `seed` states whether an entity is a seed. A metadata key that is
    also the name of a field has the prefix `metadata.`.
    """
    seeds = frozenset(content.get("seeds", ()))
    return [
        _row({**node, "seed": node["id"] in seeds} if seeds else node) for node in entities(content)
    ]


def edge_rows(content: Mapping[str, Any]) -> list[Row]:
    """The edges of an answer, in order: `subject`, `predicate`, `object`, and metadata."""
    edges = content.get("edges")
    return [_row(edge) for edge in edges] if isinstance(edges, list) else []


def as_networkx(content: Mapping[str, Any]) -> nx.MultiDiGraph[Any]:
    """An answer as a networkx graph; see `Answer.to_networkx`."""
    networkx = _library("networkx", "to_networkx")
    graph = networkx.MultiDiGraph()
    for row in node_rows(content):
        graph.add_node(row["id"])
        graph.nodes[row.pop("id")].update(row)
    for row in edge_rows(content):
        subject, predicate, object_ = (row.pop(part) for part in Edge._fields)
        graph.add_edge(subject, object_, predicate)
        graph.edges[subject, object_, predicate].update(row, predicate=predicate)
    return graph


def as_pandas(content: Mapping[str, Any], part: Part) -> pd.DataFrame:
    """A part of an answer as a data frame; see `Answer.to_pandas`."""
    if part not in ("nodes", "edges"):
        raise ValueError(f"part must be 'nodes' or 'edges', not {part!r}.")
    pandas = _library("pandas", "to_pandas")
    rows = node_rows(content) if part == "nodes" else edge_rows(content)
    fixed = ("id", "entity_type") if part == "nodes" else Edge._fields
    columns = dict.fromkeys([*fixed, *(name for row in rows for name in row)])
    return pandas.DataFrame(rows, columns=list(columns))


def _row(record: Mapping[str, Any]) -> Row:
    """A record of an answer, with its metadata merged into its fields."""
    fields = {name: value for name, value in record.items() if name != "metadata"}
    known = record.get("metadata", {})
    return fields | {f"metadata.{key}" if key in fields else key: known[key] for key in known}


def _library(name: str, method: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise ImportError(
            f"{method} needs the package {name}, which is not installed: pip install {name}"
        ) from None
