"""`create_server`: any backend as an MCP server, in one call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bfsql.cache import MAX_RECORDS
from bfsql.graph import Backend, open_graph
from bfsql.server.mcp_server import BfsqlServer
from bfsql.tools.limits import Limits

CACHE_TTL = 600.0
"""Seconds that a cached entry lives in a server that outlasts its clients (`protocol.md` 25)."""


def create_server(
    backend_or_factory: Backend,
    graph_description: str | None = None,
    instructions: str | None = None,
    *,
    limits: Limits | None = None,
    structured_content: bool = True,
    cache_records: int = MAX_RECORDS,
    cache_ttl: float | None = CACHE_TTL,
    hooks: Iterable[object] | None = None,
    **settings: Any,
) -> BfsqlServer:
    """Serve a graph: `mcp.Client(server)`, `server.run_stdio()`, `server.streamable_http_app()`.

    Nothing is opened here. The backend is opened when serving begins, in the
    event loop that will use it, and closed when it ends (an instance that the
    caller opened stays open).

        server = create_server(PostgresBackend.create, "Drugs and genes", dsn=dsn)
        uvicorn.run(server.streamable_http_app())

    Args:
        backend_or_factory: Name of an installed backend, an instance, a class, or
            an async callable that gives an instance (chapter 9).
        graph_description: What the graph is about, for `describe_schema`.
        instructions: The operator's own text, added to the server's instructions.
        limits: Bounds of every call; None for the defaults.
        structured_content: Whether answers come as structured content too.
        cache_records: Nodes, edges and metadata records held at most.
        cache_ttl: Seconds that a cached entry lives; None for as long as the server.
        hooks: Hook plugins that have a say, and no other; None for the installed ones.
        settings: The backend's own, as keyword arguments.

    Raises:
        BfsqlError: When serving begins, whatever opening the graph raises.
    """
    return BfsqlServer(
        lambda: open_graph(
            backend_or_factory,
            graph_description=graph_description,
            limits=limits,
            cache_records=cache_records,
            cache_ttl=cache_ttl,
            hooks=hooks,
            **settings,
        ),
        instructions=instructions,
        structured_content=structured_content,
    )
