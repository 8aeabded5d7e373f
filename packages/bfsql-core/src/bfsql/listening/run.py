"""From a way to open a graph to a server over HTTP that has said goodbye."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING

from bfsql.listening.address import bind, check_exposure
from bfsql.listening.opening import GraphFactory, opened

if TYPE_CHECKING:
    from bfsql.config import ServeSettings


def over_http(graph_factory: GraphFactory, settings: ServeSettings, face: str) -> None:
    """Serve a graph over HTTP until the operator stops the server; blocking.

    Args:
        graph_factory: Opens the graph in the server's event loop.
        settings: Address and bounds.
        face: Name of the module whose `serve(graph, settings, listening)` answers.

    Raises:
        ConfigurationError: The address cannot be listened on, or is reachable
            from elsewhere without allowed hosts.
        BfsqlError: Whatever opening the graph raises.
    """
    check_exposure(settings.host, settings.allowed_hosts)
    with bind(settings.host, settings.port) as listening:
        asyncio.run(_serve(graph_factory, settings, face, listening))


async def _serve(
    graph_factory: GraphFactory, settings: ServeSettings, face: str, listening: socket.socket
) -> None:
    async with opened(graph_factory, face) as (graph, module):
        await module.serve(graph, settings, listening)
