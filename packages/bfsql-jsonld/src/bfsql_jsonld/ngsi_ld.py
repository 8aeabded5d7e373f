"""NGSI-LD entities, as context brokers return them: attributes, some of them relationships.

| attribute | becomes |
|---|---|
| `{"type": "Relationship", "object": id}` | an edge; its other fields are its metadata |
| `{"type": "Property", "value": v}` | metadata: `v`, or the value with its other fields |
| a list of attributes (`datasetId`) | each of them |
| anything else | metadata, unchanged |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from bfsql.deadline import checked
from bfsql.models.records import EdgeRecord, NodeRecord
from bfsql_jsonld.replies import Unreadable
from bfsql_jsonld.routes import Api

Record: TypeAlias = NodeRecord | EdgeRecord

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


def entity_records(api: Api, document: Any) -> list[Record]:
    """The records of an entity, or of a list of them; Unreadable if the document is neither."""
    entities = document if isinstance(document, list) else [document]
    return [record for entity in checked(entities) for record in _records(api, entity)]


def _records(api: Api, entity: Any) -> Iterator[Record]:
    node = api.fields.node(entity)
    metadata: dict[str, Any] = {}
    for name, value in node.metadata.items():
        if name in api.settings.id_field or name in api.settings.type_field:
            continue
        edges = [edge for one in checked(_each(value)) for edge in _edges(node.id, name, one)]
        yield from edges
        if not edges:
            metadata[name] = _value(value)
    yield NodeRecord(node.id, node.entity_type, metadata)


def _each(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _edges(entity_id: str, name: str, attribute: Any) -> Iterator[EdgeRecord]:
    field = _field(attribute, OBJECTS)
    if field is None:
        return
    metadata = _other_fields(attribute, field)
    for target in checked(_each(attribute.get(field))):
        end = target.get("object") if isinstance(target, Mapping) else target
        if not isinstance(end, str):
            raise Unreadable(
                f"the {field} of the relationship {name} is not text; it has to be an id"
            )
        yield EdgeRecord(entity_id, name, end, metadata)


def _value(attribute: Any) -> Any:
    if isinstance(attribute, list):
        return [_value(one) for one in checked(attribute)]
    field = _field(attribute, VALUES)
    if field is None or field not in attribute:
        return attribute
    others = _other_fields(attribute, field)
    return {"value": attribute[field], **others} if others else attribute[field]


def _field(attribute: Any, fields: Mapping[str, str]) -> str | None:
    """The field of an attribute's kind."""
    kind = attribute.get("type") if isinstance(attribute, Mapping) else None
    return fields.get(kind) if isinstance(kind, str) else None


def _other_fields(attribute: Mapping[str, Any], field: str) -> dict[str, Any]:
    return {key: _value(value) for key, value in attribute.items() if key not in {"type", field}}
