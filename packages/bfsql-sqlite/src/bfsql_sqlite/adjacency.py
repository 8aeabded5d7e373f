"""The edges of a graph file: compressed sparse rows, in packed arrays.

Every node has two lists of edges: of those that leave it, in order of (predicate, object), and of
those that enter it, in order of (subject, predicate). List n is of the edges that leave the node
with the handle n; the lists of edges that enter follow, from a multiple of `SPAN` on. Written one
after the other the lists are one long array of entries: the predicate and the other end of each
edge. So the position of an entry among those that leave is the number of the edge: its place in
the order of all triples. `offsets` has the position at which each list begins.

Both arrays are cut into rows of a fixed length, so that a place in them is found by arithmetic: a
small node costs a page or two of each table, whatever is beside it, and a hub is read from
consecutive rows. All numbers are little-endian.
"""
# ruff: noqa: S608 - what is put into these texts are question marks and names of these tables

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import pairwise
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from bfsql.columns import BATCH_EDGES, NO_NODE, Handles, IntArray, Ring
from bfsql_sqlite.queries import chunks

Positions: TypeAlias = npt.NDArray[np.int64]
Packed: TypeAlias = npt.NDArray[np.signedinteger[Any]]
"""Integers as narrow as they are in the file."""
Numbers: TypeAlias = tuple[int, int, int]
"""Subject, predicate and object of an edge."""

ENTRIES = 800
"""Entries in a row: 4,000 bytes, or with many predicates a few more."""
SPAN = 1_000
"""Lists in a row of offsets: 4,004 bytes."""
TYPED = 65_536
"""Nodes in a row of `node_types`."""

TABLES = """
-- The last row of the edges that leave is filled up.
CREATE TABLE entries (k INTEGER PRIMARY KEY, predicates BLOB NOT NULL, ends BLOB NOT NULL);
-- base: where the first list of the row begins; offsets: where each list of the row and the next
-- one begins, less base.
CREATE TABLE offsets (k INTEGER PRIMARY KEY, base INTEGER NOT NULL, offsets BLOB NOT NULL);
-- As node.t, with -1 for null.
CREATE TABLE node_types (k INTEGER PRIMARY KEY, types BLOB NOT NULL);
"""

_LONG_RUN = 16
"""Consecutive rows for which a statement of their own is faster than listing them."""
_END = np.dtype("<i4")
_OFFSET = np.dtype("<u4")


class Ranges(NamedTuple):
    """Entries that stand together: in columns, by position, without overlap."""

    lists: IntArray
    """Numbers of the lists that they are in."""
    starts: Positions
    lengths: Positions

    @property
    def total(self) -> int:
        """Number of entries."""
        return int(self.lengths.sum())


def _width(numbers: int) -> np.dtype[Any]:
    """The narrowest integers that can hold the numbers below this one, and -1."""
    return np.dtype("i1" if numbers <= 1 << 7 else "<i2" if numbers <= 1 << 15 else "<i4")


