"""Standard input and output as the connection: one client, whose process we are."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, TextIO

import anyio

from bfsql.graph import Graph
from bfsql.server.mcp_server import BfsqlServer

if TYPE_CHECKING:
    from bfsql.config import ServeSettings


async def serve(graph: Graph, settings: ServeSettings, wire: TextIO) -> None:
    """Answer on the wire until the client closes our standard input.

    Args:
        graph: Open, and closed by the caller afterwards.
        settings: Of the server.
        wire: What was standard output, for JSON-RPC alone.
    """
    server = BfsqlServer(
        lambda: nullcontext(graph),
        instructions=settings.instructions,
        structured_content=settings.structured_content,
    )
    try:
        await server.run_stdio(stdout=anyio.wrap_file(wire))
    except* BrokenPipeError:
        pass  # the client left in the middle of an answer: nobody is there to be told
