"""Admission of calls over HTTP: how many run concurrently, which wait, which are refused.

    admission = Admission(settings)
    async with admission.admitted(caller.key):
        answer = await graph.call(tool, arguments)

It does not depend on HTTP: MCP and the web API turn `Busy` into responses of their own. A client
without calls in progress takes no memory, except with a rate limit, and then for a minute at most.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from bfsql import call
from bfsql.errors import Busy
from bfsql.places import Places

if TYPE_CHECKING:
    from bfsql.settings import ServeSettings


class Admission:
    """Limits concurrent calls, in total and for each client.

    A call for which there is no place waits until it is its client's turn (`bfsql.places`). When
    too many calls wait, the latest call of the client with the most of them is refused. The calls
    of a minute may come all at once.

    Attributes:
        settings: The current settings, which may be replaced.
        refused: Calls refused so far, by reason: the client's `rate_limit`, a `queue_full`, or the
            `deadline`, which passed before there was a place.
    """

    def __init__(
        self, settings: ServeSettings, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.settings = settings
        self.refused = Counter(rate_limit=0, queue_full=0, deadline=0)
        self._clock = clock
        self._rate = _Rate(clock)
        self._places = Places(lambda: (self.settings.max_calls, self.settings.max_calls_per_client))
        self._mean_seconds = 1.0

    @property
    def running(self) -> int:
        """Number of calls in progress."""
        return self._places.taken

    @property
    def waiting(self) -> int:
        """Number of calls that wait for their turn."""
        return self._places.waiting

    @asynccontextmanager
    async def admitted(self, client: str) -> AsyncIterator[None]:
        """Take a place for a call as soon as it is the client's turn, and release it at the end.

        The time spent waiting counts towards the time limit of the call.

        Raises:
            Busy: Too many calls wait, the client has made its calls of this minute, or the
                call reached its time limit before its turn came.
        """
        await self._enter(client)
        began = self._clock()
        try:
            yield
        finally:
            # A mean in which the last call has a weight of a tenth.
            self._mean_seconds += 0.1 * (self._clock() - began - self._mean_seconds)
            self._places.leave(client)

    async def _enter(self, client: str) -> None:
        rate = self.settings.calls_per_minute
        if rate is not None and (seconds := self._rate.wait(client, rate)):
            self.refused["rate_limit"] += 1
            raise Busy("This client has reached its limit of calls per minute.", seconds)
        waits = not self._places.is_free(client)
        if waits and self.waiting >= self.settings.max_waiting:
            error = self._refusal("Too many calls are waiting on this server.", "queue_full")
            self._places.refuse_longest_queue(client, error)
        if rate is not None:
            self._rate.count(client, rate)
        try:
            async with call.time_limit():
                await self._places.enter(client)
        except TimeoutError:
            why = "This call reached its time limit while waiting."
            raise self._refusal(why, "deadline") from None

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
