"""`bfsql serve`: a graph for MCP clients, on stdio or over HTTP, or for programs as a web API.

`bfsql token` makes the tokens for such a server.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from bfsql.cli.configuration import Configuration
from bfsql.cli.configured import ConfiguredCommand, check_graph, opened, reader, show_origin
from bfsql.errors import BfsqlError, CircuitOpen, ConfigurationError
from bfsql.settings import Resolved, ServeSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bfsql.serving.live import LiveConfiguration

    Lives: TypeAlias = dict[str, LiveConfiguration]

log = logging.getLogger("bfsql")

_OF_MCP: Sequence[str] = ("instructions", "stateless", "structured_content", "apps", "explorer")
_OF_REST: Sequence[str] = ("cors_origins", "max_age", "source_url")
_OF_HTTP: Sequence[str] = ("host", "port", "admin_port")


@click.command(
    "serve",
    cls=ConfiguredCommand,
    server=True,
    graph=True,
    several=True,
    asks=False,
    examples=(
        "bfsql serve films.db",
        "bfsql serve films.db --transport http --bearer-tokens tokens.txt",
        "bfsql serve films.db lab.db --transport http",
    ),
)
def serve(configuration: Configuration) -> None:
    """Serve a graph to MCP clients, or to programs with --rest.

    GRAPH is a file made by `bfsql load`; or RDF, a database, a workbook or a folder of tables,
    which is loaded first. Several files are one graph; several that are each made by `bfsql load`
    are several graphs, as are the tables [graphs.NAME] of a configuration file. Other stores are
    named with --backend.

    Over stdio, a client starts this command itself; standard output then carries only the protocol.
    Over HTTP, it serves any number of clients at /mcp. With --rest it serves a web API instead,
    which is documented at /docs, and a page to explore the graph at /; with --rest --transport http
    both. Several graphs are at /mcp/NAME and /graphs/NAME/.
    """
    settings = configuration.server.settings
    check_options(configuration.server)
    _fill_closed_streams()
    show_origin(configuration)
    if not settings.serves_http:
        if names := configuration.choice.several:
            raise ConfigurationError(
                "Over stdio a client reaches one graph. Choose it with --graph-name "
                f"({', '.join(names)}), or serve all of them over HTTP: --transport http."
            )
        for option in _options(configuration.server, _OF_HTTP):
            click.echo(f"{option} has no effect over stdio. Add --transport http.", err=True)
        if sys.stdin is not None and sys.stdin.isatty():
            check_graph(configuration)
            click.echo(waiting(sys.argv[1:]), err=True)
    read_all = reader(configuration)

    def read() -> dict[str, Configuration]:
        return {name: _with_own_options(one) for name, one in read_all().items()}

    if settings.workers == 1:
        run(*server_parts(read))
    else:
        from bfsql.serving.processes import serve_workers

        serve_workers(settings, read, lambda **own: run(*server_parts(read), **own))


def server_parts(
    read: Callable[[], dict[str, Configuration]],
) -> tuple[Lives, ServeSettings, Callable[[], Lives]]:
    """The arguments for `run`: how to open the observed graphs, the settings, and how to reload.

    Args:
        read: Reads the settings of each. Later, those whose settings have changed are reopened, or
            all if none has.
    """
    from bfsql.abc.unavailable import UnavailableBackend
    from bfsql.memory_account import MemoryAccount, default_of_a_call, default_of_all_calls
    from bfsql.serving.admin import observers_of
    from bfsql.serving.live import LiveConfiguration
    from bfsql.serving.metrics import Metrics

    graphs = read()
    settings, several = next(iter(graphs.values())).server.settings, len(graphs) > 1
    metrics = Metrics(by_graph=any(graphs)) if settings.admin_port is not None else None
    recorders = []
    if settings.record is not None:
        from bfsql.explore.record import Recorder

        recorders.append(Recorder(settings.record))
    memory = (settings.max_memory or default_of_all_calls()) // settings.workers
    account = MemoryAccount(memory) if several else None
    unavailable = UnavailableBackend(partial(CircuitOpen, None, 10.0))

    def live(one: Configuration) -> LiveConfiguration:
        own, count = one.server.settings, settings.workers
        if count > 1:  # its part, as all of them are at the same store and machine
            names = ("max_calls", "max_calls_per_client", "max_waiting", "calls_per_minute")
            bounds = ((name, getattr(own, name)) for name in names)
            parts = {name: bound and max(1, bound // count) for name, bound in bounds}
            of_a_call = min(own.max_call_memory or default_of_a_call(), memory)
            one = one.with_server(**parts, max_memory=memory, max_call_memory=of_a_call)
            own = one.server.settings
        if several:  # its share, so that no graph takes what all need
            one = one.with_server(
                max_calls=-(-own.max_calls // 2),
                max_memory=memory // 2,
                cache_records=own.cache_records // len(graphs),
            )
        observers = [*observers_of(own, metrics), *recorders]
        opens = partial(opened, one, served=True, observers=observers, memory=account)
        until_open = partial(opens, backend=unavailable) if several else None
        return LiveConfiguration(opens, one.server.settings, until_open)

    def configure() -> Lives:
        nonlocal graphs
        try:
            before, graphs = graphs, read()
            for recorder in recorders:
                recorder.reopen()
        except BfsqlError as error:  # which a graph reports: the others are left alone
            return {name: live(replace(one, error=error)) for name, one in [*graphs.items()][:1]}
        if others := ", ".join(sorted(graphs.keys() ^ before.keys())):
            log.warning("Restart the server to add or remove graphs: %s.", others)
        changed = [name for name in graphs if _opens(graphs[name]) != _opens(before.get(name))]
        return {name: live(graphs[name]) for name in changed or graphs}

    return {name: live(one) for name, one in graphs.items()}, settings, configure


def _opens(one: Configuration | None) -> object:
    """What a graph is opened with."""
    return one and (one.backend, one.of_roles, one.server.settings, str(one.error))


def run(graphs: Lives, settings: ServeSettings, *further: Any, **of_page: Any) -> None:
    """Serve graphs until the client leaves or the server is stopped; blocking.

    Args:
        graphs: How each graph is opened in the server's event loop; over stdio it is one.
        settings: Transport, texts and limits.
        *further: Those of `serve_http`.
        **of_page: Likewise.
    """
    from bfsql.server import stdio
    from bfsql.serving.run import serve_http

    if settings.serves_http:
        asyncio.run(serve_http(graphs, settings, *further, **of_page))
    else:
        [(name, one)] = graphs.items()
        stdio.run(name, one)


def _with_own_options(one: Configuration) -> Configuration:
    """The configuration, which `check_options` does not refuse."""
    check_options(one.server)
    return one


def check_options(server: Resolved[ServeSettings]) -> None:
    """Refuse options that belong to the other kind of server.

    The file and the environment may configure several commands; options on the command
    line are meant for this one.
    """
    settings, origins = server.settings, server.origins
    keeps = not settings.serves_http or (settings.transport == "http" and not settings.stateless)
    if settings.workers > 1 and (keeps or os.name == "nt"):
        raise ConfigurationError(
            "Several workers cannot serve stdio, nor keep sessions of MCP: the next request may "
            "reach another process. Add --transport http --stateless, or --rest, or leave out "
            "workers; on Windows, start several servers behind a proxy instead."
        )
    if settings.rest and settings.transport == "stdio" and origins["transport"] != "default":
        raise ConfigurationError(
            "The web API (rest) is served only over HTTP, but the transport is set to stdio by "
            f"{origins['transport']}. Leave out one of the two."
        )
    if settings.rest and settings.transport == "http":
        return
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
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--expires", type=click.DateTime(), help="Day or time from which it is refused.")
def token(name: str, file: Path | None, expires: datetime | None) -> None:
    """Make a token for a client of bfsql serve.

    The line for the --bearer-tokens file goes to standard output, so that you can
    append it: bfsql token alice >> tokens.txt. The token itself is shown on
    standard error and is not stored; the file contains only its hash.

    bfsql token list FILE prints, for each token of the file, its name, when it
    expires, and when the name was last used.
    """
    from bfsql.serving.tokens import last_uses, new_token, read_tokens, token_line

    if file is not None:
        if name != "list":
            raise click.UsageError("A file is listed by `bfsql token list FILE`.")
        uses = last_uses(file)
        for one in read_tokens(file).values():
            until = f"{'expired' if one.is_expired else 'expires'}: {one.expires or 'never'}"
            used = uses.get(one.client_id, "unknown")
            click.echo(f"{one.client_id}\t{until}\tlast used: {used}")
        return
    made = new_token()
    line = token_line(name, made, expires)
    click.echo(f"The token of {name}, which is shown only once: {made}", err=True)
    click.echo(line)
