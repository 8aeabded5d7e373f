"""`bfsql serve` on standard input and output: one client, which has started the process.

Standard output carries JSON-RPC and nothing else (rule 10 of the architecture).
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO

from bfsql.serving.logs import log_to_stderr
from bfsql.serving.run import GraphFactory, open_while_importing

if TYPE_CHECKING:
    from bfsql.graph import Graph
    from bfsql.settings import ServeSettings

_CANCEL_SECONDS = 0.5
"""Time that cancelled calls have to stop their store queries before the store is closed."""

_STDOUT, _STDERR = 1, 2


def run(graph_factory: GraphFactory, settings: ServeSettings) -> None:
    """Serve a graph until the client leaves or the operator stops the server; blocking.

    The store is opened while `mcp` is being imported, and before the first
    message is read, so that instructions and descriptions are complete in both
    protocol eras. Log records go to standard error.

    Args:
        graph_factory: Opens the graph in the server's event loop.
        settings: Texts and bounds.

    Raises:
        BfsqlError: Whatever opening the graph raises.
    """
    log_to_stderr(settings.log_level)
    with _reserved_stdout() as out:
        asyncio.run(_run(graph_factory, settings, out))


async def _run(graph_factory: GraphFactory, settings: ServeSettings, out: TextIO) -> None:
    async with open_while_importing(graph_factory, "bfsql.server.mcp") as graph:
        client_left = await _until_stopped(_serve(graph, settings, out))
    if not client_left:
        # The thread that waits for standard input cannot be interrupted: it would keep the process.
        sys.stdout.flush()
        os._exit(0)


async def _until_stopped(serving: Coroutine[Any, Any, None]) -> bool:
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
        await asyncio.wait({served}, timeout=_CANCEL_SECONDS)
        return False
    await served
    return True


async def _serve(graph: Graph, settings: ServeSettings, out: TextIO) -> None:
    """Answer until the client closes standard input."""
    import anyio

    from bfsql.server.mcp import server_of

    try:
        await server_of(graph, settings).run_stdio(stdout=anyio.wrap_file(out))
    except* BrokenPipeError:
        pass  # the client left in the middle of an answer


@contextmanager
def _reserved_stdout() -> Iterator[TextIO]:
    """Redirect standard output to standard error, on the level of the system.

    That holds for whatever Python code, a driver in C or a child process prints. It
    begins before the store is opened and ends after it is closed, since backends print
    in both.

    Yields:
        What was standard output, UTF-8.
    """
    sys.stdout.flush()
    kept = os.dup(_STDOUT)
    os.dup2(_STDERR, _STDOUT)
    try:
        with os.fdopen(os.dup(kept), "w", encoding="utf-8", newline="\n") as out:
            yield out
    finally:
        sys.stdout.flush()
        os.dup2(kept, _STDOUT)
        os.close(kept)
