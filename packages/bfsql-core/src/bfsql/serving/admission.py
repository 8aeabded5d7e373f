"""Admission of calls over HTTP: how many run concurrently, which wait, which are refused.

    admission = Admission(settings)
    async with admission.admitted(caller.key):
        answer = await graph.call(tool, arguments)

It does not depend on HTTP: MCP and the web API turn `Busy` into responses of their own. A client
without calls in progress takes no memory, except with a rate limit, and then for a minute at most.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeAlias

from bfsql import call
from bfsql.errors import Busy

if TYPE_CHECKING:
    from bfsql.settings import ServeSettings

_Waiter: TypeAlias = "asyncio.Future[None]"


class Admission:
    """Limits concurrent calls, in total and for each client.

    A call for which there is no place waits. Free places are given to the waiting clients in turn,
    so that no client blocks others, and a quarter of them is reserved for clients that have none
    yet. When too many calls wait, the latest call of the client with
    the most of them is refused. The calls of a minute may come all at once.

    Attributes:
        settings: The current settings, which may be replaced.
        running: Calls under way.
        waiting: Calls that wait.
        refused: Calls refused so far, by reason: the client's `rate_limit`, a `queue_full`, or the
            `deadline`, which passed before there was a place.
    """

    def __init__(
        self, settings: ServeSettings, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.settings = settings
        self.running = self.waiting = 0
        self.refused = Counter(rate_limit=0, queue_full=0, deadline=0)
        self._clock = clock
        self._rate = _Rate(clock)
        self._own: dict[str, int] = {}
        # The client whose turn is next comes first.
        self._queues: OrderedDict[str, deque[_Waiter]] = OrderedDict()
        self._mean_seconds = 1.0

    @asynccontextmanager
    async def admitted(self, client: str) -> AsyncIterator[None]:
        """Take a place for a call as soon as it is the client's turn, and release it at the end.

        The time spent waiting counts towards the time limit of the call.

        Raises:
            Busy: Too many calls wait, the client has made its calls of this minute, or the
                time of the call was up before its turn came.
        """
        await self._enter(client)
        began = self._clock()
        try:
            yield
        finally:
            # A mean in which the last call has a weight of a tenth.
            self._mean_seconds += 0.1 * (self._clock() - began - self._mean_seconds)
            self._leave(client)

    async def _enter(self, client: str) -> None:
        rate = self.settings.calls_per_minute
        if rate is not None and (seconds := self._rate.wait(client, rate)):
            self.refused["rate_limit"] += 1
            raise Busy("This client has reached its limit of calls per minute.", seconds)
        place_is_free = self._has_place(client)
        if not place_is_free and self.waiting >= self.settings.max_waiting:
            self._make_room(client)
        if rate is not None:
            self._rate.count(client, rate)
        if place_is_free:
            self._take(client)
        else:
            await self._turn(client)

    def _has_place(self, client: str) -> bool:
        own, settings = self._own.get(client, 0), self.settings
        kept_free = settings.max_calls // 4 if own else 0
        return self.running < settings.max_calls - kept_free and own < settings.max_calls_per_client

    def _take(self, client: str) -> None:
        self.running += 1
        self._own[client] = self._own.get(client, 0) + 1

    def _leave(self, client: str) -> None:
        """Release a place, and give free places to the next waiting calls."""
        self.running -= 1
        self._own[client] -= 1
        if not self._own[client]:
            del self._own[client]
        while (turn := self._next()) is not None:
            waiter = self._queues[turn].popleft()
            self._queues.move_to_end(turn)
            self._left_queue(turn)
            if not waiter.cancelled():  # its caller left just now
                self._take(turn)
                waiter.set_result(None)

    def _next(self) -> str | None:
        """The client whose call is next; None if no waiting call can have a place."""
        return next((client for client in self._queues if self._has_place(client)), None)

    async def _turn(self, client: str) -> None:
        """Wait until there is a place, and take it."""
        waiter: _Waiter = asyncio.get_running_loop().create_future()
        self._queues.setdefault(client, deque()).append(waiter)
        self.waiting += 1
        try:
            async with asyncio.timeout(call.remaining()):
                await waiter
        except BaseException as error:
            if waiter.cancelled() or not waiter.done():
                if waiter in self._queues.get(client, ()):
                    self._queues[client].remove(waiter)
                    self._left_queue(client)
            elif waiter.exception() is None:  # its turn came while the caller left
                self._leave(client)
            if isinstance(error, TimeoutError):
                raise self._refusal(
                    "The time for this call was up before its turn came.", "deadline"
                ) from None
            raise

    def _make_room(self, client: str) -> None:
        """Refuse the latest call of the client with the most waiting calls, or else this one.

        Raises:
            Busy: No other client has more.
        """
        most = max(self._queues, key=lambda other: len(self._queues[other]), default=client)
        waiting = len(self._queues.get(most, ()))
        why = "Too many calls are waiting on this server."
        if waiting <= len(self._queues.get(client, ())) + 1:
            raise self._refusal(why, "queue_full")
        waiter = self._queues[most].pop()
        self._left_queue(most)
        if not waiter.cancelled():
            waiter.set_exception(self._refusal(why, "queue_full"))

    def _left_queue(self, client: str) -> None:
        """Count a call that no longer waits."""
        self.waiting -= 1
        if not self._queues[client]:
            del self._queues[client]

    def _refusal(self, why: str, reason: str) -> Busy:
        self.refused[reason] += 1
        seconds = self._mean_seconds * (self.waiting + 1) / self.settings.max_calls
        return Busy(why, min(60, seconds))


class _Rate:
    """Calls per minute of each client: a token bucket of that size."""

    most_clients = 10_000
    """Clients whose calls are counted; beyond that, those idle longest are forgotten."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        # When the bucket of each client will be full; a full bucket need not be stored.
        self._full_at: OrderedDict[str, float] = OrderedDict()

    def wait(self, client: str, calls: int) -> float:
        """Seconds until a client with this limit per minute may make a call; 0 for now."""
        now = self._clock()
        seconds = self._full_at.get(client, now) - now - 60.0 + 60.0 / calls
        return seconds if seconds > 1e-9 else 0.0  # an error of rounding

    def count(self, client: str, calls: int) -> None:
        """Take a call out of a client's bucket."""
        now, known = self._clock(), self._full_at
        known[client] = max(known.get(client, now), now) + 60.0 / calls
        known.move_to_end(client)
        while len(known) > self.most_clients or known[next(iter(known))] <= now:
            known.popitem(last=False)
