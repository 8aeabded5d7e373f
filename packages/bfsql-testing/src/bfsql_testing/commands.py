"""Commands for authors of backends: `bfsql new-backend` and `bfsql check`.

`new-backend` writes a distribution to start from; `check` tests a backend over its live store, with
the reading rules of the conformance kit.
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
from bfsql_testing.scaffold import distribution_of, write_distribution

if TYPE_CHECKING:
    from bfsql_testing.conformance import Finding, Outcome, Trial


FAILED = 1
"""Exit code if a rule fails or the store does not answer."""

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
    help="Number of nodes to examine.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="NUMBER",
    help="Time limit for the whole check.",
)
@click.option("--id", "ids", multiple=True, metavar="TEXT", help="A node to examine; repeatable.")
@click.option(
    "--word",
    "words",
    multiple=True,
    metavar="TEXT",
    help="A word to search for, to find nodes; repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.pass_context
def check(
    ctx: click.Context,
    configuration: Configuration,
    *,
    sample: int,
    seconds: float,
    ids: tuple[str, ...],
    words: tuple[str, ...],
    as_json: bool,
) -> None:
    """Test a backend against its store, using the rules of the conformance kit.

    Nothing is written. A rule that core relies on fails if the backend is
    broken; a convention that is not followed is reported as advice, and a store
    with unusual data (edges without nodes, duplicate names) is reported as such.
    The exit code is 1 if a rule fails or the store stops answering.
    """
    from bfsql_testing.conformance import Trial, report

    trial = Trial(sample=ids, words=words, size=max(sample, len(ids)))
    tell = (lambda _: None) if as_json else _tell
    findings = asyncio.run(_checked(configuration, trial, seconds, tell))
    if as_json:
        click.echo(json.dumps(report.document(findings), ensure_ascii=False))
    else:
        for oddity in report.oddities(findings):
            click.secho(f"Unusual data: {escape(oddity)}", fg="yellow")
        click.echo(escape(report.verdict(findings)))
    if not report.passed(findings):
        ctx.exit(FAILED)


async def _checked(
    configuration: Configuration, trial: Trial, seconds: float, tell: Callable[[Finding], None]
) -> list[Finding]:
    from bfsql.plugins.registry import open_backend
    from bfsql_testing.conformance import judge_all, rules

    # An exception of the backend is shown with its rule; a traceback would hide both.
    logging.getLogger("bfsql").addHandler(logging.NullHandler())
    choice, settings = configuration.choice, configuration.backend.settings
    backend = await open_backend(choice.backend, choice.plugin, settings)
    try:
        trial.open = lambda: contextlib.nullcontext(backend)
        return await judge_all(rules("reading"), trial, seconds=seconds, told=tell)
    finally:
        await backend.close()


def _tell(finding: Finding) -> None:
    from bfsql_testing.conformance import report

    first, *rest = report.lines(finding)
    word = report.word(finding)
    click.secho(word, fg="yellow" if finding.minor else _COLOURS[finding.outcome], nl=False)
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
    help="Folder in which to create the distribution.  [default: the current one]",
)
@click.option(
    "--loads/--reads", default=False, help="With a loader, or only for reading.  [default: --reads]"
)
def new_backend(name: str, path: Path, *, loads: bool) -> None:
    """Generate a distribution with a working backend for you to adapt.

    NAME is the value that --backend will accept; the distribution is called bfsql-NAME.
    """
    for written in write_distribution(name, path, loads=loads):
        click.echo(written)
    click.echo(
        f'Next: pip install -e "{path / distribution_of(name)}[test]", then run pytest there. '
        "Its README.md says what to change first.",
        err=True,
    )
