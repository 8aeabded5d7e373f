"""Conversion of values: metadata to properties and back, and ids to their possible values.

Neo4j stores text, booleans, 64-bit integers, floats, dates and times, bytes, and lists of one of
these types without nulls. Any other value is stored as JSON text, as described in
`bfsql.models.json_properties`. Loader and backend both use this module, so that they cannot differ.

The id of a node is the text of the first id property that it has, as made by the server
(`toString`); a value without such a text, a list for instance, is not an id. A requested id is
looked up as every value that may have this text, and a hit counts only if its text is the requested
one: `007` never finds the number 7.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal
from enum import Enum
from typing import Any

from neo4j.spatial import Point, WGS84Point
from neo4j.time import Date, DateTime, Duration, Time

from bfsql.models import json_properties
from bfsql.models.json_values import INT64, as_text, is_text, iso_text, json_number
from bfsql.models.merge import EdgeMerge, merge_edges, sorted_union, with_evidence

ELEMENT = "neo4j:element:"
"""Prefix of the ids of nodes without one of their own; the element id follows."""
DOCUMENTS = "provenance__documents"
"""Property of a relationship with the ids of the documents that its evidence is from, so that an
index can find the items a document supplied.
"""
DEEPEST = 100
"""Most levels of nesting that are accepted."""
MAX_OFFSET = dt.timedelta(hours=18)
"""The largest offset from UTC of a time zone in Neo4j."""

# --- metadata to properties -----------------------------------------------------


def to_properties(metadata: Mapping[str, Any], reserved: Collection[str] = ()) -> dict[str, Any]:
    """Convert metadata to properties, as parameters that the driver can send.

    Args:
        metadata: As read from a source. Nulls are left out: a property cannot be null.
        reserved: Names that the store uses on this element, above all the id
            property; a value with such a name is stored as JSON text.

    Raises:
        ValueError: The metadata is nested too deeply, or contains itself.
    """
    properties = json_properties.to_properties(
        plain(metadata), lambda key, value: key != DOCUMENTS and _is_kept(value), can_name, reserved
    )
    return {key: _storable_text(value) for key, value in properties.items()}


def plain(value: Any, depth: int = 0) -> Any:  # noqa: C901, PLR0911, PLR0912 - one line a kind
    """A value as one of None, bool, int, float, str, bytes, list, dict, date, time, datetime.

    Answers show the result in the same way as the value.

    Args:
        value: Any value of a source.
        depth: Levels of nesting above it.

    Raises:
        ValueError: The value is nested too deeply, or contains itself.
    """
    if depth > DEEPEST:
        raise ValueError(
            f"its metadata is nested deeper than {DEEPEST} levels, or contains itself; flatten "
            "it, or write it as text"
        )
    match value:
        case None | bool():
            return value
        case Enum():
            return plain(value.value, depth)
        case str():
            return str(value)
        case int():
            return int(value)
        case float():
            return float(value)
        case Mapping():
            return {str(key): plain(item, depth + 1) for key, item in value.items()}
        case bytes() | bytearray() | memoryview():
            return bytes(value)
        case dt.date() | dt.time():  # a datetime is a date
            return _storable_time(value)
        case dt.timedelta():
            return iso_text(value)
        case Decimal():
            return json_number(value)
        case AbstractSet():
            return [plain(item, depth + 1) for item in sorted_union(value)]
        case list() | tuple():
            return [plain(item, depth + 1) for item in value]
    return plain(value.tolist(), depth + 1) if hasattr(value, "tolist") else str(value)


def _storable_text(value: Any) -> Any:
    """A value whose texts have U+FFFD for every lone surrogate (`protocol.md` 19)."""
    if isinstance(value, list):
        return [_storable_text(item) for item in value]
    return as_text(value) if isinstance(value, str) else value


def can_name(key: str) -> bool:
    """Whether Neo4j can have a property of this name."""
    return bool(key) and "\0" not in key and is_text(key)


def _is_kept(value: Any) -> bool:
    """Whether Neo4j stores a plain value as a property distinct from that of every other value."""
    match value:
        case bool() | float() | str() | bytes() | dt.date() | dt.time():
            return True
        case int():
            return -INT64 <= value < INT64
        case list():
            # Items of two types form a list that Neo4j refuses or converts to one type.
            kinds = {(type(item), getattr(item, "tzinfo", None) is None) for item in value}
            return len(kinds) <= 1 and all(
                _is_kept(item) and not isinstance(item, list | bytes) for item in value
            )
    return False


def _storable_time(value: dt.date | dt.time) -> dt.date | dt.time | str:
    """A time with its UTC offset instead of its zone; ISO 8601 text if the offset would be lost.

    Answers show only the offset, and named zones may differ between Neo4j and this machine.
    The driver returns no offsets with seconds and no times at the very ends of Python's
    calendar, and cannot send times of day with an offset.
    """
    if not isinstance(value, dt.datetime | dt.time) or value.tzinfo is None:
        return value
    offset = value.utcoffset()
    if not isinstance(value, dt.datetime) or offset is None:
        return value.isoformat()
    if offset % dt.timedelta(minutes=1) or abs(offset) > MAX_OFFSET:
        return value.isoformat()
    if not dt.MINYEAR < value.year < dt.MAXYEAR:
        return value.isoformat()
    return value.replace(tzinfo=dt.timezone(offset), fold=0)


# --- properties to metadata -----------------------------------------------------


def from_properties(
    properties: Mapping[str, Any], reserved: Collection[str] = ()
) -> dict[str, Any]:
    """The metadata that `to_properties` wrote; for any other graph, the properties unchanged."""
    metadata = {key: value for key, value in properties.items() if key != DOCUMENTS}
    return json_properties.from_properties(metadata, can_name, reserved)


def edge_metadata(
    relationships: Sequence[Mapping[str, Any]], merge: EdgeMerge = merge_edges
) -> dict[str, Any]:
    """The metadata of the relationships of one triple, merged; evidence under `provenance`."""
    records = [
        from_properties({key: from_driver(value) for key, value in properties.items()})
        for properties in relationships
    ]
    return with_evidence(merge(records), ())


# --- values of the driver -------------------------------------------------------

_PLAIN = frozenset((str, int, float, bool, bytes, type(None)))


def is_readable(value: Any) -> bool:
    """Whether the driver could read a value: it supports only years 1 to 9999."""
    kind = type(value)
    if kind is list:
        return all(map(is_readable, value))
    return kind in _PLAIN or isinstance(value, (Date, DateTime, Time, Duration, Point))


def from_driver(value: Any) -> Any:
    """A property's value with times as ISO 8601 text and points as mappings."""
    if type(value) in _PLAIN:
        return value
    match value:
        case list():
            return [from_driver(item) for item in value]
        case Mapping():
            return {key: from_driver(item) for key, item in value.items()}
        case Date() | DateTime() | Time() | Duration():
            return _time_text(value)
        case Point():
            return _point(value)
    return value


