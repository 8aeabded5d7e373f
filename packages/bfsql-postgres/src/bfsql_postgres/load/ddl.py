"""The tables that a load makes (kgraph's), and the assignment of values to columns.

A metadata value is stored in a column of its own if that column returns it unchanged, with the
same type; every other value is stored in the table's JSON column, whose type is `json` because
`jsonb` rewrites numbers and drops keys it considers duplicates. A reader that combines both
therefore has the content of the records. The one exception is a vector, of which readers return
only the length.

`bundle_evidence` has one column in addition to the pipeline's, `properties`, for the fields of a
passage that have no column.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bfsql.models.json_values import INT64, encode
from bfsql_postgres.sql import LONG_ARRAY, storable

MARK_BEGINS = "A graph that bfsql load wrote"
"""The beginning of the comment on every table that a load made; others are never replaced."""
MARK = f"{MARK_BEGINS}: the next load with --replace deletes it."

MAX_INDEXED = 2_600
"""Most bytes of the values in one index entry: a btree takes 2,704, with a header for each."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of column for metadata."""

    type: str
    fits: Callable[[Any], bool]
    """Whether the column returns a value unchanged."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the kgraph schema as a load makes it."""

    name: str
    fixed: Mapping[str, str]
    """Columns that every row fills, with their types."""
    own: Mapping[str, Kind]
    """Columns for metadata."""
    rest: str
    """The JSON column for everything else."""
    more: Mapping[str, str]
    """Columns that the server fills, or that others may fill, with their types."""
    constraints: Mapping[str, str]
    """Keys by their names; that of a foreign key contains `{relationship}` in place of the table.
    """

    @property
    def values(self) -> dict[str, str]:
        """Columns for the values that `split` returns, with their types."""
        return {name: kind.type for name, kind in self.own.items()} | {self.rest: "json"}

    @property
    def rows(self) -> dict[str, str]:
        """Columns of the rows that a load writes, in their order, with their types."""
        return {**self.fixed, **self.values}

    def split(self, metadata: Mapping[str, Any]) -> list[Any]:
        """Split metadata into values of the columns `values`.

        Raises:
            ValueError: The metadata is nested too deeply, or contains itself.
        """
        rest = dict(metadata)
        values: list[Any] = []
        for name, kind in self.own.items():
            value = rest.get(_KEYS.get(name, name))
            if value is None or not kind.fits(value):
                values.append(None)
                continue
            del rest[_KEYS.get(name, name)]
            values.append(encode(value) if kind.type == "json" else value)
        values.append(encode(rest) if rest else None)
        return values

    def joined(self, values: Sequence[Any]) -> dict[str, Any]:
        """Reassemble the metadata that `split` took apart."""
        *own, rest = values
        metadata: dict[str, Any] = json.loads(rest) if rest else {}
        for (name, kind), value in zip(self.own.items(), own, strict=True):
            if value is not None:
                read = json.loads(value) if kind.type == "json" else value
                metadata[_KEYS.get(name, name)] = read
        return metadata


# --- what fits --------------------------------------------------------------


def _text(value: Any) -> bool:
    return type(value) is str and storable((value,))


def _list(value: Any) -> bool:
    """Whether the server's JSON functions, which reject NUL and lone surrogates, can read it."""
    return type(value) is list and "\\u" not in encode(value)


def _vector(value: Any) -> bool:
    """Whether it is a search vector, of which only the length is ever read (`protocol.md` 17)."""
    if type(value) is not list or len(value) < LONG_ARRAY:
        return False
    largest = 3.4e38  # of single precision, which pgvector's numbers have
    # Every comparison with NaN is false.
    return all(type(one) in (int, float) and -largest < one < largest for one in value)


_TEXT = Kind("text", _text)
_SHORT = Kind("text", lambda value: _text(value) and len(value.encode()) <= MAX_INDEXED)
# A status of `merged` would hide the node.
_STATUS = Kind("text", lambda value: _text(value) and value != "merged")
_NUMBER = Kind("float8", lambda value: type(value) is float)
_WHOLE = Kind("bigint", lambda value: type(value) is int and -INT64 <= value < INT64)
_FLAG = Kind("boolean", lambda value: type(value) is bool)
_LIST = Kind("json", _list)
# Its type becomes pgvector's once all nodes are there.
_VECTOR = Kind("json", _vector)

# --- the tables -------------------------------------------------------------

_KEYS = {"paper_id": "document_id", "confidence_score": "confidence"}
"""Metadata keys of the columns that have different names."""

ENTITY = Table(
    "entity",
    {"entity_id": "text NOT NULL", "entity_type": "text NOT NULL"},
    {
        "name": _TEXT,
        "status": _STATUS,
        "confidence": _NUMBER,
        "usage_count": _WHOLE,
        "source": _TEXT,
        "canonical_url": _TEXT,
        "synonyms": _LIST,
        "embedding": _VECTOR,
    },
    "properties",
    {"merged_into": "text"},
    {"entity_pkey": "PRIMARY KEY (entity_id)"},
)

RELATIONSHIP = Table(
    "relationship",
    {"subject_id": "text NOT NULL", "predicate": "text NOT NULL", "object_id": "text NOT NULL"},
    {"confidence": _NUMBER, "source_documents": _LIST},
    "properties",
    {"id": "uuid NOT NULL DEFAULT gen_random_uuid()"},
    {"relationship_pkey": "PRIMARY KEY (id)"},
)

BUNDLE_EVIDENCE = Table(
    "bundle_evidence",
    {"relationship_key": "text NOT NULL"},
    {
        "document_id": _SHORT,
        "section": _TEXT,
        "start_offset": _WHOLE,
        "end_offset": _WHOLE,
        "text_span": _TEXT,
        "confidence": _NUMBER,
        "supports": _FLAG,
    },
    "properties",
    {"id": "bigint GENERATED ALWAYS AS IDENTITY"},
    {"bundle_evidence_pkey": "PRIMARY KEY (id)"},
)

EVIDENCE = Table(
    "evidence",
    {"relationship_id": "uuid NOT NULL"},
    {"paper_id": _SHORT, "evidence_type": _TEXT, "confidence_score": _NUMBER},
    "metadata_",
    {"id": "uuid NOT NULL DEFAULT gen_random_uuid()"},
    {
        "evidence_pkey": "PRIMARY KEY (id)",
        "evidence_relationship_id_fkey": "FOREIGN KEY (relationship_id) REFERENCES "
        "{relationship} (id)",
    },
)

EVIDENCE_TABLES = {table.name: table for table in (BUNDLE_EVIDENCE, EVIDENCE)}

NAMES = ("entity", "relationship", *EVIDENCE_TABLES, "bundle_mention")
"""Tables that a reader looks for, so none may remain from another graph."""
