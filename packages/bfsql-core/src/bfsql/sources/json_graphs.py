"""Graphs in one JSON value: the whole file is read, and its form is recognised.

| form | what it has |
|---|---|
| networkx node-link | lists `nodes` and `links` or `edges`, as with D3, vis.js and graphology |
| networkx adjacency | lists `nodes` and `adjacency`, the neighbours of each node |
| Cytoscape | `elements`: lists `nodes` and `edges`, or one list, possibly without `elements` |
| a list of objects | the rows of a table of nodes or of edges |
| OBO Graphs, as ROBOT writes them | `graphs`: lists `nodes`, `edges`, `logicalDefinitionAxioms` |

Undirected edges retain the direction in which they are written; adjacency lists them at both ends,
but they are read once. Numbers that count the parallel edges of a multigraph are left out.

Of an ontology in OBO Graphs, nodes have their `lbl` as name; the predicate of an edge is `is_a`, or
the label of its property with `_` for blanks; a logical definition gives the class that is defined
edges `is_a`, and one for each restriction. Its ids are shortened by prefixes as those of RDF are.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from bfsql.errors import SourceError
from bfsql.models.load import SourceAccount
from bfsql.models.rdf import Prefixes
from bfsql.models.records import EdgeRecord, GraphRecord, GraphStream, NodeRecord
from bfsql.sources import headers
from bfsql.sources.attributes import OBJECT, SUBJECT, Attributes
from bfsql.sources.fields import Unusable, excerpt, identifier, json_objects, records, sound_record
from bfsql.sources.headers import FALLBACK_IDS, Names, NodeColumns, ObjectTable
from bfsql.sources.id_columns import with_unique_ids
from bfsql.sources.json_records import JsonObject, keys_of, lifted, object_table
from bfsql.sources.options import SourceOptions
from bfsql.sources.text import beginning, encoding_of, whole_text

_FORMS = (
    "networkx node-link (a list 'nodes' and a list 'links' or 'edges'), networkx adjacency (a "
    "list 'nodes' and a list 'adjacency'), Cytoscape ('elements'), and a list of objects, each "
    "of them a node or each an edge. For one object per line, name the format jsonl; for "
    "JSON-LD, jsonld"
)
_OBO = re.compile(r'\s*\{\s*"graphs"\s*:\s*\[')
_AXIOMS = ("equivalentNodesSets", "domainRangeAxioms", "propertyChainAxioms")
_MIXED = (("entities", "relations"), ("nodes", "rels"), ("objects",))
"""Keys of the lists of nodes and of edges as the MCP memory server, APOC and STIX write them."""


@dataclass(frozen=True, slots=True)
class _Graph:
    """The common representation of all forms with nodes and edges."""

    form: str
    nodes: Sequence[Any]
    edges: Iterable[tuple[str, Any]]
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
    if not isinstance(document, dict):
        return None
    if isinstance(document.get("elements"), dict | list):
        return _cytoscape(document["elements"])
    if isinstance(document.get("adjacency"), list) and isinstance(document.get("nodes"), list):
        return _adjacency(document)
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


def _adjacency(document: JsonObject) -> _Graph:
    edges = _neighbours(document)
    return _Graph("networkx adjacency", document["nodes"], edges, "id", (SUBJECT, OBJECT))


def _neighbours(document: JsonObject) -> Iterator[tuple[str, Any]]:
    ids = [node.get("id") if isinstance(node, dict) else None for node in document["nodes"]]
    places = {str(id_): place for place, id_ in reversed(list(enumerate(ids)))}
    twice = document.get("directed") is False
    for place, neighbours in enumerate(document["adjacency"]):
        where = f"item {place + 1} of 'adjacency'"
        if place >= len(ids) or not isinstance(neighbours, list):
            reason = "is not a list" if place < len(ids) else "does not belong to a node"
            yield where, Unusable(reason)
            continue
        for neighbour in neighbours:
            if not isinstance(neighbour, dict):
                yield where, neighbour
            elif not twice or places.get(str(neighbour.get("id")), place) >= place:
                rest = _without(neighbour, "id")
                yield where, {**rest, SUBJECT: ids[place], OBJECT: neighbour.get("id")}


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
    if not isinstance(graph.edges, list) or not graph.edges:
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


# --- OBO Graphs ---


def is_obo_graphs(text: str) -> bool:
    """Whether a file begins like one of OBO Graphs."""
    return _OBO.match(text) is not None and '"lbl"' in text


def open_obo_graphs(path: Path, options: SourceOptions, account: SourceAccount) -> GraphStream:
    """The nodes, then the edges, of each graph in the file.

    Raises:
        SourceError: The file is not JSON, or has no graphs; raised with the first record.
    """
    document, _ = read_document(path, options, account)
    graphs = document.get("graphs") if isinstance(document, dict) else None
    if not isinstance(graphs, list):
        raise SourceError(path, "has no list 'graphs', as a file of OBO Graphs has")
    short = Prefixes(options.prefixes or {}).short
    lost = Counter[str]()
    for graph in graphs if all(isinstance(one, dict) for one in graphs) else ():
        lost.update({axiom: len(_list(graph.get(axiom))) for axiom in _AXIOMS})
        yield from map(sound_record, _OboGraph(graph, short, options).records(path))
    for axiom, number in lost.items():
        if number:
            account.note(f"{number:,} {axiom} were left out")


class _OboGraph:
    """One graph of a file; `short` shortens its ids."""

    def __init__(self, graph: dict[str, Any], short: Any, options: SourceOptions) -> None:
        self._graph = graph
        self._short = short
        self._options = options
        self._labels = {
            node.get("id"): str(node["lbl"]).replace(" ", "_")
            for node in _list(graph.get("nodes"))
            if isinstance(node, dict) and node.get("type") == "PROPERTY" and node.get("lbl")
        }

    def records(self, path: Path) -> GraphStream:
        """The records of the graph."""
        makers = {
            "nodes": self._node,
            "edges": self._edge,
            "logicalDefinitionAxioms": self._definition,
        }
        for key, make in makers.items():
            items = enumerate(_list(self._graph.get(key)), 1)
            placed = ((f"item {number} of '{key}'", item) for number, item in items)
            yield from records(path, json_objects(placed), make)

    def _node(self, node: dict[str, Any]) -> Iterable[GraphRecord]:
        meta: Any = node.get("meta")
        meta = meta if isinstance(meta, dict) else {}
        metadata: dict[str, Any] = {
            "name": node.get("lbl"),
            "synonyms": sorted({*_texts(meta.get("synonyms"))}),
            "definition": next(iter(_texts([meta.get("definition")])), None),
            "xrefs": _texts(meta.get("xrefs")),
            "subsets": [self._short(one) for one in _list(meta.get("subsets"))],
            "comments": _list(meta.get("comments")),
            "deprecated": meta.get("deprecated"),
        }
        for value in _list(meta.get("basicPropertyValues")):
            if isinstance(value, dict) and isinstance(value.get("pred"), str):
                metadata.setdefault(self._short(value["pred"]), []).append(value.get("val"))
        metadata = {
            key: value if key == "synonyms" or len(items) > 1 else items[0]
            for key, value in metadata.items()
            if (items := value if isinstance(value, list) else [value]) not in ([], [None], [""])
        }
        type_ = str(node.get("type") or "").capitalize() or self._options.default_type
        yield NodeRecord(self._id(node, "id"), type_, metadata)

    def _edge(self, edge: dict[str, Any]) -> Iterable[GraphRecord]:
        predicate = identifier(edge.get("pred"), "pred")
        yield EdgeRecord(self._id(edge, "sub"), self._predicate(predicate), self._id(edge, "obj"))

    def _definition(self, axiom: dict[str, Any]) -> Iterator[GraphRecord]:
        defined = self._id(axiom, "definedClassId")
        for genus in _list(axiom.get("genusIds")):
            yield EdgeRecord(defined, "is_a", self._short(identifier(genus, "genusIds")))
        parts = (("a restriction", part) for part in _list(axiom.get("restrictions")))
        for place, part in json_objects(parts):
            if isinstance(part, Unusable):
                raise Unusable(f"{place} {part}")
            predicate = self._predicate(identifier(part.get("propertyId"), "propertyId"))
            yield EdgeRecord(defined, predicate, self._id(part, "fillerId"))

    def _id(self, item: dict[str, Any], key: str) -> str:
        return str(self._short(identifier(item.get(key), key)))

    def _predicate(self, predicate: str) -> str:
        if ":" not in predicate:
            return predicate
        return self._labels.get(predicate) or str(self._short(predicate))


def _texts(values: Any) -> list[str]:
    """The values of a list of objects, such as synonyms."""
    found = (one.get("val") for one in _list(values) if isinstance(one, dict))
    return [text for text in found if isinstance(text, str)]
