"""Commands that show information: `bfsql backends`, `graphs`, `config`, `index` and `completion`.

`backends` lists the installed stores and hook plugins, `config` every setting with its origin,
`index` the indexes that a store lacks, and `completion` the script for a shell.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import click
from pydantic import SecretBytes, SecretStr

from bfsql.cli.command import ExitCode, escape
from bfsql.cli.configuration import Configuration
from bfsql.cli.configured import ConfiguredCommand, opened, reader
from bfsql.cli.splice import toml_text
from bfsql.errors import BfsqlError, ConfigurationError
from bfsql.plugins import BackendState, HookState, hook_states, states
from bfsql.settings import HIDDEN, Resolved, spelled, without_secrets
from bfsql.sources.registry import FormatState, format_states

_State = BackendState | HookState | FormatState


@click.command("backends")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def backends(*, as_json: bool) -> None:
    """List the installed backends, hook plugins and formats of files with version and state."""
    found: dict[str, Sequence[_State]]
    found = {"backend": states(), "hooks": hook_states(), "format": format_states()}
    if as_json:
        lines = [{"kind": kind, **asdict(one)} for kind, some in found.items() for one in some]
        click.echo(json.dumps(lines, ensure_ascii=False))
        return
    if not found["backend"]:
        click.echo(
            "No backend is installed. For files: pip install bfsql-sqlite, or in a clone "
            "pip install ./packages/bfsql-sqlite",
            err=True,
        )
    from bfsql.cli.render import print_table

    every = [(kind, one) for kind, some in found.items() for one in some]
    rows = [(kind, s.name, s.version, s.distribution, _summary(s)) for kind, s in every]
    styles = ["" if one.ok else "red" for _, one in every]
    print_table(("", "name", "version", "distribution", ""), rows, styles)


def _summary(state: _State) -> str:
    if not state.ok:
        return state.state
    return ", ".join(state.hooks) if isinstance(state, HookState) else state.summary


@click.command("graphs", cls=ConfiguredCommand, server=True, several=True, common=())
def graphs(configuration: Configuration) -> None:
    """List the graphs of a configuration file, and whether each can be opened.

    Exit code 1: one cannot.
    """

    async def state(one: Configuration) -> str:
        try:
            async with asyncio.timeout(10.0), opened(one) as graph:
                await graph.db.ping()
        except (BfsqlError, OSError) as error:  # which TimeoutError is
            return str(error) or "it does not answer within 10 s"
        return "ok"

    async def states() -> list[str]:
        return await asyncio.gather(*map(state, found.values()))

    found = reader(configuration, ask=True)()
    for name, line in zip(found, lines := asyncio.run(states()), strict=True):
        click.echo(escape(f"{name or found[name].choice.backend}\t{line}"))
    if {*lines} != {"ok"}:
        click.get_current_context().exit(ExitCode.FAILED)


class Line(NamedTuple):
    """One setting."""

    key: str
    value: Any
    origin: str


@click.command("config", cls=ConfiguredCommand, server=True, graph=True, common=())
def config(configuration: Configuration) -> None:
    """Show every setting and where its value came from; secrets are hidden.

    Takes the options of `bfsql serve`, so that you can try out a command line. The output is a
    configuration file.
    """
    choice = configuration.choice
    server = setting_lines(configuration.server)
    level = choice.file.level.suffix if choice.is_of_file else ""
    name = Line("name", choice.backend, choice.backend_origin + level)
    backend = [name, *setting_lines(configuration.backend)]
    click.echo("\n".join([*map(toml, server), "\n[backend]", *map(toml, backend)]))


def toml(line: Line) -> str:
    """A setting as a line of TOML; one without a value is a comment."""
    if line.value is None:
        return f"# {line.key} is not set"
    return f"{line.key} = {_literal(line.value)}  # {escape(line.origin)}"


def setting_lines(resolved: Resolved[Any]) -> list[Line]:
    """Every setting of a model with its value, its origin and how far that is trusted."""
    levels = resolved.levels
    return [
        Line(field.rstrip("_"), getattr(resolved.settings, field), origin + levels[field].suffix)
        for field, origin in resolved.origins.items()
    ]


def _literal(value: Any) -> str:
    match value:
        case bool() | int() | float():
            return spelled(value)
        case SecretStr() | SecretBytes():
            return f'"{HIDDEN}"'
        case list() | tuple():
            return f"[{', '.join(_literal(item) for item in value)}]"
        case dict():
            pairs = (
                f"{toml_text(str(key))} = {_literal(item)}"
                for key, item in without_secrets(value).items()
            )
            return f"{{{', '.join(pairs)}}}"
        case _:
            return toml_text(spelled(value))


@click.command("index", cls=ConfiguredCommand, graph=True)
@click.option("--apply", is_flag=True, help="Run them; otherwise they are only shown.")
def index(configuration: Configuration, *, apply: bool) -> None:
    """Show the statements that a store needs for speed or search; --apply runs them."""
    prepare = configuration.choice.plugin.prepare
    if prepare is None:
        raise ConfigurationError(
            f"The backend {configuration.choice.backend!r} has no indexes to create: it uses its "
            "store as it is."
        )

    async def prepared() -> list[str]:
        return await prepare(configuration.backend.settings, apply)

    statements = asyncio.run(prepared())
    for statement in statements:
        click.echo(escape(statement))
    if not statements:
        click.echo("Nothing is missing.", err=True)
    elif apply:
        click.echo(f"Created: {len(statements)}.", err=True)
    else:
        click.echo(f"Missing: {len(statements)}. Create them with --apply.", err=True)


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), metavar="SHELL")
def completion(*, shell: str) -> None:
    """Print a script that completes commands and options in SHELL (bash, zsh or fish).

    For example: eval "$(bfsql completion bash)" in ~/.bashrc.
    """
    from click.shell_completion import get_completion_class

    from bfsql.cli.command import bfsql

    made = get_completion_class(shell)
    assert made is not None, shell
    click.echo(made(bfsql, {}, "bfsql", "_BFSQL_COMPLETE").source())
