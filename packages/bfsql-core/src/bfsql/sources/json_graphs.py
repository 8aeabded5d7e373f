"""Graphs in one JSON value: the whole file is read, and its form is recognised.

| form | what it has |
|---|---|
| networkx node-link | lists `nodes` and `links` or `edges`, as with D3, vis.js and graphology |
| Cytoscape | `elements`: lists `nodes` and `edges`, or one list, possibly without `elements` |
| a list of objects | the rows of a table of nodes or of edges |

Undirected edges retain the direction in which they are written. Numbers that count the parallel
edges of a multigraph are left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from bfsql.errors import SourceError
from bfsql.models.load import SourceAccount
from bfsql.models.records import GraphStream
from bfsql.sources import headers
from bfsql.sources.attributes import Attributes
from bfsql.sources.fields import Unusable, excerpt, json_objects, records, sound_record
from bfsql.sources.headers import FALLBACK_IDS, Names, NodeColumns, ObjectTable
from bfsql.sources.id_columns import with_unique_ids
from bfsql.sources.json_records import JsonObject, keys_of, lifted, object_table
from bfsql.sources.options import SourceOptions
from bfsql.sources.text import beginning, encoding_of, whole_text

_FORMS = (
    "networkx node-link (a list 'nodes' and a list 'links' or 'edges': networkx.node_link_data), "
    "Cytoscape ('elements'), and a list of objects, each of them a node or each an edge. For one "
    "object per line, name the format jsonl; for JSON-LD, jsonld; for OBO Graphs, robot convert "
    "--input FILE --output graph.owl"
)
_MIXED = (("entities", "relations"), ("nodes", "rels"), ("objects",))
"""Keys of the lists of nodes and of edges as the MCP memory server, APOC and STIX write them."""


@dataclass(frozen=True, slots=True)
class _Graph:
    """The common representation of all forms with nodes and edges."""

    form: str
    nodes: Sequence[Any]
    edges: Sequence[tuple[str, Any]]
    """The items, each with a phrase for its place in the file."""
    id: str
    """Key of a node's id."""
    ends: tuple[str, str]
    """Keys of an edge's ends."""


def open_json(
    path: Path, options: SourceOptions, account: SourceAccount
) -> ObjectTable | GraphStream:
    """The nodes, then the edges, of a graph in one JSON value; a note names its form.

    Raises:
        SourceError: The file is not JSON, not text, or has none of the forms; for all but lists
            raised with the first record, because the file is read at that point.
    """
    if beginning(path).lstrip().startswith("["):
        document, mended = read_document(path, options, account)
        if _recognised(document, options) is None:
            read = lambda: read_document(path, options, account)[0]
            table = _of_table(path, document, options, account, read)
            make = table.make
            return table._replace(make=lambda row: sound_record(make(row))) if mended else table
    return _records(path, options, account)


def read_document(path: Path, options: SourceOptions, account: SourceAccount) -> tuple[Any, bool]:
    """The value in a file, and whether its texts may contain an escaped lone surrogate.

    Raises:
        SourceError: The file is not JSON, or not text.
    """
    account.encoding = encoding_of(path, options.encoding)
    content = whole_text(path, account.encoding)
    try:
        return from_json(content, cache_strings="keys"), False
    except ValueError as error:
        if not content.strip():
            raise SourceError(path, f"is empty; the forms of JSON graphs are: {_FORMS}") from None
        if b"\\ud" in content.lower():
            with suppress(ValueError, RecursionError):
                return json.loads(content), True
        first: Any = None
        with suppress(ValueError):
            first = from_json(content.lstrip().partition(b"\n")[0])
        is_lines = isinstance(first, dict)
        lines = "; if it has one object per line, name the format jsonl" if is_lines else ""
        raise SourceError(path, f"is not JSON: {error}{lines}") from error


def _records(path: Path, options: SourceOptions, account: SourceAccount) -> GraphStream:
    document, mended = read_document(path, options, account)
    found = _of_document(path, document, options, account)
    yield from map(sound_record, found) if mended else found


def _of_document(
    path: Path, document: Any, options: SourceOptions, account: SourceAccount
) -> GraphStream:
    for keys in _MIXED:
        if isinstance(document, dict) and all(isinstance(document.get(k), list) for k in keys):
            document = [item for key in keys for item in document[key]]
    if (graph := _recognised(document, options)) is not None:
        account.note(f"read as {graph.form}")
        make = Attributes(options, account)
        if isinstance(document, dict) and document.get("directed") is False:
            make.note_undirected()
        return _of_graph(path, _resolved(graph, account), make, options)
    if isinstance(document, list):
        return with_unique_ids(_of_table(path, document, options, account, lambda: document))
    raise _unknown_form(path, document)


def _unknown_form(path: Path, document: Any) -> SourceError:
    is_object = isinstance(document, dict)
    what = "an object with the keys " * is_object + excerpt([*document] if is_object else document)
    return SourceError(
        path,
        f"this JSON ({what}) does not have a known form of a graph. The known forms are: {_FORMS}",
    )


def _recognised(document: Any, options: SourceOptions) -> _Graph | None:
    if isinstance(document, list):
        items = [item for item in document if isinstance(item, dict)]
        if items and all(isinstance(item.get("data"), dict) for item in items):
            return _cytoscape(document)
    if not isinstance(document, dict) or isinstance(document.get("adjacency"), list):
        return None
    if isinstance(document.get("elements"), dict | list):
        return _cytoscape(document["elements"])
    if any(isinstance(document.get(key), list) for key in ("nodes", "links", "edges")):
        return _node_link(document, options)
    return None


