"""A limited number of places, such as connections, that clients take in turn.

    places = Places(lambda: (10, 10))
    async with places.turn():
        ...

No client blocks others, however many places it asks for: free places are given to the waiting
clients in turn. As soon as there is a second client, a quarter of the places is reserved for
clients that have none.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias

from bfsql import call

_Waiter: TypeAlias = "asyncio.Future[None]"


class Places:
    """Places that clients share. A client that has and awaits none takes no memory.

    Args:
        bounds: Returns the number of places, in total and for each client. It may change.

    Attributes:
        taken: Number of places in use.
        waiting: Number of requests that wait for a place.
    """

    def __init__(self, bounds: Callable[[], tuple[int, int]]) -> None:
        self.taken = self.waiting = 0
        self._bounds = bounds
        self._own: dict[str, int] = {}
        self._first: str | None = None
        self._are_shared = False
        # The client whose turn is next comes first.
        self._queues: OrderedDict[str, deque[_Waiter]] = OrderedDict()

    def is_free(self, client: str) -> bool:
        """Whether a client can have a place immediately."""
        total, each = self._bounds()
        own = self._own.get(client, 0)
        reserved = total // 4 if own and self._are_shared else 0
        return self.taken < total - reserved and own < each

    @asynccontextmanager
    async def turn(self, client: str | None = None) -> AsyncIterator[None]:
        """A place during the block, unless the deadline passes; by default for the caller."""
        client = call.current_usage().client if client is None else client
        async with call.time_limit():
            await self.enter(client)
        try:
            yield
        finally:
            self.leave(client)

    async def enter(self, client: str) -> None:
        """Take a place, when it is the client's turn."""
        self._first = client if self._first is None else self._first
        self._are_shared |= client != self._first
        if self.is_free(client):
            self._take(client)
            return
        waiter: _Waiter = asyncio.get_running_loop().create_future()
        self._queues.setdefault(client, deque()).append(waiter)
        self.waiting += 1
        try:
            await waiter
        except BaseException:
            if waiter.cancelled() or not waiter.done():
                if waiter in self._queues.get(client, ()):
                    self._queues[client].remove(waiter)
                    self._left_queue(client)
            elif waiter.exception() is None:  # its turn came while the caller left
                self.leave(client)
            raise

    def leave(self, client: str) -> None:
        """Release a place, and give free places to the clients whose turn is next."""
        self.taken -= 1
        self._own[client] -= 1
        if not self._own[client]:
            del self._own[client]
        while (turn := next(filter(self.is_free, self._queues), None)) is not None:
            waiter = self._queues[turn].popleft()
            self._queues.move_to_end(turn)
            self._left_queue(turn)
            if not waiter.cancelled():  # its caller left just now
                self._take(turn)
                waiter.set_result(None)

    def refuse_longest_queue(self, client: str, error: Exception) -> None:
        """Refuse the latest request of the client with the most waiting requests.

        Args:
            client: The client that is about to wait.
            error: Raised where the refused request waits.

        Raises:
            Exception: `error`, if no other client has more waiting requests than this one.
        """
        longest = max(self._queues, key=lambda other: len(self._queues[other]), default=client)
        if len(self._queues.get(longest, ())) <= len(self._queues.get(client, ())) + 1:
            raise error
        waiter = self._queues[longest].pop()
        self._left_queue(longest)
        if not waiter.cancelled():
            waiter.set_exception(error)

    def _take(self, client: str) -> None:
        self.taken += 1
        self._own[client] = self._own.get(client, 0) + 1

    def _left_queue(self, client: str) -> None:
        """Count a request that no longer waits."""
        self.waiting -= 1
        if not self._queues[client]:
            del self._queues[client]
