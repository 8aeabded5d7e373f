"""OBO Graphs: an ontology in JSON, as ROBOT and the OBO Foundry publish it.

| in the file | becomes |
|---|---|
| `nodes`: `lbl`, `type`, `meta` | a node: its name, its type, and metadata |
| `edges` | edges; the predicate is `is_a`, or the label of its property with `_` for blanks |
| `logicalDefinitionAxioms` | edges from the class that is defined: `is_a`, and each restriction |

Ids are shortened by prefixes as those of RDF are. The file is read whole.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from bfsql.errors import SourceError
from bfsql.models.load import SourceAccount
from bfsql.models.rdf import Prefixes
from bfsql.models.records import EdgeRecord, GraphRecord, GraphStream, NodeRecord
from bfsql.sources.fields import Unusable, identifier, json_objects, records, sound_record
from bfsql.sources.json_graphs import read_document
from bfsql.sources.options import SourceOptions

_BEGINNING = re.compile(r'\s*\{\s*"graphs"\s*:\s*\[')
_AXIOMS = ("equivalentNodesSets", "domainRangeAxioms", "propertyChainAxioms")


def is_obo_graphs(text: str) -> bool:
    """Whether a file begins like one of OBO Graphs."""
    return _BEGINNING.match(text) is not None and '"lbl"' in text


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
        yield from map(sound_record, _Graph(graph, short, options).records(path))
    for axiom, number in lost.items():
        if number:
            account.note(f"{number:,} {axiom} were left out")


class _Graph:
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


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _texts(values: Any) -> list[str]:
    """The values of a list of objects, such as synonyms."""
    found = (one.get("val") for one in _list(values) if isinstance(one, dict))
    return [text for text in found if isinstance(text, str)]
