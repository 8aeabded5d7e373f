"""What the report of a load advises about tables that were read, but hardly as they were meant.

Nodes without names cannot be searched for; edges that differ only in a column that is not the
predicate become one; a predicate that differs in most edges is a description; and a column of
nodes may hold the ids of others, which are edges only if an option says so.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from bfsql.errors import SourceError
from bfsql.models.load import LoadReport, SourceAccount
from bfsql.sources.fields import is_label, texts
from bfsql.sources.files import guarded
from bfsql.sources.headers import EdgeColumns, NodeColumns, listed
from bfsql.sources.open import Source
from bfsql.sources.options import option_of
from bfsql.sources.tables import AnyTable

_EDGES = 20_000
"""Edges that are compared with others."""
_OF_NAMES = re.compile("name|title|desc", re.IGNORECASE)
"""Columns that are proposed first as names."""
_REFERENCES = ("id", "parent", "of")
"""Endings of columns that hold ids even if these are numbers."""


def add_advice(
    sources: Iterable[Source], samples: Mapping[str, Mapping[str, set[str]]], report: LoadReport
) -> None:
    """Enter advice on each table into its account, and on attributes without names.

    Args:
        sources: The sources of the load, read to their ends.
        samples: Values of columns besides the id that can be ids, by the name of the table.
        report: From the loader; `actual_ids` has the values that are ids of nodes.
    """
    sources = [*sources]
    columns = [column for source in sources for column in source.account.columns]
    ids = {column.name for column in columns if column.meaning == "id"}
    for source in sources:
        account, table = source.account, source.table
        file = f"{Path(account.name).name}=" if len(sources) > 1 else ""
        with suppress(SourceError):  # the file is no longer there
            if table is None:
                _nameless(account, account.texts, file)
            elif isinstance(table.columns, NodeColumns):
                _nodes(account, table, table.columns, file)
                _references(account, samples.get(account.name, {}), report.actual_ids, ids)
            else:
                _edges(account, table, table.columns, report, file=file)


def _rows(table: AnyTable, most: int = 1_000) -> Iterable[Mapping[str, Any]]:
    return islice(guarded(table.path, iter(table.rows())), most)


def _nodes(account: SourceAccount, table: AnyTable, columns: NodeColumns, file: str) -> None:
    if columns.name is not None:
        return
    rows = list(_rows(table))
    others = [column.name for column in account.columns if column.meaning == "metadata"]
    texts = {name: [row[name] for row in rows if is_label(row.get(name))] for name in others}
    _nameless(account, texts, file)


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
        cells = sample.get(column.name, set())
        is_plain = all(map(str.isdecimal, cells)) and not column.name.casefold().endswith(
            _REFERENCES
        )
        are_ids = all(cell in ids or ids.issuperset(texts(cell, "")) for cell in cells)
        if column.name in id_columns or (len(cells) > 1 and are_ids and not is_plain):
            account.note(
                f"the column {column.name} holds ids of nodes: "
                f"{option_of('edge_column', column.name)} makes edges of it"
            )


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
