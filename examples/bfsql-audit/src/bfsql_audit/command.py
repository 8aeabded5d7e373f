"""`bfsql audit`: the calls of an audit file, summed up or one by one."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click


@click.command("audit")
@click.argument("file", envvar="BFSQL_AUDIT_FILE", type=click.Path(path_type=Path))
@click.option("--last", type=click.IntRange(min=1), help="Show so many calls, newest last.")
def audit(file: Path, last: int | None) -> None:
    """Sum up the tool calls in FILE, or show the last ones.

    FILE is the variable BFSQL_AUDIT_FILE where it is not given. Files that were
    put aside are read by their own names.
    """
    try:
        with file.open(encoding="ascii") as lines:
            shown = list(deque(lines, last) if last else summary(map(json.loads, lines)))
    except FileNotFoundError:
        raise click.UsageError(f"There is no audit file {file} yet. Call a tool first.") from None
    except ValueError as wrong:
        raise click.UsageError(f"{file} is no audit file: {wrong}") from wrong
    for one in shown:
        click.echo(one.rstrip("\n"))


def summary(calls: Iterable[dict[str, Any]]) -> Iterator[str]:
    """A line for each tool: calls, those that failed, seconds and bytes together."""
    tools: dict[str, list[dict[str, Any]]] = {}
    for call in calls:
        tools.setdefault(call["tool"] or "(unknown)", []).append(call)
    yield f"{'tool':<22}{'calls':>8}{'failed':>8}{'seconds':>10}{'bytes':>12}"
    for tool, made in sorted(tools.items()):
        failed = sum(call["outcome"] != "ok" for call in made)
        seconds, size = sum(c["seconds"] for c in made), sum(c["bytes"] for c in made)
        yield f"{tool:<22}{len(made):>8}{failed:>8}{seconds:>10.3f}{size:>12}"
