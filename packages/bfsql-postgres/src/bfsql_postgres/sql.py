"""Puts names, columns and ids into statements, and converts the driver's results to values.

Names are quoted only here; all other values travel as parameters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

from pydantic_core import from_json

from bfsql_postgres.schema import Column, Id, Key, Nodes, Relation, Term

# --- quoting ----------------------------------------------------------------


def identifier(name: str) -> str:
    """A name in double quotes.

    Raises:
        ValueError: The name is empty, or contains a NUL.
    """
    if not name or "\0" in name:
        raise ValueError(f"{name!r} is not a valid name in Postgres")
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def literal(text: str) -> str:
    """A text in single quotes, valid whatever `standard_conforming_strings` is.

    Raises:
        ValueError: The text contains a NUL.
    """
    if "\0" in text:
        raise ValueError(f"{text!r} contains a NUL, which Postgres cannot store in text")
    doubled = text.replace("'", "''")
    if "\\" in doubled:
        escaped = doubled.replace("\\", "\\\\")
        return f"E'{escaped}'"
    return f"'{doubled}'"


def qualified(schema: str, name: str) -> str:
    """The name of a table, an index or a type with its schema."""
    return f"{identifier(schema)}.{identifier(name)}"


def relation_name(relation: Relation) -> str:
    """A table with its schema."""
    return qualified(relation.schema, relation.name)


def union(selects: Iterable[str]) -> str:
    """The rows of several statements."""
    return "\nUNION ALL\n".join(selects)


def type_name(column: Column) -> str:
    """The type of a column with its schema."""
    return qualified(column.type_schema, column.type)


def pattern(text: str) -> str:
    """A text as a `LIKE` pattern, with its wildcards escaped."""
    return re.sub(r"([\\%_])", r"\\\1", text)


def json_patterns(text: str) -> tuple[str, ...]:
    """A text as JSON spells it between its quotes: `json` keeps escapes that `jsonb` resolves."""
    spellings = (json.dumps(text, ensure_ascii=False), json.dumps(text))
    return tuple(dict.fromkeys(pattern(spelling[1:-1]) for spelling in spellings))


# --- columns in expressions --------------------------------------------------

ID_TYPES: dict[Key, str] = {
    "text": "text",
    "whole": "bigint",
    "uuid": "uuid",
    "mixed": "text",
    "prefixed": "text",
}
"""Type of the ids that statements take, by the way ids compare."""


def named(alias: str, column: Column) -> str:
    """A column of a table under an alias."""
    return f"{alias}.{identifier(column.name)}"


def text(alias: str, term: Term | Id) -> str:
    """A column's value as text, a constant, or an id."""
    if isinstance(term, Id):
        return _id_text(alias, term)
    if not isinstance(term, Column):
        return f"{literal(term)}::text"
    if term.is_text:
        return named(alias, term)
    return collated(f"{named(alias, term)}::text", term)


def _id_text(alias: str, own: Id) -> str:
    """An id as `bfsql_postgres.ids` describes it."""
    if own.prefix is None:
        return text(alias, own.columns[0])
    parts = [key_text(alias, column) for column in own.columns]
    if len(parts) > 1:
        parts = [
            part if column.is_whole else f"replace(replace({part}, '%', '%25'), ':', '%3A')"
            for part, column in zip(parts, own.columns, strict=True)
        ]
    after = " || ':' || ".join(parts)
    return f"({literal(f'{own.prefix}:')} || {after})"


def key_text(alias: str, column: Column) -> str:
    """A part of a key as text: equal numbers have the same text, whatever their scale."""
    value = text(alias, column)
    if column.type != "numeric":
        return value
    return f"CASE WHEN {value} LIKE '%.%' THEN rtrim(rtrim({value}, '0'), '.') ELSE {value} END"


def collated(expression: str, column: Column) -> str:
    """A text in a deterministic collation, required by patterns and for exact comparison."""
    return f'({expression} COLLATE pg_catalog."default")' if column.folded else expression


