"""The edges of a graph file: compressed sparse rows, in packed arrays.

The edges stand in two orders: by (subject, predicate, object), in which `leaving` holds
predicates and objects, and by (object, subject, predicate), in which `entering` holds
predicates and subjects. Where the edges of a node begin and end is in `leaving_offsets` and
`entering_offsets`. The number of an edge is its position in the first order.

Every array is cut into rows of a fixed length, so that the place of an entry is found by
arithmetic: a small node costs a page or two of each table, whatever is beside it, and a hub
is read from consecutive rows. All numbers are little-endian.
"""
# ruff: noqa: S608 - what is put into these texts are names of this module's tables

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from bfsql.columns import BATCH_EDGES, NO_NODE, IntArray, Ring

Positions: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]
"""For every handle whether it is meant."""
Handles: TypeAlias = tuple[int, int, int]
"""Subject, predicate and object of an edge."""
Packed: TypeAlias = npt.NDArray[np.signedinteger[Any]]
"""Integers as narrow as they are in the file."""

ENTRIES = 800
"""Edges in a row of `leaving` and `entering`: 4,000 bytes or, with many predicates, a few more."""
SPAN = 1_000
"""Nodes in a row of offsets: 4,004 bytes."""
TYPED = 65_536
"""Nodes in a row of `node_types`."""

TABLES = """
CREATE TABLE leaving (k INTEGER PRIMARY KEY, predicates BLOB NOT NULL, ends BLOB NOT NULL);
CREATE TABLE entering (k INTEGER PRIMARY KEY, predicates BLOB NOT NULL, ends BLOB NOT NULL);
-- base: position of the first edge of the row's first node; offsets: those of all its nodes
-- and of the next one, less base.
CREATE TABLE leaving_offsets (k INTEGER PRIMARY KEY, base INTEGER NOT NULL, offsets BLOB NOT NULL);
CREATE TABLE entering_offsets (k INTEGER PRIMARY KEY, base INTEGER NOT NULL, offsets BLOB NOT NULL);
-- As node.t, with -1 for null.
CREATE TABLE node_types (k INTEGER PRIMARY KEY, types BLOB NOT NULL);
"""

_END = np.dtype("<i4")
_OFFSET = np.dtype("<u4")


class Direction(NamedTuple):
    """One of the two orders."""

    table: str
    own: int
    """Which column of a triple is the node whose edges these are."""
    other: int
    """Which is the other end."""


LEAVING = Direction("leaving", 0, 2)
ENTERING = Direction("entering", 2, 0)


class Ranges(NamedTuple):
    """Edges that stand together: in columns, by position, without overlap."""

    nodes: IntArray
    """Handles of the nodes that they are edges of."""
    starts: Positions
    lengths: Positions

    @property
    def total(self) -> int:
        """Number of edges."""
        return int(self.lengths.sum())


class Batch(NamedTuple):
    """A part of a ring that is read at once."""

    direction: Direction
    ranges: Ranges


def _width(numbers: int) -> np.dtype[Any]:
    """The narrowest integers that can hold the numbers below this one, and -1."""
    return np.dtype("i1" if numbers <= 1 << 7 else "<i2" if numbers <= 1 << 15 else "<i4")


# --- writing --------------------------------------------------------------------


