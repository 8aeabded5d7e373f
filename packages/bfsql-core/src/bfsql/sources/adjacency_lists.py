"""Adjacency lists: a line for each node, with its id and the ids of its neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from bfsql.models.load import SourceAccount
from bfsql.models.records import EdgeRecord, GraphStream, NodeRecord
from bfsql.sources.fields import identifier, records
from bfsql.sources.headers import EdgeColumns, columns_of, names_columns
from bfsql.sources.options import SourceOptions
from bfsql.sources.rows import Dialect, rows_of

_ENDS = ["subject", "object"]


def is_adjacency_list(rows: Sequence[Sequence[str]], options: SourceOptions) -> bool:
    """Whether rows are those of an adjacency list.

    They have different numbers of cells, none of them empty; each begins with another id, and at
    least half of these ids are also neighbours or at least half of the neighbours begin a row.
    They are a table if the first row names a column, or the options name all or say it is data.
    """
    widths = {len(row) for row in rows}
    first = {row[0] for row in rows if row}
    others = {cell for row in rows for cell in row[1:]}
    if len(widths) < len(_ENDS) or max(widths) <= len(_ENDS) or len(first) < len(rows):
        return False
    if options.no_header or options.columns or names_columns(rows[0], options):
        return False
    common = len(first & others)
    return all(chain.from_iterable(rows)) and 2 * common >= min(len(first), len(others))


def open_adjacency_list(
    path: Path, encoding: str, dialect: Dialect, options: SourceOptions, account: SourceAccount
) -> GraphStream:
    """The edges of each node to its neighbours, and the nodes without any."""
    account.encoding, account.separator = encoding, dialect.separator
    account.note(
        "read as an adjacency list: each line is a node and those to which its edges go; if the "
        "cells are something else, name all of them, as in --columns subject,predicate,object"
    )
    columns = columns_of(path, _ENDS, options)
    assert isinstance(columns, EdgeColumns)

    def make(cells: Sequence[str]) -> list[NodeRecord | EdgeRecord]:
        first, *others = (cell.strip() for cell in cells)
        if any(others):
            return [columns.record_of((first, None, one), {}) for one in others if one]
        return [NodeRecord(columns.subject_group + identifier(first, "node"), options.default_type)]

    return records(path, rows_of(path, encoding, dialect), make)
