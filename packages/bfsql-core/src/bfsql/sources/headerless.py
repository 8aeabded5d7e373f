"""Tables without a header: how they are recognised, and what their columns are.

An adjacency list is one, too: a line for each node, with its id and the ids of its neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from bfsql.errors import SourceError
from bfsql.models.load import SourceAccount
from bfsql.models.records import EdgeRecord, GraphStream, NodeRecord
from bfsql.sources.fields import identifier, records, value_of
from bfsql.sources.headers import EdgeColumns, columns_of, listed, named_columns, names_columns
from bfsql.sources.options import SourceOptions
from bfsql.sources.rows import Dialect, rows_of

RECURRENCE = 1_000
"""Number of rows among which the cells of the first one are looked for."""
EDGE_LISTS = (2, 3)
"""Numbers of columns of an edge list without a header."""


def first_row(
    path: Path, first: Sequence[str], rows: Sequence[Sequence[str]], options: SourceOptions
) -> tuple[list[str] | None, str]:
    """Whether the first row of a table is data, and what its columns are in this case.

    Without an option, it is data if it has two or three cells, none of them a usual name of a
    column, and they are numbers or occur further down.

    Args:
        path: The file, for the error message.
        first: The first row.
        rows: Up to `RECURRENCE` rows after it.
        options: `no_header` and `columns`; a column that another option names is in a header.

    Returns:
        The names of the columns if the row is data, or None if it is the header; and a sentence for
        the report.

    Raises:
        SourceError: `columns` has not as many names as the table has columns.
    """
    wanted = options.no_header or bool(options.columns)
    if names_columns(first, SourceOptions()):
        shown = listed([cell.strip() for cell in first])
        note = f"its first row names columns ({shown}) and is read as its header, not as data"
        return None, note if wanted else ""
    if wanted:
        names = options.columns or _names(first, rows, options)
        if len(names) != len(first):
            reason = (
                f"--columns has {len(names)} names, but the first row has {len(first)} cells: "
                f"{listed(first)}; give each column a name, or none between two commas"
            )
            raise SourceError(path, reason)
        return _numbered(names), "" if options.columns else _note(names)
    if names_columns(first, options):
        note = (
            "its first row is read as its header, since an option names one of the cells, but "
            "looks like data: if it is, add --no-header"
        )
        return None, note if _recurs(first, rows) else ""
    if len(first) in EDGE_LISTS and rows and looks_like_data(first, rows):
        names = _names(first, rows, options)
        return _numbered(names), _note(names)
    return None, ""


def check_first(
    path: Path, first: Sequence[str], rows: Sequence[Sequence[str]], options: SourceOptions
) -> None:
    """Check that a table begins with a row that is not empty, and is not an adjacency matrix.

    Args:
        path: The file, for the error message.
        first: The first row.
        rows: The first rows after it.
        options: Those that name columns; with one of them a matrix is a table.

    Raises:
        SourceError: It is one of these.
    """
    if not any(first):
        reason = "the first line of a table has to name its columns, but here it is empty"
        raise SourceError(path, reason)
    labels, body = [row[0] for row in rows], {cell for row in rows for cell in row[1:]}
    is_square = {len(row) for row in (first, *rows)} == {len(rows) + 1}
    header: int | None = None
    if not (is_square and len(first) > 2 and {*first, *labels, *body} == {"0", "1"}):
        header = 0
        is_square = len(labels) > 1 and labels == first[1:][: len(labels)]
        is_square = is_square and all(map(_is_number, body - {""}))
    if is_square and not (options.columns or named_columns(options)):
        frame = f"pandas.read_csv(FILE, index_col={header}, header={header})"
        raise SourceError(
            path,
            "looks like an adjacency matrix, which is not read: in Python, "
            f"networkx.write_graphml(networkx.from_pandas_adjacency({frame}, "
            "networkx.DiGraph), 'graph.graphml'); if it is a table, name its columns, as in "
            "--id-column 1",
        )


def becomes_of(first: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """What the first row of a table becomes if it is data, as a noun.

    Args:
        first: The first row.
        rows: Rows after it.
    """
    cells = dict(zip(_names(first, rows, SourceOptions()), first, strict=True))
    if "subject" not in cells:
        return f"a row of {len(first):,} cell{'s' * (len(first) > 1)}"
    predicate = f" with the predicate {cells['predicate']}" if "predicate" in cells else ""
    return f"an edge from {cells['subject']} to {cells['object']}{predicate}"


def looks_like_data(first: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether one of the cells is a number, or occurs further down."""
    return any(_is_number(cell) for cell in first) or _recurs(first, rows)


def _recurs(first: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    return not {cell for cell in first if cell}.isdisjoint(cell for row in rows for cell in row)


def _is_number(cell: str) -> bool:
    return bool(cell) and not isinstance(value_of(cell), str | bool)


def _numbered(names: Sequence[str]) -> list[str]:
    return [name.strip() or f"column_{number}" for number, name in enumerate(names, 1)]


def _note(names: Sequence[str]) -> str:
    if not any(names):
        return ""
    return f"it has no header: {', '.join(names)} are names given here; --columns gives others"


def _names(
    first: Sequence[str], rows: Sequence[Sequence[str]], options: SourceOptions
) -> Sequence[str]:
    """The names of the columns of an edge list; empty ones for any other table.

    Of three columns the third is metadata if it has numbers alone. Otherwise the predicate is
    the second, or the third if that has fewer different values.
    """
    nothing = [""] * len(first)
    if len(first) not in EDGE_LISTS or options.id_column or options.subject_column:
        return nothing
    if len(first) < max(EDGE_LISTS):
        return ["subject", "object"]
    columns = list(zip(*(row for row in (first, *rows) if len(row) == len(first)), strict=True))
    if all(_is_number(cell) for cell in columns[2]):
        return ["subject", "object", "column_3"]
    second, third = (len(set(column)) for column in columns[1:])
    if third < second:
        return ["subject", "object", "predicate"]
    return ["subject", "predicate", "object"]


def is_adjacency_list(rows: Sequence[Sequence[str]], options: SourceOptions) -> bool:
    """Whether rows are those of an adjacency list.

    They have different numbers of cells, none of them empty; each begins with another id, and at
    least half of these ids are also neighbours or at least half of the neighbours begin a row.
    They are a table if the first row names a column, or the options name all or say it is data.
    """
    widths = {len(row) for row in rows}
    first = {row[0] for row in rows if row}
    others = {cell for row in rows for cell in row[1:]}
    ends = min(EDGE_LISTS)
    if len(widths) < ends or max(widths) <= ends or len(first) < len(rows):
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
    columns = columns_of(path, ["subject", "object"], options)
    assert isinstance(columns, EdgeColumns)

    def make(cells: Sequence[str]) -> list[NodeRecord | EdgeRecord]:
        first, *others = (cell.strip() for cell in cells)
        if any(others):
            return [columns.record_of((first, None, one), {}) for one in others if one]
        return [NodeRecord(columns.subject_group + identifier(first, "node"), options.default_type)]

    return records(path, rows_of(path, encoding, dialect), make)
