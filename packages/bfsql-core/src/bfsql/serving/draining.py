"""The server over HTTP, and how it stops: refuse new calls, answer those in progress, then close.

uvicorn is imported with this module, which is therefore imported while the store is being opened.
What is relied on of its inner parts, here and in `bfsql.serving.connections`, is in
`tests/serving/test_uvicorn.py`.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Generator
from contextlib import contextmanager
from math import ceil
from typing import TYPE_CHECKING, Any

import uvicorn

from bfsql.errors import ConfigurationError, system_reason
from bfsql.serving.calls import until
from bfsql.serving.connections import Connections
from bfsql.serving.requests import Requests, with_one_length

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from bfsql.serving.live import LiveGraph

log = logging.getLogger("bfsql")


class WithoutSignals(uvicorn.Server):
    """uvicorn's server, without its logs and its signal handling, which the caller does instead."""

    def __init__(self, app: ASGIApp, **options: Any) -> None:
        options |= {"log_config": None, "access_log": False, "server_header": False, "ws": "none"}
        super().__init__(uvicorn.Config(with_one_length(app), **options))

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Nothing."""
        yield


class Server(WithoutSignals):
    """uvicorn's server, which limits connections and goes on listening while calls end.

    It begins to stop with the calls of its graph, whose time to end is the setting `grace`.
    """

    close_seconds = 2
    """Seconds that connections have to close; those that remain are aborted."""

    linger_seconds = 2.0
    """Seconds after the last call for requests that clients need to read its answer: the Python
    client lists the tools after its first call, to validate the answer against the tool's schema.
    """

    def __init__(self, app: ASGIApp, live: LiveGraph) -> None:
        settings = live.settings
        self.connections = Connections(settings)
        self._live, self._calls, self.requests = live, live.calls, Requests(app)
        self._draining: asyncio.Task[None] | None = None
        live.calls.on_stop(self._begin_to_drain)
        super().__init__(
            self.requests,
            http=self.connections.protocol,
            backlog=self.connections.backlog,
            timeout_keep_alive=ceil(settings.idle_timeout),
            # uvicorn would trust X-Forwarded-For from every client on this machine.
            proxy_headers=bool(settings.trusted_proxies),
            forwarded_allow_ips=[*settings.trusted_proxies],
            lifespan="on",
            timeout_graceful_shutdown=self.close_seconds,
        )
        self.config.load()
        self.load_certificate()

    def load_certificate(self) -> None:
        """Read the certificate and its key, for new connections; wrong ones replace no others."""
        settings = self._live.settings
        if settings.tls_cert is None:
            return
        fresh = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        try:
            for context in (fresh, self.config.ssl or fresh):  # an error may leave half of them
                # A given password, even an empty one, keeps OpenSSL from prompting on the terminal.
                context.load_cert_chain(settings.tls_cert, settings.tls_key, password="")
        except (OSError, ValueError) as error:
            why = f"tls_cert or tls_key cannot be used: {system_reason(error)}."
            if self.config.ssl is None:
                raise ConfigurationError(why) from None
            log.error("%s The certificate that was read before is still used.", why)  # noqa: TRY400
        self.config.ssl = self.config.ssl or fresh

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the listener and the connections."""
        loop = asyncio.get_running_loop()
        cutting = loop.call_later(self.close_seconds / 2, self.connections.abort)
        try:
            await super().shutdown(sockets)
        finally:
            cutting.cancel()

    def _begin_to_drain(self) -> None:
        self.requests.close_connections()
        self._draining = asyncio.get_running_loop().create_task(self._drain())

    async def _drain(self) -> None:
        time, grace = asyncio.get_running_loop().time, self._live.settings.grace
        end = time() + grace
        waiting = self.requests.waiting()

        def idle() -> bool:
            return not self._calls.under_way and not waiting & self.requests.waiting()

        await self._calls.wait(idle, grace)
        if not idle():
            log.warning("%d calls had not ended in time and were cancelled.", self._calls.under_way)
            self._calls.end()
            await until(idle, 2.0)
        else:
            lingering = min(self._calls.last_ended + self.linger_seconds, end) - time()
            await self._calls.wait(lambda: False, lingering)
            waiting = self.requests.waiting()
            await self._calls.wait(idle, end - time())
        # One that has arrived meanwhile is refused within moments, and uvicorn waits for that.
        self.requests.end(waiting=not idle())
        self.should_exit = True
