"""Ids: which ones a graph can contain, and how statements compare them.

If several tables number their rows, the id of a node is that of its table and its key: `orders:17`.
In the prefix `%` and `:` are written `%25` and `%3A`, so that the first colon ends it; in a key of
several columns they are also written so in each part: `stock:17:A%3A4`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from bfsql.deadline import checked
from bfsql.models.json_values import INT64
from bfsql_postgres.schema import Column, Id, Layout
from bfsql_postgres.sql import comparable, key_text, literal, named, storable

_SHAPES = {
    "whole": "0|-?[1-9][0-9]{0,18}",
    "numeric": "0|-?[1-9][0-9]*|-?(0|[1-9][0-9]*)[.][0-9]*[1-9]",
    "uuid": "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
}
"""Patterns of the texts of keys, by the kind of their column; other kinds may have any text."""


def encoded(part: str) -> str:
    """A prefix, or a part of a key, without colons."""
    return part.replace("%", "%25").replace(":", "%3A")


def decoded(part: str) -> str:
    """The text that `encoded` made a part of."""
    return part.replace("%3A", ":").replace("%25", "%")


def known_ids(ids: Iterable[str], layout: Layout) -> dict[str, Any]:
    """Ids that the store can contain, without duplicates, with the values that represent them."""
    distinct = dict.fromkeys(ids)
    if layout.key == "whole":
        return {i: int(i) for i in checked(distinct) if _has_shape(i, "whole")}
    if layout.key == "uuid":
        return {i: i for i in checked(distinct) if _has_shape(i, "uuid")}
    if not storable(list(distinct), layout.codec):
        distinct = {i: None for i in checked(distinct) if storable((i,), layout.codec)}
    if layout.key == "prefixed":
        return {i: i for i in checked(distinct) if _may_be_key(i, layout)}
    return dict(zip(distinct, distinct, strict=True))


def prefix(node_id: str) -> str:
    """The prefix of an id: all before its first colon."""
    return node_id.partition(":")[0]


def prefixes(ids: Iterable[str], layout: Layout) -> frozenset[str] | None:
    """The prefixes of some ids; None if those of the graph have none."""
    return frozenset(map(prefix, ids)) if layout.key == "prefixed" else None


def _may_be_key(node_id: str, layout: Layout) -> bool:
    """Whether a key follows a known prefix, spelled as the database spells it."""
    first, colon, rest = node_id.partition(":")
    of = layout.ids.get(first)
    if of is None or first not in layout.uniform:
        return of is not None and bool(colon)
    if len(of.columns) == 1:
        return bool(colon) and _is_value(rest, of.columns[0])
    parts = rest.split(":")
    return len(parts) == len(of.columns) and all(
        encoded(value := decoded(part)) == part and _is_value(value, column)
        for part, column in zip(parts, of.columns, strict=True)
    )


def _is_value(value: str, column: Column) -> bool:
    if column.kind in _SHAPES:
        return _has_shape(value, column.kind)
    return column.type != "bpchar" or not value.endswith(" ")


def _has_shape(value: str, kind: str) -> bool:
    return bool(re.fullmatch(_SHAPES[kind], value)) and (
        kind != "whole" or -INT64 <= int(value) < INT64
    )


# --- comparisons as SQL ------------------------------------------------------------


def equals(alias: str, own: Id, value: str, layout: Layout) -> str:
    """The condition that the id of a row is a value of the type in `ID_TYPES`.

    The key in a value with another prefix may not be of the column's type, so it is not read.
    """
    if own.prefix is None:
        return f"{comparable(alias, own, layout.key)} = {value}"
    first = f"{own.prefix}:"
    has_prefix = f"left({value}, {len(first)}) = {literal(first)}"
    tests = [has_prefix]
    for number, column in enumerate(own.columns):
        part = f"substr({value}, {len(first) + 1})"
        if len(own.columns) > 1:
            part = f"split_part({value}, ':', {number + 2})"
            if column.kind not in _SHAPES:  # others have no character that `encoded` replaces
                part = f"replace(replace({part}, '%3A', ':'), '%25', '%')"
        left = named(alias, column) if has_cast(column) else key_text(alias, column)
        key = _cast(part, column, is_uniform=own.prefix in layout.uniform)
        tests.append(f"{left} = CASE WHEN {has_prefix} THEN {key} END")
    return " AND ".join(tests)


def joined(alias: str, own: Id, other_alias: str, other: Id) -> str:
    """The condition that two rows have the same id, if both have the same prefix."""
    pairs = zip(own.columns, other.columns, strict=True)
    return " AND ".join(
        f"{named(alias, one)} = {named(other_alias, two)}"
        if one.type == two.type or {one.kind, two.kind} <= {"whole", "numeric"}
        else f"{key_text(alias, one)} = {key_text(other_alias, two)}"
        for one, two in pairs
    )


def has_cast(column: Column) -> bool:
    """Whether a text is converted to the type of a column, whose index then finds it."""
    return (
        column.is_text or column.kind in _SHAPES or (column.type == "bpchar" and not column.folded)
    )


def _cast(part: str, column: Column, *, is_uniform: bool) -> str:
    """A part of a key with the type of a column; null if it is none and may be none."""
    if not has_cast(column) or column.is_text:
        return part
    value = f"{part}::{'bigint' if column.is_whole else column.type}"
    if is_uniform or column.type == "bpchar":
        return value
    if column.is_whole:  # nested, since the server may evaluate the parts of an AND in any order
        value = f"CASE WHEN {part}::numeric BETWEEN {-INT64} AND {INT64 - 1} THEN {value} END"
    return f"CASE WHEN {part} ~ '^({_SHAPES[column.kind]})$' THEN {value} END"