def comparable(alias: str, own: Id, key: Key) -> str:
    """The id of a row, converted to the type in `ID_TYPES`."""
    return text(alias, own) if key in ("mixed", "prefixed") else named(alias, own.columns[0])


def present(alias: str, terms: Iterable[Term | Id]) -> list[str]:
    """The conditions that none of some columns is null."""
    columns = [column for term in terms if isinstance(term, Id) for column in term.columns]
    columns += [term for term in terms if isinstance(term, Column)]
    return [f"{named(alias, column)} IS NOT NULL" for column in columns if not column.required]


def live(alias: str, nodes: Nodes) -> str:
    """The condition that a row is a node: it has an id, and is not a merged entity."""
    tests = present(alias, [nodes.id])
    if nodes.status is not None:
        tests.append(f"{text(alias, nodes.status)} IS DISTINCT FROM 'merged'")
    return " AND ".join(tests) or "TRUE"


# --- columns as they are fetched ----------------------------------------------

LONG_ARRAY = 64
"""Length at which an array counts as a vector, and is never sent (`protocol.md` 17)."""

_SENT_UNCHANGED = frozenset(
    {"text", "varchar", "bool", "int2", "int4", "int8", "float8", "numeric"}
)
_TIMES = frozenset({"date", "time", "timetz", "timestamp", "timestamptz"})

Role = Literal["own", "weak", "lifted"]
"""Relation of a value to its row: its own; one that applies only if nothing else has its key; or
JSON whose keys are merged into the row's own.
"""


@dataclass(frozen=True, slots=True)
class RowValue:
    """A value of a row, with its SQL and its conversion to metadata."""

    key: str
    expression: str
    type: str
    """Type of the null in its place in the other arms of a union."""
    convert: Callable[[Any], Any] | None = None
    """Converts the driver's value to metadata; None if both are the same."""
    role: Role = "own"
    column: str = ""
    """The column that may be of any size; empty if the value is small."""
    is_text: bool = False
    """Whether the value is the column's text, whose length the server knows without reading it."""

    def size(self, most: str) -> str:
        """Bytes of the value; 0 if it is far below `most`: compressed, it may have 32 times more.

        The server would have to write JSON as text to know how long it is.
        """
        if self.is_text:
            return f"octet_length({self.column})"
        small = f"pg_column_size({self.column}) <= {most} / 32"
        return f"(CASE WHEN {small} THEN 0 ELSE octet_length(({self.expression})::text) END)"

    def bounded(self, most: str) -> str:
        """The value; null if it has more bytes than `most`."""
        if not self.column:
            return self.expression
        null = f"CASE WHEN {self.size(most)} > {most} THEN NULL"
        return f"({null} ELSE {self.expression} END)"


def largest(fields: Sequence[RowValue], most: str) -> str:
    """Bytes of the largest value of a row."""
    return f"greatest(0, {', '.join(one.size(most) for one in fields if one.column) or '0'})"


def fetched(alias: str, key: str, column: Column) -> RowValue:
    """The value of a column, of any type.

    Types that the driver does not know come as text. So do times, because Python
    has none before the year 1 or at infinity.
    """
    value = named(alias, column)
    if column.type in _SENT_UNCHANGED or column.is_json:
        large = value if column.is_text or column.is_json or column.type == "numeric" else ""
        convert, is_text = decode if column.is_json else None, column.is_text
        return RowValue(key, value, type_name(column), convert, column=large, is_text=is_text)
    if column.type == "float4":  # by its digits: the driver would return 0.10000000149 for 0.1
        return RowValue(key, f"{value}::text::float8", "float8")
    if column.type == "bytea":
        return _sized(key, f"octet_length({value})", "bytes of binary data")
    if column.is_vector:
        return fetched_vector(alias, key, column)
    if column.element is not None:
        return _array(key, column, value)
    shown = f"to_json({value}) #>> '{{}}'" if column.type in _TIMES else f"{value}::text"
    large = "" if column.type in _TIMES else value
    return RowValue(key, shown, "text", column=large)


