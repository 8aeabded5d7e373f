"""Mistakes in streams: which rows and types they contain, and what happens when one is left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection, Iterable, Sequence
from typing import Any

from bfsql.memory import MemoryBackend
from bfsql.models import EdgeDirection, GraphRecord
from bfsql_test_support.backends.columns import TypedStream


class StreamsWhatLeaves(TypedStream):
    """Reads edges only by subject."""

    async def edges_stream(self, ids: Sequence[str]) -> AsyncGenerator[Any]:
        async for rows in super().edges_stream(ids):
            yield [row for row in rows if row[0] in ids]


class StreamsOneBatch(TypedStream):
    """Fetches only one batch from its cursor."""

    def __init__(self, records: Iterable[GraphRecord] = ()) -> None:
        super().__init__(records, batch=50)

    async def edges_stream(self, ids: Sequence[str]) -> AsyncGenerator[Any]:
        async for rows in super().edges_stream(ids):
            yield rows
            break


class StreamsOfEnds(TypedStream):
    """Returns edges for an id that is not a node but occurs in its edge table."""

    async def edges_stream(self, ids: Sequence[str]) -> AsyncGenerator[Any]:
        asked, types = set(ids), self._types
        ring = [t for t in self._edge_metadata if not asked.isdisjoint((t[0], t[2]))]
        yield [(s, p, o, types.get(s), types.get(o)) for s, p, o in ring]


class MixesRows(TypedStream):
    """Omits the types from a row if an end is not a node."""

    async def edges_stream(self, ids: Sequence[str]) -> AsyncGenerator[Any]:
        async for rows in super().edges_stream(ids):
            yield [row if None not in row else row[:3] for row in rows]


class TypesOfTheAsked(TypedStream):
    """Knows only the types of requested nodes, and reports all others as not being nodes."""

    async def edges_stream(self, ids: Sequence[str]) -> AsyncGenerator[Any]:
        asked = set(ids[:1])
        async for rows in super().edges_stream(ids):
            yield [
                (s, p, o, t if s in asked else None, u if o in asked else None)
                for s, p, o, t, u in rows
            ]


class TypesEnds(TypedStream):
    """Returns an empty type for an end that is not a node, like an outer join with a default."""

    async def edges_stream(self, ids: Sequence[str]) -> AsyncGenerator[Any]:
        async for rows in super().edges_stream(ids):
            yield [tuple("" if value is None else value for value in row) for row in rows]


class SwapsTypes(TypedStream):
    """Returns the type of the object before that of the subject."""

    async def edges_stream(self, ids: Sequence[str]) -> AsyncGenerator[Any]:
        async for rows in super().edges_stream(ids):
            yield [(s, p, o, u, t) for s, p, o, t, u in rows]


class NeverClosesItsCursor(MemoryBackend):
    """Returns its connection after the last batch, but not when a stream is abandoned."""

    def __init__(self, records: Iterable[GraphRecord] = ()) -> None:
        super().__init__(records)
        self._pool = asyncio.Semaphore(5)

    async def edges_stream(self, ids: Sequence[str]) -> AsyncGenerator[Any]:
        await self._pool.acquire()
        for row in await self.edges_batch(ids):
            yield [row]
        self._pool.release()


class OneCursorForAll(MemoryBackend):
    """Has one cursor, on which the next stream continues where an abandoned one stopped."""

    def __init__(self, records: Iterable[GraphRecord] = ()) -> None:
        super().__init__(records)
        self._rows: list[Any] = []

    async def edges_stream(self, ids: Sequence[str]) -> AsyncGenerator[Any]:
        self._rows = self._rows or sorted(set(await self.edges_batch(ids)))
        while self._rows:
            yield [self._rows.pop()]


class StreamsOnePredicate(TypedStream):
    """Reads only edges with the first of the requested predicates."""

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
