"""GEXF, as Gephi and networkx write it, read as a stream, one element at a time.

| in the file | becomes |
|---|---|
| `label` of a node | its name, unless it has an attribute `name` |
| `kind` or `label` of an edge | its predicate, unless an attribute gives one |
| `type="mutual"` of an edge | two edges, one each way |
| several values of an attribute over time | a list of them |

Edges are undirected by default; undirected edges retain the direction in which they are written.
Positions, colours and sizes are left out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bfsql.models.load import SourceAccount
from bfsql.sources.attributes import OBJECT, SUBJECT
from bfsql.sources.options import SourceOptions
from bfsql.sources.xml_graphs import Declaration, Element, XmlGraph, typed

_OF_NODE = ("start", "end", "pid")
_OF_EDGE = ("start", "end", "kind", "label")


class Gexf(XmlGraph):
    """Reads a GEXF file."""

    root = "gexf"

    def __init__(self, path: Path, options: SourceOptions, account: SourceAccount) -> None:
        super().__init__(path, options, account)
        self._declared: dict[tuple[str, str], Declaration] = {}
        self._class = "node"
        self._attribute: Declaration | None = None
        self._default_type = "undirected"
        self._mutual = False

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        """See `XmlGraph`."""
        match name:
            case "graph":
                self._default_type = attributes.get("defaultedgetype", "undirected")
            case "attributes":
                self._class = attributes.get("class", "node")
            case "attribute":
                title = attributes.get("title") or attributes.get("id", "")
                type_ = attributes.get("type", "string").lower()
                self._attribute = Declaration(title, type_, self._class)
                self._declared[self._class, attributes.get("id", "")] = self._attribute
            case "default":
                self.listen()
            case "node":
                self._node(self.begin_node(attributes), attributes)
            case "edge":
                type_ = attributes.get("type", self._default_type)
                edge = self.begin_edge(attributes, undirected=type_ == "undirected")
                self._mutual = type_ == "mutual"
                self._edge(edge, attributes)
            case "attvalue":
                self._value(attributes)

    def end(self, name: str, text: str) -> None:
        """See `XmlGraph`."""
        if name == "default" and self._attribute is not None and text:
            self._attribute.default = typed(text, self._attribute.type)
        elif name in {"node", "edge"} and self.open:
            self._finish(self.open[-1])

    def _node(self, node: Element, attributes: dict[str, str]) -> None:
        node.attributes |= {key: attributes[key] for key in _OF_NODE if key in attributes}
        if label := attributes.get("label"):
            node.attributes["label"] = label

    def _edge(self, edge: Element, attributes: dict[str, str]) -> None:
        edge.attributes |= {key: attributes[key] for key in _OF_EDGE if attributes.get(key)}
        if weight := attributes.get("weight"):
            edge.attributes["weight"] = typed(weight, "double")

    def _value(self, attributes: dict[str, str]) -> None:
        if not self.open or not attributes.get("value"):
            return
        element = self.open[-1]
        # Undeclared attributes retain their own names; `for` was called `id` in the first versions.
        key = attributes.get("for", attributes.get("id", ""))
        declared = self._declared.get((element.kind, key), Declaration(key, "string", element.kind))
        value = typed(attributes["value"], declared.type)
        have = element.attributes.get(declared.name)
        if ("start" in attributes or "end" in attributes) and have is not None:
            value = [*(have if isinstance(have, list) else [have]), value]
        element.attributes[declared.name] = value

    def _finish(self, element: Element) -> None:
        attributes = element.attributes
        for (kind, _), declared in self._declared.items():
            if kind == element.kind and declared.default is not None:
                attributes.setdefault(declared.name, declared.default)
        self.finish()
        if element.kind == "edge" and self._mutual:
            back: dict[str, Any] = {SUBJECT: attributes[OBJECT], OBJECT: attributes[SUBJECT]}
            self.open.append(Element("edge", element.line, attributes | back))
            self.finish()
