"""The tables of properties in a graph file: one column for each metadata key of nodes.

A column has a dictionary of its different values in the order of their folded text, and the codes
of the values of each node. Two more orders of the dictionary are for comparisons with numbers and
dates. So a condition is compared once with each different value, or with the few that a search
needs, and no record is read.

A value that is not in the dictionary has the code `UNREAD`; a condition on such a node is judged
by its record. All numbers are little-endian.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bfsql.integers import IntArray
from bfsql.models.comparison import Moment

TABLES = """
-- size: number of values in the dictionary.
CREATE TABLE property (k INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, size INTEGER NOT NULL);
-- The tables that follow have rows of the property at >> 32.
-- kinds: one byte for each value of the row, or one for all of them. texts, folded: joined by the
-- byte 255. folded is null if it is equal to texts in lower case.
CREATE TABLE property_value (
    at INTEGER PRIMARY KEY, kinds BLOB NOT NULL, texts BLOB NOT NULL, folded BLOB
);
-- Codes of numbers in their order, then from the row `MOMENTS` on those of dates.
CREATE TABLE property_order (at INTEGER PRIMARY KEY, codes BLOB NOT NULL);
-- A code for each node of the row up to the last one that has the property; or, if nodes is not
-- null, pairs of a node, counted from the first one of the row in 16 bits, and a code.
CREATE TABLE property_code (at INTEGER PRIMARY KEY, nodes BLOB, codes BLOB NOT NULL);
"""

VALUES = 4_096
"""Values of a dictionary in a row."""
NODES = 65_536
"""Nodes in a row of codes."""
MOMENTS = 1 << 31
"""The first row of the order of dates."""
KEYS = 2_000
"""Most keys of a file that have a column; further ones are found by a scan of the records."""

ABSENT, UNREAD, NO_SCALAR = range(3)
"""Codes that are not in the dictionary: no value; a value to be read from the record; a value with
which nothing can be compared, such as an object."""
FIRST = 3
"""Code of the first value in the dictionary."""
TEXT, NUMBER, BOOLEAN = range(3)
"""Kinds of values."""

SEPARATOR = b"\xff"
"""A byte that UTF-8 never has."""
_SEPARATOR = "\udcff"
CODE, PLACE = np.dtype("<i4"), np.dtype("<u2")

_FIRST_PARTS, _LAST_PARTS = (0, 1, 1, 0, 0, 0), (0, 12, 31, 23, 59, 61)
_RADICES = (13, 32, 24, 60, 62)

Numbers = npt.NDArray[np.float64]


def code_width(size: int) -> np.dtype[Any]:
    """The narrowest integer type for the codes of a dictionary of some size."""
    codes = FIRST + size
    return np.dtype("u1" if codes <= 1 << 8 else "<u2" if codes <= 1 << 16 else "<i4")


def row_key(k: int, row: int) -> int:
    """The key of a row of the property k."""
    return (k << 32) + row


def moment_order(moment: Moment, *, last: bool = False) -> float:
    """A double that is not smaller for a later moment: the first, or the last, of the span."""
    place = 0.0
    parts = (*moment, *(_LAST_PARTS if last else _FIRST_PARTS)[len(moment) :])
    for part, radix in zip(parts, (*_RADICES, 1), strict=True):
        place = (place + part) * radix
    return place


class Values(NamedTuple):
    """Different values of a dictionary in columns, in the order of (folded, kind)."""

    kinds: npt.NDArray[np.uint8]
    texts: npt.NDArray[Any]
    folded: npt.NDArray[Any]
    numbers: Numbers
    """The nearest double; NaN for a value that is not a number."""
    moments: Numbers
    """`moment_order`; NaN for a value that is not a date."""


class Pairs(NamedTuple):
    """Values of nodes in columns, by ascending node."""

    nodes: IntArray
    codes: IntArray


def write_property(
    graph: sqlite3.Connection, k: int, key: str, values: Iterable[Values], pairs: Iterable[Pairs]
) -> None:
    """Write a column.

    Memory is bounded by the length of the batches, besides 16 bytes for each number or date.

    Args:
        graph: The new file, with `TABLES`; nothing is committed.
        k: The number of the property.
        key: The key of the metadata.
        values: Its dictionary in batches.
        pairs: The values of its nodes in batches, with the codes of the dictionary. The iterable
            is first iterated after `values` has ended.
    """
    size = _write_values(graph, k, values)
    graph.execute("INSERT INTO property VALUES (?, ?, ?)", (k, key, size))
    rows = (
        (row_key(k, row), *_packed_pairs(*part, code_width(size))) for row, part in _by_row(pairs)
    )
    graph.executemany("INSERT INTO property_code VALUES (?, ?, ?)", rows)


def _write_values(graph: sqlite3.Connection, k: int, batches: Iterable[Values]) -> int:
    """Write the dictionary and its orders, and return its size."""
    size = 0
    orders: tuple[list[tuple[Numbers, IntArray]], ...] = ([], [])
    for row, values in enumerate(_of_length(batches, VALUES)):
        packed = _packed_values(values)
        graph.execute("INSERT INTO property_value VALUES (?, ?, ?, ?)", (row_key(k, row), *packed))
        for order, keys in zip(orders, (values.numbers, values.moments), strict=True):
            places = np.flatnonzero(~np.isnan(keys))
            order.append((keys[places], (places + (FIRST + size)).astype(CODE)))
        size += len(values.texts)
    for first, order in zip((0, MOMENTS), orders, strict=True):
        if not order:
            continue
        keys, codes = map(np.concatenate, zip(*order, strict=True))
        codes = codes[np.argsort(keys, kind="stable")]
        rows = range(0, len(codes), VALUES)
        graph.executemany(
            "INSERT INTO property_order VALUES (?, ?)",
            (
                (row_key(k, first + n), codes[at : at + VALUES].tobytes())
                for n, at in enumerate(rows)
            ),
        )
    return size


def _of_length(batches: Iterable[Values], length: int) -> Iterator[Values]:
    """The same values in batches of a length; the last one may be shorter."""
    rest: Values | None = None
    for batch in batches:
        parts = [batch] if rest is None else [rest, batch]
        both = Values._make(np.concatenate(columns) for columns in zip(*parts, strict=True))
        whole = len(both.texts) - len(both.texts) % length
        for at in range(0, whole, length):
            yield Values._make(column[at : at + length] for column in both)
        rest = Values._make(column[whole:] for column in both)
    if rest is not None and len(rest.texts):
        yield rest


def _packed_values(values: Values) -> tuple[bytes, bytes, bytes | None]:
    kinds, texts, folded = values.kinds, _joined(values.texts), _joined(values.folded)
    packed = kinds[:1] if (kinds == kinds[0]).all() else kinds
    return packed.tobytes(), texts, None if texts.lower() == folded else folded


def _joined(texts: Iterable[str]) -> bytes:
    return _SEPARATOR.join(texts).encode("utf-8", "surrogateescape")


def _by_row(batches: Iterable[Pairs]) -> Iterator[tuple[int, Pairs]]:
    """The pairs of each row that has some, by ascending row."""
    rest = Pairs(np.empty(0, CODE), np.empty(0, CODE))
    for batch in batches:
        both = Pairs(*map(np.concatenate, zip(rest, batch, strict=True)))
        rows = both.nodes // NODES
        cuts = [0, *(np.flatnonzero(np.diff(rows)) + 1).tolist()]
        for start, stop in pairwise(cuts):
            yield int(rows[start]), Pairs(both.nodes[start:stop], both.codes[start:stop])
        rest = Pairs(both.nodes[cuts[-1] :], both.codes[cuts[-1] :])
    if len(rest.nodes):
        yield int(rest.nodes[0] // NODES), rest


def _packed_pairs(
    nodes: IntArray, codes: IntArray, width: np.dtype[Any]
) -> tuple[bytes | None, bytes]:
    """The nodes, or None if every node has a place, and the codes of a row."""
    places, codes = (nodes % NODES).astype(PLACE), codes.astype(width)
    length = int(places[-1]) + 1
    one_each = bool((places[1:] != places[:-1]).all())
    if not one_each or len(codes) * (PLACE.itemsize + width.itemsize) < length * width.itemsize:
        return places.tobytes(), codes.tobytes()
    dense = np.full(length, ABSENT, width)
    dense[places] = codes
    return None, dense.tobytes()
