"""Changes to streams that take more than an expression, and streams that keep a state."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Sequence
from typing import Any

from bfsql.memory import MemoryBackend
from bfsql.models import GraphRecord


async def first_of(right: Any, _: Any, ids: Sequence[str], **part: Any) -> AsyncGenerator[Any]:
    """The first batch of a stream."""
    async for rows in right(ids, **part):
        yield rows
        break


async def of_ends(_: Any, db: Any, ids: Sequence[str], **__: Any) -> AsyncGenerator[Any]:
    """The rows of ids that may be ends of edges alone."""
    asked, types = set(ids), db._types
    ring = [t for t in db._edge_metadata if not asked.isdisjoint((t[0], t[2]))]
    yield [(s, p, o, types.get(s), types.get(o)) for s, p, o in ring]


class NeverClosesItsCursor(MemoryBackend):
    """stream-left: Returns its connection only after the last batch of a stream."""

    def __init__(self, records: Iterable[GraphRecord] = ()) -> None:
        super().__init__(records)
        self._pool = asyncio.Semaphore(5)

    async def edges_stream(self, ids: Sequence[str]) -> AsyncGenerator[Any]:
        await self._pool.acquire()
        for row in await self.edges_batch(ids):
            yield [row]
        self._pool.release()


class OneCursorForAll(MemoryBackend):
    """stream-left: Has one cursor, on which the next stream continues an abandoned one."""

    def __init__(self, records: Iterable[GraphRecord] = ()) -> None:
        super().__init__(records)
        self._rows: list[Any] = []

    async def edges_stream(self, ids: Sequence[str]) -> AsyncGenerator[Any]:
        self._rows = self._rows or sorted(set(await self.edges_batch(ids)))
        while self._rows:
            yield [self._rows.pop()]
