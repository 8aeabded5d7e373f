"""Expressions over columns: as text, as an id, as a value that is worth fetching."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from pydantic_core import from_json

from bfsql_postgres.schema import Column, Key, Layout, Nodes, Relation, Term
from bfsql_postgres.settings import MERGED


def identifier(name: str) -> str:
    """A name in double quotes, whatever it is made of.

    Raises:
        ValueError: It is empty, or holds a character that no name has.
    """
    if not name or "\0" in name:
        raise ValueError(f"{name!r} is no name of anything in Postgres")
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def literal(text: str) -> str:
    """A text in single quotes; right whatever `standard_conforming_strings` is.

    Raises:
        ValueError: It holds a NUL, which no text in Postgres has.
    """
    if "\0" in text:
        raise ValueError(f"{text!r} holds a NUL, which no text in Postgres has")
    doubled = text.replace("'", "''")
    if "\\" in doubled:
        escaped = doubled.replace("\\", "\\\\")
        return f"E'{escaped}'"
    return f"'{doubled}'"


def relation_name(relation: Relation) -> str:
    """A table with its schema."""
    return f"{identifier(relation.schema)}.{identifier(relation.name)}"


def type_name(column: Column) -> str:
    """The type of a column with its schema."""
    return f"{identifier(column.type_schema)}.{identifier(column.type)}"


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


_WHOLE = re.compile(r"-?[1-9][0-9]{0,18}|0")
_INT64 = 2**63


def decode(text: str) -> Any:
    """A JSON text's value; numbers keep every digit that they have."""
    try:
        return from_json(text)
    except ValueError:  # half a surrogate pair, or deeper nesting than that parser takes
        return _patiently(text)


def _patiently(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def placeholder(key: str, what: str) -> Callable[[int], str]:
    """What stands for a value that is not sent: its field and its size (`protocol.md` 17)."""
    return lambda size: f"[{key}: {size} {what}]"


def lift(metadata: dict[str, Any], text: str, under: str) -> None:
    """Put the keys of a JSON column beside the row's own.

    Where both have a key, the row's own keeps it and the other becomes
    `properties.KEY`. What is no object stays under the column's name.

    Args:
        metadata: What the row has; it is changed.
        text: The JSON.
        under: The column's name.
    """
    value = decode(text)
    if isinstance(value, dict):
        if metadata.keys().isdisjoint(value):
            metadata.update(value)
            return
        for key, inner in value.items():
            metadata[f"{under}.{key}" if key in metadata else key] = inner
    elif value is not None:
        metadata[under] = value


# --- ids --------------------------------------------------------------------


def storable(texts: Sequence[str], codec: str = "utf-8") -> bool:
    """Whether all of them can be in a database: no NUL and no half surrogate pair.

    Args:
        texts: Any texts.
        codec: The database's encoding; what it has no character for cannot be there.
    """
    together = "".join(texts)
    if "\0" in together:
        return False
    if together.isascii():
        return True
    # Two halves that meet make no pair in Python, so that one look at all of them is enough.
    try:
        together.encode(codec)
    except UnicodeEncodeError:
        return False
    return True


def known_ids(ids: Iterable[str], layout: Layout) -> dict[str, Any]:
    """Ids that the store could have, each once, with what they are sent as.

    An id that is not the canonical text of a value (`007` of 7) is unknown.
    """
    distinct = dict.fromkeys(ids)
    if layout.key == "whole":
        return {i: int(i) for i in distinct if is_whole(i)}
    if layout.key == "uuid":
        return {i: i for i in distinct if is_uuid(i)}
    if storable(list(distinct), layout.codec):
        return dict(zip(distinct, distinct, strict=True))
    return {i: i for i in distinct if storable((i,), layout.codec)}


def is_whole(text: str) -> bool:
    """Whether a text is how the server writes some 64-bit number."""
    return bool(_WHOLE.fullmatch(text)) and -_INT64 <= int(text) < _INT64


def is_uuid(text: str) -> bool:
    """Whether a text is how the server writes some UUID."""
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False
