"""`bfsql verify`: whether a graph stores what a text claims."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import BinaryIO

import click

from bfsql.answers import encode
from bfsql.cli.command import ExitCode, escape
from bfsql.cli.configuration import Configuration
from bfsql.cli.configured import ConfiguredCommand, opened
from bfsql.errors import ConfigurationError
from bfsql.tools.verify import Verdict

CODES = {"not stored": ExitCode.FAILED, "unreadable": ExitCode.WRONG}
EXAMPLES = ("bfsql verify films.db claims.txt", "bfsql verify films.db - < answer.md")


@click.command("verify", cls=ConfiguredCommand, graph=True, takes_names=True, examples=EXAMPLES)
@click.argument("file", type=click.File("rb"))
@click.option("--json", "as_json", is_flag=True, help="Print the verdicts as JSON.")
def verify(configuration: Configuration, *, file: BinaryIO, as_json: bool) -> None:
    """Check claims against a graph: is each stored, with what evidence, or what is nearest?

    FILE has a claim on each line, such as Tom Hanks -ACTED_IN-> Apollo 13, or is a text with claims
    in [[ ]]. `-` is standard input. Exit code 1: a claim is not stored; 2: one cannot be read.
    """
    try:
        text = file.read().decode()
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{file.name} is not UTF-8 text: {error}.") from None
    verdicts = asyncio.run(_verdicts(configuration, text))
    if as_json:
        click.echo(encode([one.model_dump(exclude_defaults=True) for one in verdicts]))
    for one in () if as_json else verdicts:
        lines = [f"{one.line}: {one.verdict}: {one.claim}", *_facts(one)]
        click.echo("\n    ".join(map(escape, lines)))
    click.get_current_context().exit(max(CODES.get(one.verdict, 0) for one in verdicts))


async def _verdicts(configuration: Configuration, text: str) -> list[Verdict]:
    async with opened(configuration) as graph:
        return await graph.verify(text)


def _facts(one: Verdict) -> Iterator[str]:
    """The lines below a claim."""
    yield from [one.reason] if one.reason else ()
    yield from (f"{e.subject} -{e.predicate}-> {e.object}" for e in (*one.edges, *one.nearest))
    yield from (f"{e.id} ({e.name}, {e.entity_type})" for e in one.entities)
    for item in one.evidence:
        source = [str(item[key]) for key in ("document_id", "section", "text_span") if key in item]
        yield f"one of {one.evidence_count} items of evidence: {', '.join(source)}"
