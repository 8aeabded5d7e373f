"""Rings in the cache, in numbers: 20 bytes per edge, whatever the length of its ids.

The numbering belongs to the rings in the cache. Ids whose rings were evicted retain their numbers,
so a numbering only grows. When it becomes too large, the cache starts a new one (`cached.py`), and
calls under way finish with the numbering they began with.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, Unpack

import numpy as np

from bfsql import call, workers
from bfsql.abc import GraphDbInterface
from bfsql.arrays import Handles, distinct_numbers, grown, places_in, runs
from bfsql.cache.singleflight import CachedParts
from bfsql.cache.store import CacheBudget
from bfsql.errors import BoundMet
from bfsql.integers import (
    BATCH_EDGES,
    ROW,
    UNREAD,
    CodedGraph,
    IntArray,
    IntegerGraph,
    NumberedColumn,
    Numbering,
    Ring,
)
from bfsql.models import EdgeDirection, EdgeFilter, Metadata, Triple

_EDGE_BYTES = ROW * np.dtype(np.int32).itemsize


class HeldRings:
    """Rings by the ids they were requested for, each as `Numbering.rows` returns it, in bytes.

    With keys, each edge that is read has a number of its own in place of that of its predicate.
    It is the place of the predicate and of the texts of metadata, None if they are unread.

    Args:
        backend: The source of the rings.
        budget: How long rings are valid and how many are held.
        numbering: The numbers in use.
        keys: Keys of metadata of edges that are read with them.
        max_nodes: Maximum number of ends of a ring that a traversal reads; None for no bound.
        max_edges: Maximum number of edges of a ring that is read at once; None for no bound.
        typed: Whether rows may include the types of their ends.

    Attributes:
        numbering: The meaning of the numbers.
        cache: The rings that are held, whole or in part.
    """

    def __init__(
        self,
        backend: GraphDbInterface,
        budget: CacheBudget,
        numbering: Numbering,
        keys: Sequence[str] = (),
        *,
        max_nodes: int | None,
        max_edges: int | None,
        typed: bool,
    ) -> None:
        self.numbering = numbering
        self.typed = typed
        self._backend, self._keys, self._memo = backend, keys, dict[str, Any]()
        self._texts, self._count = [Numbering() for _ in keys], 0
        for one in self._texts:
            one.of([False, None], 2)  # `UNREAD` and `ABSENT`
        self._edges = np.zeros((1 + len(keys), 0), np.int32)
        """By the number of an edge: the numbers of its predicate and of its texts."""
        self.cache: CachedParts[str] = CachedParts(budget, weigh=_edges)
        self._max_nodes, self._max_edges = max_nodes, max_edges

    async def rings(
        self, ids: Sequence[str], **part: Unpack[EdgeFilter]
    ) -> AsyncGenerator[IntArray]:
        """A ring or a part of it; edges not in the cache are requested in one call.

        The ends of a part are not bounded, because the caller leaves some of them out.

        Raises:
            BoundMet: The rings to be read have more ends or edges than allowed.
        """
        rows = await self._rows(ids, part, self._max_nodes)
        for start in range(0, len(rows), BATCH_EDGES):
            yield rows[start : start + BATCH_EDGES]

    def coded(self, graph: IntegerGraph) -> CodedGraph:
        """What the numbers of edges mean, if there are keys."""
        split = lambda numbers: (numbers, self._predicates(numbers))
        return CodedGraph(graph, split, self._row, self._memo, self._columns)

    @property
    def size(self) -> int:
        """How many edges and texts have numbers; it grows until all are dropped."""
        return self._count + sum(map(len, self._texts))

    def _row(self, number: int) -> tuple[str, Metadata] | None:
        predicate, *texts = self._edges[:, number].tolist()
        if UNREAD in texts:
            return None
        values = (one.names[n] for one, n in zip(self._texts, texts, strict=True))
        return self.numbering.names[predicate], dict(zip(self._keys, values, strict=True))

    def _columns(self, numbers: IntArray) -> dict[str, NumberedColumn]:
        return {
            key: NumberedColumn(column.take(numbers), one.names)
            for key, column, one in zip(self._keys, self._edges[1:], self._texts, strict=True)
        }

    def _predicates(self, numbers: IntArray) -> IntArray:
        """The numbers of the predicates of edges."""
        predicates: IntArray = self._edges[0].take(numbers)
        return predicates

    def _numbered(self, rows: Sequence[Any]) -> IntArray:
        """Rows that end with texts, with a number for each edge in place of its predicate."""
        numbered, first = self.numbering.rows(rows), self._count
        self._count += len(rows)
        self._edges = grown(self._edges, self._count)
        unread = (False,) * len(self._keys)
        texts = zip(*(row[-1] or unread for row in rows), strict=True)
        found = [one.of(column, len(rows)) for one, column in zip(self._texts, texts, strict=False)]
        self._edges[:, first : self._count] = numbered[:, 1], *found
        numbered[:, 1] = np.arange(first, self._count)
        return numbered

    def _without_doubts(self, edges: IntArray) -> None:
        """Mark the edges whose records have different texts as unread."""
        ring = Ring(edges[:, 0], self._predicates(edges[:, 1]), edges[:, 2])
        order, new = runs(ring, len(self.numbering.names))
        texts, starts = self._edges[1:, edges[order, 1]], np.flatnonzero(new)
        lowest, highest = (of.reduceat(texts, starts, axis=1) for of in (np.minimum, np.maximum))
        differ = (lowest != highest).any(axis=0)
        self._edges[1:, edges[order[differ.take(np.cumsum(new) - 1)], 1]] = UNREAD

    async def triples(self, ids: Sequence[str], **part: Unpack[EdgeFilter]) -> list[Triple]:
        """The ring or part as triples of strings, with any number of ends."""
        rows = await self._rows(ids, part, None)
        names = self.numbering.names.__getitem__
        columns = (map(names, rows[:, place].tolist()) for place in range(3))
        return list(zip(*columns, strict=True))

    async def _rows(self, ids: Sequence[str], part: EdgeFilter, max_nodes: int | None) -> IntArray:
        predicates, direction = part.get("predicates"), part.get("direction")
        if predicates is None and direction is None:
            fetch = partial(self._fetch, max_nodes)
            return _joined((await self.cache.whole.many(ids, fetch, "edges_batch")).values())
        kept = None if predicates is None else frozenset(predicates)
        fetch = partial(self._read, {"predicates": kept, "direction": direction}, None)
        held, read = await self.cache.part(ids, (kept, direction), fetch, "edges_batch")
        return np.concatenate([self._part_of(held, part), _joined(read.values())])

    def _part_of(self, rings: Mapping[str, bytes], part: EdgeFilter) -> IntArray:
        """The edges of a part in rings that are held."""
        predicates, direction = part.get("predicates"), part.get("direction")
        rows, number = _joined(rings.values()), self.numbering.get
        ring = Ring(rows[:, 0], rows[:, 1], rows[:, 2])
        kept = np.ones(len(rows), bool)
        if predicates is not None:
            wanted = [n for name in predicates if (n := number(name)) is not None]
            own = self._predicates(ring.predicates) if self._keys else ring.predicates
            kept &= np.isin(own, np.array(wanted, np.int32))
        if direction is not None:
            ends = ring.subjects if direction == "out" else ring.objects
            kept &= np.isin(ends, self.numbering.of(rings, len(rings)))
        return rows[kept]

    async def _fetch(self, max_nodes: int | None, missing: list[str]) -> dict[str, bytes]:
        found = await self._read({}, max_nodes, missing)
        under_way = call.current()
        if under_way is not None and under_way.omissions:
            return found  # and the omissions of each ring
        # An id without edges may be unknown, which is only remembered briefly.
        return {entity_id: ring for entity_id, ring in found.items() if ring}

    async def _read(
        self, part: EdgeFilter, max_nodes: int | None, missing: list[str]
    ) -> dict[str, bytes]:
        ring = _Batches(self.numbering, missing, max_nodes, self._max_edges)
        stream: AsyncGenerator[Sequence[Any]] = self._backend.edges_stream(missing, **part)
        if self._keys:
            stream = call.transient(self._backend.edge_values_stream(missing, self._keys, **part))
        async with aclosing(stream) as batches:
            async for rows in batches:
                ring.add(self._numbered(rows) if self._keys else self.numbering.rows(rows))
        edges = ring.joined()
        if self._keys and len(edges):
            self._without_doubts(edges)
        if len(missing) == 1:
            return {missing[0]: edges.tobytes()}
        grouped = partial(_by_end, edges, missing, self.numbering, part.get("direction"))
        return await workers.off_loop(len(edges) + len(missing), grouped)


class _Batches:
    """A ring that is being read.

    Args:
        numbering: The meaning of its numbers.
        ids: The ids that the ring was requested for.
        max_nodes: Maximum number of ends; None for no bound.
        max_edges: Maximum number of edges; None for no bound.
    """

    def __init__(
        self, numbering: Numbering, ids: Sequence[str], max_nodes: int | None, max_edges: int | None
    ) -> None:
        self._numbering, self._ids = numbering, ids
        self._max_nodes, self._max_edges = max_nodes, max_edges
        self._batches: list[IntArray] = [np.empty((0, ROW), np.int32)]
        self._count = 0
        # With few rows the bounds are still far away; the batches are checked only after that.
        self._ends: Handles | None = None
        self._nodes = self._of_ends = 0
        self._joining = self._of_joining = 0

    def add(self, rows: IntArray) -> None:
        """Add a batch.

        Raises:
            BoundMet: There are more edges or ends than allowed.
        """
        self._batches.append(rows)
        self._count += len(rows)
        if self._max_edges is not None and self._count > self._max_edges:
            for batch in self._batches[self._of_joining :]:
                self._joining += self._joining_in(batch)
            self._of_joining = len(self._batches)
            # An edge between two requested nodes may occur twice.
            if self._count - self._joining // 2 > self._max_edges:
                raise BoundMet("edges", self._max_edges)
        # One end of each edge is a requested id.
        if self._max_nodes is not None and self._count + len(self._ids) > self._max_nodes:
            for batch in self._batches[self._of_ends :]:
                self._nodes += self._new_ends_in(batch)
            self._of_ends = len(self._batches)
            if self._nodes > self._max_nodes:
                raise BoundMet("nodes", self._max_nodes)

    def joined(self) -> IntArray:
        """All batches as one."""
        return np.concatenate(self._batches)

    def _joining_in(self, rows: IntArray) -> int:
        """The number of edges whose ends are both among the requested ids."""
        handles = np.sort(self._numbering.of(self._ids, len(self._ids)))
        ends = (places_in(handles, rows[:, place]) >= 0 for place in (0, 2))
        return int(np.logical_and(*ends).sum())

    def _new_ends_in(self, rows: IntArray) -> int:
        """The number of ends that occur in no earlier batch."""
        size = len(self._numbering.names)
        if self._ends is None:
            self._ends = Handles(size)
        self._ends.cover(size)
        ends = np.concatenate([rows[:, 0], rows[:, 2]])
        new = distinct_numbers(ends[~self._ends.has(ends)])
        self._ends.add(new)
        return len(new)


def _edges(rings: Collection[bytes]) -> int:
    """The number of records in some rings: their edges, plus one for each ring itself."""
    return sum(1 + len(ring) // _EDGE_BYTES for ring in rings)


def _joined(rings: Iterable[bytes]) -> IntArray:
    return np.frombuffer(b"".join(rings), np.int32).reshape(-1, ROW)


def _by_end(
    ring: IntArray, ids: Sequence[str], numbering: Numbering, direction: EdgeDirection | None
) -> dict[str, bytes]:
    """A ring grouped by the requested ends; an edge between two of them is in both groups.

    In a ring of one direction, an edge belongs to the end that it was requested for.
    """
    handles = numbering.of(ids, len(ids))
    order = np.argsort(handles)
    in_order = handles[order]
    subjects, objects = ring[:, 0], ring[:, 2]
    ends = np.concatenate([subjects, objects])
    place = places_in(in_order, ends)
    under = place >= 0
    if direction is None:
        under[len(ring) :] &= subjects != objects  # a loop is listed once
    elif direction == "out":
        under[len(ring) :] = False
    else:
        under[: len(ring)] = False
    entries = np.flatnonzero(under)
    keys = order[place[entries]]
    by_key = np.argsort(keys, kind="stable")
    data = ring[entries[by_key] % max(len(ring), 1)].tobytes()
    stops = (np.cumsum(np.bincount(keys, minlength=len(ids))) * _EDGE_BYTES).tolist()
    return {
        entity_id: data[start:stop]
        for entity_id, start, stop in zip(ids, [0, *stops], stops, strict=False)
    }
