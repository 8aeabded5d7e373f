"""The calls in progress: how many there are, and how they end early.

A call ends early when the grace period of a stopping server is over, or when its client has left.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from math import inf

from bfsql.errors import ToolError
from bfsql.serving.requests import HttpRequest, expire

STOPPING = "stopping"
"""`kind` of the `ToolError` of a call that a stopping server refuses or ends."""

_REPEAT = "Repeat the call in a few seconds: another server may have replaced it."
_REFUSED = f"This server is shutting down and accepts no new calls. {_REPEAT}"
_ENDED = f"This server was stopped before the call ended. {_REPEAT}"
_LEFT = "The client disconnected before the call ended."


class Calls:
    """The calls that a server is answering.

    Attributes:
        draining: Whether the server is shutting down: new calls are refused.
        at_once: Whether calls in progress are not waited for any longer.
        last_ended: Time of the event loop at which the last call ended.
    """

    def __init__(self) -> None:
        self.draining = self.at_once = False
        self.last_ended = -inf
        self._under_way: set[asyncio.Timeout] = set()
        self._on_stop: list[Callable[[], object]] = []

    def stop(self) -> None:
        """Refuse new calls; if that is done already, do not wait for those in progress either."""
        if self.draining:
            self.at_once = True
            return
        self.draining = True
        for function in self._on_stop:
            function()

    def on_stop(self, function: Callable[[], object]) -> None:
        """Call a function when the server begins to stop, or now if it has begun."""
        self._on_stop.append(function)
        if self.draining:
            function()

    async def wait(self, condition: Callable[[], bool], seconds: float) -> None:
        """Wait until a condition holds, for at most the given seconds and not after `at_once`."""
        await until(lambda: self.at_once or condition(), seconds)

    @property
    def under_way(self) -> int:
        """The number of calls in progress."""
        return len(self._under_way)

    @asynccontextmanager
    async def call(self, request: HttpRequest | None = None) -> AsyncIterator[None]:
        """Count a call while it is in progress; when the client of its request leaves, it ends.

        Raises:
            ToolError: The server is shutting down, or the client has left. What the call is waiting
                for is cancelled.
        """
        if self.draining:
            raise ToolError(_REFUSED, kind=STOPPING)
        try:
            async with asyncio.timeout(None) as limit:
                self._under_way.add(limit)
                try:
                    if request is not None:
                        request.end_when_left(limit)
                    yield
                finally:
                    self._under_way.discard(limit)
                    self.last_ended = asyncio.get_running_loop().time()
                    if request is not None:
                        request.ended(limit)
        except TimeoutError:
            if not limit.expired():
                raise
            left = request is not None and request.left
            raise ToolError(_LEFT if left else _ENDED, kind=STOPPING) from None

    def end(self) -> None:
        """End all calls under way with an error."""
        for limit in tuple(self._under_way):
            expire(limit)


async def until(condition: Callable[[], bool], seconds: float) -> None:
    """Wait until a condition holds, for at most the given seconds."""
    time = asyncio.get_running_loop().time
    end = time() + seconds
    while not condition() and time() < end:  # noqa: ASYNC110 - most conditions have no event
        await asyncio.sleep(0.02)
