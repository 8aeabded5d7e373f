"""`bfsql serve`: a graph for MCP clients, on stdio or over HTTP."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import click

from bfsql.cli.configured import ConfiguredCommand, opened
from bfsql.config import Configuration


@click.command("serve", cls=ConfiguredCommand, server=True)
def serve(configuration: Configuration) -> None:
    """Serve a graph to MCP clients.

    On stdio a client starts this command itself; standard output then carries
    the protocol and nothing else. Over HTTP it serves any number of clients
    at /mcp.
    """
    from bfsql.server.run import run

    settings = configuration.server.settings
    if settings.transport == "stdio" and sys.stdin.isatty():
        click.echo(waiting(sys.argv[1:]), err=True)
    run(lambda: opened(configuration), settings)


def waiting(arguments: list[str]) -> str:
    """What a person reads who started the server in a terminal: an entry for a client.

    Args:
        arguments: The command line, from `serve` on.
    """
    command = shutil.which("bfsql") or "bfsql"
    # A client starts it in a folder of its own choosing.
    rest = [str(Path(a).resolve()) if Path(a).exists() else a for a in arguments[1:]]
    entry = json.dumps({"command": command, "args": [*arguments[:1], *rest]}, ensure_ascii=False)
    return (
        "Waiting for an MCP client on standard input. Clients start this command themselves; "
        f"put it into yours as {entry}. Ctrl-C ends it."
    )
