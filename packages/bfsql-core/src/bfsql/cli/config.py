"""`bfsql config`: every effective setting, and where its value came from."""

from __future__ import annotations

import json
import sys
from typing import Any, NamedTuple

import click
from pydantic import SecretBytes, SecretStr

from bfsql.cli.configured import ConfiguredCommand
from bfsql.cli.visible import visible
from bfsql.config import Configuration
from bfsql.settings import HIDDEN, Resolved, spelled


class Line(NamedTuple):
    """One setting."""

    key: str
    value: Any
    origin: str


@click.command("config", cls=ConfiguredCommand, server=True)
def config(configuration: Configuration) -> None:
    """Show every setting and where its value came from; secrets are hidden.

    Takes the options of `bfsql serve`, so that a command line can be tried.
    Piped, the output is a configuration file.
    """
    choice = configuration.choice
    server = _lines(configuration.server)
    backend = [
        Line("name", choice.backend, choice.backend_origin),
        *_lines(configuration.backend),
    ]
    if sys.stdout.isatty():
        _show(server, backend)
        return
    for line in server:
        click.echo(toml(line))
    click.echo("\n[backend]")
    for line in backend:
        click.echo(toml(line))


def toml(line: Line) -> str:
    """A setting as a line of TOML; what has no value is a comment."""
    if line.value is None:
        return f"# {line.key} is not set"
    return f"{line.key} = {_literal(line.value)}  # {visible(line.origin)}"


def _lines(resolved: Resolved[Any]) -> list[Line]:
    return [
        Line(field.rstrip("_"), getattr(resolved.settings, field), origin)
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
            pairs = (f"{json.dumps(str(key))} = {_literal(item)}" for key, item in value.items())
            return f"{{{', '.join(pairs)}}}"
        case _:
            return json.dumps(spelled(value))


def _show(server: list[Line], backend: list[Line]) -> None:
    from bfsql.cli.tables import print_table

    lines = [*server, *(Line(f"backend.{key}", value, origin) for key, value, origin in backend)]
    rows = [(line.key, spelled(line.value), line.origin) for line in lines]
    styles = ["dim" if line.origin == "default" else "" for line in lines]
    print_table(("setting", "value", "origin"), rows, styles=styles)
