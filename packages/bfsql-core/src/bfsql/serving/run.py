"""Running a server over HTTP on uvicorn, whichever protocol it speaks.

MCP (`bfsql.server`) and the web API (`bfsql.explore`) are applications in front of this module:

    run_http(graph_factory, settings, "bfsql.explore.page")

Neither uvicorn nor starlette is imported with this module. They are imported in a
thread while the store is being opened.
"""

from __future__ import annotations

import asyncio
import gc
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager, suppress
from importlib import import_module
from math import ceil
from types import MappingProxyType
from typing import Any

from bfsql.serving import signals
from bfsql.serving.address import bind, check_exposure, url
from bfsql.serving.admin import Parts, admin_listener, serving_admin
from bfsql.serving.listener import Listener
from bfsql.serving.live import GraphFactory, LiveGraph, open_live
from bfsql.serving.logs import log_to_stderr
from bfsql.serving.reloading import Configured, Reloading
from bfsql.serving.requests import Requests
from bfsql.settings import ServeSettings

_GC_THRESHOLDS = (50_000, 5, 5)
"""Collecting garbage less often saves a tenth of the time for a hub of 60,000 edges (decision
0001). The older generations have to be collected too: asyncio leaves a reference cycle for each
connection that has ended, and the SDK one for each call."""


def run_http(
    graph_factory: GraphFactory,
    settings: ServeSettings,
    module: str,
    configure: Callable[[], Configured] | None = None,
    *,
    on_listening: Callable[[str], None] | None = None,
    arguments: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Serve a graph over HTTP until the operator stops the server; blocking.

    SIGTERM and SIGINT stop it (`bfsql.serving.draining`); SIGHUP makes it reload its configuration
    and reopen the graph.

    Args:
        graph_factory: Opens the graph in the server's event loop.
        settings: Address and bounds.
        module: Name of the module with the `application(live_graph, settings)` to run and the
            `GREETING`, which contains `{url}`. It is imported while the graph is being opened.
        configure: Reloads the configuration; None reopens the graph with the same one.
        on_listening: Called with the URL once the server listens.
        arguments: Further ones of the `application`.

    Raises:
        ConfigurationError: The server cannot listen on the address, or it is reachable from other
            machines without a token or without allowed hosts.
        BfsqlError: Whatever opening the graph raises.
    """
    log_to_stderr(settings)
    check_exposure(settings)
    configure = configure or (lambda: (graph_factory, settings))
    with (
        Listener(bind(settings.host, settings.port)) as listener,
        admin_listener(settings) as admin,
    ):
        asyncio.run(
            _run_http(
                graph_factory,
                settings,
                module,
                listener,
                admin=admin,
                configure=configure,
                on_listening=on_listening or (lambda _: None),
                arguments=arguments,
            )
        )


async def _run_http(
    graph_factory: GraphFactory,
    settings: ServeSettings,
    module: str,
    listener: socket.socket,
    *,
    admin: socket.socket | None,
    configure: Callable[[], Configured],
    on_listening: Callable[[str], None],
    arguments: Mapping[str, Any],
) -> None:
    # Signals are handled until the graph is closed.
    with ExitStack() as until_closed:
        ahead = (module, "bfsql.serving.connections", "bfsql.serving.draining")
        async with open_while_importing(graph_factory, settings, *ahead) as live:
            import uvicorn

            from bfsql.serving.connections import BACKLOG, Connections
            from bfsql.serving.draining import CLOSE_SECONDS, Server

            application_module = import_module(module)
            connections = Connections(settings)
            requests = Requests(application_module.application(live, settings, **arguments))
            config = uvicorn.Config(
                requests,
                http=connections.protocol,
                backlog=BACKLOG,
                timeout_keep_alive=ceil(settings.idle_timeout),
                log_config=None,
                access_log=False,
                server_header=False,
                # uvicorn would trust X-Forwarded-For from every client on this machine.
                proxy_headers=bool(settings.trusted_proxies),
                forwarded_allow_ips=[*settings.trusted_proxies],
                ws="none",
                lifespan="on",
                timeout_graceful_shutdown=CLOSE_SECONDS,
            )
            server = Server(config, live.calls, requests)
            stop = lambda: server.stop(live.settings.grace)
            reloading = Reloading(live, configure)
            handlers = {**dict.fromkeys(signals.STOPPING, stop)}
            if signals.RELOAD is not None:
                handlers[signals.RELOAD] = reloading.begin
            until_closed.enter_context(signals.handled(handlers))
            async with serving_admin(Parts(live, connections), admin):
                sys.stderr.write(f"{application_module.GREETING.format(url=url(listener, ''))}\n")
                sys.stderr.flush()
                on_listening(url(listener, "/"))
                await server.serve(sockets=[listener])
            await reloading.end()


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
        gc.set_threshold(*_GC_THRESHOLDS)
        # Modules stay: a full collection takes a tenth of the time without them. The first graph
        # is among what is frozen, and has to be collected when another one takes its place.
        live.on_open(lambda _: gc.unfreeze())
        gc.freeze()
        yield live