def fetched_vector(alias: str, key: str, column: Column) -> RowValue:
    """The length of a vector of any storage type, and never the vector itself."""
    return _sized(key, _length(named(alias, column), column), "numbers")


def _sized(key: str, size: str, what: str) -> RowValue:
    """A placeholder with field and size instead of the value (`protocol.md` 17)."""
    return RowValue(key, size, "int4", lambda size: f"[{key}: {size} {what}]")


def _length(value: str, column: Column) -> str:
    if column.type == "sparsevec":  # has no such function; its text ends with /DIMENSIONS
        return f"split_part({value}::text, '/', 2)::int4"
    if column.is_vector:
        return f"{identifier(column.type_schema)}.vector_dims({value})"
    if column.element is not None:
        return f"cardinality({value})"
    if column.is_json:
        kind = column.type
        return f"CASE {kind}_typeof({value}) WHEN 'array' THEN {kind}_array_length({value}) END"
    as_text = f"{value}::text"
    return f"length({as_text}) - length(replace({as_text}, ',', '')) + 1"


def _array(key: str, column: Column, value: str) -> RowValue:
    if column.is_text_array or column.element == "bool":
        return RowValue(key, value, type_name(column), column=value)
    as_json = f"array_to_json({value})::text"
    if column.is_number_array:
        size = f"to_json(format('[%s: %s numbers]', {literal(key)}, cardinality({value})))::text"
        is_long = f"array_ndims({value}) = 1 AND cardinality({value}) >= {LONG_ARRAY}"
        as_json = f"CASE WHEN {is_long} THEN {size} ELSE {as_json} END"
    return RowValue(key, as_json, "text", decode, column=value)


def decode(text: str) -> Any:
    """The value of a JSON text; numbers keep all their digits."""
    try:
        return from_json(text)
    except ValueError:  # a lone surrogate, or deeper nesting than that parser takes
        pass
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


# --- values and expressions of a statement -----------------------------------------


@dataclass(slots=True)
class Parameters:
    """The values of a statement, numbered in the order of their first use."""

    values: list[object] = field(default_factory=list)
    _texts: dict[str, str] = field(default_factory=dict)
    _columns: dict[str, str] = field(default_factory=dict)

    def text(self, value: str) -> str:
        """The parameter for a text; equal texts share one."""
        if value not in self._texts:
            self._texts[value] = self.add(value, "text")
        return self._texts[value]

    def column(self, expression: str) -> str:
        """The name of a column that holds the value of an expression; equal ones share it."""
        return self._columns.setdefault(expression, f'"bfsql value {len(self._columns)}"')

    def types(self, types: Sequence[str] | None) -> str | None:
        """The parameter for the types to include."""
        return None if types is None else self.add(list(types), "text[]")

    def add(self, value: object, kind: str) -> str:
        """The parameter for a value, with its type."""
        self.values.append(value)
        return f"${len(self.values)}::{kind}"


@lru_cache(1_000)
def bare_expression(expression: str) -> str:
    """An expression without the parts that the server writes differently from the statements."""
    unqualified = re.sub(r'"(?:[^"]|"")*"\.|\w+\.(?=")', "", expression)
    return re.sub(r'::text\b|[\s()"]', "", unqualified).lower()


# --- texts that can be sent ----------------------------------------------------


def storable(texts: Sequence[str], codec: str = "utf-8") -> bool:
    """Whether a database with this encoding can contain all texts: no NUL, no lone surrogate."""
    together = "".join(texts)
    if "\0" in together:
        return False
    if together.isascii():
        return True
    # Adjacent halves do not form a pair in Python, so one check of the joined texts is enough.
    try:
        together.encode(codec)
    except UnicodeEncodeError:
        return False
    return True