def _time_text(value: Any) -> str:
    """Text as Python writes it, except for durations and nanoseconds, which Python lacks."""
    if isinstance(value, Duration) or getattr(value, "nanosecond", 0) % 1_000:
        return str(value.iso_format())
    return str(value.to_native().isoformat())


def _point(value: Point) -> dict[str, Any]:
    names = (
        ("longitude", "latitude", "height") if isinstance(value, WGS84Point) else ("x", "y", "z")
    )
    return {"srid": value.srid} | dict(zip(names, value, strict=False))


# --- ids ------------------------------------------------------------------------

_TYPED = re.compile(r"-?\d|-?Infinity$|true$|false$")  # possible beginnings of other types
_TIMES: tuple[type[Any], ...] = (Date, DateTime, Time)


def candidates(text: str) -> list[Any]:
    """The values that may have the id as their text, starting with the text itself."""
    if not _TYPED.match(text):
        return [text]
    values: list[Any] = [text]
    if text in ("true", "false"):
        values.append(text == "true")
    for kind in (int, float):
        try:
            value = kind(text)
        except ValueError:
            continue
        if kind is float or -INT64 <= value < INT64:
            return [*values, value]
    for kind in _TIMES:
        try:
            values.append(kind.from_iso_format(text))
        except (ValueError, IndexError, OverflowError):
            continue
    return values
