"""The tables of edges in a graph file: compressed sparse rows, in packed arrays.

Every node has two lists of edges: those that leave it, in order of (predicate, object), and
those that enter it, in order of (predicate, subject). List n contains the edges that leave the
node with the handle n; the lists of entering edges follow, starting at a multiple of `SPAN`.
Concatenated, the lists are one long array of entries: the predicate and the other end of each
edge. The position of an entry among the leaving ones is therefore the number of the edge: its
place in the order of all triples. `offsets` has the position at which each list begins.

Both arrays are cut into rows of a fixed length, so that arithmetic finds a place in them: a
small node costs a page or two of each table, whatever its neighbours in the file, and a hub is
read from consecutive rows. All numbers are little-endian.
"""
# ruff: noqa: S608 - what is put into these texts is a number of `bfsql.integers`

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from bfsql.integers import NO_NODE, IntArray

ENTRIES = 800
"""Entries in a row: 4,000 bytes, or slightly more with many predicates."""
SPAN = 1_000
"""Lists in a row of offsets: 4,004 bytes."""
TYPE_ROW = 65_536
"""Nodes in a row of `node_types`."""
END = np.dtype("<i4")
OFFSET = np.dtype("<u4")

TABLES = """
-- The last row of the edges that leave is filled up.
CREATE TABLE entries (k INTEGER PRIMARY KEY, predicates BLOB NOT NULL, ends BLOB NOT NULL);
-- base: where the first list of the row begins; offsets: where each list of the row and the next
-- one begins, less base.
CREATE TABLE offsets (k INTEGER PRIMARY KEY, base INTEGER NOT NULL, offsets BLOB NOT NULL);
-- As node.t, with -1 for null.
CREATE TABLE node_types (k INTEGER PRIMARY KEY, types BLOB NOT NULL);
-- As entries, with the number of the periods of each; empty without a mapping of dates.
CREATE TABLE period (k INTEGER PRIMARY KEY, codes BLOB NOT NULL);
"""


def width(numbers: int) -> np.dtype[Any]:
    """The narrowest integer type for the numbers below this one, and -1."""
    return np.dtype("i1" if numbers <= 1 << 7 else "<i2" if numbers <= 1 << 15 else "<i4")


def rows_of(length: int, row: int) -> int:
    """Number of rows for an array of a length."""
    return -(-length // row)


def write_edges(
    connection: sqlite3.Connection,
    *,
    nodes: int,
    predicates: int,
    leaving: Iterable[IntArray],
    entering: Iterable[IntArray],
) -> None:
    """Fill the tables of edges.

    Memory is bounded by the length of the chunks. Any length works; about 100,000 rows are fast.

    Args:
        connection: The new file, with `TABLES`; nothing is committed. The iterables may use
            it as well, between two chunks.
        nodes: Number of handles: rows in `node`.
        predicates: Number of predicates.
        leaving: Chunks of triples, int32 arrays of shape (any, 3) with the columns subject,
            predicate, object. The whole sequence is sorted by (subject, predicate,
            object), and each triple occurs once.
        entering: The same triples, sorted by (object, predicate, subject), in the same columns.
            It is first iterated after `leaving` has ended.
    """
    writer = _Writer(connection, nodes, width(predicates))
    writer.write(leaving, own=0, other=2)
    writer.write(entering, own=2, other=0)


class _Writer:
    """Writes the lists of one direction, then those of the other."""

    def __init__(self, connection: sqlite3.Connection, nodes: int, width: np.dtype[Any]) -> None:
        self._connection = connection
        self._nodes = nodes
        self._width = width
        self._entry_row = 0  # the next one to write
        self._offset_row = 0  # the one being filled
        self._base = 0
        self._counts = np.zeros(SPAN, np.int64)

    def write(self, triples: Iterable[IntArray], *, own: int, other: int) -> None:
        """Write the lists of one direction; the triples are sorted.

        The nodes that own the lists are in the column `own`, the other ends in `other`.
        """
        first = self._offset_row
        for chunk in _of_length(triples, ENTRIES):
            self._entries(chunk[:, 1], chunk[:, other])
            self._count(chunk[:, own], first)
        self._go_on_to(first + rows_of(self._nodes, SPAN))
        self._base = self._entry_row * ENTRIES

    def _entries(self, predicates: IntArray, ends: IntArray) -> None:
        rows = rows_of(len(ends), ENTRIES)
        columns = []
        for column, width in ((predicates, self._width), (ends, END)):
            full = np.zeros(rows * ENTRIES, width)
            full[: len(column)] = column
            columns.append([row.tobytes() for row in full.reshape(rows, ENTRIES)])
        keys = range(self._entry_row, self._entry_row + rows)
        self._connection.executemany(
            "INSERT INTO entries VALUES (?, ?, ?)", zip(keys, *columns, strict=True)
        )
        self._entry_row += rows

    def _count(self, owners: IntArray, first: int) -> None:
        rows = owners // SPAN
        cuts = [0, *(np.flatnonzero(np.diff(rows)) + 1).tolist(), len(rows)]
        for start, stop in pairwise(cuts):
            row = int(rows[start])
            self._go_on_to(first + row)
            self._counts += np.bincount(owners[start:stop] - row * SPAN, minlength=SPAN)

    def _go_on_to(self, row: int) -> None:
        """Write the rows of offsets before this one."""
        while self._offset_row < row:
            offsets = np.zeros(SPAN + 1, OFFSET)
            np.cumsum(self._counts, out=offsets[1:], dtype=OFFSET)
            self._connection.execute(
                "INSERT INTO offsets VALUES (?, ?, ?)",
                (self._offset_row, self._base, offsets.tobytes()),
            )
            self._base += int(offsets[-1])
            self._offset_row += 1
            self._counts[:] = 0


def _of_length(chunks: Iterable[IntArray], unit: int) -> Iterator[IntArray]:
    """The same rows in chunks whose lengths, except for the last one, are multiples of a unit."""
    rest: IntArray | None = None
    for chunk in chunks:
        rows = chunk if rest is None or not len(rest) else np.concatenate([rest, chunk])
        cut = len(rows) - len(rows) % unit
        if cut:
            yield rows[:cut]
        rest = rows[cut:]
    if rest is not None and len(rest):
        yield rest


def write_types(connection: sqlite3.Connection) -> None:
    """Fill `node_types` from the complete tables `node` and `type`."""
    (types,) = connection.execute("SELECT count(*) FROM type").fetchone()
    rows = connection.execute(f"SELECT coalesce(t, {NO_NODE}) FROM node ORDER BY n")
    for k, batch in enumerate(iter(lambda: rows.fetchmany(TYPE_ROW), [])):
        packed = np.fromiter((t for (t,) in batch), width(types), len(batch))
        connection.execute("INSERT INTO node_types VALUES (?, ?)", (k, packed.tobytes()))