def _rows_of(length: int, row: int) -> int:
    """Rows that an array of a length takes."""
    return -(-length // row)


# --- writing --------------------------------------------------------------------


def write_edges(
    connection: sqlite3.Connection,
    *,
    nodes: int,
    predicates: int,
    leaving: Iterable[IntArray],
    entering: Iterable[IntArray],
) -> int:
    """Fill the tables of edges.

    Memory is bounded by the length of the chunks: they may have any, 100,000 rows or so are fast.

    Args:
        connection: The file that is made, with `TABLES`; nothing is committed. The iterables
            may use it as well, between two chunks.
        nodes: Number of handles: rows in `node`.
        predicates: Number of predicates.
        leaving: Chunks of triples, int32 arrays of shape (any, 3) with the columns subject,
            predicate, object. All together are sorted by (subject, predicate, object), and
            each triple comes once.
        entering: The same triples, sorted by (object, subject, predicate), in the same columns.
            Not begun before `leaving` has ended.

    Returns:
        The number of edges.
    """
    writer = _Writer(connection, nodes, _width(predicates))
    edges = writer.write(leaving, own=0, other=2)
    writer.write(entering, own=2, other=0)
    return edges


class _Writer:
    """Writes the lists of one direction, then those of the other.

    Args:
        connection: The file.
        nodes: Number of all nodes.
        width: How predicates are packed.
    """

    def __init__(self, connection: sqlite3.Connection, nodes: int, width: np.dtype[Any]) -> None:
        self._connection = connection
        self._nodes = nodes
        self._width = width
        self._entry_row = 0  # the next to be written
        self._offset_row = 0  # the one that is collected
        self._base = 0
        self._counts = np.zeros(SPAN, np.int64)

    def write(self, triples: Iterable[IntArray], *, own: int, other: int) -> int:
        """Write a direction.

        Args:
            triples: Sorted.
            own: Their column that has the nodes whose lists these are.
            other: Their column with the other ends.

        Returns:
            The number of triples.
        """
        number, first = 0, self._offset_row
        for chunk in _of_length(triples, ENTRIES):
            self._entries(chunk[:, 1], chunk[:, other])
            self._count(chunk[:, own], first)
            number += len(chunk)
        self._go_on_to(first + _rows_of(self._nodes, SPAN))
        self._base = self._entry_row * ENTRIES
        return number

    def _entries(self, predicates: IntArray, ends: IntArray) -> None:
        rows = _rows_of(len(ends), ENTRIES)
        columns = []
        for column, width in ((predicates, self._width), (ends, _END)):
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
            offsets = np.zeros(SPAN + 1, _OFFSET)
            np.cumsum(self._counts, out=offsets[1:], dtype=_OFFSET)
            self._connection.execute(
                "INSERT INTO offsets VALUES (?, ?, ?)",
                (self._offset_row, self._base, offsets.tobytes()),
            )
            self._base += int(offsets[-1])
            self._offset_row += 1
            self._counts[:] = 0


def _of_length(chunks: Iterable[IntArray], unit: int) -> Iterator[IntArray]:
    """The same rows in chunks whose lengths are multiples of a unit, but for the last one."""
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
    """Fill `node_types` from `node` and `type`, which are complete."""
    (types,) = connection.execute("SELECT count(*) FROM type").fetchone()
    rows = connection.execute(f"SELECT coalesce(t, {NO_NODE}) FROM node ORDER BY n")
    for k, batch in enumerate(iter(lambda: rows.fetchmany(TYPED), [])):
        packed = np.fromiter((t for (t,) in batch), _width(types), len(batch))
        connection.execute("INSERT INTO node_types VALUES (?, ?)", (k, packed.tobytes()))


# --- reading --------------------------------------------------------------------


class Damaged(sqlite3.DatabaseError):
    """An array does not have what it should have."""


class Adjacency:
    """Reads the edges of one file; shared by its connections, since nothing in it changes.

    Args:
        nodes: Number of handles.
        edges: Number of edges.
        types: Number of types.
        predicates: Number of predicates.
    """

    def __init__(self, nodes: int, edges: int, types: int, predicates: int) -> None:
        self.nodes = nodes
        self.edges = edges
        self.entering = _rows_of(nodes, SPAN) * SPAN
        """Number of the first list of edges that enter: what a handle is from its own list."""
        self.known_types: Packed | None = None
        """The type of every handle, once `types` has read them."""
        self._end = _rows_of(edges, ENTRIES) * ENTRIES + edges
        self._type_count = types
        self._predicate_count = predicates
        self._width = _width(predicates)

    @classmethod
    def of(cls, connection: sqlite3.Connection) -> Self:
        """Of the file that a connection is to."""
        nodes, types, predicates = connection.execute(
            "SELECT (SELECT coalesce(max(n) + 1, 0) FROM node), (SELECT count(*) FROM type), "
            "(SELECT count(*) FROM predicate)"
        ).fetchone()
        last = np.array([_rows_of(nodes, SPAN) - 1] if nodes else [])
        bases, offsets = _offsets(connection, last)
        edges = int(bases[0]) + int(offsets[-1]) if nodes else 0
        return cls(nodes, edges, types, predicates)

    def types(self, connection: sqlite3.Connection) -> Packed:
        """The type of every handle, `NO_NODE` included; read once."""
        if self.known_types is None:
            rows = connection.execute("SELECT types FROM node_types ORDER BY k")
            types = _array((data for (data,) in rows), _width(self._type_count), self.nodes)
            if self.nodes and not NO_NODE <= types.min() <= types.max() < self._type_count:
                raise Damaged("a node has a type that is not there")
            self.known_types = types
        return self.known_types

    def ranges(self, connection: sqlite3.Connection, lists: IntArray) -> Ranges:
        """Where lists are.

        Args:
            connection: To the file.
            lists: Numbers, ascending. Empty lists are not in the result.
        """
        if not len(lists):
            return Ranges(lists, np.empty(0, np.int64), np.empty(0, np.int64))
        k, place = np.divmod(lists, SPAN)
        new = k[1:] != k[:-1]
        row = np.zeros(len(lists), np.int64)
        np.cumsum(new, out=row[1:])
        bases, offsets = _offsets(connection, np.concatenate([k[:1], k[1:][new]]))
        first = row * (SPAN + 1) + place
        starts = bases[row] + offsets[first]
        ends = bases[row] + offsets[first + 1]
        if (
            starts[0] < 0
            or ends[-1] > self._end
            or (ends < starts).any()
            or (starts[1:] < ends[:-1]).any()
        ):
            raise Damaged("the offsets of edges do not ascend")
        kept = ends > starts
        return Ranges(lists[kept], starts[kept], (ends - starts)[kept])

    def read(self, connection: sqlite3.Connection, ranges: Ranges) -> tuple[IntArray, IntArray]:
        """Predicates and other ends of entries, in the order of the ranges, of which there is one.

        The entries are where `ranges` has found them.
        """
        _, starts, lengths = ranges
        firsts, lasts = starts // ENTRIES, (starts + lengths - 1) // ENTRIES
        # Runs of consecutive rows.
        new = firsts[1:] > lasts[:-1] + 1
        froms = np.concatenate([firsts[:1], firsts[1:][new]])
        tos = np.concatenate([lasts[:-1][new], lasts[-1:]])
        sizes = tos - froms + 1
        rows = _rows(connection, "predicates, ends FROM entries", froms, sizes)
        total = int(sizes.sum()) * ENTRIES
        predicates = _array((data for data, _ in rows), self._width, total)
        ends = _array((data for _, data in rows), _END, total)
        if not (
            0 <= predicates.min() <= predicates.max() < self._predicate_count
            and 0 <= ends.min() <= ends.max() < self.nodes
        ):
            raise Damaged("an edge names what is not there")
        # From the position of each range to its place in what was read, and on to every entry.
        shifts = (np.cumsum(sizes) - sizes - froms) * ENTRIES
        run = np.zeros(len(starts), np.int64)
        np.cumsum(new, out=run[1:])
        index = _places(starts + shifts[run], lengths)
        return predicates[index].astype(np.int32), ends[index].astype(np.int32, copy=False)

    def plan(self, connection: sqlite3.Connection, nodes: IntArray) -> tuple[list[Ranges], Handles]:
        """What has to be read for the ring of some handles.

        Returns:
            Batches, and the asked nodes.
        """
        nodes = np.sort(nodes)
        lists = np.concatenate([nodes, nodes + self.entering])
        batches = list(cut(self.ranges(connection, lists), BATCH_EDGES))
        return batches, Handles(self.nodes, nodes)

    def ring(
        self, connection: sqlite3.Connection, ranges: Ranges, asked: Handles | None = None
    ) -> Ring:
        """The edges of a batch.

        Args:
            connection: To the file.
            ranges: What to read.
            asked: Of the edges that enter, those from these nodes are left out: where they
                leave them, they are read as well.
        """
        predicates, ends = self.read(connection, ranges)
        owners = np.repeat(ranges.lists, ranges.lengths)
        cut = int(np.searchsorted(owners, self.entering))
        if cut == len(owners):
            return Ring(owners, predicates, ends)
        owners[cut:] -= self.entering
        if asked is not None:
            kept = ~asked.has(ends)
            kept[:cut] = True
            owners, predicates, ends = owners[kept], predicates[kept], ends[kept]
        if not cut:
            return Ring(ends, predicates, owners)
        subjects = np.concatenate([owners[:cut], ends[cut:]])
        return Ring(subjects, predicates, np.concatenate([ends[:cut], owners[cut:]]))

    def numbers(
        self, connection: sqlite3.Connection, triples: Collection[Numbers]
    ) -> dict[Numbers, int]:
        """The numbers of the edges that exist, by subject, predicate and object."""
        wanted = frozenset(triples)
        subjects = np.array(sorted({s for s, _, _ in wanted}), np.int32)
        objects = Handles(self.nodes, np.array([o for _, _, o in wanted], np.int32))
        found: dict[Numbers, int] = {}
        for ranges in cut(self.ranges(connection, subjects), BATCH_EDGES):
            ring = self.ring(connection, ranges)
            (places,) = np.nonzero(objects.has(ring.objects))
            begins = np.cumsum(ranges.lengths) - ranges.lengths
            shifts = np.repeat(ranges.starts - begins, ranges.lengths)[places]
            columns = (*(column[places] for column in ring), places + shifts)
            for s, p, o, number in zip(*(column.tolist() for column in columns), strict=True):
                if (s, p, o) in wanted:
                    found[s, p, o] = number
        return found

    def at(self, connection: sqlite3.Connection, numbers: Sequence[int]) -> list[tuple[int, int]]:
        """Predicate and object of edges.

        Args:
            connection: To the file.
            numbers: Those of the edges, ascending.
        """
        if not numbers:
            return []
        starts = _integers(numbers)
        if not (starts[0] >= 0 and starts[-1] < self.edges and (np.diff(starts) > 0).all()):
            raise Damaged("there is evidence for an edge that is not there")
        ones = np.ones(len(starts), np.int64)
        columns = self.read(connection, Ranges(np.empty(0, np.int32), starts, ones))
        return list(zip(*(column.tolist() for column in columns), strict=True))


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


def _places(starts: Positions, lengths: Positions) -> Any:
    """An index of the places in ranges, one after the other."""
    ends = np.cumsum(lengths)
    shifts = starts - ends + lengths
    if (shifts == shifts[0]).all():
        return slice(int(starts[0]), int(starts[0] + ends[-1]))
    return np.arange(ends[-1]) + np.repeat(shifts, lengths)


def _offsets(
    connection: sqlite3.Connection, keys: npt.NDArray[Any]
) -> tuple[Positions, npt.NDArray[Any]]:
    """The bases of rows, and their offsets one after the other."""
    rows = _rows(connection, "base, offsets FROM offsets", keys, np.ones(len(keys), np.int64))
    offsets = _array((data for _, data in rows), _OFFSET, len(keys) * (SPAN + 1))
    return _integers([base for base, _ in rows]), offsets


def _rows(
    connection: sqlite3.Connection, what: str, froms: npt.NDArray[Any], sizes: Positions
) -> list[Any]:
    """Rows in order of their keys.

    Args:
        connection: To the file.
        what: Columns and table.
        froms: First keys of runs, ascending.
        sizes: Number of keys in each.
    """
    rows: list[Any] = []
    if len(froms) == 1 or sizes.sum() > _LONG_RUN * len(froms):
        statement = f"SELECT {what} WHERE k BETWEEN ? AND ? ORDER BY k"
        for bounds in zip(froms.tolist(), (froms + sizes - 1).tolist(), strict=True):
            rows += connection.execute(statement, bounds)
        return rows
    keys = np.arange(sizes.sum()) + np.repeat(froms - np.cumsum(sizes) + sizes, sizes)
    for statement, some in chunks(keys.tolist(), partial(_by_key, what)):
        rows += connection.execute(statement, some)
    return rows


@cache
def _by_key(what: str, size: int) -> str:
    return f"SELECT {what} WHERE k IN ({', '.join('?' * size)}) ORDER BY k"


def _array(parts: Iterable[bytes], width: np.dtype[Any], length: int) -> npt.NDArray[Any]:
    try:
        data = b"".join(parts)
    except TypeError:
        data = b""
    if len(data) != length * width.itemsize:
        raise Damaged("an array of it has lost a part")
    return np.frombuffer(data, width)


def _integers(values: Sequence[int]) -> Positions:
    try:
        return np.array(values, np.int64)
    except (TypeError, ValueError, OverflowError):
        raise Damaged("an array of it has no beginning") from None
