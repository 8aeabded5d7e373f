"""Running a server over HTTP on uvicorn, whichever protocol it speaks.

MCP (`bfsql.server`) and the web API (`bfsql.rest`) are applications in front of this module:

    run_http(graph_factory, settings, "bfsql.rest.app")

Neither uvicorn nor starlette is imported with this module. They are imported in a
thread while the store is being opened.
"""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from importlib import import_module
from math import ceil
from typing import TYPE_CHECKING, TypeAlias

from bfsql.serving.address import bind, check_exposure, url
from bfsql.serving.listener import Listener
from bfsql.serving.logs import log_to_stderr

if TYPE_CHECKING:
    from bfsql.graph import Graph
    from bfsql.settings import ServeSettings

GraphFactory: TypeAlias = "Callable[[], AbstractAsyncContextManager[Graph]]"
"""Opens a graph in the running event loop, and closes it at the end."""

SHUTDOWN_SECONDS = 5
"""Time that calls under way have to end when the server is stopped."""

_GC_THRESHOLDS = (100_000, 50, 100)
"""Collecting less often takes a tenth off a hub of 60,000 edges (decision 0001)."""


def run_http(graph_factory: GraphFactory, settings: ServeSettings, module: str) -> None:
    """Serve a graph over HTTP until the operator stops the server; blocking.

    Args:
        graph_factory: Opens the graph in the server's event loop.
        settings: Address and bounds.
        module: Name of the module whose `application(graph, settings)` answers and whose
            `GREETING` names the `{url}`. It is imported while the graph is being opened.

    Raises:
        ConfigurationError: The address cannot be listened on, or is reachable
            from elsewhere without allowed hosts.
        BfsqlError: Whatever opening the graph raises.
    """
    log_to_stderr(settings.log_level)
    check_exposure(settings.host, settings.allowed_hosts)
    with Listener(bind(settings.host, settings.port)) as listener:
        asyncio.run(_run_http(graph_factory, settings, module, listener))


async def _run_http(
    graph_factory: GraphFactory, settings: ServeSettings, module: str, listener: socket.socket
) -> None:
    async with open_while_importing(graph_factory, module, "bfsql.serving.connections") as graph:
        import uvicorn

        from bfsql.serving.connections import BACKLOG, Connections

        application_module = import_module(module)
        connections = Connections(settings)
        config = uvicorn.Config(
            application_module.application(graph, settings),
            http=connections.protocol,
            backlog=BACKLOG,
            timeout_keep_alive=ceil(settings.idle_timeout),
            log_config=None,
            access_log=False,
            server_header=False,
            ws="none",
            lifespan="on",
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        )
        sys.stderr.write(f"{application_module.GREETING.format(url=url(listener, ''))}\n")
        sys.stderr.flush()
        with _repeated_signals_ignored():
            await uvicorn.Server(config).serve(sockets=[listener])


@asynccontextmanager
async def open_while_importing(graph_factory: GraphFactory, *modules: str) -> AsyncIterator[Graph]:
    """Open a graph; the named modules, which take long to import, are imported meanwhile."""

    def import_ahead() -> None:
        with suppress(ImportError):  # raised again in the main thread
            for module in modules:
                import_module(module)

    importing = threading.Thread(target=import_ahead, daemon=True)
    importing.start()
    async with graph_factory() as graph:
        await asyncio.to_thread(importing.join)
        gc.set_threshold(*_GC_THRESHOLDS)
        yield graph


@contextmanager
def _repeated_signals_ignored() -> Iterator[None]:
    """Let the process go on to close the graph and end with 0 after a signal.

    After its shutdown, uvicorn raises the signal that stopped it once more, for the
    handler that was installed before. The default handler would end the process before
    the graph is closed.
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
