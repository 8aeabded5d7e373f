"""Wrong when calls meet: at the same time, ended early, one after the other."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from typing import Any

from conformance.gallery.bases import Through, wrong

from bfsql.models import GraphRecord


@wrong("concurrent-calls")
class SharesOneCursor(Through):
    """Keeps the rows of a question where the next question puts its own."""

    async def through(self, ask: Any, *asked: Any) -> Any:
        self._rows = await super().through(ask, *asked)
        await asyncio.sleep(0)
        return self._rows


@wrong("concurrent-calls")
class ServesOneAtATime(Through):
    """Has one connection, which refuses a question while it is busy with another."""

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


@wrong("concurrent-calls")
class RefusesTheEleventh(Through):
    """Has ten connections, and an error for whoever would have to wait."""

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


@wrong("free-loop")
class BlocksTheLoop(Through):
    """Waits for its store in the event loop, as a driver without async does."""

    async def through(self, ask: Any, *asked: Any) -> Any:
        time.sleep(0.25)  # noqa: ASYNC251 - this is the mistake
        return await super().through(ask, *asked)


@wrong("cancellation")
class DiesOfCancellation(Through):
    """Leaves its connection in the middle of an answer when a call is cancelled."""

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


@wrong("cancellation")
class NeverGivesBack(Through):
    """Takes a connection out of its pool, and puts it back only when all goes well."""

    def __init__(self, records: Iterable[GraphRecord] = ()) -> None:
        super().__init__(records)
        self._pool = asyncio.Semaphore(5)

    async def through(self, ask: Any, *asked: Any) -> Any:
        await self._pool.acquire()
        await asyncio.sleep(0)
        answer = await super().through(ask, *asked)
        self._pool.release()
        return answer


@wrong("cancellation")
class EndsTheOthers(Through):
    """Closes its session when one call is cancelled, and all that is under way with it."""

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


@wrong("cancellation")
class SharesOneTask(Through):
    """Lets those who ask the same await one task, which the first to leave takes along."""

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


@wrong("cancellation")
class SwallowsCancellation(Through):
    """Takes a cancellation for one more fault of its store, and answers with nothing."""

    async def through(self, ask: Any, *asked: Any) -> Any:
        try:
            await asyncio.sleep(0)
        except BaseException:  # noqa: BLE001 - this is the mistake
            return []
        return await super().through(ask, *asked)


@wrong("stable-answers")
class ClosesAfterTheFirst(Through):
    """Opens its session for a question, and closes it for good after the answer."""

    def __init__(self, records: Iterable[GraphRecord] = ()) -> None:
        super().__init__(records)
        self._answered: set[str] = set()

    async def through(self, ask: Any, *asked: Any) -> Any:
        if ask.__name__ in self._answered and ask.__name__ == "search_entities":
            raise RuntimeError("the session is closed")
        self._answered.add(ask.__name__)
        return await super().through(ask, *asked)
