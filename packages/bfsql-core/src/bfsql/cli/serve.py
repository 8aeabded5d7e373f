"""`bfsql serve`: a graph for MCP clients, on stdio or over HTTP, or for programs as a web API.

`bfsql token` makes the tokens for such a server.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bfsql.cli.configuration import Configuration
from bfsql.cli.configured import ConfiguredCommand, check_graph, opened, reader, show_origin
from bfsql.errors import ConfigurationError
from bfsql.settings import Resolved, ServeSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bfsql.serving.live import GraphFactory, LiveConfiguration

_OF_MCP: Sequence[str] = ("instructions", "stateless", "structured_content", "apps", "explorer")
_OF_REST: Sequence[str] = ("cors_origins", "max_age")
_OF_HTTP: Sequence[str] = ("host", "port", "admin_port")


@click.command(
    "serve",
    cls=ConfiguredCommand,
    server=True,
    graph=True,
    asks=False,
    examples=(
        "bfsql serve films.db",
        "bfsql serve films.db --transport http --bearer-tokens tokens.txt",
    ),
)
def serve(configuration: Configuration) -> None:
    """Serve a graph to MCP clients, or to programs with --rest.

    GRAPH is a file made by `bfsql load`; or RDF, a database, a workbook or a folder of tables,
    which is loaded first. Several files are one graph. Other stores are named with --backend.

    Over stdio, a client starts this command itself; standard output then carries only the protocol.
    Over HTTP, it serves any number of clients at /mcp. With --rest it serves a web API instead,
    which is documented at /docs, and a page to explore the graph at /.
    """
    settings = configuration.server.settings
    check_options(configuration.server)
    _fill_closed_streams()
    show_origin(configuration)
    if not settings.serves_http:
        for option in _options(configuration.server, _OF_HTTP):
            click.echo(f"{option} has no effect over stdio. Add --transport http.", err=True)
        if sys.stdin is not None and sys.stdin.isatty():
            check_graph(configuration)
            click.echo(waiting(sys.argv[1:]), err=True)
    read = reader()

    def again() -> Configuration:
        now = read()
        check_options(now.server)
        return now

    run(*server_parts(configuration, again))


def server_parts(
    configuration: Configuration, read: Callable[[], Configuration]
) -> tuple[GraphFactory, ServeSettings, Callable[[], LiveConfiguration]]:
    """The arguments for `run`: a factory of the observed graph, its settings, and how to reload."""
    from bfsql.serving.admin import observers_of
    from bfsql.serving.metrics import Metrics

    settings = configuration.server.settings
    metrics = Metrics() if settings.admin_port is not None else None
    recorders = []
    if settings.record is not None:
        from bfsql.explore.record import Recorder

        recorders.append(Recorder(settings.record))

    def factory(of: Configuration) -> GraphFactory:
        observers = [*observers_of(of.server.settings, metrics), *recorders]
        return lambda: opened(of, served=True, observers=observers)

    def configure() -> LiveConfiguration:
        now = read()
        for recorder in recorders:
            recorder.reopen()
        return factory(now), now.server.settings

    return factory(configuration), settings, configure


def run(
    graph_factory: GraphFactory,
    settings: ServeSettings,
    configure: Callable[[], LiveConfiguration] | None = None,
    on_listening: Callable[[str], None] | None = None,
    replay: Path | None = None,
) -> None:
    """Serve a graph until the client leaves or the server is stopped; blocking.

    Args:
        graph_factory: Opens the graph in the server's event loop.
        settings: Transport, texts and limits.
        configure: Rereads the configuration, for a running server over HTTP.
        on_listening: Called with the URL of the web API once it listens.
        replay: File of recorded calls that the web API serves.
    """
    from bfsql.server import stdio
    from bfsql.serving.run import serve_http

    if not settings.serves_http:
        stdio.run(graph_factory, settings)
        return
    module, arguments = "bfsql.server.mcp", {}
    if settings.rest:
        module, arguments = "bfsql.explore.page", {"replay": replay}
    asyncio.run(serve_http(graph_factory, settings, module, configure, on_listening, **arguments))


def check_options(server: Resolved[ServeSettings]) -> None:
    """Refuse options that belong to the other kind of server.

    The file and the environment may configure several commands; options on the command
    line are meant for this one.
    """
    settings, origins = server.settings, server.origins
    if settings.rest and settings.transport == "stdio" and origins["transport"] != "default":
        raise ConfigurationError(
            "The web API (rest) is served only over HTTP, but the transport is set to stdio by "
            f"{origins['transport']}. Leave out one of the two."
        )
    fields, kind, cure = _OF_REST, "the web API", "add --rest"
    if settings.rest:
        fields, kind, cure = _OF_MCP, "MCP", "leave out --rest"
    for option in _options(server, fields):
        raise ConfigurationError(f"{option} is for {kind} only. Leave it out, or {cure}.")


def _options(server: Resolved[ServeSettings], fields: Sequence[str]) -> list[str]:
    """Which of these settings are options on the command line, as in `Option --port`."""
    origins = [server.origins[field] for field in fields]
    return [origin.capitalize() for origin in origins if origin.startswith("option")]


def _fill_closed_streams() -> None:
    """Open the null device for each standard stream that the process was started without.

    Otherwise a socket or a database could get its descriptor, and printed text would be written
    there.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free descriptor: this one
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - for as long as the process lives


def waiting(arguments: list[str]) -> str:
    """The hint for a server that was started in a terminal with this command line."""
    from bfsql.cli.clients import own_command

    # A client starts it in a folder of its own choosing.
    rest = [str(Path(a).resolve()) if Path(a).exists() else a for a in arguments[1:]]
    command, *args = own_command(*arguments[:1], *rest)
    entry = json.dumps({"command": command, "args": args}, ensure_ascii=False)
    return (
        "Waiting for an MCP client on standard input. Clients start this command themselves: "
        f"`bfsql install CLIENT` with the same options adds it to a client, as {entry}. Press "
        "Ctrl-C to stop."
    )


@click.command("token")
@click.argument("name")
def token(name: str) -> None:
    """Make a token for a client of bfsql serve.

    The line for the --bearer-tokens file goes to standard output, so that you can
    append it: bfsql token alice >> tokens.txt. The token itself is shown on
    standard error and is not stored; the file contains only its hash.
    """
    from bfsql.serving.tokens import new_token, token_line

    made = new_token()
    line = token_line(name, made)
    click.echo(f"The token of {name}, which is shown only once: {made}", err=True)
    click.echo(line)
