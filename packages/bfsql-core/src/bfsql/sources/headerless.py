"""Tables without a header: how they are recognised, and what their columns are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bfsql.errors import SourceError
from bfsql.sources.fields import value_of
from bfsql.sources.headers import listed, names_columns
from bfsql.sources.options import SourceOptions

RECURRENCE = 1_000
"""Number of rows among which the cells of the first one are looked for."""
EDGE_LISTS = (2, 3)
"""Numbers of columns of an edge list without a header."""


def first_row(
    path: Path, first: Sequence[str], rows: Sequence[Sequence[str]], options: SourceOptions
) -> tuple[list[str] | None, str]:
    """Whether the first row of a table is data, and what its columns are in this case.

    Without an option, it is data if it has two or three cells as most other rows have, none of them
    empty or a usual name of a column, and they are numbers or occur further down.

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
    is_even = all(first) and 2 * sum(len(row) == len(first) for row in rows) > len(rows)
    if len(first) in EDGE_LISTS and is_even and looks_like_data(first, rows):
        names = _names(first, rows, options)
        return _numbered(names), _note(names)
    return None, ""


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
