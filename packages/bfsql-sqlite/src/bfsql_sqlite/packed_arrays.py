"""Reads packed arrays: integers in blobs, cut into rows of a table with consecutive keys."""

from __future__ import annotations

import math
import sqlite3
import struct
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from bfsql.integers import IntArray
from bfsql_sqlite.queries import rows_for

Positions: TypeAlias = npt.NDArray[np.int64]


class Damaged(sqlite3.DatabaseError):
    """An array does not have the expected content."""


def rows_at(connection: sqlite3.Connection, what: str, keys: npt.NDArray[Any]) -> list[Any]:
    """Rows in the order of their keys, which ascend; `what` is columns and a table."""
    return list(rows_for(connection, partial(_by_key, what), keys.tolist()))


@cache
def _by_key(what: str, size: int) -> str:
    return f"SELECT {what} WHERE k IN ({', '.join('?' * size)}) ORDER BY k"


def consecutive(rows: Iterable[Sequence[Any]]) -> Iterator[Sequence[Any]]:
    """Rows whose first column counts from 0, of a table that could otherwise be endless.

    Raises:
        Damaged: It does not.
    """
    for place, row in enumerate(rows):
        if row[0] != place:
            raise Damaged("a table has other rows than it should")
        yield row


def file_size(connection: sqlite3.Connection) -> int:
    """The bytes of the file, more than it has nodes, edges or values of a property."""
    sizes = (
        connection.execute(f"PRAGMA {size}").fetchone() for size in ("page_count", "page_size")
    )
    return math.prod(size for (size,) in sizes)


def array(parts: Iterable[bytes], width: np.dtype[Any], length: int) -> npt.NDArray[Any]:
    """An array of a length from the blobs of consecutive rows.

    Raises:
        Damaged: They have another length.
    """
    return np.frombuffer(_joined(parts, width, length), width)


def unpacked(
    parts: Iterable[bytes], width: np.dtype[Any], length: int, place: int, count: int
) -> tuple[int, ...]:
    """`count` integers of an `array` from a place on, without the fixed costs of numpy."""
    data = _joined(parts, width, length)
    return struct.unpack_from(f"<{count}{width.char}", data, place * width.itemsize)


def _joined(parts: Iterable[bytes], width: np.dtype[Any], length: int) -> bytes:
    try:
        data = b"".join(parts)
    except TypeError:
        data = b""
    if len(data) != length * width.itemsize:
        raise Damaged("part of an array is missing")
    return data


def integers(values: Sequence[int]) -> Positions:
    """Integers from a column of a table.

    Raises:
        Damaged: A value is missing, or is not an integer.
    """
    try:
        return np.array(values, np.int64)
    except (TypeError, ValueError, OverflowError):
        raise Damaged("the beginning of an array is missing") from None


class Ranges(NamedTuple):
    """Ranges of consecutive entries: in columns, by position, without overlap."""

    lists: IntArray
    """Numbers of the lists that contain them."""
    starts: Positions
    lengths: Positions

    @property
    def total(self) -> int:
        """Number of entries."""
        return int(self.lengths.sum())


def cut(ranges: Ranges, length: int) -> Iterator[Ranges]:
    """The same entries in parts of this length; the last one may be shorter."""
    ends = np.cumsum(ranges.lengths)
    total = int(ends[-1]) if len(ends) else 0
    if 0 < total <= length:
        yield ranges
        return
    for begin in range(0, total, length):
        end = min(begin + length, total)
        first = int(np.searchsorted(ends, begin, side="right"))
        last = int(np.searchsorted(ends, end, side="left"))
        part = slice(first, last + 1)
        starts, lengths = ranges.starts[part].copy(), ranges.lengths[part].copy()
        lengths[-1] -= ends[last] - end
        skipped = begin - (ends[first] - ranges.lengths[first])
        starts[0] += skipped
        lengths[0] -= skipped
        yield Ranges(ranges.lists[part], starts, lengths)


def index_of(starts: Positions, lengths: Positions) -> Any:
    """An index of the places in ranges, one after the other."""
    ends = np.cumsum(lengths)
    shifts = starts - ends + lengths
    if (shifts == shifts[0]).all():
        return slice(int(starts[0]), int(starts[0] + ends[-1]))
    return np.arange(ends[-1]) + np.repeat(shifts, lengths)
