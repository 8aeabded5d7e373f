"""The web API on uvicorn, for any number of clients."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from bfsql.graph import Graph
from bfsql.listening import serving
from bfsql.listening.address import url
from bfsql.rest.app import application

if TYPE_CHECKING:
    from bfsql.config import ServeSettings


async def serve(graph: Graph, settings: ServeSettings, listening: socket.socket) -> None:
    """Answer over HTTP until SIGTERM or SIGINT.

    Args:
        graph: Open, and closed by the caller afterwards.
        settings: Bounds, token, names and origins.
        listening: From `address.bind`; closed at the end.
    """
    greeting = f"BFS-QL answers at {url(listening, '')} (its web API; see /docs)"
    await serving.serve(application(graph, settings), listening, greeting)
