"""Running a server over HTTP on uvicorn, whichever protocol it speaks.

MCP (`bfsql.server`) and the web API (`bfsql.explore`) are applications in front of this module:

    asyncio.run(serve_http({"": LiveConfiguration(graph_factory, settings)}, settings))

Neither uvicorn nor starlette is imported with this module. They are imported in a
thread while the store is being opened.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager, nullcontext, suppress
from importlib import import_module
from typing import Any, NamedTuple

from bfsql.interpreter import frozen_modules, rare_collections, short_switches
from bfsql.serving.address import bind, check_exposure, url
from bfsql.serving.admin import admin_listener, serving_admin
from bfsql.serving.calls import Calls
from bfsql.serving.graphs import application, modules
from bfsql.serving.live import LiveConfiguration, LiveGraphs, open_lives
from bfsql.serving.logs import log_to_stderr
from bfsql.serving.watchdog import watched_loop
from bfsql.settings import ServeSettings


class Worker(NamedTuple):
    """What a worker has from its parent: a pipe that ends with it, and signals that came early."""

    listen: Callable[[], socket.socket]
    admin: socket.socket | None
    lifeline: int
    early: list[int]


async def serve_http(
    graphs: Mapping[str, LiveConfiguration],
    settings: ServeSettings,
    configure: Callable[[], Mapping[str, LiveConfiguration]] | None = None,
    on_listening: Callable[[str], None] | None = None,
    worker: Worker | None = None,
    **of_page: Any,
) -> None:
    """Serve graphs over HTTP until the operator stops the server.

    SIGTERM and SIGINT stop it (`bfsql.serving.draining`); SIGHUP makes it reload its configuration
    and its certificate, and reopen the graphs.

    Args:
        graphs: What opens each graph, by its name; one alone may have an empty name.
        settings: Address and bounds.
        configure: Reloads the configuration, and returns that of the graphs to reopen; None reopens
            all with the same one.
        on_listening: Called with the URL once the server listens.
        worker: What this process has from its parent, if it is one of several.
        **of_page: Further arguments of the page's `application`.
    """
    log_to_stderr(settings)
    if worker is None:
        check_exposure(settings)
    with (
        worker.listen() if worker else bind(settings.host, settings.port) as listener,
        nullcontext(worker.admin) if worker else admin_listener(settings) as admin,
        ExitStack() as until_closed,  # signals are handled until the graph is closed
    ):
        ahead = (*modules(settings), "bfsql.serving.draining")
        async with open_while_importing(graphs, *ahead) as lives:
            from bfsql.serving.draining import Server

            async def reload() -> None:
                changed = await asyncio.to_thread(configure or (lambda: graphs))
                for name in changed.keys() & lives.keys():
                    lives[name].reload(changed[name].factory, changed[name].settings)

            reloads: set[asyncio.Task[None]] = set()

            def begin_reload() -> None:
                server.load_certificate()
                reloads.add(task := asyncio.ensure_future(reload()))
                task.add_done_callback(reloads.discard)

            first = next(iter(lives.values()))
            app = application(lives, settings, **of_page)
            server = Server(app, first)
            until_closed.enter_context(handled_signals(first.calls, begin_reload, worker))
            async with serving_admin(admin, *lives.values(), public=server):
                at = url(listener, "").replace("http", "https" if settings.tls_cert else "http")
                texts = [import_module(one).GREETING.format(url=at) for one in modules(settings)]
                if first.name:
                    texts = [f"BFS-QL answers at {at}/graphs, which lists: {', '.join(lives)}"]
                if worker is None or on_listening is not None:
                    sys.stderr.write("\n".join([*texts, ""]))
                    sys.stderr.flush()
                if on_listening is not None:
                    on_listening(f"{at}/")
                await server.serve(sockets=[listener])


@asynccontextmanager
async def open_while_importing(
    graphs: Mapping[str, LiveConfiguration], *modules: str
) -> AsyncIterator[LiveGraphs]:
    """Open graphs, and meanwhile import the named modules, which takes long."""

    def import_ahead() -> None:
        with suppress(ImportError):  # raised again in the main thread
            for module in modules:
                import_module(module)

    importing = threading.Thread(target=import_ahead, daemon=True)
    importing.start()
    async with open_lives(graphs) as lives:
        await asyncio.to_thread(importing.join)
        # The first graph is among what is frozen, and has to be collected when another one takes
        # its place.
        for live in lives.values():
            live.on_open(lambda _: gc.unfreeze())
            live.on_open(live.warn_of_roles)
        with frozen_modules(), rare_collections(600), short_switches(), watched_loop():
            yield lives


@contextmanager
def handled_signals(
    calls: Calls, reload: Callable[[], None] | None = None, worker: Worker | None = None
) -> Iterator[None]:
    """Stop the server on SIGINT and SIGTERM, and reload its configuration on SIGHUP.

    The signals are handled in the running event loop; in a thread, none is. A worker may get one
    twice, from its parent and as one of a group of processes; it ends at once with its lifeline.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    handlers: dict[int, Callable[[], object]]
    handlers = dict.fromkeys((signal.SIGINT, signal.SIGTERM), calls.stop)
    if worker is not None:
        handlers = dict.fromkeys(handlers, lambda: None if calls.draining else calls.stop())
        loop.add_reader(worker.lifeline, os._exit, 1)
    if reload is not None and hasattr(signal, "SIGHUP"):  # Windows has none
        handlers[signal.SIGHUP] = reload
    before = {
        number: signal.signal(number, lambda got, _: loop.call_soon_threadsafe(handlers[got]))
        for number in handlers
    }
    for got in worker.early if worker else ():
        handlers[got]()
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
