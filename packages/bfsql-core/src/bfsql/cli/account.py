"""The report at the end of `bfsql load`: how the files were read, and what was loaded."""

from __future__ import annotations

import io
import json
import shlex
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from rich.console import Console

from bfsql.answers import notes
from bfsql.cli.command import escape
from bfsql.cli.render import table
from bfsql.loading import Rehearsal
from bfsql.loading.advice import ends_without_node, lacks_most_ends
from bfsql.loading.intake import similar_ids
from bfsql.masking import shorten
from bfsql.models.json_values import encode
from bfsql.models.load import ColumnAccount, LoadReport, SourceAccount
from bfsql.sources import RDF
from bfsql.sources.fields import value_of
from bfsql.sources.keys import TableReading, summary

_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "blanks"}


def account(report: LoadReport, *, allowed: bool = False) -> list[str]:
    """What a load did, line by line; refused lines are an error unless they are allowed."""
    remark = "" if allowed else " (all other lines are in the graph; --allow-refused allows it)"
    kept = f"The previous graph is kept as {report.backup}." if report.backup else ""
    place = report.place or "The store"
    written = " The graph was written nevertheless"
    return _plain(
        *_lines(report, f"{written}{'' if allowed else '; --allow-refused allows it'}.", remark),
        f"{place} now holds {_size(report)}.",
        kept,
    )


def rehearsal(trial: Rehearsal) -> list[str]:
    """What a load would do, line by line."""
    report = trial.report
    nodes = [f"  {one.id} ({one.entity_type}) {_metadata(one.metadata)}" for one in trial.nodes]
    edges = [
        f"  {one.subject} -{one.predicate}-> {one.object} {_metadata(one.metadata)}"
        for one in trial.edges
    ]
    return _plain(
        *_lines(report, "", ""),
        *(["First nodes:", *nodes] if nodes else []),
        *(["First edges:", *edges] if edges else []),
        f"Nothing was written. The files contain {_size(report)}; the store was not accessed.",
    )


def guess(readings: Sequence[TableReading]) -> list[str]:
    """How tables are read by their keys: a line for each table, and for each of its references."""
    if not readings:
        return ["These sources are not read by keys: --dry-run shows how they are read."]
    return reading_table(summary(readings))


def reading_table(rows: Iterable[Sequence[str]], width: int = 80) -> list[str]:
    """The lines of a table of `bfsql.sources.keys.summary`, which may be from a stranger's file."""
    rows = [(*row, "", "", "", "")[:4] for row in rows]
    console = Console(width=width, file=io.StringIO(), highlight=False)
    with console.capture() as lines:
        console.print(table(("table, column", "rows", "read as", "why"), rows))
    return [line.rstrip() for line in lines.get().splitlines()]


counted = partial(notes.counted, form=",")


def _size(report: LoadReport) -> str:
    pieces = f"{counted(report.evidence, 'piece')} of evidence" if report.evidence else ""
    numbers = counted(report.nodes, "node"), counted(report.edges, "edge"), pieces
    return ", ".join(filter(None, numbers))


def _lines(report: LoadReport, of_columns: str, of_refused: str) -> Iterator[str]:
    """How the files were read and what became of them, with remarks on what is wrong.

    First, whether the edges meet the nodes, which the rest of the report may not show.
    """
    yield from (f"{sentence}{of_columns}" for sentence in report.wrong_columns)
    described = report.nodes - report.created_nodes
    if not report.wrong_columns and described and lacks_most_ends(report):
        yield f"{ends_without_node(report)}."
    for source in report.sources:
        yield from _source(source, "")
    for source in report.removals:
        yield from _source(source, " to be removed")
    yield from _changes(report)
    yield from _refused(report, of_refused)


# --- how the files were read ----------------------------------------------------


def _source(source: SourceAccount, purpose: str) -> Iterator[str]:
    if source.by_keys and not (source.notes or source.refused):
        return
    separator = _SEPARATORS.get(source.separator or "", source.separator)
    between = f"{separator} between cells" if separator else ""
    how = ", ".join(filter(None, (source.format, source.encoding, between)))
    nodes, node = source.nodes, "node statement" if source.format in RDF else "node"
    numbers = [
        counted(nodes, node) if nodes else "",
        counted(source.edges, "edge") if source.edges else "",
        f"{counted(source.evidence, 'piece')} of evidence" if source.evidence else "",
    ]
    found = ", ".join(filter(None, numbers)) or "nothing"
    refused = f"; {counted(source.refused, 'line')} refused" if source.refused else ""
    yield f"{source.name} ({how}): {found}{purpose}{refused}."
    if source.columns and not source.by_keys:
        yield f"  {_columns(source.columns)}"
    yield from (f"  {note}" for note in source.notes)


