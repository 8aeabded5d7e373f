"""Columns of ids: whether none occurs twice, and what other records they imply.

Values are compared in temporary files, so that memory does not grow with the table. The records
that a table implies besides those of its rows, typed ends of edges and references, are read in a
second pass over it, so that its own records can still be read in bulk.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bfsql.errors import SourceError
from bfsql.models.load import SourceAccount
from bfsql.models.records import EdgeRecord, GraphStream, NodeRecord
from bfsql.sources.fields import Unusable, excerpt, identifier, texts, value_of
from bfsql.sources.files import guarded
from bfsql.sources.headers import (
    OBJECT,
    SUBJECT,
    EdgeColumns,
    NodeColumns,
    Row,
    column_named,
    id_prefix,
    listed,
    value_or_none,
)
from bfsql.sources.options import SourceOptions, option_of
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
    repeats, example, values = 0, "", dict[str, Texts]()
    with ExitStack() as stack:
        for row in rows:
            if not values:
                for column in dict.fromkeys([*row, columns.id]):
                    values[column] = stack.enter_context(closing(Texts()))
            for column in [*values]:
                text = id_text(row, column, columns)
                if text is not None and values[column].add(text):
                    continue
                if column != columns.id:
                    values.pop(column).close()
                elif text is not None:
                    repeats, example = repeats + 1, example or text
    unique = [column for column in values if column != columns.id]
    rows_repeat = "1 row repeats" if repeats == 1 else f"{repeats:,} rows repeat"
    advice = (
        "; no other column has a different value in every row. Add a column id, or merge these "
        f"rows with {option_of('id_column', columns.id)}"
    )
    if unique:
        advice = (
            f". The column{'s' * (len(unique) > 1)} with a different value in every row: "
            f"{listed(unique)}. Name the right one, for instance with "
            f"{option_of('id_column', unique[0])}"
        )
    return SourceError(
        path,
        f"the column {columns.id} cannot be used as the id, because {rows_repeat} the value of an "
        f"earlier row, for instance {excerpt(example)}, and would be merged with that row{advice}",
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


_WORD = re.compile(r"[A-Za-z][a-z]{2,}\Z|[A-Z]{3,}\Z")
_ID_WORDS = re.compile(r"[\s_-]?(?:id|name|symbol|key|code)s?\Z", re.IGNORECASE)
_NO_TYPE = {
    *("who", "whom", "what", "where", "this", "that", "left", "right", "first", "second"),
    *("parent", "child", "one", "two", "column", "value", "node"),
    *(name for name in (*SUBJECT, *OBJECT) if name.isalpha()),
}
"""Names of ends that say nothing about the type of the nodes."""


@dataclass(slots=True)
class TypedEnds:
    """The nodes at the ends of the edges of a table, with a type; each once."""

    table: AnyTable
    """A table of edges."""
    account: SourceAccount
    """Its account."""
    types: tuple[str | None, str | None]
    """The types of the nodes at which its edges start and end; None where records give them."""
    guessed: bool
    """Whether they are the names of columns."""
    count: int = 0
    """The number of records so far."""
    sample: list[str] = field(default_factory=list)
    """The first ids."""

    def records(self) -> GraphStream:
        """The nodes; enters the types into the account."""
        ends = zip(("subject", "object"), self.types, strict=True)
        types = [f"its {end} nodes have the type {one}" for end, one in ends if one is not None]
        reason = ", after their columns; --subject-type and --object-type name others"
        self.account.note(" and ".join(types) + reason * self.guessed)
        with closing(Texts()) as seen:
            for record in guarded(self.table.path, self.table.records()):
                if not isinstance(record, EdgeRecord):
                    continue
                for id_, type_ in zip((record.subject, record.object), self.types, strict=True):
                    if type_ is not None and seen.add(f"{type_}\0{id_}"):
                        self.count += 1
                        self.sample += [id_][: 1_000 - self.count]
                        yield NodeRecord(id_, type_, {})


def typed_ends(
    table: AnyTable, account: SourceAccount, options: SourceOptions, *, alone: bool
) -> TypedEnds | None:
    """The typed ends of a table of edges, if the options or the names of its columns have types.

    Args:
        table: The table.
        account: Its account.
        options: `subject_type` and `object_type`.
        alone: Whether the load has no records of nodes, so that names of columns count.
    """
    columns = table.columns
    if not isinstance(columns, EdgeColumns):
        return None
    types = options.subject_type, options.object_type
    if guessed := types == (None, None):
        types = type_of_column(columns.subject), type_of_column(columns.object)
        if not alone or None in types:
            return None
    return TypedEnds(table, account, types, guessed)


def type_of_column(column: str) -> str | None:
    """The type of nodes that the name of a column is, as Gene for `gene_id`; None if it is none."""
    name = _ID_WORDS.sub("", column.strip())
    if _WORD.match(name) is None or name.casefold() in _NO_TYPE:
        return None
    return name[0].upper() + name[1:]


def reference_edges(
    table: AnyTable, account: SourceAccount, options: SourceOptions
) -> GraphStream | None:
    """The edges of columns that hold ids of other nodes; None if a table has no such column."""
    columns, have = table.columns, [column.name for column in account.columns]
    if not isinstance(columns, NodeColumns):
        return None
    found = [
        (column, predicate or column, id_prefix(table.path, column, options))
        for named, predicate in options.edge_columns.items()
        if (column := column_named(have, named)) not in {None, columns.id}
    ]
    for entry in account.columns:
        if any(entry.name == name for name, *_ in found):
            entry.meaning = "object"
    return _references(table, columns, found) if found else None


def _references(
    table: AnyTable, columns: NodeColumns, found: Sequence[tuple[str, str, str]]
) -> GraphStream:
    for row in table.rows():
        subject = id_text(row, columns.id, columns)
        if subject is None:
            continue  # refused as a node
        for column, predicate, prefix in found:
            for text in _ids(row.get(column), column, columns):
                yield EdgeRecord(columns.group + subject, predicate, prefix + text, {})


def _ids(value: Any, column: str, columns: NodeColumns) -> list[str]:
    """The ids in a cell, separated by `|` or `;`, IRIs also by commas."""
    if isinstance(value, int) and not isinstance(value, bool):
        return [str(value)]
    try:
        found = texts(value_or_none(value, columns.null_texts), column)
    except Unusable:
        return []
    if len(found) == 1 and all("://" in part for part in found[0].split(",")):
        found = [part.strip() for part in found[0].split(",")]
    return [text for text in found if text not in columns.null_texts]