def write_edges(
    connection: sqlite3.Connection,
    *,
    nodes: int,
    predicates: int,
    leaving: Iterable[IntArray],
    entering: Iterable[IntArray],
) -> int:
    """Fill the four tables of edges.

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
    written = [
        _write(connection, direction, chunks, nodes, _width(predicates))
        for direction, chunks in ((LEAVING, leaving), (ENTERING, entering))
    ]
    return written[0]


def _write(
    connection: sqlite3.Connection,
    direction: Direction,
    chunks: Iterable[IntArray],
    nodes: int,
    width: np.dtype[Any],
) -> int:
    """Fill the two tables of a direction; the number of edges."""
    insert = f"INSERT INTO {direction.table} VALUES (?, ?, ?)"
    offsets = _Offsets(connection, direction, nodes)
    written = 0
    for rows in _of_length(chunks, ENTRIES):
        predicates = rows[:, 1].astype(width)
        ends = rows[:, direction.other].astype(_END)
        cuts = range(0, len(rows), ENTRIES)
        connection.executemany(
            insert,
            [
                (
                    (written + i) // ENTRIES,
                    predicates[i : i + ENTRIES].tobytes(),
                    ends[i : i + ENTRIES].tobytes(),
                )
                for i in cuts
            ],
        )
        offsets.add(rows[:, direction.own])
        written += len(rows)
    offsets.end()
    return written


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


class _Offsets:
    """Writes the offsets of a direction while its edges come by.

    Args:
        connection: The file.
        direction: The direction.
        nodes: Number of all nodes.
    """

    def __init__(self, connection: sqlite3.Connection, direction: Direction, nodes: int) -> None:
        self._connection = connection
        self._insert = f"INSERT INTO {direction.table}_offsets VALUES (?, ?, ?)"
        self._nodes = nodes
        self._row = 0  # the row that is collected
        self._base = 0
        self._counts = np.zeros(SPAN, np.int64)

    def add(self, owners: IntArray) -> None:
        """Count the next edges.

        Args:
            owners: The node of each; they ascend.
        """
        rows = owners // SPAN
        cuts = [0, *(np.flatnonzero(np.diff(rows)) + 1).tolist(), len(rows)]
        for start, stop in pairwise(cuts):
            self._go_on_to(int(rows[start]))
            self._counts += np.bincount(owners[start:stop] - self._row * SPAN, minlength=SPAN)

    def end(self) -> None:
        """Write what is left."""
        self._go_on_to(-(-self._nodes // SPAN))

    def _go_on_to(self, row: int) -> None:
        while self._row < row:
            offsets = np.zeros(SPAN + 1, _OFFSET)
            np.cumsum(self._counts, out=offsets[1:], dtype=_OFFSET)
            self._connection.execute(self._insert, (self._row, self._base, offsets.tobytes()))
            self._base += int(offsets[-1])
            self._row += 1
            self._counts[:] = 0


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
        self._type_count = types
        self._predicate_count = predicates
        self.known_types: Packed | None = None
        """The type of every handle, once `types` has read them."""

    @classmethod
    def of(cls, connection: sqlite3.Connection) -> Self:
        """Of the file that a connection is to."""
        nodes, types, predicates = connection.execute(
            "SELECT (SELECT coalesce(max(n) + 1, 0) FROM node), (SELECT count(*) FROM type), "
            "(SELECT count(*) FROM predicate)"
        ).fetchone()
        rows = connection.execute(
            "SELECT base, offsets FROM leaving_offsets ORDER BY k DESC LIMIT 1"
        ).fetchall()
        bases = _integers([base for base, _ in rows])
        offsets = _array((data for _, data in rows), _OFFSET, len(rows) * (SPAN + 1))
        edges = int(bases[0]) + int(offsets[-1]) if rows else 0
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

    def ranges(
        self, connection: sqlite3.Connection, direction: Direction, nodes: IntArray
    ) -> Ranges:
        """Where the edges of nodes are.

        Args:
            connection: To the file.
            direction: Those that leave them, or those that enter.
            nodes: Handles, ascending. Nodes without edges are not in the result.
        """
        if not len(nodes):
            return Ranges(nodes, np.empty(0, np.int64), np.empty(0, np.int64))
        k, place = np.divmod(nodes, SPAN)
        new = np.flatnonzero(np.diff(k)) + 1
        ks = k[np.concatenate([[0], new])]
        rows = _rows(connection, f"base, offsets FROM {direction.table}_offsets", ks, ks)
        offsets = _array((data for _, data in rows), _OFFSET, len(ks) * (SPAN + 1))
        bases = _integers([base for base, _ in rows])
        row = np.zeros(len(nodes), np.int64)
        row[new] = 1
        np.cumsum(row, out=row)
        first = row * (SPAN + 1) + place
        starts = bases[row] + offsets[first]
        lengths = offsets[first + 1].astype(np.int64) - offsets[first]
        kept = lengths != 0
        found = Ranges(nodes[kept], starts[kept], lengths[kept])
        ends = found.starts + found.lengths
        if len(ends) and not (
            found.lengths.min() > 0
            and found.starts[0] >= 0
            and ends[-1] <= self.edges
            and (ends[:-1] <= found.starts[1:]).all()
        ):
            raise Damaged("the offsets of edges do not ascend")
        return found

    def read(
        self, connection: sqlite3.Connection, direction: Direction, ranges: Ranges
    ) -> tuple[IntArray, IntArray]:
        """Predicates and other ends of edges, in the order of the ranges, of which there is one."""
        starts, lengths = ranges.starts, ranges.lengths
        firsts, lasts = starts // ENTRIES, (starts + lengths - 1) // ENTRIES
        # Runs of consecutive rows: each is one statement.
        new = np.flatnonzero(firsts[1:] > lasts[:-1] + 1) + 1
        begins = np.concatenate([[0], new])
        froms, tos = firsts[begins], lasts[np.concatenate([new - 1, [len(lasts) - 1]])]
        sizes = np.minimum((tos + 1) * ENTRIES, self.edges) - froms * ENTRIES
        rows = _rows(connection, f"predicates, ends FROM {direction.table}", froms, tos)
        total, width = int(sizes.sum()), _width(self._predicate_count)
        predicates = _array((data for data, _ in rows), width, total)
        others = _array((data for _, data in rows), _END, total)
        _check(predicates, self._predicate_count)
        _check(others, self.nodes)
        # Where the first edge of each range is in what was read, and from there each edge.
        before = np.cumsum(sizes) - sizes - froms * ENTRIES
        run = np.zeros(len(starts), np.int64)
        run[new] = 1
        index = _places(starts + before[np.cumsum(run)], lengths)
        return predicates[index].astype(np.int32), others[index].astype(np.int32, copy=False)

    def plan(self, connection: sqlite3.Connection, nodes: IntArray) -> tuple[list[Batch], Mask]:
        """What has to be read for the ring of some handles.

        Returns:
            The batches, and for every handle whether it is an asked node.
        """
        nodes = np.sort(nodes)
        asked = np.zeros(self.nodes, np.bool_)
        asked[nodes] = True
        return [
            Batch(direction, ranges)
            for direction in (LEAVING, ENTERING)
            for ranges in cut(self.ranges(connection, direction, nodes), BATCH_EDGES)
        ], asked

    def ring(
        self,
        connection: sqlite3.Connection,
        batch: Batch,
        asked: Mask | None = None,
    ) -> Ring:
        """The edges of a batch.

        Args:
            connection: To the file.
            batch: What to read.
            asked: Of the edges that enter, those from these nodes are left out: where they
                leave them, they are read as well.
        """
        direction, ranges = batch
        predicates, others = self.read(connection, direction, ranges)
        nodes = np.repeat(ranges.nodes, ranges.lengths)
        if direction is LEAVING:
            return Ring(nodes, predicates, others)
        if asked is None:
            return Ring(others, predicates, nodes)
        kept = ~asked[others]
        return Ring(others[kept], predicates[kept], nodes[kept])

    def numbers(
        self, connection: sqlite3.Connection, triples: Collection[Handles]
    ) -> dict[Handles, int]:
        """The numbers of the edges that exist, by subject, predicate and object."""
        wanted = frozenset(triples)
        subjects = np.array(sorted({s for s, _, _ in wanted}), np.int32)
        objects = np.zeros(self.nodes, np.bool_)
        objects[[o for _, _, o in wanted]] = True
        found: dict[Handles, int] = {}
        for ranges in cut(self.ranges(connection, LEAVING, subjects), BATCH_EDGES):
            ring = self.ring(connection, Batch(LEAVING, ranges))
            (places,) = np.nonzero(objects[ring.objects])
            begins = np.cumsum(ranges.lengths) - ranges.lengths
            shifts = np.repeat(ranges.starts - begins, ranges.lengths)[places]
            columns = (*(column[places] for column in ring), places + shifts)
            for *triple, number in zip(*(column.tolist() for column in columns), strict=True):
                if (edge := (triple[0], triple[1], triple[2])) in wanted:
                    found[edge] = number
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
        columns = self.read(connection, LEAVING, Ranges(np.empty(0, np.int32), starts, ones))
        return list(zip(*(column.tolist() for column in columns), strict=True))


def _places(starts: Positions, lengths: Positions) -> Any:
    """An index of the places in ranges, one after the other."""
    ends = np.cumsum(lengths)
    shifts = starts - (ends - lengths)
    if (shifts == shifts[0]).all():
        return slice(int(starts[0]), int(starts[0] + ends[-1]))
    return np.arange(ends[-1]) + np.repeat(shifts, lengths)


def cut(ranges: Ranges, length: int) -> Iterator[Ranges]:
    """The same edges in parts of this length; the last one may be shorter."""
    ends = np.cumsum(ranges.lengths)
    total = int(ends[-1]) if len(ends) else 0
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
        yield Ranges(ranges.nodes[part], starts, lengths)


def _rows(
    connection: sqlite3.Connection, what: str, froms: npt.NDArray[Any], tos: npt.NDArray[Any]
) -> list[Any]:
    """Rows by their keys, from each of `froms` to the one of `tos` beside it."""
    statement = f"SELECT {what} WHERE k BETWEEN ? AND ? ORDER BY k"
    rows: list[Any] = []
    for bounds in zip(froms.tolist(), tos.tolist(), strict=True):
        rows += connection.execute(statement, bounds)
    return rows


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


def _check(numbers: Packed, bound: int) -> None:
    if not 0 <= numbers.min() <= numbers.max() < bound:
        raise Damaged("an edge names what is not there")
