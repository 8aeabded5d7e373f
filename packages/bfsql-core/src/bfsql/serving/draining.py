"""Stopping a server over HTTP: refuse new calls, answer those in progress, then close.

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
"""Seconds after the last call for requests that clients need to read its answer: the Python client
lists the tools after its first call, to validate the answer against the tool's schema."""

CLOSE_SECONDS = 2
"""Seconds that connections have to close; those that remain are aborted."""


class WithoutSignals(uvicorn.Server):
    """uvicorn's server, without its signal handling, which the caller does instead."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Nothing."""
        yield


class Server(WithoutSignals):
    """uvicorn's server, which goes on listening while calls end.

    Args:
        config: Of uvicorn.
        calls: The calls in progress.
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
            grace: Seconds that calls in progress have to end.
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
            log.warning("%d calls had not ended in time and were cancelled.", self._calls.under_way)
            self._calls.end()
            await until(idle, 2.0)
        else:
            await self._until(
                lambda: False, min(self._calls.last_ended + LINGER_SECONDS, end) - time()
            )
            waiting = self._requests.waiting()
            await self._until(idle, end - time())
        # One that has arrived meanwhile is refused within moments, and uvicorn waits for that.
        self._requests.end(waiting=not idle())
        self.should_exit = True

    async def _until(self, condition: Callable[[], bool], seconds: float) -> None:
        """Wait until a condition holds or `stop` is called a second time."""
        await until(lambda: self._at_once or condition(), seconds)

    def _cut(self) -> None:
        for connection in tuple(self.server_state.connections):
            if connection.transport is not None:
                connection.transport.abort()
