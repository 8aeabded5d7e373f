"""What the report of a load advises about tables that were read, but hardly as they were meant.

Nodes without names cannot be searched for; edges that differ only in a column that is not the
predicate become one; a predicate that differs in most edges is a description; and a column of
nodes may hold the ids of others, which are edges only if an option says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from bfsql.errors import SourceError
from bfsql.models.load import LoadReport, SourceAccount
from bfsql.sources.fields import is_label
from bfsql.sources.files import guarded
from bfsql.sources.formats import option_of
from bfsql.sources.headers import EdgeColumns, NodeColumns, listed
from bfsql.sources.open import Source
from bfsql.sources.tables import AnyTable

_EDGES = 20_000
"""Edges that are compared with others."""
_REFERENCES = ("id", "parent", "of")
"""Endings of columns that hold ids even if these are numbers."""


def add_advice(
    sources: Iterable[Source],
    samples: Mapping[str, Mapping[str, set[str]]],
    report: LoadReport,
) -> None:
    """Enter advice on each table into its account, and on attributes without names.

    Args:
        sources: The sources of the load, read to their ends.
        samples: Values of columns besides the id that can be ids, by the name of the table.
        report: From the loader; `actual_ids` has the values that are ids of nodes.
    """
    for source in sources:
        account, table = source.account, source.table
        with suppress(SourceError):  # the file is no longer there
            if table is None:
                _nameless(account, list(account.texts))
            elif isinstance(table.columns, NodeColumns):
                _nodes(account, table, table.columns)
                _references(account, samples.get(account.name, {}), report.actual_ids)
            else:
                _edges(account, table, table.columns, report)


def _rows(table: AnyTable, most: int = 1_000) -> Iterable[Mapping[str, Any]]:
    return islice(guarded(table.path, iter(table.rows())), most)


def _nodes(account: SourceAccount, table: AnyTable, columns: NodeColumns) -> None:
    if columns.name is not None:
        return
    rows = list(_rows(table))
    others = [column.name for column in account.columns if column.meaning == "metadata"]
    texts = {name: [row[name] for row in rows if is_label(row.get(name))] for name in others}
    most = len(rows) / 2
    _nameless(account, [name for name, found in texts.items() if len(set(found)) > most])


def _nameless(account: SourceAccount, texts: Sequence[str]) -> None:
    if texts and account.nodes and all(column.meaning != "name" for column in account.columns):
        account.note(
            f"its nodes have no names; text is in {listed(texts)}: "
            f"{option_of('name_column', texts[0])}"
        )


def _references(account: SourceAccount, sample: Mapping[str, set[str]], ids: set[str]) -> None:
    for column in account.columns:
        texts = sample.get(column.name, set())
        if column.meaning != "metadata" or len(texts) < 2 or not texts <= ids:
            continue
        if column.name.casefold().endswith(_REFERENCES) or not all(map(str.isdecimal, texts)):
            account.note(
                f"the column {column.name} holds ids of nodes: "
                f"{option_of('edge_column', column.name)} makes edges of it"
            )


def _edges(
    account: SourceAccount,
    table: AnyTable,
    columns: EdgeColumns,
    report: LoadReport,
    many: int = 20,
) -> None:
    """Note if edges were merged for lack of a predicate, or if many look like descriptions."""
    if columns.predicate is None:
        if report.duplicate_edges:
            _merged(account, table, columns)
        return
    found = [row.get(columns.predicate) for row in _rows(table)]
    distinct = len({value for value in found if isinstance(value, str)})
    if distinct >= many and distinct * 2 > len(found):
        account.note(
            f"the predicate, {columns.predicate}, has {distinct:,} values in {len(found):,} edges, "
            "so it looks like a description: name another with --predicate-column, or none with "
            "--predicate-column ''"
        )


def _merged(account: SourceAccount, table: AnyTable, columns: EdgeColumns, most: int = 100) -> None:
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
            f"{found} ({len(values[found]):,} values): with {option_of('predicate_column', found)} "
            "they stay apart"
        )
