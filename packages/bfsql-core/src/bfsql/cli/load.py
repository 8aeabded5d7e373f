"""`bfsql load`: graph files into a store, with an account at the end."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from bfsql.answers.notes import counted
from bfsql.cli.command import INTERRUPTED, escape
from bfsql.cli.configuration import Configuration
from bfsql.cli.configured import ConfiguredCommand
from bfsql.errors import ConfigurationError
from bfsql.loading import Progress
from bfsql.loading import load as load_files
from bfsql.models.load import LoadMode, LoadOptions, LoadReport
from bfsql.sources import FORMATS, SourceOptions

SHOWN = 20
"""Refused lines that the account shows."""


@click.command("load", cls=ConfiguredCommand)
@click.argument("source", nargs=-1, required=True, metavar="SOURCE...")
@click.option("--strict", is_flag=True, help="Stop at the first line that cannot be used.")
@click.option("--format", metavar="NAME", help=f"Of all sources: {', '.join(FORMATS)}.")
@click.option("--id-column", metavar="NAME", help="Node tables: the node's id.")
@click.option("--type-column", metavar="NAME", help="Node tables: the node's type.")
@click.option("--name-column", metavar="NAME", help="Node tables: the display name.")
@click.option("--alias-column", metavar="NAME", help="Node tables: more names, | or ; between.")
@click.option("--subject-column", metavar="NAME", help="Edge tables: where the edge begins.")
@click.option("--predicate-column", metavar="NAME", help="Edge tables: what it means.")
@click.option("--object-column", metavar="NAME", help="Edge tables: where the edge ends.")
@click.option("--default-type", metavar="TEXT", help="Type of nodes that name none.")
@click.option("--default-predicate", metavar="TEXT", help="Predicate of edges that name none.")
@click.option(
    "--prefix", "prefixes", multiple=True, metavar="NAME=NAMESPACE", help="RDF: shortens ids."
)
@click.option("--language", "languages", multiple=True, metavar="TAG", help="RDF: texts to keep.")
def load(
    configuration: Configuration, source: tuple[str, ...], *, strict: bool, **reading: Any
) -> None:
    """Fill a store from graph files: all of them or nothing.

    SOURCE is a file or a kgraph bundle folder; several become one graph. An
    interrupted import leaves what was there as it was, or says what it left.
    """
    plugin, settings = configuration.choice.plugin, configuration.backend.settings
    paths, options = [Path(path) for path in source], _options(reading)
    try:
        with _orderly_end(), _progress() as progress:
            report = asyncio.run(
                load_files(
                    plugin,
                    settings,
                    paths,
                    options,
                    how=LoadOptions(LoadMode.REPLACE, strict=strict),
                    progress=progress,
                )
            )
    except KeyboardInterrupt as interrupt:
        # What a loader that cannot take everything back noted on the error that cancelled it.
        notes = getattr(interrupt.__context__, "__notes__", ())
        left = " ".join(notes) or "the store is as it was."
        click.echo(escape(f"Interrupted: {left}"), err=True)
        click.get_current_context().exit(INTERRUPTED)
    click.echo("\n".join(account(report)))


def account(report: LoadReport) -> list[str]:
    """What an import did, line by line."""
    nodes, edges = counted(report.nodes, "node"), counted(report.edges, "edge")
    evidence = counted(report.evidence, "piece")
    merged_nodes = counted(report.duplicate_nodes, "node")
    merged_edges = counted(report.duplicate_edges, "edge")
    lines = [
        f"Loaded {nodes}, {edges}, {evidence} of evidence.",
        f"Duplicates merged: {merged_nodes}, {merged_edges}.",
        f"Dangling edges (an end is no node): {report.dangling_edges}"
        + _examples(report.dangling_examples),
    ]
    if report.unattached_evidence:
        lines.append(f"Evidence left out, its edge is not there: {report.unattached_evidence}.")
    lines.append(f"Lines refused: {report.refused}" + (":" if report.refused else "."))
    lines += [f"  {escape(str(refusal))}" for refusal in report.refusals[:SHOWN]]
    more = report.refused - min(len(report.refusals), SHOWN)
    return [*lines, f"  and {more} more"] if more else lines


def _examples(ids: list[str]) -> str:
    return f", for instance {escape(', '.join(ids[:5]))}." if ids else "."


def _options(reading: dict[str, Any]) -> SourceOptions:
    given = {field: value for field, value in reading.items() if value not in (None, ())}
    if "prefixes" in given:
        given["prefixes"] = dict(_prefix(text) for text in given["prefixes"])
    return SourceOptions(**given)


def _prefix(text: str) -> tuple[str, str]:
    name, equals, namespace = text.partition("=")
    if not equals or not namespace:
        raise ConfigurationError(
            f"Option --prefix is {text!r}: it has to be NAME=NAMESPACE, "
            "for instance ex=http://example.org/."
        )
    return name, namespace


@contextmanager
def _orderly_end() -> Iterator[None]:
    """End as after Ctrl-C at a signal that terminates, so that nothing half made is left behind."""
    ends = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    taken = [number for number in ends if signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:  # asyncio cancels the load at Ctrl-C, and the loader says what it left
        signal.signal(number, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def _progress() -> Iterator[Progress | None]:
    """A bar on standard error where that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        BarColumn(),
        TextColumn("{task.completed:,.0f} records"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("load", total=None)
        yield lambda count: bar.update(task, completed=count)
