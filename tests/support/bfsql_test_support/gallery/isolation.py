"""Mistakes in the isolation of calls: concurrent, cancelled and successive ones."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from typing import Any

from bfsql.models import GraphRecord
from bfsql_test_support.gallery.bases import Eight


class SharesOneCursor(Eight):
    """concurrent-calls: Keeps the rows of a request where the next request overwrites them."""

    async def through(self, ask: Any, *asked: Any) -> Any:
        self._rows = await super().through(ask, *asked)
        await asyncio.sleep(0)
        return self._rows


class ServesOneAtATime(Eight):
    """concurrent-calls: Has one connection, which refuses a request while it is busy."""

    _busy = False

    async def through(self, ask: Any, *asked: Any) -> Any:
        if self._busy:
            raise RuntimeError("another operation is in progress")
        self._busy = True
        try:
            await asyncio.sleep(0)
            return await super().through(ask, *asked)
        finally:
            self._busy = False


class RefusesTheEleventh(Eight):
    """concurrent-calls: Has ten connections, and raises an error instead of waiting."""

    _under_way = 0

    async def through(self, ask: Any, *asked: Any) -> Any:
        if self._under_way >= 10:
            raise RuntimeError("the pool is exhausted")
        self._under_way += 1
        try:
            await asyncio.sleep(0)
            return await super().through(ask, *asked)
        finally:
            self._under_way -= 1


class BlocksTheLoop(Eight):
    """free-loop: Blocks the event loop while it waits for its store, as plain drivers do."""

    async def through(self, ask: Any, *asked: Any) -> Any:
        time.sleep(0.25)  # noqa: ASYNC251 - this is the mistake
        return await super().through(ask, *asked)


class DiesOfCancellation(Eight):
    """cancellation: Leaves its connection in the middle of a response when a call is cancelled."""

    _torn = False

    async def through(self, ask: Any, *asked: Any) -> Any:
        if self._torn:
            raise RuntimeError("unexpected bytes on the connection")
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            self._torn = True
            raise
        return await super().through(ask, *asked)


class NeverGivesBack(Eight):
    """cancellation: Takes a connection from its pool, and returns it only on success."""

    def __init__(self, records: Iterable[GraphRecord] = ()) -> None:
        super().__init__(records)
        self._pool = asyncio.Semaphore(5)

    async def through(self, ask: Any, *asked: Any) -> Any:
        await self._pool.acquire()
        await asyncio.sleep(0)
        answer = await super().through(ask, *asked)
        self._pool.release()
        return answer


class EndsTheOthers(Eight):
    """cancellation: Closes its session when one call is cancelled, which ends all others."""

    def __init__(self, records: Iterable[GraphRecord] = ()) -> None:
        super().__init__(records)
        self._under_way: set[asyncio.Task[Any]] = set()

    async def through(self, ask: Any, *asked: Any) -> Any:
        this = asyncio.current_task()
        assert this is not None
        self._under_way.add(this)
        try:
            await asyncio.sleep(0)
            return await super().through(ask, *asked)
        except asyncio.CancelledError:
            for other in self._under_way - {this}:
                other.cancel()
            raise
        finally:
            self._under_way.discard(this)


class SharesOneTask(Eight):
    """cancellation: Lets callers share a task, which the first cancellation ends."""

    def __init__(self, records: Iterable[GraphRecord] = ()) -> None:
        super().__init__(records)
        self._flights: dict[str, asyncio.Task[Any]] = {}

    async def through(self, ask: Any, *asked: Any) -> Any:
        key = repr((ask.__name__, asked))
        if key not in self._flights:
            self._flights[key] = asyncio.ensure_future(self._fly(key, ask, *asked))
        return await self._flights[key]

    async def _fly(self, key: str, ask: Any, *asked: Any) -> Any:
        try:
            await asyncio.sleep(0)
            return await super().through(ask, *asked)
        finally:
            del self._flights[key]


class SwallowsCancellation(Eight):
    """cancellation: Treats a cancellation as a failure of its store, and returns nothing."""

    async def through(self, ask: Any, *asked: Any) -> Any:
        try:
            await asyncio.sleep(0)
        except BaseException:  # noqa: BLE001 - this is the mistake
            return []
        return await super().through(ask, *asked)


class ClosesAfterTheFirst(Eight):
    """stable-answers: Closes its session after the first response, and never opens it again."""

    def __init__(self, records: Iterable[GraphRecord] = ()) -> None:
        super().__init__(records)
        self._answered: set[str] = set()

    async def through(self, ask: Any, *asked: Any) -> Any:
        if ask.__name__ in self._answered and ask.__name__ == "search_entities":
            raise RuntimeError("the session is closed")
        self._answered.add(ask.__name__)
        return await super().through(ask, *asked)
