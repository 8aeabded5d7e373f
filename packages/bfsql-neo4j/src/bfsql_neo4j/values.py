"""Values of Neo4j as JSON has them, before core's own cleaning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from neo4j.spatial import Point, WGS84Point
from neo4j.time import Date, DateTime, Duration, Time

_PLAIN = frozenset((str, int, float, bool, bytes, type(None)))
_MICROSECOND = 1_000  # nanoseconds


def is_read(value: Any) -> bool:
    """Whether the driver could read a value: it has no years beyond 1 to 9999."""
    kind = type(value)
    if kind is list:
        return all(map(is_read, value))
    return kind in _PLAIN or isinstance(value, (Date, DateTime, Time, Duration, Point))


def plain(value: Any) -> Any:
    """One property's value: moments as ISO 8601, points as mappings, all else as it is."""
    if type(value) in _PLAIN:
        return value
    match value:
        case list():
            return [plain(item) for item in value]
        case Mapping():
            return {key: plain(item) for key, item in value.items()}
        case Date() | DateTime() | Time() | Duration():
            return _moment(value)
        case Point():
            return _point(value)
        case _:
            return value


def _moment(value: Any) -> str:
    """As Python writes it, except for durations and nanoseconds, which it has not."""
    if isinstance(value, Duration) or getattr(value, "nanosecond", 0) % _MICROSECOND:
        return str(value.iso_format())
    return str(value.to_native().isoformat())


def _point(value: Point) -> dict[str, Any]:
    names = (
        ("longitude", "latitude", "height") if isinstance(value, WGS84Point) else ("x", "y", "z")
    )
    return {"srid": value.srid} | dict(zip(names, value, strict=False))