def _columns(columns: Sequence[ColumnAccount], most: int = 12) -> str:
    """How columns were read: if there are too many, first those with a meaning."""
    shown = list(columns)
    if len(columns) > most:
        shown = sorted(columns, key=lambda one: one.meaning in ("metadata", "ignored"))[:most]
    texts = [f"{one.name} -> {one.meaning}{_example(one)}" for one in shown]
    more = len(columns) - len(shown)
    return ", ".join([*texts, *([f"and {more} more"] if more else [])])


def _example(column: ColumnAccount) -> str:
    if not column.example:
        return ""
    text = shorten(column.example, 40)
    value = value_of(text) if column.meaning == "metadata" else text
    return f" ({json.dumps(value, ensure_ascii=False)})"


# --- what became of them --------------------------------------------------------


_COUNT = (
    " The multiplicity of a merged edge is the number of its records; --count-duplicates gives one "
    "to every edge, so that sums and conditions take the others into account."
)


def _changes(report: LoadReport) -> Iterator[str]:
    """A line for each way in which nodes and edges were changed."""
    if report.created_nodes:
        made, which = counted(report.created_nodes, "node"), _examples(report.created_examples)
        yield f"Created {made} for ids that occur only in edges{which}."
    if report.duplicate_nodes or report.duplicate_edges:
        nodes = counted(report.duplicate_nodes, "node")
        edges = counted(report.duplicate_edges, "edge")
        yield f"Duplicates merged: {nodes}, {edges}.{_COUNT * report.many_duplicates}"
    is_tabular = all(source.format not in RDF for source in report.sources)
    if report.similar_ids and is_tabular:
        yield similar_ids(report)
    if report.retyped_nodes and is_tabular:
        yield (
            f"Nodes merged from records of different types: {report.retyped_nodes:,}"
            f"{_examples(report.retyped_examples)}. If they are not the same thing, keep their ids "
            "apart with --id-prefix COLUMN=TEXT."
        )
    elif report.duplicate_nodes and len(ids := _id_columns(report.sources)) > 1:
        yield (
            f"The ids of nodes are in several columns ({', '.join(ids)}), and equal ids are one "
            "node. If they are not the same thing, keep them apart with "
            f"{' '.join(f'--id-prefix {one}={one}:' for one in map(shlex.quote, ids))}"
        )
    if report.removed_nodes or report.removed_edges:
        nodes, edges = counted(report.removed_nodes, "node"), counted(report.removed_edges, "edge")
        yield f"Removed: {nodes}, {edges}."
    for words, number, examples in (
        ("Not found, so not removed", report.not_there, report.not_there_examples),
        ("Dangling edges (an end is not a node)", report.dangling_edges, report.dangling_examples),
        ("Evidence left out because its edge does not exist", report.unattached_evidence, ()),
    ):
        if number:
            yield f"{words}: {number:,}{_examples(examples)}."
    yield from report.unknown_dates


def _id_columns(sources: Sequence[SourceAccount]) -> list[str]:
    tables = (one.columns for one in sources if one.separator and not one.edges)
    return [*dict.fromkeys(c.name for table in tables for c in table if c.meaning == "id")]


def _examples(names: Sequence[str]) -> str:
    return f", for instance {', '.join(names[:5])}" if names else ""


def _refused(report: LoadReport, remark: str, most: int = 20) -> Iterator[str]:
    if not report.refused:
        return
    shown = report.refusals[:most]
    yield f"Lines refused: {report.refused:,}{remark}:"
    yield from (f"  {refusal}" for refusal in shown)
    if more := report.refused - len(shown):
        yield f"  and {more:,} more"


def _metadata(metadata: dict[str, Any]) -> str:
    return shorten(encode(metadata), 200)


def _plain(*lines: str) -> list[str]:
    """The lines that are not empty, each escaped to one line."""
    return [escape(line).replace("\n", "\\n") for line in lines if line]
