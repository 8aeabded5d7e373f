"""GraphML, read as a stream, one element at a time.

The `<key>` elements declare names, types and defaults of the attributes; data under a
key without a name (as written by drawing tools) is left out. Undirected edges retain
the direction in which they are written. A LightRAG file is recognised by its declarations;
it also contains evidence.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bfsql.models.load import SourceAccount
from bfsql.models.records import EdgeRecord, EvidenceRecord, Refusal
from bfsql.sources import lightrag
from bfsql.sources.attributes import Attributes
from bfsql.sources.options import SourceOptions
from bfsql.sources.xml_graphs import Declaration, Element, XmlGraph, typed


class GraphML(XmlGraph):
    """Reads a GraphML file."""

    root = "graphml"

    def __init__(self, path: Path, options: SourceOptions, account: SourceAccount) -> None:
        super().__init__(path, options, account)
        self._options = options
        self._keys: dict[str, Declaration] = {}
        self._key: Declaration | None = None
        self._defaults: list[Declaration] = []
        self._undirected = False
        self._of_lightrag: bool | None = None
        self._of_nodes: list[str] = []

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        """See `XmlGraph`."""
        match name:
            case "data":
                self._key = self._keys.get(attributes.get("key", ""))
                self.listen()
            case "node":
                self.begin_node(attributes)
            case "edge":
                directed = attributes.get("directed", "false" if self._undirected else "true")
                self.begin_edge(attributes, undirected=directed == "false")
            case "key":
                of = attributes.get("for", "all")
                type_ = attributes.get("attr.type", "string")
                self._key = Declaration(attributes.get("attr.name", ""), type_, of)
                self._keys[attributes.get("id", "")] = self._key
            case "graph":
                self._undirected = attributes.get("edgedefault") == "undirected"
            case "default":
                self.listen()
            case "hyperedge":
                reason = "is a hyperedge; an edge has a subject and an object"
                self.ready.append(Refusal(self.path, self.line, reason))

    def end(self, name: str, text: str) -> None:
        """See `XmlGraph`."""
        if name in {"data", "default"}:
            self._value(name, text)
        elif name in {"node", "edge"} and self.open:
            self._finish()

    def _value(self, name: str, text: str) -> None:
        key = self._key
        if key is None or not key.name or not text:
            return
        if name == "default":
            key.default = typed(text, key.type)
            self._defaults.append(key)
        elif self.open:
            self.open[-1].attributes[key.name] = typed(text, key.type)

    def _finish(self) -> None:
        element = self.open[-1]
        for key in self._defaults:
            if key.of in {element.kind, "all"}:
                element.attributes.setdefault(key.name, key.default)
        if self._of_lightrag is None:
            self._of_nodes = self._keys_of("node")
            self._of_lightrag = lightrag.is_lightrag(self._of_nodes, self._keys_of("edge"))
            if self._of_lightrag:
                self._expect_lightrag()
        if self._of_lightrag:
            self._finish_lightrag(element)
        else:
            self.finish(self._of_nodes)

    def _keys_of(self, kind: str) -> list[str]:
        return [key.name for key in self._keys.values() if key.of in {kind, "all"}]

    def _expect_lightrag(self) -> None:
        name = self._options.name_column or lightrag.NAME
        self.make = Attributes(replace(self._options, name_column=name), self.account)
        self.account.note("read as a graph from LightRAG")

    def _finish_lightrag(self, element: Element) -> None:
        written = dict(element.attributes)
        if element.kind == "node":
            lightrag.refine_node(element.attributes)
            self.finish(self._of_nodes)
            return
        items = lightrag.refine_edge(element.attributes, self._options.predicate_column)
        for key in ("description", "source_id", "file_path"):
            self.make.note(written, key, "evidence")
        self.finish()
        edge = self.ready[-1]
        if isinstance(edge, EdgeRecord):
            triple = (edge.subject, edge.predicate, edge.object)
            self.ready += [EvidenceRecord(*triple, item) for item in items]
