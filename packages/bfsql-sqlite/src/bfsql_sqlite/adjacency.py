"""Reads the edges of a graph file from the tables of `edge_tables`."""

from __future__ import annotations

import sqlite3
import struct
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from bfsql.arrays import Handles, are_among, concatenated, marked
from bfsql.integers import BATCH_EDGES, NO_NODE, TRIPLE, IntArray, Ring
from bfsql.models import EdgeDirection
from bfsql_sqlite.edge_tables import END, ENTRIES, OFFSET, SPAN, rows_of
from bfsql_sqlite.edge_tables import width as width_of
from bfsql_sqlite.packed_arrays import (
    Damaged,
    Positions,
    Ranges,
    array,
    consecutive,
    cut,
    file_size,
    index_of,
    integers,
    rows_at,
    unpacked,
)
from bfsql_sqlite.queries import CHUNK

PackedIntegers: TypeAlias = npt.NDArray[np.signedinteger[Any]]
"""Integers in the narrow type that the file uses."""
Numbers: TypeAlias = tuple[int, int, int]
"""Subject, predicate and object of an edge."""
RingReader: TypeAlias = Callable[[sqlite3.Connection], Ring]
"""Reads a batch of a ring."""

FEW_LISTS, SMALL = 8, 1_000
"""Nodes whose lists are read on the event loop and without arrays, and most entries of them: a
traversal of one hop then takes 1.5 ms, and 2.6 ms otherwise."""
LONG_LIST = 10_000
"""Entries per wanted predicate or edge from which a list is searched; shorter ones are read. To
find a predicate in a list of a million takes 0.4 ms, and 5.3 ms by reading it."""
_LISTS_AT_ONCE = 65_536
"""Lists whose ranges are computed at once, since the processor's caches hold their arrays: those of
19 million lists take 0.5 s, and 3 to 5 s in one go.
"""
_OFFSETS = struct.Struct("<II")


class NumberedEdgeFilter(NamedTuple):
    """Which edges of a ring to read."""

    predicates: IntArray | None = None
    """Numbers of their predicates, ascending; None for all."""
    direction: EdgeDirection | None = None
    """As seen from the requested nodes; None for both."""

    def lists(self, nodes: IntArray, entering: int) -> IntArray:
        """The lists to read for some handles, in ascending order."""
        if self.direction == "out":
            return nodes
        other = nodes + np.int32(entering)
        return other if self.direction == "in" else np.concatenate([nodes, other])


WHOLE = NumberedEdgeFilter()
"""All edges of a ring."""


