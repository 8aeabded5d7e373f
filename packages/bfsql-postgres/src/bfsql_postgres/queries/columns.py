"""Expressions over columns: as text, as an id, as a value that is worth fetching."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from bfsql_postgres.catalogue import Column
from bfsql_postgres.decoding import decode, placeholder
from bfsql_postgres.kgraph import MERGED
from bfsql_postgres.layout import Key, Nodes, Term
from bfsql_postgres.quoting import identifier, literal, type_name

LONG_ARRAY = 64
"""Numbers in an array from which on it is a vector, and never sent (`protocol.md` 17)."""

ID_TYPES: dict[Key, str] = {"text": "text", "whole": "bigint", "uuid": "uuid", "mixed": "text"}
"""Type of the ids that statements take, by how ids compare."""

_SENT_AS_THEY_ARE = frozenset(
    {"text", "varchar", "bool", "int2", "int4", "int8", "float8", "numeric"}
)


Role = Literal["own", "weak", "lifted"]
"""What a value is to its row: its own; one that stands only where nothing else has its key; or JSON
whose keys come up beside the row's own."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A value of a row, as it is asked for and as it becomes metadata."""

    key: str
    expression: str
    type: str
    """What a null in its place has to be cast to, where another table of the union has it."""
    convert: Callable[[Any], Any] | None = None
    """What the driver gives to what metadata holds; None for as it is."""
    role: Role = "own"


def named(alias: str, column: Column) -> str:
    """A column of a table that a statement calls by an alias."""
    return f"{alias}.{identifier(column.name)}"


def text(alias: str, term: Term) -> str:
    """A column's value as text, or a constant."""
    if not isinstance(term, Column):
        return f"{literal(term.text)}::text"
    if term.is_text:
        return named(alias, term)
    return collated(f"{named(alias, term)}::text", term)


def collated(expression: str, column: Column) -> str:
    """A text, so that no other one is taken for the same and patterns can be held against it."""
    return f'({expression} COLLATE pg_catalog."default")' if column.folded else expression


def comparable(alias: str, column: Column, key: Key) -> str:
    """A column of ids, so that it can be compared with one of the type of `ID_TYPES`."""
    return text(alias, column) if key == "mixed" else named(alias, column)


def live(alias: str, nodes: Nodes) -> str:
    """The condition that a row is a node: merged entities are none, nor is what has no id."""
    tests = [] if nodes.id.required else [f"{named(alias, nodes.id)} IS NOT NULL"]
    if nodes.status is not None:
        tests.append(f"{text(alias, nodes.status)} IS DISTINCT FROM {MERGED_AWAY}")
    return " AND ".join(tests) or "TRUE"


MERGED_AWAY = literal(MERGED)


def fetched(  # noqa: PLR0911 - one line a kind
    alias: str, key: str, column: Column
) -> Fetched:
    """The value of a column: whatever its type, the server sends something that can be read.

    Types that the driver does not know come as text, as do times before the year 1 or at
    infinity, and months and years as a length of time, that Python does not know.
    """
    value = named(alias, column)
    if column.type in _SENT_AS_THEY_ARE:
        return Fetched(key, value, type_name(column))
    if column.type == "float4":  # as it is written: the driver would give 0.10000000149 for 0.1
        return Fetched(key, f"{value}::text::float8", "float8")
    if column.is_json:
        return Fetched(key, value, type_name(column), decode)
    if column.is_time:
        return Fetched(key, f"to_json({value}) #>> '{{}}'", "text")
    if column.type == "bytea":
        return Fetched(
            key, f"octet_length({value})", "int4", placeholder(key, "bytes of binary data")
        )
    if column.is_vector:
        return fetched_vector(alias, key, column)
    if column.element is not None:
        return _array(key, column, value)
    return Fetched(key, f"{value}::text", "text")


def fetched_vector(alias: str, key: str, column: Column) -> Fetched:
    """The length of a vector, in whatever type it is stored, and never the vector."""
    return Fetched(key, _length(alias, column), "int4", placeholder(key, "numbers"))


def _length(alias: str, column: Column) -> str:
    value = named(alias, column)
    if column.is_vector:
        schema = identifier(column.type_schema)
        # sparsevec has no function for it, and ends with /DIMENSIONS.
        if column.type == "sparsevec":
            return f"split_part({value}::text, '/', 2)::int4"
        return f"{schema}.vector_dims({value})"
    if column.element is not None:
        return f"cardinality({value})"
    if column.is_json:
        kind = column.type
        return f"CASE {kind}_typeof({value}) WHEN 'array' THEN {kind}_array_length({value}) END"
    as_text = f"{value}::text"
    return f"length({as_text}) - length(replace({as_text}, ',', '')) + 1"


def _array(key: str, column: Column, value: str) -> Fetched:
    if column.is_text_array or column.element == "bool":
        return Fetched(key, value, type_name(column))
    as_json = f"array_to_json({value})::text"
    if column.is_number_array:
        said = f"to_json(format('[%s: %s numbers]', {literal(key)}, cardinality({value})))::text"
        is_long = f"array_ndims({value}) = 1 AND cardinality({value}) >= {LONG_ARRAY}"
        as_json = f"CASE WHEN {is_long} THEN {said} ELSE {as_json} END"
    return Fetched(key, as_json, "text", decode)


def nulls(fields: tuple[Fetched, ...]) -> list[str]:
    """What stands in a union where another table has these."""
    return [f"NULL::{one.type}" for one in fields]
