"""`bfsql backends`: which stores can be used, and why one cannot."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

import click

from bfsql.cli.visible import visible
from bfsql.plugins import BackendState, states


@click.command("backends")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def backends(*, as_json: bool) -> None:
    """List the installed backends with version and state."""
    found = states()
    if as_json:
        click.echo(json.dumps([asdict(state) for state in found], ensure_ascii=False))
    elif not found:
        click.echo("No backend is installed. Install one with: pip install bfsql-sqlite", err=True)
    elif sys.stdout.isatty():
        _show(found)
    else:
        for state in found:
            line = (state.name, state.version, state.distribution, state.state, state.summary)
            click.echo(visible("\t".join(line)))


def _show(found: list[BackendState]) -> None:
    from bfsql.cli.tables import print_table

    rows = [(s.name, s.version, s.distribution, s.summary if s.ok else s.state) for s in found]
    styles = ["" if state.ok else "red" for state in found]
    print_table(("backend", "version", "distribution", ""), rows, styles=styles)
