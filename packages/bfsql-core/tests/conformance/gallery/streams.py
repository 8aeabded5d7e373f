"""Wrong about rings in batches: which rows, which types, what becomes of one that is left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection, Iterable, Sequence
from typing import Any

from bfsql_trials.columns import TypedStream
from conformance.gallery.bases import wrong

from bfsql.memory import MemoryBackend
from bfsql.models import EdgeDirection, GraphRecord


@wrong("stream-edges")
class StreamsWhatLeaves(TypedStream):
    """Its cursor reads edges by their subject alone."""

    async def edges_stream(self, ids: Sequence[str]) -> AsyncGenerator[Any]:
        async for rows in super().edges_stream(ids):
            yield [row for row in rows if row[0] in ids]


@wrong("stream-edges")
class StreamsOneBatch(TypedStream):
    """Fetches once from its cursor."""

    def __init__(self, records: Iterable[GraphRecord] = ()) -> None:
        super().__init__(records, batch=50)

    async def edges_stream(self, ids: Sequence[str]) -> AsyncGenerator[Any]:
        async for rows in super().edges_stream(ids):
            yield rows
            break


@wrong("stream-edges")
class StreamsOfEnds(TypedStream):
    """Answers for an id that only occurs as an end, as the edge table knows it."""

    async def edges_stream(self, ids: Sequence[str]) -> AsyncGenerator[Any]:
        asked, types = set(ids), self._types
        ring = [t for t in self._edge_metadata if not asked.isdisjoint((t[0], t[2]))]
        yield [(s, p, o, types.get(s), types.get(o)) for s, p, o in ring]


@wrong("stream-types")
class MixesRows(TypedStream):
    """Leaves the types out of a row where an end is no node."""

    async def edges_stream(self, ids: Sequence[str]) -> AsyncGenerator[Any]:
        async for rows in super().edges_stream(ids):
            yield [row if None not in row else row[:3] for row in rows]


@wrong("stream-types")
class TypesOfTheAsked(TypedStream):
    """Knows the types of the asked nodes, and says of the others that they are no nodes."""

    async def edges_stream(self, ids: Sequence[str]) -> AsyncGenerator[Any]:
        asked = set(ids[:1])
        async for rows in super().edges_stream(ids):
            yield [
                (s, p, o, t if s in asked else None, u if o in asked else None)
                for s, p, o, t, u in rows
            ]


@wrong("stream-types")
class TypesEnds(TypedStream):
    """Gives an end without a node the empty type, as its outer join does with a default."""

    async def edges_stream(self, ids: Sequence[str]) -> AsyncGenerator[Any]:
        async for rows in super().edges_stream(ids):
            yield [tuple("" if value is None else value for value in row) for row in rows]


@wrong("stream-types")
class SwapsTypes(TypedStream):
    """Gives the type of the object before that of the subject."""

    async def edges_stream(self, ids: Sequence[str]) -> AsyncGenerator[Any]:
        async for rows in super().edges_stream(ids):
            yield [(s, p, o, u, t) for s, p, o, t, u in rows]


@wrong("stream-left")
class NeverClosesItsCursor(MemoryBackend):
    """Gives its connection back after the last batch, and not when a stream is left."""

    def __init__(self, records: Iterable[GraphRecord] = ()) -> None:
        super().__init__(records)
        self._pool = asyncio.Semaphore(5)

    async def edges_stream(self, ids: Sequence[str]) -> AsyncGenerator[Any]:
        await self._pool.acquire()
        for row in await self.edges_batch(ids):
            yield [row]
        self._pool.release()


@wrong("stream-left")
class OneCursorForAll(MemoryBackend):
    """Has one cursor, on which the next stream goes on where one that was left has stopped."""

    def __init__(self, records: Iterable[GraphRecord] = ()) -> None:
        super().__init__(records)
        self._rows: list[Any] = []

    async def edges_stream(self, ids: Sequence[str]) -> AsyncGenerator[Any]:
        self._rows = self._rows or sorted(set(await self.edges_batch(ids)))
        while self._rows:
            yield [self._rows.pop()]


@wrong("stream-part")
class StreamsOnePredicate(TypedStream):
    """Asks its cursor for the first of the predicates alone."""

    async def edges_stream(
        self,
        ids: Sequence[str],
        *,
        predicates: Collection[str] | None = None,
        direction: EdgeDirection | None = None,
    ) -> AsyncGenerator[Any]:
        first = None if predicates is None else list(predicates)[:1]
        async for rows in super().edges_stream(ids, predicates=first, direction=direction):
            yield rows
