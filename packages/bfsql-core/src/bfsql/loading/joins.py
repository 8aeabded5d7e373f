"""Whether the edges of a load meet its nodes; if not, which columns they would meet.

A table of nodes whose ids are in another column than the one that was taken, or a table of edges
that was read as nodes, makes a graph in which nothing is connected.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from bfsql.errors import SourceError
from bfsql.loading import statements as sql
from bfsql.loading.intake import EXAMPLES, sample_step
from bfsql.models.load import LoadReport, SourceAccount
from bfsql.sources.derived import TypedEnds
from bfsql.sources.fields import texts
from bfsql.sources.files import guarded
from bfsql.sources.headers import OBJECT, SUBJECT, NodeColumns, value_or_none
from bfsql.sources.id_columns import id_text
from bfsql.sources.open import Source
from bfsql.sources.options import option_of
from bfsql.sources.tables import AnyTable

if TYPE_CHECKING:
    import sqlite3

_MARKS = "~_:@ "
"""Characters around the names of columns in exports of graph databases, such as `@from`."""


def count_ends(
    connection: sqlite3.Connection, report: LoadReport, possible_ids: Iterable[str]
) -> None:
    """Count the ends of edges with and without a description, and look up texts.

    Args:
        connection: Of a staging with merged nodes. The ends without a description become its
            table `created`.
        report: Where they are counted.
        possible_ids: The texts.
    """

    def number(query: str) -> int:
        return int(connection.execute(query).fetchone()[0])

    connection.execute(sql.UNDESCRIBED_ENDS)
    report.undescribed_ends = number("SELECT count(*) FROM created")
    if report.undescribed_ends:
        report.described_ends = number(sql.DESCRIBED_ENDS)
        step = (sample_step(report.undescribed_ends),)
        report.undescribed_sample = [id_ for (id_,) in connection.execute(sql.SAMPLE, step)]
    report.actual_ids = {
        text for text in possible_ids if connection.execute(sql.IS_NODE, (text,)).fetchone()
    }


def with_typed_ends(report: LoadReport, ends: Sequence[TypedEnds]) -> LoadReport:
    """The report of a load in which the ends of edges are records of nodes.

    Those of them that were merged into another record are described by it; the others are created.
    If other records were merged, too, this is an upper bound of the former.
    """
    number = sum(one.count for one in ends)
    if not number:
        return report
    described = min(number, report.duplicate_nodes)
    created = number - described
    sample = [id_ for one in ends for id_ in one.sample]
    return replace(
        report,
        duplicate_nodes=report.duplicate_nodes - described,
        created_nodes=report.created_nodes + created,
        created_examples=report.created_examples or (sample[:EXAMPLES] if not described else []),
        described_ends=report.described_ends + described,
        undescribed_ends=report.undescribed_ends + created,
        undescribed_sample=report.undescribed_sample + sample,
    )


def lacks_most_ends(report: LoadReport) -> bool:
    """Whether most ids at the ends of edges are not described by a node record."""
    return report.undescribed_ends > report.described_ends


def ends_without_node(report: LoadReport) -> str:
    """The number of these ids, as a clause."""
    number = report.undescribed_ends + report.described_ends
    if not report.described_ends:
        return f"None of the {number:,} ids at the ends of edges is the id of a node"
    return (
        f"{report.undescribed_ends:,} of the {number:,} ids at the ends of edges are not ids of "
        "nodes"
    )


class NodeTables:
    """The tables of a load that are read as nodes, except those that are piped in.

    Args:
        sources: The sources of the load.

    Attributes:
        samples: Values of the first rows from columns besides the id that can be ids, by the name
            of the table.
        possible_ids: All of these values, and the parts of lists. If they are ids of nodes, they
            may be ends of edges.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self._tables: list[tuple[str, AnyTable, NodeColumns]] = [
            (source.account.name, source.table, source.table.columns)
            for source in sources
            if source.table is not None and isinstance(source.table.columns, NodeColumns)
        ]
        self._alone = len(sources) == 1
        self.samples: dict[str, dict[str, set[str]]] = {
            name: _sample(table, columns) for name, table, columns in self._tables
        }
        cells = [cell for one in self.samples.values() for cells in one.values() for cell in cells]
        parts = (part for cell in cells for part in texts(cell, ""))
        self.possible_ids = frozenset(chain(cells, parts))

    def wrong_columns(self, report: LoadReport, accounts: Iterable[SourceAccount]) -> list[str]:
        """Sentences on the tables whose ids were probably read from another column.

        Args:
            report: From the loader.
            accounts: The accounts of all sources, complete.
        """
        if not any(account.edges for account in accounts):
            return [] if self._alone else list(self._edge_tables(report.actual_ids))
        if self._tables and lacks_most_ends(report):
            with suppress(SourceError):  # the file is no longer there
                return list(self._id_columns(report))
        return []

    def _edge_tables(self, ids: set[str]) -> Iterable[str]:
        """Sentences on tables with two columns that hold ids of nodes."""
        for name, sample in self.samples.items():
            ends = [
                column
                for column, texts in sample.items()
                # Numbers may be ids by chance.
                if texts <= ids and (_is_end(column) or not all(map(str.isdecimal, texts)))
            ]
            if len(ends) > 1:
                subject = next((end for end in ends if _is_end(end, SUBJECT)), ends[0])
                ends.remove(subject)
                object_ = next((end for end in ends if _is_end(end, OBJECT)), ends[0])
                yield (
                    f"{name} was read as a table of nodes, but its columns {subject} and {object_} "
                    "hold ids of nodes, and there are no edges: read it as a table of edges with "
                    f"--subject-column {shlex.quote(subject)} --object-column "
                    f"{shlex.quote(object_)}."
                )

    def _id_columns(self, report: LoadReport) -> Iterable[str]:
        """A sentence on the column whose values are most of the ends without a node."""
        wanted = frozenset(report.undescribed_sample)
        found = (
            (number, column, name)
            for name, table, columns in self._tables
            for column, number in _occurrences(table, columns, wanted).items()
        )
        number, column, name = max(found, default=(0, "", ""))
        if 2 * number >= len(wanted) > 0:
            yield (
                f"{ends_without_node(report)}, but they are values of the column {column} of "
                f"{name}: name it with {option_of('id_column', column)}."
            )


def _sample(table: AnyTable, columns: NodeColumns) -> dict[str, set[str]]:
    """The values of the first rows, of each column besides the id whose values can be ids."""
    found: dict[str, set[str | None]] = {}
    for row in islice(guarded(table.path, iter(table.rows())), 100):
        for column, value in row.items():
            if column != columns.id and value_or_none(value, columns.null_texts) is not None:
                found.setdefault(column, set()).add(id_text(row, column, columns))
    return {
        column: {text for text in texts if text is not None}
        for column, texts in found.items()
        if None not in texts
    }


def _occurrences(table: AnyTable, columns: NodeColumns, texts: frozenset[str]) -> Counter[str]:
    """How many of some texts are the value of exactly one row, by column."""
    counts: Counter[tuple[str, str]] = Counter()
    for row in guarded(table.path, iter(table.rows())):
        for column, value in row.items():
            text: Any = str(value) if type(value) is int else value
            if type(text) is str and text in texts and column != columns.id:
                counts[column, text] += 1
    return Counter(column for (column, _), count in counts.items() if count == 1)


def _is_end(column: str, names: Sequence[str] = (*SUBJECT, *OBJECT)) -> bool:
    return column.strip(_MARKS).casefold() in names
