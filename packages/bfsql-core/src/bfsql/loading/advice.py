"""What the report of a load advises about tables that were read, but hardly as they were meant.

A table of nodes whose ids are in another column than the one that was taken, or a table of edges
that was read as nodes, makes a graph in which nothing is connected. Nodes without names cannot be
searched for; edges that differ only in a column that is not the predicate become one; a predicate
that differs in most edges is a description; and a column of nodes may hold the ids of others, which
are edges only if an option says so.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from bfsql.errors import SourceError
from bfsql.loading.intake import EXAMPLES
from bfsql.models.load import LoadReport, SourceAccount
from bfsql.models.valid_time import TimeKeys, proposed_time_keys
from bfsql.sources.fields import is_label, texts
from bfsql.sources.files import guarded
from bfsql.sources.headers import OBJECT, SUBJECT, EdgeColumns, NodeColumns, listed, value_or_none
from bfsql.sources.id_columns import TypedEnds, id_text
from bfsql.sources.open import Source
from bfsql.sources.options import option_of
from bfsql.sources.tables import AnyTable

_EDGES = 20_000
"""Edges that are compared with others."""
_OF_NAMES = re.compile("name|title|desc", re.IGNORECASE)
"""Columns that are proposed first as names."""
_REFERENCES = ("id", "parent", "of")
"""Endings of columns that hold ids even if these are numbers."""
_HOLDS = "holds ids of nodes"
_MARKS = "~_:@ "
"""Characters around the names of columns in exports of graph databases, such as `@from`."""


def add_advice(
    sources: Iterable[Source],
    samples: Mapping[str, Mapping[str, set[str]]],
    report: LoadReport,
    time_keys: TimeKeys,
) -> None:
    """Enter advice on each table into its account, and on attributes without names.

    Args:
        sources: The sources of the load, read to their ends.
        samples: Values of columns besides the id that can be ids, by the name of the table.
        report: From the loader; `actual_ids` has the values that are ids of nodes.
        time_keys: Without any, columns that may say from and until when facts hold are proposed.
    """
    sources = [*sources]
    columns = [column for source in sources for column in source.account.columns]
    ids = {column.name for column in columns if column.meaning == "id"}
    for source in sources:
        account, table = source.account, source.table
        file = f"{Path(account.name).name}=" if len(sources) > 1 else ""
        dates = {one.name: one.example for one in account.columns if one.meaning == "metadata"}
        if not time_keys and (keys := proposed_time_keys(dates)):
            account.note(keys.proposal)
        if source.reading is not None:
            continue
        with suppress(SourceError):  # the file is no longer there
            if table is None:
                _nameless(account, account.texts, file)
            elif isinstance(table.columns, NodeColumns):
                if table.columns.name is None:
                    _nameless(account, _texts(account, table), file)
                _references(account, samples.get(account.name, {}), report.actual_ids, ids)
            else:
                _edges(account, table, table.columns, report, file=file)


def _rows(table: AnyTable, most: int | None = 1_000) -> Iterator[Mapping[str, Any]]:
    return islice(guarded(table.path, iter(table.rows())), most)


def _texts(account: SourceAccount, table: AnyTable) -> dict[str, list[str]]:
    """The values that can be names, by column."""
    rows = list(_rows(table))
    others = [column.name for column in account.columns if column.meaning == "metadata"]
    return {name: [row[name] for row in rows if is_label(row.get(name))] for name in others}


def _nameless(account: SourceAccount, texts: Mapping[str, Sequence[str]], file: str) -> None:
    """Note the columns whose values can be names, since most of them occur once."""
    most = max(map(len, texts.values()), default=0) / 2
    found = [name for name, values in texts.items() if len(set(values)) > most]
    found.sort(key=lambda name: _OF_NAMES.search(name) is None)
    if found and account.nodes and all(column.meaning != "name" for column in account.columns):
        account.note(
            f"its nodes have no names; text is in {listed(found)}: "
            f"{option_of('name_column', file + found[0])}"
        )


def _references(
    account: SourceAccount,
    sample: Mapping[str, set[str]],
    ids: set[str],
    id_columns: Collection[str],
) -> None:
    for column in account.columns:
        if column.meaning != "metadata":
            continue
        cells, name = sample.get(column.name, set()), column.name.casefold()
        is_plain = all(map(str.isdecimal, cells)) and not name.endswith(_REFERENCES)
        are_ids = all(cell in ids or ids.issuperset(texts(cell, "")) for cell in cells)
        if column.name in id_columns or (len(cells) > 1 and are_ids and not is_plain):
            account.note(
                f"the column {column.name} {_HOLDS}: "
                f"{option_of('edge_column', column.name)} makes edges of it"
            )


def unread_references(sources: Iterable[Source]) -> list[str]:
    """Sentences on columns that hold keys, in a load that made no edges."""
    found = []
    for source in sources:
        one, account = source.reading, source.account
        notes = [note for note in account.notes if _HOLDS in note]
        if one is not None:
            notes = [f"{column} may refer to {to}" for column, to in one.candidates]
            advice = "; --write lab.toml keeps the reading, in which an entry of [edges] decides"
            notes = [note + advice for note in notes]
        found += [f"There are no edges, although in {account.name} {note}." for note in notes]
    return found


def _edges(
    account: SourceAccount,
    table: AnyTable,
    columns: EdgeColumns,
    report: LoadReport,
    *,
    file: str,
    many: int = 20,
) -> None:
    """Note if edges were merged for lack of a predicate, or if many look like descriptions."""
    if columns.predicate is None:
        if report.duplicate_edges:
            _merged(account, table, columns, file)
        return
    found = [row.get(columns.predicate) for row in _rows(table)]
    distinct = len({value for value in found if isinstance(value, str)})
    if distinct >= many and distinct * 2 > len(found):
        account.note(
            f"the predicate, {columns.predicate}, has {distinct:,} values in {len(found):,} edges, "
            "so it looks like a description: name another with --predicate-column, or none with "
            "--predicate-column ''"
        )


def _merged(
    account: SourceAccount, table: AnyTable, columns: EdgeColumns, file: str, most: int = 100
) -> None:
    """Note in which column, of at most so many values, edges of the same ends differ."""
    firsts: dict[tuple[Any, Any], Mapping[str, Any]] = {}
    values: dict[str, set[str]] = {
        column.name: set() for column in account.columns if column.meaning == "metadata"
    }
    differ = dict.fromkeys(values, 0)
    for row in _rows(table, _EDGES):
        first = firsts.setdefault((row.get(columns.subject), row.get(columns.object)), row)
        for name in [*values]:
            values[name].add(str(row.get(name)))
            if len(values[name]) > most:
                del values[name]
            elif row.get(name) != first.get(name):
                differ[name] += 1
    found = max(values, key=lambda name: differ[name], default="")
    if found and differ[found]:
        account.note(
            f"{differ[found]:,} of its edges have the ends of an earlier one and differ from it in "
            f"{found} ({len(values[found]):,} values): with "
            f"{option_of('predicate_column', file + found)} they stay apart"
        )


# --- whether edges meet nodes ---


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
    lack = f"{report.undescribed_ends:,} of the {number:,}"
    return f"{lack} ids at the ends of edges are not ids of nodes"


class NodeTables:
    """The tables of a load that are read as nodes.

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
            if source.table is not None
            and source.reading is None
            and isinstance(source.table.columns, NodeColumns)
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
                return self._id_columns(report)
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

    def _id_columns(self, report: LoadReport) -> list[str]:
        """A sentence on the column whose values are most of the ends without a node."""
        wanted = frozenset(report.undescribed_sample)
        found = (
            (number, column, name)
            for name, table, columns in self._tables
            for column, number in _occurrences(table, columns, wanted).items()
        )
        number, column, name = max(found, default=(0, "", ""))
        if not 2 * number >= len(wanted) > 0:
            return []
        lack = f"{ends_without_node(report)}, but they are values of the column {column} of {name}"
        return [f"{lack}: name it with {option_of('id_column', column)}."]


def _sample(table: AnyTable, columns: NodeColumns) -> dict[str, set[str]]:
    """The values of the first rows, of each column besides the id whose values can be ids."""
    found: dict[str, set[str | None]] = {}
    for row in _rows(table, 100):
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
    for row in _rows(table, None):
        for column, value in row.items():
            text: Any = str(value) if type(value) is int else value
            if type(text) is str and text in texts and column != columns.id:
                counts[column, text] += 1
    return Counter(column for (column, _), count in counts.items() if count == 1)


def _is_end(column: str, names: Sequence[str] = (*SUBJECT, *OBJECT)) -> bool:
    return column.strip(_MARKS).casefold() in names
