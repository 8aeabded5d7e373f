"""Rings in the cache, in numbers: 20 bytes an edge, whatever the length of its ids.

The numbers belong to the rings that are held. Ids whose rings were evicted keep theirs, so a
numbering only grows; when it is too large, the cache begins with a new one (`cached.py`), and
the calls under way end with the one that they began with.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from operator import itemgetter
from typing import NamedTuple, TypeAlias

import numpy as np

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.cache.singleflight import CachedMethod, CachePolicy
from bfsql.columns import BATCH_EDGES, ROW, IntArray, Numbering, Ring, places_in
from bfsql.errors import BoundMet
from bfsql.models import EdgeDirection, Triple
from bfsql.models.parts import TypedTriple


class _Part(NamedTuple):
    """A part of a ring, as `edges_batch` is asked for it."""

    predicates: frozenset[str] | None
    direction: EdgeDirection | None


_Key: TypeAlias = tuple[str, _Part]
_EDGE_BYTES = ROW * np.dtype(np.int32).itemsize


class HeldRings:
    """Rings by the ends that they were asked for, each as `Numbering.rows` has it, in bytes.

    Args:
        backend: Gives the rings.
        policy: How long they are good, and how many are held.
        max_edges: Edges of a ring that is read at once; None for no bound.
        typed: Whether rows may have the types of their ends.

    Attributes:
        numbering: What the numbers mean.
    """

    def __init__(
        self,
        backend: GraphDbInterface,
        policy: CachePolicy,
        max_edges: int | None,
        *,
        typed: bool,
    ) -> None:
        self.numbering = Numbering()
        self.typed = typed
        self._backend = backend
        self._whole: CachedMethod[str] = CachedMethod("edges_batch", policy, weigh=_edges)
        self._parts: CachedMethod[_Key] = CachedMethod(
            "edges_batch", policy, weigh=_edges, id_of=itemgetter(0)
        )
        self._max_edges = max_edges

    async def rings(
        self,
        ids: Sequence[str],
        *,
        predicates: Collection[str] | None = None,
        direction: EdgeDirection | None = None,
    ) -> AsyncGenerator[IntArray]:
        """A ring, or a part of it; what is not held is asked for in one call.

        Raises:
            BoundMet: What is not held has more edges than may be read.
        """
        rows = await self._rows(ids, _part(predicates, direction))
        for start in range(0, len(rows), BATCH_EDGES):
            yield rows[start : start + BATCH_EDGES]

    async def triples(
        self,
        ids: Sequence[str],
        *,
        predicates: Collection[str] | None = None,
        direction: EdgeDirection | None = None,
    ) -> list[Triple]:
        """The same in strings."""
        rows = await self._rows(ids, _part(predicates, direction))
        names = self.numbering.names.__getitem__
        columns = (map(names, rows[:, place].tolist()) for place in range(3))
        return list(zip(*columns, strict=True))

    async def close(self) -> None:
        """End the calls under way."""
        await self._whole.close()
        await self._parts.close()

    def drop(self) -> None:
        """Hold nothing from now on."""
        self._whole.drop()
        self._parts.drop()

    async def _rows(self, ids: Sequence[str], part: _Part | None) -> IntArray:
        if part is None:
            return _joined((await self._whole.many(ids, self._fetch)).values())
        held = self._whole.complete(ids)
        rest = [(entity_id, part) for entity_id in ids if entity_id not in held]
        read = await self._parts.many(rest, self._fetch_part)
        return np.concatenate([self._part_of(held, part), _joined(read.values())])

    def _part_of(self, held: Mapping[str, bytes], part: _Part) -> IntArray:
        """The edges of a part in rings that are held."""
        rows, number = _joined(held.values()), self.numbering.get
        ring = Ring(rows[:, 0], rows[:, 1], rows[:, 2])
        kept = np.ones(len(rows), bool)
        if part.predicates is not None:
            wanted = [n for name in part.predicates if (n := number(name)) is not None]
            kept &= np.isin(ring.predicates, np.array(wanted, np.int32))
        if part.direction is not None:
            ends = ring.subjects if part.direction == "out" else ring.objects
            kept &= np.isin(ends, self.numbering.of(held, len(held)))
        return rows[kept]

    async def _fetch(self, missing: list[str]) -> dict[str, bytes]:
        found = await self._read(missing, self._backend.edges_stream(missing), None)
        under_way = call.current()
        if under_way is not None and under_way.omissions:
            return found  # and with each ring what was left out of it
        # An id without edges may be unknown, which is not remembered for long.
        return {entity_id: ring for entity_id, ring in found.items() if ring}

    async def _fetch_part(self, missing: list[_Key]) -> dict[_Key, bytes]:
        (_, part), ids = missing[0], [entity_id for entity_id, _ in missing]
        stream = self._backend.edges_stream(
            ids, predicates=part.predicates, direction=part.direction
        )
        read = await self._read(ids, stream, part.direction)
        return {(entity_id, part): ring for entity_id, ring in read.items()}

    async def _read(
        self,
        missing: list[str],
        stream: AsyncGenerator[Sequence[Triple] | Sequence[TypedTriple]],
        direction: EdgeDirection | None,
    ) -> dict[str, bytes]:
        parts: list[IntArray] = [np.empty((0, ROW), np.int32)]
        count = joining = counted = 0
        async with aclosing(stream) as batches:
            async for rows in batches:
                parts.append(self.numbering.rows(rows))
                count += len(rows)
                if self._max_edges is None or count <= self._max_edges:
                    continue
                # An edge between two asked nodes may come twice.
                joining += sum(self._joining(part, missing) for part in parts[counted:])
                counted = len(parts)
                if count - joining // 2 > self._max_edges:
                    raise BoundMet("edges", self._max_edges)
        ring = np.concatenate(parts)
        if len(missing) == 1:
            return {missing[0]: ring.tobytes()}
        return _by_end(ring, missing, self.numbering, direction)

    def _joining(self, rows: IntArray, asked: Sequence[str]) -> int:
        """How many edges have both ends among some ids."""
        handles = np.sort(self.numbering.of(asked, len(asked)))
        ends = (places_in(handles, rows[:, place]) >= 0 for place in (0, 2))
        return int(np.logical_and(*ends).sum())


def _part(predicates: Collection[str] | None, direction: EdgeDirection | None) -> _Part | None:
    """None for the whole ring."""
    if predicates is None and direction is None:
        return None
    return _Part(None if predicates is None else frozenset(predicates), direction)


def _edges(held: Collection[bytes]) -> int:
    """Records in some rings: their edges; the ring itself counts, too."""
    return sum(1 + len(ring) // _EDGE_BYTES for ring in held)


def _joined(held: Iterable[bytes]) -> IntArray:
    return np.frombuffer(b"".join(held), np.int32).reshape(-1, ROW)


def _by_end(
    ring: IntArray, asked: Sequence[str], numbering: Numbering, direction: EdgeDirection | None
) -> dict[str, bytes]:
    """A ring by the asked ends; an edge between two of them is under both.

    Of a ring in one direction an edge is under the end that it was asked for.
    """
    handles = numbering.of(asked, len(asked))
    order = np.argsort(handles)
    in_order = handles[order]
    subjects, objects = ring[:, 0], ring[:, 2]
    ends = np.concatenate([subjects, objects])
    place = places_in(in_order, ends)
    under = place >= 0
    if direction is None:
        under[len(ring) :] &= subjects != objects  # a loop is there once
    elif direction == "out":
        under[len(ring) :] = False
    else:
        under[: len(ring)] = False
    entries = np.flatnonzero(under)
    keys = order[place[entries]]
    by_key = np.argsort(keys, kind="stable")
    data = ring[entries[by_key] % max(len(ring), 1)].tobytes()
    stops = (np.cumsum(np.bincount(keys, minlength=len(asked))) * _EDGE_BYTES).tolist()
    return {
        entity_id: data[start:stop]
        for entity_id, start, stop in zip(asked, [0, *stops], stops, strict=False)
    }
