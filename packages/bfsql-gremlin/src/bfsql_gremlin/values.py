"""Conversion of values: properties to metadata, and ids to the values that they may stand for.

The id of an entity is the text of its vertex's id property; a vertex without one has the engine's
own id, after a prefix. An id is looked up as every value that may have this text and whose kind
occurs among the ids of the graph: JanusGraph refuses to compare a number with text.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal
from typing import Any
from uuid import UUID

from gremlin_python.statics import BigDecimal, long

from bfsql.models.json_properties import from_properties
from bfsql.models.json_values import iso_text
from bfsql.models.merge import (
    EdgeMerge,
    add_other_types,
    merge_edges,
    merge_metadata,
    sorted_union,
    with_evidence,
)

ELEMENT = "gremlin:"
"""Prefix of the ids of vertices without an id property; the engine's own id follows."""
SUPPLIED = "provenance__edges"
"""Property of a vertex with the edges for which it supplied evidence as a document, in JSON."""
INT32, INT64 = 1 << 31, 1 << 63


# --- ids ------------------------------------------------------------------------


def id_text(value: Any) -> str | None:
    """The id for a value of the id property; None for a list, a map or the like."""
    match value:
        case str():
            return str(value)
        case bool():
            return "true" if value else "false"
        case int() | float() | UUID():
            return str(value)
        case dt.date():
            return value.isoformat()
    return None


def kind_of(value: Any) -> str:
    """The kind of an id's value, for `candidates`."""
    for kind, types in _KINDS.items():
        if isinstance(value, types):
            return kind
    return "text"


_KINDS: dict[str, type | tuple[type, ...]] = {
    "text": str,
    "flag": bool,
    "number": int,
    "float": float,
    "uuid": UUID,
    "date": dt.date,
}


def candidates(text: str, kinds: Collection[str]) -> list[Any]:
    """The values of some kinds that have this text, for a comparison in the server."""
    values: list[Any] = [text] if "text" in kinds else []
    if "flag" in kinds and text in ("true", "false"):
        values.append(text == "true")
    for kind, convert in _CONVERTERS.items():
        if kind not in kinds:
            continue
        try:
            value = convert(text)
        except (ValueError, OverflowError):
            continue
        if id_text(value) != text:
            continue
        if kind == "number":
            # Some engines distinguish integers of 32 and of 64 bits, and others only compare.
            values += [long(value)] if -INT64 <= value < INT64 else []
            values += [value] if -INT32 <= value < INT32 else []
        else:
            values.append(value)
    return values


_CONVERTERS: dict[str, Callable[[str], Any]] = {
    "number": int,
    "float": float,
    "uuid": UUID,
    "date": dt.datetime.fromisoformat,
}


# --- values of the driver ---------------------------------------------------------


def from_driver(value: Any) -> Any:  # noqa: C901, PLR0911 - one line a kind
    """A value as one of None, bool, int, float, str, bytes, Decimal, list and dict."""
    match value:
        case None | bool() | bytes() | Decimal():
            return value
        case str():
            return str(value)
        case int():
            return int(value)
        case float():
            return float(value)
        case dt.datetime():
            # Java's Date is a moment, which the driver returns without its zone.
            return value.replace(tzinfo=value.tzinfo or dt.UTC).isoformat()
        case dt.timedelta():
            return iso_text(value)
        case BigDecimal():
            return Decimal(value.unscaled_value).scaleb(-value.scale)
        case Mapping() if "@value" in value:  # a type of GraphSON that the driver lacks
            return from_driver(value["@value"])
        case Mapping():
            return {str(key): from_driver(item) for key, item in value.items()}
        case AbstractSet():
            return sorted_union(map(from_driver, value))
        case list() | tuple():
            return [from_driver(item) for item in value]
    return str(value)


# --- properties to metadata -------------------------------------------------------


def properties_of(properties: Mapping[str, Any] | Iterable[list[Any]]) -> dict[str, Any]:
    """Properties from a mapping, or from rows of key, value and, perhaps, properties of properties.

    Several values of a key become a list. A value with properties of its own becomes a mapping
    with the value under `value` and the properties beside it.
    """
    if isinstance(properties, Mapping):
        return {key: from_driver(value) for key, value in properties.items()}
    found: dict[str, list[Any]] = {}
    for key, value, *of_property in properties:
        plain = from_driver(value)
        own = from_driver(of_property[0]) if of_property else {}
        found.setdefault(key, []).append({**own, "value": plain} if own else plain)
    return {key: values[0] if len(values) == 1 else values for key, values in found.items()}


def node_metadata(
    vertices: Sequence[tuple[str, Mapping[str, Any]]],
    reserved: Collection[str],
    kept_keys: Collection[str],
) -> dict[str, Any]:
    """The metadata of a node.

    Args:
        vertices: Type and properties of each vertex with its id, in the order of their types.
        reserved: The properties that hold the id and the type, which are not metadata.
        kept_keys: Properties that are metadata even if they hold the id.
    """
    records = []
    for _, properties in vertices:
        own = {k: v for k, v in properties.items() if k not in reserved or k in kept_keys}
        own.pop(SUPPLIED, None)
        records.append(from_properties(own, _unnamed, reserved))
    metadata = merge_metadata(records)
    others = {entity_type for entity_type, _ in vertices[1:]} - {vertices[0][0]}
    add_other_types(metadata, others)
    return metadata


def edge_metadata(
    edges: Sequence[Mapping[str, Any]], merge: EdgeMerge = merge_edges
) -> dict[str, Any]:
    """The metadata of the edges of one triple, merged; evidence under `provenance`."""
    records = [from_properties(properties, _unnamed) for properties in edges]
    return with_evidence(merge(records), ())


def _unnamed(_: str) -> bool:
    # Which names a property cannot have depends on the engine.
    return False
