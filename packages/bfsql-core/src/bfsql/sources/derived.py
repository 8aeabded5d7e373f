"""Records that a table implies besides those of its rows: typed ends of edges, references.

They are read in a second pass over the table, so that its own records can still be read in bulk.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from bfsql.models.load import SourceAccount
from bfsql.models.records import EdgeRecord, GraphStream, NodeRecord
from bfsql.sources.fields import Unusable, texts
from bfsql.sources.files import guarded
from bfsql.sources.headers import (
    OBJECT,
    SUBJECT,
    EdgeColumns,
    NodeColumns,
    column_named,
    id_prefix,
    value_or_none,
)
from bfsql.sources.id_columns import Texts, id_text
from bfsql.sources.options import SourceOptions
from bfsql.sources.tables import AnyTable

_WORD = re.compile(r"[A-Za-z][a-z]{2,}\Z|[A-Z]{3,}\Z")
_ID_WORDS = re.compile(r"[\s_-]?(?:id|name|symbol|key|code)s?\Z", re.IGNORECASE)
_NO_TYPE = frozenset(
    {
        *("who", "whom", "what", "where", "this", "that", "left", "right", "first", "second"),
        *("parent", "child", "one", "two", "column", "value", "node"),
        *(name for name in (*SUBJECT, *OBJECT) if name.isalpha()),
    }
)
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
        self._note()
        with closing(Texts()) as seen:
            for record in guarded(self.table.path, self.table.records()):
                if not isinstance(record, EdgeRecord):
                    continue
                for id_, type_ in zip((record.subject, record.object), self.types, strict=True):
                    if type_ is not None and seen.add(f"{type_}\0{id_}"):
                        self.count += 1
                        self.sample += [id_][: 1_000 - self.count]
                        yield NodeRecord(id_, type_, {})

    def _note(self) -> None:
        types = [
            f"its {end} nodes have the type {type_}"
            for end, type_ in zip(("subject", "object"), self.types, strict=True)
            if type_ is not None
        ]
        reason = ", after their columns; --subject-type and --object-type name others"
        self.account.note(" and ".join(types) + (reason if self.guessed else ""))


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
    if types != (None, None):
        return TypedEnds(table, account, types, guessed=False)
    types = type_of_column(columns.subject), type_of_column(columns.object)
    if alone and None not in types:
        return TypedEnds(table, account, types, guessed=True)
    return None


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
    names = {name for name, *_ in found}
    for entry in account.columns:
        if entry.name in names:
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
