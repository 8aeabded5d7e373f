"""networkx node-link JSON: one object with a list of nodes and one of links or edges.

The file is read whole, as its JSON is one value. Undirected edges keep the
direction in which they are written. Numbers that count the parallel edges of a
multigraph are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from bfsql.errors import SourceError
from bfsql.models.load import SourceAccount
from bfsql.models.records import GraphStream, Refusal
from bfsql.sources.attributes import Attributes
from bfsql.sources.fields import Unusable, shown
from bfsql.sources.files import open_bytes
from bfsql.sources.formats import SourceOptions


def open_node_link(path: Path, options: SourceOptions, account: SourceAccount) -> GraphStream:
    """The nodes, then the edges, of a node-link file.

    Args:
        path: The file.
        options: Names of attributes, and defaults.
        account: Of the file.

    Raises:
        SourceError: It is not JSON, or holds no list of nodes and no list of
            edges; raised with the first record, for the file is read then.
    """
    graph = _graph(path)
    make = Attributes(options, account)
    known = list(dict.fromkeys(k for n in graph.get("nodes", ()) if isinstance(n, dict) for k in n))
    for number, node in enumerate(graph.get("nodes", ()), 1):
        try:
            yield make.node(_object(node), "id", known)
        except Unusable as reason:
            yield Refusal(path, None, f"node {number}: {reason}")
    for field in ("links", "edges"):
        for number, edge in enumerate(graph.get(field, ()), 1):
            try:
                yield make.edge(_object(edge), "source", "target")
            except Unusable as reason:
                yield Refusal(path, None, f"edge {number} of {field!r}: {reason}")


def _object(found: Any) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise Unusable(f"is {shown(found)}, not a JSON object")
    return found


def _graph(path: Path) -> Mapping[str, list[Any]]:
    with open_bytes(path) as stream:
        content = stream.read().removeprefix(b"\xef\xbb\xbf")
    try:
        graph = from_json(content)
    except ValueError as error:
        raise SourceError(path, f"is not JSON: {error}") from error
    wanted = ("nodes", "links", "edges")
    if not isinstance(graph, dict) or not any(isinstance(graph.get(k), list) for k in wanted):
        raise SourceError(
            path,
            "this JSON is no node-link graph, which has a list 'nodes' and a list 'links' or "
            "'edges'; for an object a line name the format jsonl, for JSON-LD jsonld",
        )
    return {key: graph[key] for key in wanted if isinstance(graph.get(key), list)}
