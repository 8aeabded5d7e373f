"""Stopping a server over HTTP: no new calls, the answers of those under way, then the end.

uvicorn is imported with this module, which is therefore imported while the store is being opened.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager

import uvicorn

from bfsql.serving.calls import Calls, until
from bfsql.serving.requests import Requests

log = logging.getLogger("bfsql")

LINGER_SECONDS = 2.0
"""Time after the last call in which clients may ask what they need to read its answer: that of
Python lists the tools after its first call, to check the answer by the tool's schema."""

END_SECONDS = 2.0
"""Time that calls have to end with an error once the grace is over."""

CLOSE_SECONDS = 2
"""Time that connections have to close; one whose client does not read is cut then."""


class WithoutSignals(uvicorn.Server):
    """uvicorn, which leaves signals to its caller, also while the store is being closed."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Nothing."""
        yield


class Server(WithoutSignals):
    """uvicorn, which listens on while calls end.

    Args:
        config: Of uvicorn.
        calls: The calls under way.
        requests: The application that uvicorn runs.
    """

    def __init__(self, config: uvicorn.Config, calls: Calls, requests: Requests) -> None:
        super().__init__(config)
        self._calls, self._requests = calls, requests
        self._draining: asyncio.Task[None] | None = None
        self._at_once = False

    def stop(self, grace: float) -> None:
        """Begin to stop the server; a second call ends it at once.

        Args:
            grace: Seconds that calls under way have to end.
        """
        if self._draining is None:
            self._calls.drain()
            self._draining = asyncio.get_running_loop().create_task(self._drain(grace))
        else:
            self._at_once = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the listener and the connections."""
        cutting = asyncio.get_running_loop().call_later(CLOSE_SECONDS / 2, self._cut)
        try:
            await super().shutdown(sockets)
        finally:
            cutting.cancel()

    async def _drain(self, grace: float) -> None:
        time = asyncio.get_running_loop().time
        end = time() + grace
        waiting = self._requests.waiting()

        def idle() -> bool:
            return not self._calls.under_way and not waiting & self._requests.waiting()

        await self._until(idle, grace)
        if not idle():
            log.warning("%d calls had not ended and were ended.", self._calls.under_way)
            self._calls.end()
            await until(idle, END_SECONDS)
        else:
            await self._until(
                lambda: False, min(self._calls.last_ended + LINGER_SECONDS, end) - time()
            )
            waiting = self._requests.waiting()
            await self._until(idle, end - time())
        self._requests.end()
        self.should_exit = True

    async def _until(self, condition: Callable[[], bool], seconds: float) -> None:
        """Wait for a condition, or for a second `stop`."""
        await until(lambda: self._at_once or condition(), seconds)

    def _cut(self) -> None:
        for connection in tuple(self.server_state.connections):
            if connection.transport is not None:
                connection.transport.abort()
