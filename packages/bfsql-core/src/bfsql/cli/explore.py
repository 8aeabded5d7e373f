"""`bfsql explore`: a page in the browser to search and walk a graph."""

from __future__ import annotations

import threading
import webbrowser
from pathlib import Path

import click

from bfsql.cli.configuration import Configuration
from bfsql.cli.configured import ConfiguredCommand, reader, show_origin
from bfsql.cli.serve import run, server_parts
from bfsql.settings import Level

_OF_OTHER_SERVERS = (
    *("transport", "rest", "answer_format", "instructions", "stateless"),
    *("structured_content", "apps", "explorer", "max_sessions", "session_timeout"),
    "workers",
)
"""Settings that this server ignores if they are in a file or the environment."""


@click.command(
    "explore",
    cls=ConfiguredCommand,
    server=True,
    graph=True,
    without=_OF_OTHER_SERVERS,
    common=("host", "port", "graph_description"),
    examples=("bfsql explore films.db", "bfsql explore films.db --replay calls.jsonl"),
)
@click.option(
    "--replay",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Show the tool calls that `bfsql serve --record FILE` has recorded.",
)
@click.option("--no-browser", is_flag=True, help="Do not open the page in a browser.")
def explore(configuration: Configuration, *, replay: Path | None, no_browser: bool) -> None:
    """Explore a graph in the browser.

    GRAPH is a file made by `bfsql load`, or an RDF file. Other stores are named with --backend.

    The page shows what a model sees: it makes the same calls and shows their answers. It is served
    together with the web API, as by bfsql serve --rest, and only on this machine without --host.
    """
    show_origin(configuration)
    read = reader(configuration)
    parts = server_parts(lambda: {name: _for_people(one) for name, one in read().items()})
    view = "#view=replay" if replay else ""

    def show(url: str) -> None:  # without waiting for the browser, which may run in this terminal
        threading.Thread(target=webbrowser.open, args=(url + view,), daemon=True).start()

    run(*parts, on_listening=None if no_browser else show, replay=replay)


def _for_people(of: Configuration) -> Configuration:
    """A web server without the default token budget, which is for models."""
    budget = {"max_tokens": 0} if of.server.levels["max_tokens"] is Level.DEFAULT else {}
    # With the transport http, MCP would be served beside the web API.
    known = of.server.settings
    # Whoever starts the page on this machine sees all; callers with tokens have their roles.
    roles = known.roles if known.bearer_tokens or known.oauth_issuer else ()
    return of.with_server(rest=True, transport="stdio", workers=1, roles=roles, **budget)
