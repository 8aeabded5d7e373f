"""Commands for authors of backends: `bfsql new-backend` and `bfsql check`.

`new-backend` writes a distribution to begin with; `check` holds a backend to the rules of the
conformance kit that only read, over its live store.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bfsql.cli.command import escape
from bfsql.cli.configuration import Configuration
from bfsql.cli.configured import ConfiguredCommand
from bfsql.scaffold import Names, write_distribution

if TYPE_CHECKING:
    from bfsql.conformance import Finding, Outcome, Trial


FAILED = 1
"""Exit code when a rule fails, or the store does not answer."""

_COLOURS: dict[Outcome, str] = {
    "holds": "green",
    "broken": "red",
    "needless": "red",
    "unreachable": "red",
    "excused": "yellow",
    "untried": "yellow",
}


@click.command("check", cls=ConfiguredCommand)
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    metavar="NUMBER",
    help="Nodes to look at.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="NUMBER",
    help="Time for the whole check.",
)
@click.option(
    "--rate",
    type=click.FloatRange(min=0),
    default=100.0,
    show_default=True,
    metavar="NUMBER",
    help="Requests a second at the most; 0 is no bound.",
)
@click.option("--id", "ids", multiple=True, metavar="TEXT", help="A node to look at; repeatable.")
@click.option(
    "--word",
    "words",
    multiple=True,
    metavar="TEXT",
    help="What to search for to find nodes; repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="The report for a program.")
@click.pass_context
def check(
    ctx: click.Context,
    configuration: Configuration,
    *,
    sample: int,
    seconds: float,
    rate: float,
    ids: tuple[str, ...],
    words: tuple[str, ...],
    as_json: bool,
) -> None:
    """Try a backend on its store: the rules that hold of every right backend.

    Nothing is written. A broken backend breaks a rule that core relies on; a
    convention that it does not keep is advice, and a store that is merely odd
    (edges without nodes, namesakes) is said to be. Exit code 1 when a rule fails
    or the store stops answering.
    """
    from bfsql.conformance import Trial, report

    trial = Trial(sample=ids, words=words, size=max(sample, len(ids)))
    tell = (lambda _: None) if as_json else _tell
    findings = asyncio.run(_checked(configuration, trial, seconds, rate, tell))
    if as_json:
        click.echo(json.dumps(report.document(findings), ensure_ascii=False))
    else:
        for oddity in report.oddities(findings):
            click.secho(f"Odd store: {escape(oddity)}", fg="yellow")
        click.echo(escape(report.verdict(findings)))
    if not report.passed(findings):
        ctx.exit(FAILED)


async def _checked(
    configuration: Configuration,
    trial: Trial,
    seconds: float,
    rate: float,
    tell: Callable[[Finding], None],
) -> list[Finding]:
    from bfsql.conformance import judge_all, rules
    from bfsql.conformance.ratelimit import RateLimitedGraphDb

    # A fault of the backend is shown with its rule; a traceback would bury both.
    logging.getLogger("bfsql").addHandler(logging.NullHandler())
    backend = await configuration.choice.plugin.open(configuration.backend.settings)
    try:
        limited = RateLimitedGraphDb(backend, rate)
        trial.open = lambda: contextlib.nullcontext(limited)
        return await judge_all(rules("reading"), trial, seconds=seconds, told=tell)
    finally:
        await backend.close()


def _tell(finding: Finding) -> None:
    from bfsql.conformance import report

    first, *rest = report.lines(finding)
    word = report.word(finding)
    click.secho(word, fg="yellow" if finding.advice else _COLOURS[finding.outcome], nl=False)
    click.echo(escape(first.removeprefix(word)))
    for line in rest:
        click.echo(escape(line))


@click.command("new-backend")
@click.argument("name")
@click.option(
    "--path",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    metavar="DIR",
    help="Folder to make the distribution in.  [default: the current one]",
)
def new_backend(name: str, path: Path) -> None:
    """Write a distribution with a backend that works, for you to make your own.

    NAME is what --backend will take; the distribution is called bfsql-NAME.
    """
    names = Names.checked(name)
    for written in write_distribution(names, path):
        click.echo(written)
    click.echo(
        f'Next: pip install -e "{path / names.distribution}[test]", then run pytest there. '
        "Its README.md says what to change first.",
        err=True,
    )
