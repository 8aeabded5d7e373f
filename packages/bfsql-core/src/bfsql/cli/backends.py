"""`bfsql backends`: which stores and hook plugins can be used, and why one cannot."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

import click

from bfsql.cli.visible import visible
from bfsql.plugins import BackendState, HookState, hook_states, states


@click.command("backends")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def backends(*, as_json: bool) -> None:
    """List the installed backends and hook plugins with version and state."""
    found, hooks = states(), hook_states()
    if as_json:
        lines = [{"kind": "backend", **asdict(state)} for state in found]
        lines += [{"kind": "hooks", **asdict(state)} for state in hooks]
        click.echo(json.dumps(lines, ensure_ascii=False))
        return
    if not found:
        click.echo("No backend is installed. Install one with: pip install bfsql-sqlite", err=True)
    if sys.stdout.isatty():
        _show(found, hooks)
        return
    every: list[BackendState | HookState] = [*found, *hooks]
    for state in every:
        line = (state.name, state.version, state.distribution, state.state, _summary(state))
        click.echo(visible("\t".join(line)))


def _summary(state: BackendState | HookState) -> str:
    if isinstance(state, BackendState):
        return state.summary
    return f"hooks: {', '.join(state.hooks)}" if state.ok else "hooks"


def _show(found: list[BackendState], hooks: list[HookState]) -> None:
    from bfsql.cli.tables import print_table

    tables: list[tuple[str, Sequence[BackendState | HookState]]]
    tables = [("backend", found), ("hook plugin", hooks)]
    for title, lines in tables:
        rows = [
            (s.name, s.version, s.distribution, _summary(s) if s.ok else s.state) for s in lines
        ]
        styles = ["" if s.ok else "red" for s in lines]
        if rows:
            print_table((title, "version", "distribution", ""), rows, styles=styles)