# --- the forms --------------------------------------------------------------


def _node_link(document: JsonObject, options: SourceOptions) -> _Graph:
    nodes, links, edges = (
        [lifted(item) if isinstance(item, dict) else item for item in _list(document.get(key))]
        for key in ("nodes", "links", "edges")
    )
    id_ = options.id_column or _usual(headers.ID, "id", nodes)
    ends = (
        options.subject_column or _usual(headers.SUBJECT, "source", [*links, *edges]),
        options.object_column or _usual(headers.OBJECT, "target", [*links, *edges]),
    )
    named = [(f"edge {n} of 'links'", link) for n, link in enumerate(links, 1)]
    named += [(f"edge {n} of 'edges'", edge) for n, edge in enumerate(edges, 1)]
    if id_ == "key":  # as in graphology, where the key of an edge is also an id
        named = [(place, _without(edge, "key")) for place, edge in named]
    return _Graph("a node-link graph", nodes, named, id_, ends)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _cytoscape(elements: Any) -> _Graph:
    nodes, edges = [], []
    if isinstance(elements, dict):
        nodes, edges = (_data(elements.get(key)) for key in ("nodes", "edges"))
    else:
        for element, data in zip(elements, _data(elements), strict=True):
            group = element.get("group") if isinstance(element, dict) else None
            is_edge = isinstance(data, dict) and "source" in data and "target" in data
            (edges if group == "edges" or (group is None and is_edge) else nodes).append(data)
    named = [(f"edge {number}", edge) for number, edge in enumerate(edges, 1)]
    ids = {str(node.get("id")) for node in nodes if isinstance(node, dict)}
    values = {str(node.get("value")) for node in nodes if isinstance(node, dict)}
    ends = {str(e.get(key)) for e in edges if isinstance(e, dict) for key in ("source", "target")}
    # networkx refers to the ends of edges by `value` if nodes have an attribute `id`.
    id_ = "value" if ends <= values and not ends <= ids else "id"
    if id_ == "id" and ids == values:
        nodes = [_without(node, "value") for node in nodes]
    return _Graph("Cytoscape JSON", nodes, named, id_, ("source", "target"))


def _data(elements: Any) -> list[Any]:
    items = _list(elements)
    return [item.get("data", item) if isinstance(item, dict) else item for item in items]


def _of_table(
    path: Path,
    rows: Sequence[Any],
    options: SourceOptions,
    account: SourceAccount,
    read: Callable[[], Sequence[Any]],
) -> ObjectTable:
    """The table of the objects in a list, which `read` gives again."""
    objects = [row for row in rows if isinstance(row, dict)]
    if not objects:
        raise _unknown_form(path, rows)
    table = object_table(path, _placed("item", read), objects, options, account)
    if not table.is_mixed:
        account.note("read as a list of objects, the rows of a table")
        firsts: JsonObject = {}
        for row in objects:
            if not row.keys() <= firsts.keys():
                firsts |= {key: value for key, value in row.items() if key not in firsts}
        for column, value in firsts.items():
            account.add_column(column, table.columns.meanings.get(column, "metadata"), value)
    return table


# --- their records ----------------------------------------------------------


def _of_graph(path: Path, graph: _Graph, make: Attributes, options: SourceOptions) -> GraphStream:
    known = keys_of(graph.nodes)
    is_fallback = options.id_column is None and graph.id.casefold() in FALLBACK_IDS
    columns = NodeColumns(graph.id, None, None, None, "", is_fallback=is_fallback)
    record = lambda node: make.node(node, graph.id, known)
    nodes = _placed("node", lambda: graph.nodes)
    yield from with_unique_ids(ObjectTable(path, columns, nodes, record))
    edges = json_objects(graph.edges)
    yield from records(path, edges, lambda edge: (make.edge(edge, *graph.ends),))


def _placed(
    noun: str, read: Callable[[], Sequence[Any]]
) -> Callable[[], Iterator[tuple[str, JsonObject | Unusable]]]:
    return lambda: json_objects((f"{noun} {n}", row) for n, row in enumerate(read(), 1))


def _resolved(graph: _Graph, account: SourceAccount) -> _Graph:
    """The graph; ends given as positions in the list of nodes are replaced by ids."""
    if not graph.edges:
        return graph
    size = len(graph.nodes)
    edges = [(place, edge) for place, edge in graph.edges if isinstance(edge, dict)]
    ends = [edge.get(key) for _, edge in edges for key in graph.ends]
    if any(type(end) is not int or not 0 <= end < size for end in ends):
        return graph
    ids = [node.get(graph.id) if isinstance(node, dict) else None for node in graph.nodes]
    if not {*map(str, ids)}.isdisjoint(map(str, ends)):
        return graph
    account.note("the edges name their ends by position in the list of nodes, starting at 0")
    named = [(place, edge | {key: ids[edge[key]] for key in graph.ends}) for place, edge in edges]
    others = [(place, edge) for place, edge in graph.edges if not isinstance(edge, dict)]
    return replace(graph, edges=[*named, *others])


def _usual(names: Names, default: str, items: Sequence[Any]) -> str:
    """The key of an id: the default if it occurs, otherwise the likeliest key that does."""
    keys = keys_of(items)
    if default in keys:
        return default
    plain = {key.casefold(): key for key in reversed(keys)}
    return next((plain[name] for name in names if name in plain), default)


def _without(item: Any, key: str) -> Any:
    return {k: v for k, v in item.items() if k != key} if isinstance(item, dict) else item
