"""`bfsql serve` over standard input and output: one client, which has started the process.

Standard output carries JSON-RPC and nothing else (rule 10 of the architecture).
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, BinaryIO

from bfsql import call
from bfsql.server.standard_streams import reserved_stdin, reserved_stdout
from bfsql.serving.admin import admin_listener, serving_admin
from bfsql.serving.calls import until
from bfsql.serving.live import LiveConfiguration, LiveGraph
from bfsql.serving.logs import log_to_stderr
from bfsql.serving.run import handled_signals, open_while_importing

if TYPE_CHECKING:
    from bfsql.server.stdio_transport import Lines


def run(name: str, one: LiveConfiguration) -> None:
    """Serve a graph until the client leaves or the operator stops the server; blocking.

    The store is opened while `mcp` is being imported, and before the first
    message is read, so that instructions and descriptions are complete in both
    protocol eras. Log records go to standard error.
    """
    log_to_stderr(one.settings)
    with reserved_stdin() as given, reserved_stdout() as out, admin_listener(one.settings) as admin:
        asyncio.run(_run(name, one, given, out, admin))


async def _run(
    name: str, one: LiveConfiguration, stdin: BinaryIO, out: BinaryIO, admin: socket.socket | None
) -> None:
    # Signals are handled until the graph is closed.
    with ExitStack() as until_closed:
        async with open_while_importing({name: one}, "bfsql.server.mcp") as lives:
            live = lives[name]
            call.GRAPH.set(name)
            until_closed.enter_context(handled_signals(live.calls))
            async with serving_admin(admin, live):
                client_left = await _until_stopped(live, stdin, out)
        if not client_left:
            # The thread that waits for standard input cannot be interrupted and would keep the
            # process alive.
            sys.stdout.flush()
            os._exit(0)


async def _until_stopped(live: LiveGraph, stdin: BinaryIO, out: BinaryIO) -> bool:
    """Serve until the client leaves (returns True) or the operator stops the server (False).

    A stopping server answers the calls in progress within the grace period. After that, they have
    two seconds to end, and the client has as many to read the answers.
    """
    from bfsql.server.stdio_transport import Lines

    lines = Lines(stdin, out)
    served = asyncio.ensure_future(_serve(live, lines))
    stopped = asyncio.Event()
    live.calls.on_stop(stopped.set)
    stopping = asyncio.ensure_future(stopped.wait())
    await asyncio.wait({served, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()

    def idle() -> bool:
        return served.done() or not live.calls.under_way

    if not served.done():
        await live.calls.wait(idle, live.settings.grace)
        live.calls.end()
        await until(idle, 2.0)
        await until(lambda: served.done() or not lines.unanswered, 2.0)
    if not served.done():
        served.cancel()
        # Cancelled calls stop their store queries before the store is closed.
        await asyncio.wait({served}, timeout=0.5)
        return False
    await served
    return True


async def _serve(live: LiveGraph, lines: Lines) -> None:
    """Answer until the client closes standard input."""
    from bfsql.server.mcp import server_of

    try:
        await server_of(live).run_stdio(lines)
    except* BrokenPipeError:
        pass  # the client left in the middle of an answer
