"""The formats of requests and answers, with types that gremlinpython lacks.

GraphBinary has types of time that gremlinpython cannot read, and JanusGraph adds types of its own:
predicates of its text indexes, which are written, and shapes, which are read as GeoJSON-like text.
"""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Callable
from typing import Any

from gremlin_python.driver.serializer import GraphBinarySerializersV1, GraphSONMessageSerializer
from gremlin_python.process.traversal import P
from gremlin_python.structure.io.graphbinaryV1 import DataType, GraphBinaryReader, GraphBinaryWriter
from gremlin_python.structure.io.graphsonV3d0 import GraphSONReader, GraphSONWriter


class TextP(P):  # type: ignore[misc]
    """A predicate of JanusGraph's text indexes, such as `textContains`."""


class Unreadable(ValueError):
    """An answer, or a value in it, is of a type that cannot be read."""


def serializer(name: str) -> Any:
    """The serializer of gremlinpython with this name, `graphbinary` or `graphson`."""
    if name == "graphson":
        return GraphSONMessageSerializer(
            reader=GraphSONReader({"g:BulkSet": _GraphSONBulkSet}),
            writer=GraphSONWriter({TextP: _GraphSONTextP}),
        )
    return GraphBinarySerializersV1(
        reader=GraphBinaryReader(_READERS), writer=GraphBinaryWriter({TextP: _BinaryTextP})
    )


class _GraphSONTextP:
    @classmethod
    def dictify(cls, one: TextP, writer: Any) -> dict[str, Any]:
        value = {"predicate": one.operator, "value": writer.to_dict(one.value)}
        return {"@type": "janusgraph:JanusGraphP", "@value": value}


class _GraphSONBulkSet:
    @classmethod
    def objectify(cls, items: Any, _reader: Any) -> Any:
        return _bulk_set(items)


class _BinaryTextP:
    @classmethod
    def dictify(cls, one: TextP, writer: Any, out: bytearray, *_: Any) -> bytearray:
        out += b"\x00" + _text(b"janusgraph.P") + struct.pack(">i", 0x1002) + b"\x00"
        out += _text(one.operator.encode())
        writer.to_dict(one.value, out)
        return out


def _text(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


# --- types that are read ------------------------------------------------------------


def _numbers(buffer: Any, form: str) -> tuple[Any, ...]:
    reads = struct.Struct(f">{form}")
    return reads.unpack(buffer.read(reads.size))


def _date(buffer: Any) -> str:
    year, month, day = _numbers(buffer, "ibb")
    return f"{year:04}-{month:02}-{day:02}"


def _time(buffer: Any) -> str:
    (nanoseconds,) = _numbers(buffer, "q")
    seconds, rest = divmod(nanoseconds, 10**9)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return clock + (f".{rest:09}".rstrip("0") if rest else "")


def _offset(buffer: Any) -> str:
    (seconds,) = _numbers(buffer, "i")
    hours, minutes = divmod(abs(seconds) // 60, 60)
    return f"{'-' if seconds < 0 else '+'}{hours:02}:{minutes:02}"


def _instant(buffer: Any) -> str:
    seconds, nanoseconds = _numbers(buffer, "qi")
    try:
        moment = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=seconds)
    except OverflowError:
        return f"{seconds} s since 1970"
    fraction = f".{nanoseconds:09}".rstrip("0") if nanoseconds else ""
    return moment.isoformat().replace("+00:00", f"{fraction}+00:00")


def _custom(buffer: Any) -> Any:
    """A shape of JanusGraph, the only type of its own that is a value."""
    (size,) = _numbers(buffer, "i")
    name = buffer.read(size).decode()
    _, null = _numbers(buffer, "ib")
    if null:
        return None
    version, kind = _numbers(buffer, "bi")
    # Version 2 of the format, the only one since JanusGraph 1.0.
    if (name, version) != ("janusgraph.Geoshape", 2) or kind not in _SHAPES:
        raise Unreadable(f"it contains a value of the type {name}")
    return _SHAPES[kind](buffer)


def _point(buffer: Any) -> str:
    latitude, longitude = _numbers(buffer, "dd")
    return f"{longitude:.15g} {latitude:.15g}"


def _points(buffer: Any) -> str:
    (size,) = _numbers(buffer, "i")
    return ", ".join(_point(buffer) for _ in range(size))


_SHAPES: dict[int, Callable[[Any], str]] = {
    0: lambda buffer: f"POINT ({_point(buffer)})",
    1: lambda buffer: f"BUFFER (POINT ({_point(buffer)}), {_numbers(buffer, 'd')[0]:.15g} km)",
    2: lambda buffer: f"ENVELOPE ({_point(buffer)}, {_point(buffer)})",
    3: lambda buffer: f"LINESTRING ({_points(buffer)})",
    4: lambda buffer: f"POLYGON (({_points(buffer)}))",
    5: lambda buffer: f"MULTIPOINT ({_points(buffer)})",
}
"""Shapes by their codes; JanusGraph's circles are in kilometres, its boxes two corners."""


class _Reader:
    """Reads a value after its type code, as the reader of gremlinpython expects it."""

    def __init__(self, read: Callable[[Any], Any], *, custom: bool = False) -> None:
        self._read = read
        self._custom = custom

    def objectify(self, buffer: Any, _reader: Any, nullable: bool = True) -> Any:  # noqa: FBT001, FBT002
        if nullable and not self._custom and buffer.read(1) == b"\x01":
            return None
        return self._read(buffer)


def _bulk_set(_buffer: Any) -> Any:
    """A list with a number for each item, which gremlinpython would repeat as often."""
    raise Unreadable("it contains a BulkSet, which no query requests")


_TYPES: dict[str, Callable[[Any], Any]] = {
    "instant": _instant,
    "localdate": _date,
    "localtime": _time,
    "localdatetime": lambda buffer: f"{_date(buffer)}T{_time(buffer)}",
    "offsetdatetime": lambda buffer: f"{_date(buffer)}T{_time(buffer)}{_offset(buffer)}",
    "offsettime": lambda buffer: f"{_time(buffer)}{_offset(buffer)}",
    "zonedatetime": lambda buffer: f"{_date(buffer)}T{_time(buffer)}{_offset(buffer)}",
    "zoneoffset": _offset,
    "year": lambda buffer: _numbers(buffer, "i")[0],
    "yearmonth": lambda buffer: "{:04}-{:02}".format(*_numbers(buffer, "ib")),
    "monthday": lambda buffer: "--{:02}-{:02}".format(*_numbers(buffer, "bb")),
    "period": lambda buffer: "P{}Y{}M{}D".format(*_numbers(buffer, "iii")),
}
_READERS = {DataType[name]: _Reader(read) for name, read in _TYPES.items()}
_READERS[DataType.bulkset] = _Reader(_bulk_set)
_READERS[DataType.custom] = _Reader(_custom, custom=True)
