"""Rings in the cache, in numbers: 20 bytes an edge, whatever the length of its ids.

The numbers belong to the rings that are held. Ids whose rings were evicted keep theirs, so a
numbering only grows; when it is too large, the cache begins with a new one (`cached.py`), and
the calls under way end with the one that they began with.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import aclosing

import numpy as np

from bfsql.abc import GraphDbInterface
from bfsql.cache.singleflight import CachedMethod, CachePolicy
from bfsql.columns import BATCH_EDGES, ROW, IntArray, Numbering, places_in
from bfsql.errors import BoundMet
from bfsql.models import Triple

_EDGE_BYTES = ROW * np.dtype(np.int32).itemsize


class HeldRings:
    """Rings by the ends that they were asked for, each as `Numbering.rows` has it, in bytes.

    Args:
        backend: Gives the rings.
        policy: How long they are good, and how many are held.
        max_edges: Edges of a ring that is read at once; None for no bound.

    Attributes:
        numbering: What the numbers mean.
    """

    def __init__(
        self, backend: GraphDbInterface, policy: CachePolicy, max_edges: int | None
    ) -> None:
        self.numbering = Numbering()
        self._backend = backend
        self._method: CachedMethod[str] = CachedMethod(policy, weigh=_edges)
        # An edge between two asked nodes may come twice.
        self._most_rows = None if max_edges is None else 2 * max_edges
        self._max_edges = max_edges or 0

    async def rings(self, ids: Sequence[str]) -> AsyncGenerator[IntArray]:
        """A ring; what is not held is asked for in one call.

        Raises:
            BoundMet: What is not held has more edges than may be read.
        """
        rows = await self._rows(ids)
        for start in range(0, len(rows), BATCH_EDGES):
            yield rows[start : start + BATCH_EDGES]

    async def triples(self, ids: Sequence[str]) -> list[Triple]:
        """The same in strings."""
        rows = await self._rows(ids)
        names = self.numbering.names.__getitem__
        subjects, predicates, objects = (map(names, rows[:, place].tolist()) for place in range(3))
        return list(zip(subjects, predicates, objects, strict=True))

    async def close(self) -> None:
        """End the calls under way."""
        await self._method.close()

    def drop(self) -> None:
        """Hold nothing from now on."""
        self._method.drop()

    async def _rows(self, ids: Sequence[str]) -> IntArray:
        held = await self._method.many(ids, self._fetch)
        return np.frombuffer(b"".join(held.values()), np.int32).reshape(-1, ROW)

    async def _fetch(self, missing: list[str]) -> dict[str, bytes]:
        parts: list[IntArray] = [np.empty((0, ROW), np.int32)]
        count = 0
        async with aclosing(self._backend.edges_stream(missing)) as batches:
            async for rows in batches:
                parts.append(self.numbering.rows(rows))
                count += len(rows)
                if self._most_rows is not None and count > self._most_rows:
                    raise BoundMet("edges", self._max_edges)
        ring = np.concatenate(parts)
        if len(missing) == 1:
            return {missing[0]: ring.tobytes()}
        return _by_end(ring, missing, self.numbering)


def _edges(held: Collection[bytes]) -> int:
    """Records in some rings: their edges; the ring itself counts, too."""
    return sum(1 + len(ring) // _EDGE_BYTES for ring in held)


def _by_end(ring: IntArray, asked: Sequence[str], numbering: Numbering) -> dict[str, bytes]:
    """A ring by the asked ends; an edge between two of them is under both."""
    handles = numbering.of(asked, len(asked))
    order = np.argsort(handles)
    in_order = handles[order]
    subjects, objects = ring[:, 0], ring[:, 2]
    ends = np.concatenate([subjects, objects])
    place = places_in(in_order, ends)
    under = place >= 0
    under[len(ring) :] &= subjects != objects  # a loop is there once
    entries = np.flatnonzero(under)
    keys = order[place[entries]]
    by_key = np.argsort(keys, kind="stable")
    data = ring[entries[by_key] % max(len(ring), 1)].tobytes()
    stops = (np.cumsum(np.bincount(keys, minlength=len(asked))) * _EDGE_BYTES).tolist()
    return {
        entity_id: data[start:stop]
        for entity_id, start, stop in zip(asked, [0, *stops], stops, strict=False)
    }
