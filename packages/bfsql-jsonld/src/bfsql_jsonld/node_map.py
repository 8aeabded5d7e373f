"""Node maps: each node of an expanded JSON-LD document once, with all its values.

This is "node map generation" of the JSON-LD 1.1 API. The library's own compares each value of a
property with all before it, so that one property of 10,000 values takes a minute.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from bfsql.deadline import checked

Node: TypeAlias = dict[str, Any]


def nodes_of(expanded: Any) -> list[Node]:
    """The nodes of all graphs that have more than an id, ordered by graph and id.

    Args:
        expanded: The document as the library expands it.
    """
    found = _NodeMap()
    found.add(expanded, "")
    ordered = sorted(found.nodes.items(), key=lambda item: (item[0][0] or item[0][1], item[0]))
    return [node for _, node in ordered if len(node) > 1]


class _NodeMap:
    """Nodes by graph, which is empty for the default one, and id."""

    def __init__(self) -> None:
        self.nodes: dict[tuple[str, str], Node] = {}
        self._labels: dict[str, str] = {}
        self._values: set[tuple[Any, ...]] = set()

    def add(
        self, item: Any, graph: str, subject: str = "", predicate: str = "", items: Any = None
    ) -> str:
        """Add an object, or a list of them, as a value of a subject or as an item of a list.

        Returns:
            The id, if it is a node.
        """
        own = ""
        if isinstance(item, list):
            for one in checked(item):
                self.add(one, graph, subject, predicate, items)
            return own
        if "@value" in item:
            value = item
        elif "@list" in item:
            value = {"@list": []}
            self.add(item["@list"], graph, subject, predicate, value["@list"])
        else:
            own = self._name(item.get("@id"))
            self.nodes.setdefault((graph, own), {"@id": own})
            value = {"@id": own}
        if items is not None:
            items.append(value)
        elif subject:
            self._append(value, _identity(value), graph, subject, predicate)
        if own:
            self._add_statements(item, graph, own)
        return own

    def _add_statements(self, item: Node, graph: str, own: str) -> None:
        for key, content in checked(sorted(item.items())):
            if key == "@reverse":
                for predicate, others in content.items():
                    for subject in [self.add(other, graph) for other in others]:
                        self._append({"@id": own}, (own,), graph, subject, predicate)
            elif key in ("@graph", "@included"):
                self.add(content, own if key == "@graph" else graph)
            elif key == "@type":
                for name in [self._name(name) for name in content]:
                    self._append(name, (name,), graph, own, key)
            elif not key.startswith("@"):
                self.nodes[graph, own].setdefault(key, [])
                self.add(content, graph, own, key)
            elif key != "@id":
                self.nodes[graph, own][key] = content

    def _append(
        self, value: Any, identity: tuple[Any, ...], graph: str, subject: str, key: str
    ) -> None:
        place = (graph, subject, key, *identity)
        if not identity or place not in self._values:
            self._values.add(place)
            self.nodes[graph, subject].setdefault(key, []).append(value)

    def _name(self, name: Any) -> str:
        """An IRI, or the label of a blank node, which has one without a label of its own."""
        if isinstance(name, str) and not name.startswith("_:"):
            return name
        new = f"_:b{len(self._labels)}"
        return self._labels.setdefault(name if isinstance(name, str) else f" {new}", new)


def _identity(value: Node) -> tuple[Any, ...]:
    """What equal values have in common; empty for a list, which equals no other."""
    if "@value" not in value:
        return (value["@id"],) if "@id" in value else ()
    content = value["@value"]
    known = repr(content) if isinstance(content, dict | list) else content
    return (type(content) is bool, known, *map(value.get, ("@type", "@language", "@index")))
