"""GraphML, read as a stream: an element at a time.

The `<key>`s declare names, types and defaults of the attributes; data under a
key without a name (drawing tools write such) is left out. Undirected edges keep
the direction in which they are written.
"""

from __future__ import annotations

from pathlib import Path

from bfsql.models.load import SourceAccount
from bfsql.models.records import GraphStream, Refusal
from bfsql.sources.formats import SourceOptions
from bfsql.sources.xml_graphs import Declared, XmlGraph, typed


def open_graphml(path: Path, options: SourceOptions, account: SourceAccount) -> GraphStream:
    """The nodes and edges of a GraphML file, in its order.

    Args:
        path: The file.
        options: Names of attributes, and defaults.
        account: Of the file.

    Raises:
        SourceError: It is not well-formed XML, no GraphML, or declares a
            document type; raised while it is read.
    """
    return _GraphML(path, options, account).records()


class _GraphML(XmlGraph):
    root = "graphml"

    def __init__(self, path: Path, options: SourceOptions, account: SourceAccount) -> None:
        super().__init__(path, options, account)
        self._keys: dict[str, Declared] = {}
        self._key: Declared | None = None
        self._undirected = False

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        match name:
            case "key":
                of = attributes.get("for", "all")
                type_ = attributes.get("attr.type", "string")
                self._key = Declared(attributes.get("attr.name", ""), type_, of)
                self._keys[attributes.get("id", "")] = self._key
            case "graph":
                self._undirected = attributes.get("edgedefault") == "undirected"
            case "node":
                self.begin_node(attributes)
            case "edge":
                directed = attributes.get("directed", "false" if self._undirected else "true")
                self.begin_edge(attributes, undirected=directed == "false")
            case "data":
                self._key = self._keys.get(attributes.get("key", ""))
                self.listen()
            case "default":
                self.listen()
            case "hyperedge":
                reason = "is a hyperedge; an edge has a subject and an object"
                self.ready.append(Refusal(self.path, self.line, reason))

    def end(self, name: str, text: str) -> None:
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
        elif self.open:
            self.open[-1].attributes[key.name] = typed(text, key.type)

    def _finish(self) -> None:
        element = self.open[-1]
        for key in self._keys.values():
            if key.default is not None and key.of in {element.kind, "all"}:
                element.attributes.setdefault(key.name, key.default)
        self.finish([key.name for key in self._keys.values() if key.of in {"node", "all"}])
