"""Running a server over HTTP on uvicorn, whichever protocol it speaks.

MCP (`bfsql.server`) and the web API (`bfsql.explore`) are applications in front of this module:

    asyncio.run(serve_http(graph_factory, settings, "bfsql.explore.page"))

Neither uvicorn nor starlette is imported with this module. They are imported in a
thread while the store is being opened.
"""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from functools import partial
from importlib import import_module
from typing import Any

from bfsql.interpreter import frozen_modules, rare_collections, short_switches
from bfsql.serving.address import bind, check_exposure, url
from bfsql.serving.admin import admin_listener, serving_admin
from bfsql.serving.live import GraphFactory, LiveConfiguration, LiveGraph, open_live
from bfsql.serving.logs import log_to_stderr
from bfsql.serving.watchdog import watched_loop
from bfsql.settings import ServeSettings


async def serve_http(
    graph_factory: GraphFactory,
    settings: ServeSettings,
    module: str,
    configure: Callable[[], LiveConfiguration] | None = None,
    on_listening: Callable[[str], None] | None = None,
    **arguments: Any,
) -> None:
    """Serve a graph over HTTP until the operator stops the server.

    SIGTERM and SIGINT stop it (`bfsql.serving.draining`); SIGHUP makes it reload its configuration
    and reopen the graph.

    Args:
        graph_factory: Opens the graph.
        settings: Address and bounds.
        module: Name of the module with the `application(live_graph, settings)` to run and the
            `GREETING`, which contains `{url}`. It is imported while the graph is being opened.
        configure: Reloads the configuration; None reopens the graph with the same one.
        on_listening: Called with the URL once the server listens.
        **arguments: Further ones of the `application`.
    """
    log_to_stderr(settings)
    check_exposure(settings)
    configure = configure or (lambda: (graph_factory, settings))
    with (
        bind(settings.host, settings.port) as listener,
        admin_listener(settings) as admin,
        ExitStack() as until_closed,  # signals are handled until the graph is closed
    ):
        ahead = (module, "bfsql.serving.draining")
        async with open_while_importing(graph_factory, settings, *ahead) as live:
            from bfsql.serving.draining import Server

            home = import_module(module)
            app = home.application(live, settings, **arguments)
            server = Server(app, live)
            until_closed.enter_context(handled_signals(live, configure))
            async with serving_admin(admin, live, server):
                sys.stderr.write(f"{home.GREETING.format(url=url(listener, ''))}\n")
                sys.stderr.flush()
                if on_listening is not None:
                    on_listening(url(listener, "/"))
                await server.serve(sockets=[listener])


@asynccontextmanager
async def open_while_importing(
    graph_factory: GraphFactory, settings: ServeSettings, *modules: str
) -> AsyncIterator[LiveGraph]:
    """Open a graph, and meanwhile import the named modules, which takes long."""

    def import_ahead() -> None:
        with suppress(ImportError):  # raised again in the main thread
            for module in modules:
                import_module(module)

    importing = threading.Thread(target=import_ahead, daemon=True)
    importing.start()
    async with open_live(graph_factory, settings) as live:
        await asyncio.to_thread(importing.join)
        # The first graph is among what is frozen, and has to be collected when another one takes
        # its place.
        live.on_open(lambda _: gc.unfreeze())
        with frozen_modules(), rare_collections(600), short_switches(), watched_loop():
            yield live


@contextmanager
def handled_signals(
    live: LiveGraph, configure: Callable[[], LiveConfiguration] | None = None
) -> Iterator[None]:
    """Stop the server on SIGINT and SIGTERM, and reload its configuration on SIGHUP.

    The signals are handled in the running event loop; in a thread, none is.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    handlers: dict[int, Callable[[], object]]
    handlers = dict.fromkeys((signal.SIGINT, signal.SIGTERM), live.calls.stop)
    if configure is not None and hasattr(signal, "SIGHUP"):  # Windows has none
        handlers[signal.SIGHUP] = partial(live.reload, configure)
    before = {
        number: signal.signal(number, lambda got, _: loop.call_soon_threadsafe(handlers[got]))
        for number in handlers
    }
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
