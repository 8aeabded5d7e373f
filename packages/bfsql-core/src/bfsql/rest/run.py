"""`bfsql serve --rest`: from a way to open a graph to a web API that has said goodbye."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bfsql.listening.logs import log_to_stderr
from bfsql.listening.opening import GraphFactory
from bfsql.listening.run import over_http

if TYPE_CHECKING:
    from bfsql.config import ServeSettings


def run(graph_factory: GraphFactory, settings: ServeSettings) -> None:
    """Serve the web API until the operator stops it; blocking.

    Args:
        graph_factory: Opens the graph in the server's event loop.
        settings: Address, bounds, token, names and origins.

    Raises:
        ConfigurationError: The address cannot be listened on, or is reachable
            from elsewhere without allowed hosts.
        BfsqlError: Whatever opening the graph raises.
    """
    log_to_stderr(settings.log_level)
    over_http(graph_factory, settings, "bfsql.rest.http")
