"""`bfsql serve`: from a way to open a graph to a server that has said goodbye."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, TextIO

from bfsql.server.address import bind, check_exposure
from bfsql.server.logs import log_to_stderr
from bfsql.server.wire import wire

if TYPE_CHECKING:
    import socket

    from bfsql.config import ServeSettings
    from bfsql.graph import Graph

_GC_THRESHOLDS = (100_000, 50, 100)
"""Collecting less often takes a tenth off a hub of 60,000 edges (decision 0001)."""

_LAST_WORDS = 0.5
"""Seconds that cancelled calls have to stop their store queries before the store is closed."""


def run(
    graph_factory: Callable[[], AbstractAsyncContextManager[Graph]], settings: ServeSettings
) -> None:
    """Serve a graph until the client leaves (stdio) or the operator stops it (HTTP); blocking.

    The store is opened while `mcp` is being imported, and before the first
    message is read, so that instructions and descriptions are complete in both
    protocol eras. Log records go to standard error.

    Args:
        graph_factory: Opens the graph in the server's event loop.
        settings: Transport, texts and bounds.

    Raises:
        ConfigurationError: The address cannot be listened on, or is reachable
            from elsewhere without allowed hosts.
        BfsqlError: Whatever opening the graph raises.
    """
    log_to_stderr(settings.log_level)
    if settings.transport == "stdio":
        with wire() as out:
            asyncio.run(_over_stdio(graph_factory, settings, out))
        return
    check_exposure(settings.host, settings.allowed_hosts)
    with bind(settings.host, settings.port) as listening:
        asyncio.run(_over_http(graph_factory, settings, listening))


async def _over_stdio(
    graph_factory: Callable[[], AbstractAsyncContextManager[Graph]],
    settings: ServeSettings,
    out: TextIO,
) -> None:
    async with _opened(graph_factory, "bfsql.server.stdio") as (graph, stdio):
        client_left = await _finished(stdio.serve(graph, settings, out))
    if not client_left:
        # The thread that waits for standard input cannot be interrupted: it would keep the process.
        sys.stdout.flush()
        os._exit(0)


async def _over_http(
    graph_factory: Callable[[], AbstractAsyncContextManager[Graph]],
    settings: ServeSettings,
    listening: socket.socket,
) -> None:
    async with _opened(graph_factory, "bfsql.server.http") as (graph, http):
        await http.serve(graph, settings, listening)


@asynccontextmanager
async def _opened(
    graph_factory: Callable[[], AbstractAsyncContextManager[Graph]], transport: str
) -> AsyncIterator[tuple[Graph, Any]]:
    """The open graph and the transport's module, imported meanwhile."""

    def import_ahead() -> None:
        with suppress(ImportError):  # raised again below, where it is heard
            import_module(transport)

    importing = threading.Thread(target=import_ahead, daemon=True)
    importing.start()
    async with graph_factory() as graph:
        await asyncio.to_thread(importing.join)
        module = import_module(transport)
        gc.set_threshold(*_GC_THRESHOLDS)
        yield graph, module


async def _finished(serving: Coroutine[Any, Any, None]) -> bool:
    """Wait until the client has left (True) or the operator stops the server (False)."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError, RuntimeError, ValueError):  # Windows, other threads
            loop.add_signal_handler(number, stop.set)
    served = asyncio.ensure_future(serving)
    stopped = asyncio.ensure_future(stop.wait())
    await asyncio.wait({served, stopped}, return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    if not served.done():
        served.cancel()
        await asyncio.wait({served}, timeout=_LAST_WORDS)
        return False
    await served
    return True