class Adjacency:
    """Reads the edges of one file. Its connections share it, since the file never changes.

    It takes the numbers of handles, edges, types and predicates.
    """

    def __init__(self, nodes: int, edges: int, types: int, predicates: int) -> None:
        self.nodes = nodes
        self.edges = edges
        self.entering = rows_of(nodes, SPAN) * SPAN
        """Number of the first list of entering edges: its distance from a handle's own list."""
        self.known_types: PackedIntegers | None = None
        """The type of every handle, once `types` has read them."""
        self.codes = 0
        """If not 0, the number of different periods: predicates are read with that of their entry,
        as its product with the number of predicates, plus the predicate."""
        self._end = rows_of(edges, ENTRIES) * ENTRIES + edges
        self._type_count = types
        self._predicate_count = predicates
        self._width = width_of(predicates)

    @classmethod
    def of(cls, connection: sqlite3.Connection) -> Self:
        """Read the dimensions of the graph in a connection's file."""
        # Each is read from one end of a table: `count(*)` cannot be interrupted.
        ends = ("min(n)", "node"), ("max(n) + 1", "node"), ("max(t) + 1", "type")
        first, nodes, types, predicates = (
            connection.execute(f"SELECT coalesce({end}, 0) FROM {table}").fetchone()[0]  # noqa: S608
            for end, table in (*ends, ("max(p) + 1", "predicate"))
        )
        most = file_size(connection)
        if first or nodes > most:
            raise Damaged("nodes are missing")
        last = np.array([rows_of(nodes, SPAN) - 1] if nodes else [])
        bases, offsets = _offsets(connection, last)
        edges = int(bases[0]) + int(offsets[-1]) if nodes else 0
        if not 0 <= edges <= most:
            raise Damaged("edges are missing")
        return cls(nodes, edges, types, predicates)

    def types(self, connection: sqlite3.Connection) -> PackedIntegers:
        """The type of every handle, `NO_NODE` included; read once."""
        if self.known_types is None:
            rows = consecutive(connection.execute("SELECT k, types FROM node_types ORDER BY k"))
            types = array((data for _, data in rows), width_of(self._type_count), self.nodes)
            if self.nodes and not NO_NODE <= types.min() <= types.max() < self._type_count:
                raise Damaged("a node refers to a type that does not exist")
            self.known_types = types
        return self.known_types

    def ranges(self, connection: sqlite3.Connection, lists: IntArray) -> Ranges:
        """The ranges of lists whose numbers ascend, without those of empty lists."""
        parts, end = [Ranges(lists[:0], np.empty(0, np.int64), np.empty(0, np.int64))], 0
        for start in range(0, len(lists), _LISTS_AT_ONCE):
            part, end = self._some_ranges(connection, lists[start : start + _LISTS_AT_ONCE], end)
            parts.append(part)
        return Ranges(*map(np.concatenate, zip(*parts, strict=True)))

    def leaving(self, connection: sqlite3.Connection) -> Ranges:
        """The ranges of all lists of leaving edges, which hold every edge once."""
        return self.ranges(connection, np.arange(self.nodes, dtype=np.int32))

    def _some_ranges(
        self, connection: sqlite3.Connection, lists: IntArray, begin: int
    ) -> tuple[Ranges, int]:
        """The ranges of lists that begin at this position or later, and the end of the last one."""
        k, place = np.divmod(lists, SPAN)
        new = k[1:] != k[:-1]
        row = np.zeros(len(lists), np.int64)
        np.cumsum(new, out=row[1:])
        bases, offsets = _offsets(connection, np.concatenate([k[:1], k[1:][new]]))
        first = row * (SPAN + 1) + place
        starts = bases[row] + offsets[first]
        ends = bases[row] + offsets[first + 1]
        if (
            starts[0] < begin
            or ends[-1] > self._end
            or (ends < starts).any()
            or (starts[1:] < ends[:-1]).any()
        ):
            raise Damaged("the offsets of edges are not in ascending order")
        kept = ends > starts
        return Ranges(lists[kept], starts[kept], (ends - starts)[kept]), int(ends[-1])

    def read(
        self, connection: sqlite3.Connection, ranges: Ranges, wanted: IntArray | None = None
    ) -> Ring:
        """Lists, predicates and other ends of entries, in the order of the ranges.

        There is at least one range, and the ranges come from `ranges`. Entries whose predicate is
        not `wanted` are left out. The processor's caches hold the rows that are read at once.
        """
        _, starts, lengths = ranges
        firsts, lasts = starts // ENTRIES, (starts + lengths - 1) // ENTRIES
        rows = lasts - firsts + 1
        rows[1:] -= firsts[1:] == lasts[:-1]
        bounds = np.flatnonzero(np.diff(np.cumsum(rows) // CHUNK)) + 1
        rings, columns = [], [np.split(one, bounds) for one in (*ranges, firsts, lasts)]
        for lists, starts, lengths, firsts, lasts in zip(*columns, strict=True):
            # Runs of consecutive rows.
            new = firsts[1:] > lasts[:-1] + 1
            froms = np.concatenate([firsts[:1], firsts[1:][new]])
            sizes = np.concatenate([lasts[:-1][new], lasts[-1:]]) - froms + 1
            # From the number of a row to its place among the read ones, by run.
            shifts = np.cumsum(sizes) - sizes - froms
            keys = np.arange(sizes.sum()) - np.repeat(shifts, sizes)
            coded = ", codes FROM entries JOIN period USING (k)" if self.codes else " FROM entries"
            found = rows_at(connection, f"predicates, ends{coded}", keys)
            predicates = array((row[0] for row in found), self._width, len(keys) * ENTRIES)
            ends = array((row[1] for row in found), END, len(keys) * ENTRIES)
            run = np.zeros(len(firsts), np.int64)
            np.cumsum(new, out=run[1:])
            index = index_of(starts + shifts[run] * ENTRIES, lengths)
            if isinstance(index, slice):
                predicates, ends = predicates[index], ends[index]
            else:
                predicates, ends = predicates.take(index), ends.take(index)
            if not (
                0 <= predicates.min() <= predicates.max() < self._predicate_count
                and 0 <= ends.min() <= ends.max() < self.nodes
            ):
                raise Damaged("an edge refers to a node or predicate that does not exist")
            kinds = predicates
            if self.codes:
                codes = array((row[2] for row in found), END, len(keys) * ENTRIES)
                codes = codes[index] if isinstance(index, slice) else codes.take(index)
                if not 0 <= codes.min() <= codes.max() < self.codes:
                    raise Damaged("an edge refers to a period that does not exist")
                kinds = codes * np.int32(self._predicate_count) + predicates
            ring = Ring(np.repeat(lists, lengths), kinds, ends)
            if wanted is not None:
                ring = marked(ring, are_among(predicates, wanted.tolist()))
            rings.append(Ring(*(column.astype(np.int32, copy=False) for column in ring)))
        return concatenated(rings)

    def small_ring(
        self, connection: sqlite3.Connection, nodes: Sequence[int], part: NumberedEdgeFilter = WHOLE
    ) -> Ring | None:
        """The ring of a few different handles, or a part of it; None if it is too large."""
        types = self.types(connection)
        asked = {node for node in nodes if types[node] != NO_NODE}
        elsewhere = asked if part.direction is None else set()
        triples: list[Numbers] = []
        for node in asked:
            leaving: list[tuple[int, int]] | None = []
            entering: list[tuple[int, int]] | None = []
            if part.direction != "in":
                leaving = self._small_list(connection, node, part, SMALL - len(triples))
            if leaving is not None and part.direction != "out":
                room = SMALL - len(triples) - len(leaving)
                entering = self._small_list(connection, node + self.entering, part, room)
            if leaving is None or entering is None:
                return None
            triples += [(node, p, o) for p, o in leaving]
            triples += [(s, p, node) for p, s in entering if s not in elsewhere]
        return Ring(*np.array(triples, np.int32).reshape(-1, TRIPLE).T.copy())

    def _small_list(
        self, connection: sqlite3.Connection, number: int, part: NumberedEdgeFilter, room: int
    ) -> list[tuple[int, int]] | None:
        """The wanted entries of a list; None if more than `room` entries would have to be read."""
        start, stop = self._range(connection, number)
        if part.predicates is None:
            return None if stop - start > room else self._entries(connection, start, stop)
        wanted = part.predicates.tolist()
        if stop - start <= room:
            return [one for one in self._entries(connection, start, stop) if one[0] in wanted]
        if len(wanted) > FEW_LISTS:
            return None
        places = self._places_with(connection, start, stop, wanted)
        if sum(last - first for first, last in places) > room:
            return None
        return [one for place in places for one in self._entries(connection, *place)]

    def _range(self, connection: sqlite3.Connection, number: int) -> tuple[int, int]:
        """The start and the end of a list."""
        row, place = divmod(number, SPAN)
        found = connection.execute("SELECT base, offsets FROM offsets WHERE k = ?", (row,))
        try:
            base, offsets = found.fetchone()
            if len(offsets) != (SPAN + 1) * OFFSET.itemsize:
                raise Damaged("part of an array is missing")
            first, last = _OFFSETS.unpack_from(offsets, place * OFFSET.itemsize)
            start, stop = base + first, base + last
        except (TypeError, struct.error):
            raise Damaged("part of an array is missing") from None
        if not 0 <= start <= stop <= self._end:
            raise Damaged("the offsets of edges are not in ascending order")
        return start, stop

    def _entries(
        self, connection: sqlite3.Connection, start: int, stop: int
    ) -> list[tuple[int, int]]:
        """Predicate and other end of a few consecutive entries."""
        if start == stop:
            return []
        first, last = start // ENTRIES, (stop - 1) // ENTRIES
        rows = connection.execute(
            "SELECT predicates, ends FROM entries WHERE k BETWEEN ? AND ? ORDER BY k", (first, last)
        ).fetchmany(last - first + 1)
        length, place = (last - first + 1) * ENTRIES, start - first * ENTRIES
        predicates, ends = (
            unpacked((row[column] for row in rows), width, length, place, stop - start)
            for column, width in enumerate((self._width, END))
        )
        if not (
            0 <= min(predicates) <= max(predicates) < self._predicate_count
            and 0 <= min(ends) <= max(ends) < self.nodes
        ):
            raise Damaged("an edge refers to a node or predicate that does not exist")
        return list(zip(predicates, ends, strict=True))

    def plan(
        self, connection: sqlite3.Connection, nodes: IntArray, part: NumberedEdgeFilter = WHOLE
    ) -> list[RingReader]:
        """What to read for the ring of some handles, or for a part of it, in batches.

        If the lists of the handles have more entries than the graph has edges, every edge is read
        once instead, from the lists of leaving edges.
        """
        nodes = np.sort(nodes)
        ranges = self.ranges(connection, part.lists(nodes, self.entering))
        if part.predicates is not None:
            ranges = self._narrowed(connection, ranges, part.predicates.tolist())
        asked = Handles(self.nodes, nodes) if part.direction is None else None
        read = partial(self.ring, requested=asked, wanted=part.predicates)
        if asked is not None and ranges.total > self.edges:
            ranges = self.leaving(connection)
            read = partial(self._touching, requested=asked, wanted=part.predicates)
        return [partial(read, ranges=one) for one in cut(ranges, BATCH_EDGES)]

    def _narrowed(
        self, connection: sqlite3.Connection, ranges: Ranges, predicates: Sequence[int]
    ) -> Ranges:
        """Ranges without the entries of other predicates in long lists."""
        long = ranges.lengths > LONG_LIST * max(1, len(predicates))
        if not long.any():
            return ranges
        whole: tuple[Positions, ...] = (ranges.lists.astype(np.int64), *ranges[1:])
        found = [
            (number, first, last - first)
            for number, start, length in zip(*(c[long].tolist() for c in whole), strict=True)
            for first, last in self._places_with(connection, start, start + length, predicates)
        ]
        parts = np.array(found, np.int64).reshape(-1, 3).T
        columns = [np.concatenate([c[~long], more]) for c, more in zip(whole, parts, strict=True)]
        order = np.argsort(columns[1])
        lists, starts, lengths = (column[order] for column in columns)
        return Ranges(lists.astype(np.int32), starts, lengths)

    def _places_with(
        self, connection: sqlite3.Connection, start: int, stop: int, predicates: Sequence[int]
    ) -> list[tuple[int, int]]:
        """The ranges of a list whose entries have certain predicates."""
        places = [
            tuple(self.lower(connection, start, stop, (p + more, 0)) for more in (0, 1))
            for p in predicates
        ]
        return [(first, last) for first, last in places if first < last]

    def ring(
        self,
        connection: sqlite3.Connection,
        ranges: Ranges,
        requested: Handles | None = None,
        wanted: IntArray | None = None,
    ) -> Ring:
        """The edges of a batch.

        Entering edges that come from a node in `requested` are left out, because they are read as
        leaving edges as well; and so are those whose predicate is not `wanted`.
        """
        owners, predicates, ends = self.read(connection, ranges, wanted)
        cut = int(np.searchsorted(owners, np.int32(self.entering)))  # an int would copy them
        if cut == len(owners):
            return Ring(owners, predicates, ends)
        owners[cut:] -= self.entering
        if requested is not None:
            kept = ~requested.has(ends)
            kept[:cut] = True
            owners, predicates, ends = marked(Ring(owners, predicates, ends), kept)
        if not cut:
            return Ring(ends, predicates, owners)
        subjects = np.concatenate([owners[:cut], ends[cut:]])
        return Ring(subjects, predicates, np.concatenate([ends[:cut], owners[cut:]]))

    def _touching(
        self,
        connection: sqlite3.Connection,
        ranges: Ranges,
        requested: Handles,
        wanted: IntArray | None,
    ) -> Ring:
        """The edges of a batch of leaving edges that have a requested node at either end."""
        ring = self.ring(connection, ranges, wanted=wanted)
        return marked(ring, requested.has(ring.subjects) | requested.has(ring.objects))

    def numbers(
        self, connection: sqlite3.Connection, triples: Collection[Numbers]
    ) -> dict[Numbers, int]:
        """The numbers of the edges that exist, by subject, predicate and object."""
        wanted: dict[int, list[tuple[int, int]]] = {}
        for subject, predicate, obj in triples:
            wanted.setdefault(subject, []).append((predicate, obj))
        found: dict[Numbers, int] = {}
        alone: Collection[int] = wanted.keys()
        if len(wanted) > FEW_LISTS:
            lists = self.ranges(connection, np.array(sorted(wanted), np.int32))
            needed = np.array([len(wanted[subject]) for subject in lists.lists.tolist()], np.int64)
            long = lists.lengths > LONG_LIST * needed
            alone = set(lists.lists[long].tolist())
            short = Ranges(lists.lists[~long], lists.starts[~long], lists.lengths[~long])
            found = self._numbers_in(connection, short, frozenset(triples))
        for subject in alone:
            for entry, place in self._places(connection, subject, wanted[subject]):
                found[subject, *entry] = place
        return found

    def _numbers_in(
        self, connection: sqlite3.Connection, lists: Ranges, wanted: Collection[Numbers]
    ) -> dict[Numbers, int]:
        """The numbers of those wanted edges that are in certain lists."""
        found: dict[Numbers, int] = {}
        objects = Handles(self.nodes, np.array([o for _, _, o in wanted], np.int32))
        for ranges in cut(lists, BATCH_EDGES):
            ring = self.ring(connection, ranges)
            (places,) = np.nonzero(objects.has(ring.objects))
            begins = np.cumsum(ranges.lengths) - ranges.lengths
            shifts = np.repeat(ranges.starts - begins, ranges.lengths)[places]
            columns = (*(column[places] for column in ring), places + shifts)
            for s, p, o, number in zip(*(column.tolist() for column in columns), strict=True):
                if (s, p, o) in wanted:
                    found[s, p, o] = number
        return found

    def _places(
        self, connection: sqlite3.Connection, subject: int, entries: Sequence[tuple[int, int]]
    ) -> Iterator[tuple[tuple[int, int], int]]:
        """The positions of those entries that a node's list of leaving edges has."""
        start, stop = self._range(connection, subject)
        if stop - start <= SMALL * len(entries):
            places = {
                entry: place
                for place, entry in enumerate(self._entries(connection, start, stop), start)
            }
            yield from ((entry, places[entry]) for entry in entries if entry in places)
            return
        for entry in entries:
            place = self.lower(connection, start, stop, entry)
            if place < stop and [entry] == self._entries(connection, place, place + 1):
                yield entry, place

    def lower(
        self, connection: sqlite3.Connection, start: int, stop: int, entry: tuple[int, int]
    ) -> int:
        """The first position in a part of a list whose entry is not below another, or `stop`."""
        first, last = start // ENTRIES, max(start, stop - 1) // ENTRIES
        while first < last:
            middle = (first + last + 1) // 2
            if self._entries(connection, middle * ENTRIES, middle * ENTRIES + 1) < [entry]:
                first = middle
            else:
                last = middle - 1
        begin, end = max(start, first * ENTRIES), min(stop, (first + 1) * ENTRIES)
        return begin + bisect_left(self._entries(connection, begin, end), entry)

    def at(self, connection: sqlite3.Connection, numbers: Sequence[int]) -> list[tuple[int, int]]:
        """Predicate and object of edges whose numbers ascend."""
        if not numbers:
            return []
        starts = integers(numbers)
        if not (starts[0] >= 0 and starts[-1] < self.edges and (np.diff(starts) > 0).all()):
            raise Damaged("there is evidence for an edge that does not exist")
        nowhere, ones = np.zeros(len(starts), np.int32), np.ones(len(starts), np.int64)
        _, *columns = self.read(connection, Ranges(nowhere, starts, ones))
        return list(zip(*(column.tolist() for column in columns), strict=True))


def _offsets(
    connection: sqlite3.Connection, keys: npt.NDArray[Any]
) -> tuple[Positions, npt.NDArray[Any]]:
    """The bases of rows, and their offsets, concatenated."""
    rows = rows_at(connection, "base, offsets FROM offsets", keys)
    offsets = array((data for _, data in rows), OFFSET, len(keys) * (SPAN + 1))
    return integers([base for base, _ in rows]), offsets
