"""Streamable HTTP: one open graph for any number of clients, on uvicorn."""

from __future__ import annotations

import signal
import socket
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp

from bfsql.graph import Graph
from bfsql.server.address import is_loopback, url
from bfsql.server.bearer import BearerToken
from bfsql.server.mcp_server import BfsqlServer

if TYPE_CHECKING:
    from bfsql.config import ServeSettings

FAREWELL = 5
"""Seconds that calls under way have to end when the server is told to stop."""

ANY_HOST = "*"
"""In `allowed_hosts`: clients may call the server by any name."""

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


async def serve(graph: Graph, settings: ServeSettings, listening: socket.socket) -> None:
    """Answer over HTTP until SIGTERM or SIGINT.

    Args:
        graph: Open, and closed by the caller afterwards.
        settings: Of the HTTP transport.
        listening: From `address.bind`; closed at the end.
    """
    server = BfsqlServer(
        lambda: nullcontext(graph),
        instructions=settings.instructions,
        structured_content=settings.structured_content,
    )
    config = uvicorn.Config(
        application(server, settings),
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        lifespan="on",
        timeout_graceful_shutdown=FAREWELL,
    )
    sys.stderr.write(f"BFS-QL answers at {url(listening)}\n")  # at every log level
    sys.stderr.flush()
    with _stopping_is_no_failure():
        await uvicorn.Server(config).serve(sockets=[listening])


def application(server: BfsqlServer, settings: ServeSettings) -> ASGIApp:
    """The server as an ASGI application at `/mcp`, guarded as the settings say."""
    app: ASGIApp = server.streamable_http_app(
        stateless_http=settings.stateless,
        max_request_body_size=settings.max_request_bytes,
        transport_security=security(settings.host, settings.allowed_hosts),
    )
    if settings.bearer_token is None:
        return app
    return BearerToken(app, settings.bearer_token.get_secret_value())


def security(host: str, allowed_hosts: Iterable[str]) -> TransportSecuritySettings:
    """Which `Host` and `Origin` headers are served: loopback's own, and the allowed names."""
    names = [*((*_LOOPBACK, host) if is_loopback(host) else ()), *allowed_hosts]
    if ANY_HOST in names:
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    hosts = [spelt for name in dict.fromkeys(names) for spelt in (name, f"{name}:*")]
    origins = [f"{scheme}://{spelt}" for spelt in hosts for scheme in ("http", "https")]
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)


@contextmanager
def _stopping_is_no_failure() -> Iterator[None]:
    """Let the process go on to close the graph and end with 0 after a signal.

    Uvicorn raises the signal that stopped it once more when it has shut down,
    for the handler that was there before: without this one, the process would
    die of it before the graph is closed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    stopping = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda *_: None) for number in stopping}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
