"""The tables that a load makes: kgraph's, and which value goes to which column.

A metadata value stands in a column of its own where that column gives it back
as it was, of the same type; everything else stands in the table's JSON column,
whose type is `json` because `jsonb` rewrites numbers and drops what it calls
duplicates. So a reader that puts both together has what the records had. The
one exception is a vector, of which readers tell the length alone.

`bundle_evidence` has one column more than the pipeline makes, `properties`,
for the fields of a passage that have no column.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bfsql.models.json_values import encode, is_text
from bfsql_postgres.sql import LONG_ARRAY

MARK = "A graph that bfsql load wrote; the next load into this schema replaces it."
"""Comment on every table that a load made: without it none is replaced."""

MAX_INDEXED = 2_600
"""Bytes of what stands in one entry of an index: a btree takes 2,704, with a header for each."""

_INT64 = 2**63
_FLOAT4 = 3.4e38


@dataclass(frozen=True, slots=True)
class Column:
    """A column that holds the values of one metadata key."""

    name: str
    type: str
    key: str
    """The metadata key."""
    fits: Callable[[Any], bool]
    """Whether the column gives a value back as it is."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the kgraph schema, as a load makes it."""

    name: str
    fixed: Mapping[str, str]
    """Columns that every row fills, with their types."""
    own: tuple[Column, ...]
    """Columns for metadata."""
    rest: str
    """The JSON column for everything else."""
    more: Mapping[str, str]
    """Columns that the server fills, or that are for others to fill, with their types."""

    @property
    def written(self) -> tuple[str, ...]:
        """Columns in the order of the rows that a load writes."""
        return (*self.fixed, *self.kept)

    @property
    def kept(self) -> tuple[str, ...]:
        """Columns that `split` gives the values of."""
        return (*(column.name for column in self.own), self.rest)

    @property
    def definitions(self) -> dict[str, str]:
        """Every column with its type."""
        own = {column.name: column.type for column in self.own}
        return {**self.fixed, **own, self.rest: "json", **self.more}

    def split(self, metadata: Mapping[str, Any]) -> list[Any]:
        """Metadata as values of the columns `kept`.

        Raises:
            ValueError: It is nested too deeply, or holds itself.
        """
        rest = dict(metadata)
        values: list[Any] = []
        for column in self.own:
            value = rest.get(column.key)
            if value is None or not column.fits(value):
                values.append(None)
                continue
            del rest[column.key]
            values.append(encode(value) if column.type == "json" else value)
        values.append(encode(rest) if rest else None)
        return values

    def joined(self, values: Sequence[Any]) -> dict[str, Any]:
        """The metadata that `split` took apart."""
        *own, rest = values
        metadata: dict[str, Any] = json.loads(rest) if rest else {}
        for column, value in zip(self.own, own, strict=True):
            if value is not None:
                metadata[column.key] = json.loads(value) if column.type == "json" else value
        return metadata


# --- what fits --------------------------------------------------------------


def storable(text: str) -> bool:
    """Whether a column of the type `text` can hold it."""
    return "\0" not in text and is_text(text)


def _text(value: Any) -> bool:
    return type(value) is str and storable(value)


def _short(value: Any) -> bool:
    return _text(value) and len(value.encode()) <= MAX_INDEXED


def _status(value: Any) -> bool:
    return _text(value) and value != "merged"  # the column would hide the node


def _number(value: Any) -> bool:
    return type(value) is float


def _whole(value: Any) -> bool:
    return type(value) is int and -_INT64 <= value < _INT64


def _flag(value: Any) -> bool:
    return type(value) is bool


def _list(value: Any) -> bool:
    """Whether JSON functions of the server, which take no NUL and no half pair, can read it."""
    return type(value) is list and "\\u" not in encode(value)


def _vector(value: Any) -> bool:
    """Whether it is a vector for searches, whose length alone is ever read (`protocol.md` 17)."""
    if type(value) is not list or len(value) < LONG_ARRAY:
        return False
    # Of single precision, since pgvector's numbers are; NaN is below no limit.
    return all(type(one) in (int, float) and -_FLOAT4 < one < _FLOAT4 for one in value)


# --- the tables -------------------------------------------------------------


ENTITY = Table(
    "entity",
    {"entity_id": "text NOT NULL", "entity_type": "text NOT NULL"},
    (
        Column("name", "text", "name", _text),
        Column("status", "text", "status", _status),
        Column("confidence", "float8", "confidence", _number),
        Column("usage_count", "bigint", "usage_count", _whole),
        Column("source", "text", "source", _text),
        Column("canonical_url", "text", "canonical_url", _text),
        Column("synonyms", "json", "synonyms", _list),
        # Its type changes to that of pgvector when all nodes are there.
        Column("embedding", "json", "embedding", _vector),
    ),
    "properties",
    {"merged_into": "text"},
)

RELATIONSHIP = Table(
    "relationship",
    {"subject_id": "text NOT NULL", "predicate": "text NOT NULL", "object_id": "text NOT NULL"},
    (
        Column("confidence", "float8", "confidence", _number),
        Column("source_documents", "json", "source_documents", _list),
    ),
    "properties",
    {"id": "uuid NOT NULL DEFAULT gen_random_uuid()"},
)

BUNDLE_EVIDENCE = Table(
    "bundle_evidence",
    {"relationship_key": "text NOT NULL"},
    (
        Column("document_id", "text", "document_id", _short),
        Column("section", "text", "section", _text),
        Column("start_offset", "bigint", "start_offset", _whole),
        Column("end_offset", "bigint", "end_offset", _whole),
        Column("text_span", "text", "text_span", _text),
        Column("confidence", "float8", "confidence", _number),
        Column("supports", "boolean", "supports", _flag),
    ),
    "properties",
    {"id": "bigint GENERATED ALWAYS AS IDENTITY"},
)

EVIDENCE = Table(
    "evidence",
    {"relationship_id": "uuid NOT NULL"},
    (
        Column("paper_id", "text", "document_id", _short),
        Column("evidence_type", "text", "evidence_type", _text),
        Column("confidence_score", "float8", "confidence", _number),
    ),
    "metadata_",
    {"id": "uuid NOT NULL DEFAULT gen_random_uuid()"},
)

EVIDENCE_TABLES = {table.name: table for table in (BUNDLE_EVIDENCE, EVIDENCE)}

NAMES = ("entity", "relationship", *EVIDENCE_TABLES, "bundle_mention")
"""Tables that a reader looks for, so that none may be left over from another graph."""


def created(path: str, columns: Mapping[str, str], *, logged: bool = True) -> str:
    """The statement that makes a table.

    Args:
        path: Its quoted name.
        columns: Names and types.
        logged: Whether it has to outlive a crash.
    """
    listed = ", ".join(f"{name} {kind}" for name, kind in columns.items())
    return f"CREATE {'' if logged else 'UNLOGGED '}TABLE {path} ({listed})"


def constraints(table: Table) -> Iterator[tuple[str, str]]:
    """Keys of a table, each as a name and a definition.

    The definition of a foreign key leaves the table open, as `{relationship}`.
    """
    match table.name:
        case "entity":
            yield "entity_pkey", "PRIMARY KEY (entity_id)"
        case "evidence":
            yield "evidence_pkey", "PRIMARY KEY (id)"
            yield (
                "evidence_relationship_id_fkey",
                "FOREIGN KEY (relationship_id) REFERENCES {relationship} (id)",
            )
        case name:
            yield f"{name}_pkey", "PRIMARY KEY (id)"
