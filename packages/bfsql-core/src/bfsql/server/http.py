"""Streamable HTTP: one open graph for any number of clients, on uvicorn."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from contextlib import nullcontext
from typing import TYPE_CHECKING

from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp

from bfsql.graph import Graph
from bfsql.listening import serving
from bfsql.listening.address import url
from bfsql.listening.bearer import BearerToken
from bfsql.listening.names import names
from bfsql.server.mcp_server import BfsqlServer

if TYPE_CHECKING:
    from bfsql.config import ServeSettings


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
    greeting = f"BFS-QL answers at {url(listening, '/mcp')}"
    await serving.serve(application(server, settings), listening, greeting, lifespan="on")


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
    served = names(host, allowed_hosts)
    if served is None:
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return TransportSecuritySettings(
        allowed_hosts=list(served.hosts), allowed_origins=list(served.origins)
    )
