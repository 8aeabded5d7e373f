"""Columns that can hold the ids of a node table: every row has a value, and none occurs twice.

Values are compared in temporary files, so that memory does not grow with the table.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import ExitStack, closing
from pathlib import Path

from bfsql.errors import SourceError
from bfsql.models.records import GraphStream, NodeRecord
from bfsql.sources.fields import Unusable, excerpt, identifier, value_of
from bfsql.sources.headers import NodeColumns, Row, listed, value_or_none
from bfsql.sources.options import option_of
from bfsql.sources.tables import AnyTable


def with_unique_ids(table: AnyTable) -> GraphStream:
    """The records of a table; if its id column is a fallback, they are checked.

    Raises:
        SourceError: The column is a fallback, and a record has the id of an earlier one.
    """
    columns = table.columns
    if not isinstance(columns, NodeColumns) or not columns.is_fallback:
        yield from table.records()
        return
    with closing(Texts()) as ids:
        for record in table.records():
            if isinstance(record, NodeRecord) and not ids.add(record.id):
                raise not_unique(table.path, columns, table.rows())
            yield record


def not_unique(path: Path, columns: NodeColumns, rows: Iterable[Row]) -> SourceError:
    """The error of an id column in which values occur twice; it names columns without any."""
    repeats, example, texts = 0, "", dict[str, Texts]()
    with ExitStack() as stack:
        for row in rows:
            if not texts:
                for column in dict.fromkeys([*row, columns.id]):
                    texts[column] = stack.enter_context(closing(Texts()))
            for column in [*texts]:
                text = id_text(row, column, columns)
                if text is not None and texts[column].add(text):
                    continue
                if column != columns.id:
                    texts.pop(column).close()
                elif text is not None:
                    repeats, example = repeats + 1, example or text
    unique = [column for column in texts if column != columns.id]
    rows_repeat = "1 row repeats" if repeats == 1 else f"{repeats:,} rows repeat"
    reason = (
        f"the column {columns.id} cannot be used as the id, because {rows_repeat} the value of an "
        f"earlier row, for instance {excerpt(example)}, and would be merged with that row"
    )
    if not unique:
        return SourceError(
            path,
            f"{reason}; no other column has a different value in every row. Add a column id, or "
            f"merge these rows with {option_of('id_column', columns.id)}",
        )
    noun = "The column" if len(unique) == 1 else "The columns"
    return SourceError(
        path,
        f"{reason}. {noun} with a different value in every row: {listed(unique)}. Name the right "
        f"one, for instance with {option_of('id_column', unique[0])}",
    )


def id_text(row: Row, column: str, columns: NodeColumns) -> str | None:
    """A value as an id; None if there is none, or it cannot be one.

    Decimals are not ids: measures may differ in all rows by chance.
    """
    value = value_or_none(row.get(column), columns.null_texts)
    if isinstance(value, str) and value and isinstance(value_of(value), float):
        return None
    try:
        return identifier(value, column)
    except Unusable:
        return None


class Texts:
    """A set of texts; a large one is in a temporary file."""

    def __init__(self) -> None:
        self._connection = sqlite3.connect("", check_same_thread=False)
        self._connection.execute("CREATE TABLE text (text TEXT PRIMARY KEY) WITHOUT ROWID")

    def add(self, text: str) -> bool:
        """Add a text; return whether it is new."""
        insert = "INSERT OR IGNORE INTO text VALUES (?)"
        return self._connection.execute(insert, (text,)).rowcount > 0

    def close(self) -> None:
        """Remove the file."""
        self._connection.close()
