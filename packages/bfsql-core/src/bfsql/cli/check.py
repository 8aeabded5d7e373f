"""`bfsql check`: the rules of the kit that can be told over a store as it is."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from bfsql.cli.configured import ConfiguredCommand
from bfsql.cli.visible import visible
from bfsql.config import Configuration

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

    Nothing is written. A broken backend breaks a rule; a store that is merely
    odd (edges without nodes, namesakes) is said to be. Exit code 1 when a rule
    fails or the store stops answering.
    """
    from bfsql.conformance import Trial, report

    trial = Trial(sample=ids, words=words, size=max(sample, len(ids)))
    tell = (lambda _: None) if as_json else _tell
    findings = asyncio.run(_checked(configuration, trial, seconds, rate, tell))
    if as_json:
        click.echo(json.dumps(report.document(findings), ensure_ascii=False))
    else:
        for oddity in report.oddities(findings):
            click.secho(f"Odd store: {visible(oddity)}", fg="yellow")
        click.echo(visible(report.verdict(findings)))
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

    # A fault of the backend is told with its rule; a traceback would bury both.
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
    word = report.WORDS[finding.outcome]
    click.secho(word, fg=_COLOURS[finding.outcome], nl=False)
    click.echo(visible(first.removeprefix(word)))
    for line in rest:
        click.echo(visible(line))
