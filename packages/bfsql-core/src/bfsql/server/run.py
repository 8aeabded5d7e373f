"""`bfsql serve`: from a way to open a graph to a server that has said goodbye."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TextIO

from bfsql.listening.logs import log_to_stderr
from bfsql.listening.opening import GraphFactory, opened
from bfsql.listening.run import over_http
from bfsql.server.wire import wire

if TYPE_CHECKING:
    from bfsql.config import ServeSettings

_LAST_WORDS = 0.5
"""Seconds that cancelled calls have to stop their store queries before the store is closed."""


def run(graph_factory: GraphFactory, settings: ServeSettings) -> None:
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
    over_http(graph_factory, settings, "bfsql.server.http")


async def _over_stdio(graph_factory: GraphFactory, settings: ServeSettings, out: TextIO) -> None:
    async with opened(graph_factory, "bfsql.server.stdio") as (graph, stdio):
        client_left = await _finished(stdio.serve(graph, settings, out))
    if not client_left:
        # The thread that waits for standard input cannot be interrupted: it would keep the process.
        sys.stdout.flush()
        os._exit(0)


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
