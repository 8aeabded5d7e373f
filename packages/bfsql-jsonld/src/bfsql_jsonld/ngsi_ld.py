"""Document contents, and NGSI-LD entities: attributes, some of which are relationships.

| attribute | becomes |
|---|---|
| `{"type": "Relationship", "object": id}` | an edge; its other fields are its metadata |
| `{"type": "Property", "value": v}` | metadata: `v`, or the value with its other fields |
| a list of attributes (`datasetId`) | each of them |
| anything else | metadata, unchanged |
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from bfsql.models.merge import merge_edges, merge_node_records
from bfsql.models.records import EdgeRecord, NodeRecord, Triple
from bfsql_jsonld.fields import Fields
from bfsql_jsonld.replies import Unreadable
from bfsql_jsonld.settings import JsonLdSettings

VALUES = {
    "Property": "value",
    "GeoProperty": "value",
    "LanguageProperty": "languageMap",
    "VocabProperty": "vocab",
    "JsonProperty": "json",
    "ListProperty": "valueList",
}
"""Kind of attribute to the field that holds its value (NGSI-LD 1.8, 4.5)."""

OBJECTS = {"Relationship": "object", "ListRelationship": "objectList"}
"""Kind of attribute to the field that holds the other end."""


class Attributes:
    """Reads entities whose relationships are attributes.

    Args:
        fields: Finds id and type.
        settings: The names of their fields.
    """

    def __init__(self, fields: Fields, settings: JsonLdSettings) -> None:
        self._fields = fields
        self._own = {*settings.id_field, *settings.type_field}

    def read(self, document: Any) -> Described:
        """An entity, or a list of them.

        Raises:
            Unreadable: The document is neither.
        """
        entities = document if isinstance(document, list) else [document]
        records = [record for entity in entities for record in self._records(entity)]
        return Described.of(records, (r.id for r in records if isinstance(r, NodeRecord)))

    def _records(self, entity: Any) -> Iterator[NodeRecord | EdgeRecord]:
        node = self._fields.node(entity)
        metadata: dict[str, Any] = {}
        for name, value in node.metadata.items():
            if name in self._own:
                continue
            edges = [edge for one in _each(value) for edge in _edges(node.id, name, one)]
            yield from edges
            if not edges:
                metadata[name] = _value(value)
        yield NodeRecord(node.id, node.entity_type, metadata)


def _each(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _edges(entity_id: str, name: str, attribute: Any) -> Iterator[EdgeRecord]:
    kind = attribute.get("type") if isinstance(attribute, Mapping) else None
    field = OBJECTS.get(kind) if isinstance(kind, str) else None
    if field is None:
        return
    metadata = {
        key: _value(value) for key, value in attribute.items() if key not in {"type", field}
    }
    for target in _each(attribute.get(field)):
        end = target.get("object") if isinstance(target, Mapping) else target
        if not isinstance(end, str):
            raise Unreadable(
                f"the {field} of the relationship {name} is not text; it has to be an id"
            )
        yield EdgeRecord(entity_id, name, end, metadata)


def _value(attribute: Any) -> Any:
    if isinstance(attribute, list):
        return [_value(one) for one in attribute]
    if not isinstance(attribute, Mapping):
        return attribute
    kind = attribute.get("type")
    field = VALUES.get(kind) if isinstance(kind, str) else None
    if field is None or field not in attribute:
        return attribute
    beside = {key: _value(one) for key, one in attribute.items() if key not in {"type", field}}
    return {"value": attribute[field], **beside} if beside else attribute[field]


@dataclass(frozen=True, slots=True)
class Described:
    """A piece of the graph in a document."""

    nodes: dict[str, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    """Type and metadata by id, of the nodes that the document describes."""
    edges: dict[Triple, dict[str, Any]] = field(default_factory=dict)
    """Metadata by triple."""
    roots: tuple[str, ...] = ()
    """Nodes at the top of the document, in its order."""

    @classmethod
    def of(
        cls,
        records: Iterable[NodeRecord | EdgeRecord],
        roots: Iterable[str] = (),
        ordered: Mapping[str, Mapping[str, list[Any]]] | None = None,
    ) -> Described:
        """Merge records, several of which may concern one thing (`protocol.md` 7).

        Args:
            records: In any order.
            roots: Nodes at the top of the document.
            ordered: Lists by node and key whose order is significant; they are not changed.
        """
        nodes: dict[str, list[NodeRecord]] = defaultdict(list)
        edges: dict[Triple, list[dict[str, Any]]] = defaultdict(list)
        for record in records:
            if isinstance(record, NodeRecord):
                nodes[record.id].append(record)
            else:
                edges[record.subject, record.predicate, record.object].append(record.metadata)
        merged = {entity_id: merge_node_records(several) for entity_id, several in nodes.items()}
        for entity_id, lists in (ordered or {}).items():
            merged[entity_id][1].update(lists)
        return cls(
            merged,
            {triple: merge_edges(several) for triple, several in edges.items()},
            tuple(dict.fromkeys(roots)),
        )
