"""Ids: which ones a graph can contain, and how statements compare them.

If several tables number their rows, the id of a node is that of its table and its key: `orders:17`.
In the prefix `%` and `:` are written `%25` and `%3A`, so that the first colon ends it; in a key of
several columns they are also written so in each part: `stock:17:A%3A4`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from bfsql.models.json_values import INT64
from bfsql_postgres.schema import Column, Id, Key, Layout
from bfsql_postgres.sql import comparable, literal, named, storable, text

_WHOLE = re.compile(r"-?[1-9][0-9]{0,18}|0")


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
        return {i: int(i) for i in distinct if _is_whole(i)}
    if layout.key == "uuid":
        return {i: i for i in distinct if _is_uuid(i)}
    if not storable(list(distinct), layout.codec):
        distinct = {i: None for i in distinct if storable((i,), layout.codec)}
    if layout.key == "prefixed":
        own = layout.ids
        return {i: i for i in distinct if (of := own.get(prefix(i))) and _is_key(i, of)}
    return dict(zip(distinct, distinct, strict=True))


def prefix(node_id: str) -> str:
    """The prefix of an id: all before its first colon."""
    return node_id.partition(":")[0]


def prefixes(ids: Iterable[str], layout: Layout) -> frozenset[str] | None:
    """The prefixes of some ids; None if those of the graph have none."""
    return frozenset(map(prefix, ids)) if layout.key == "prefixed" else None


def _is_key(node_id: str, of: Id) -> bool:
    """Whether a key follows the prefix, spelled as the database spells it."""
    _, colon, rest = node_id.partition(":")
    if len(of.columns) == 1:
        return bool(colon) and _is_value(rest, of.columns[0])
    parts = rest.split(":")
    return len(parts) == len(of.columns) and all(
        encoded(value := decoded(part)) == part and _is_value(value, column)
        for part, column in zip(parts, of.columns, strict=True)
    )


def _is_value(value: str, column: Column) -> bool:
    if column.is_whole:
        return _is_whole(value)
    if column.type == "uuid":
        return _is_uuid(value)
    return column.type != "bpchar" or not value.endswith(" ")


def _is_whole(value: str) -> bool:
    return _WHOLE.fullmatch(value) is not None and -INT64 <= int(value) < INT64


def _is_uuid(value: str) -> bool:
    try:
        return str(UUID(value)) == value
    except ValueError:
        return False


# --- comparisons as SQL ------------------------------------------------------------


def equals(alias: str, own: Id, value: str, key: Key) -> str:
    """The condition that the id of a row is a value of the type in `ID_TYPES`.

    The key in a value with another prefix may not be of the column's type, so it is not read.
    """
    if own.prefix is None:
        return f"{comparable(alias, own, key)} = {value}"
    first = f"{own.prefix}:"
    has_prefix = f"left({value}, {len(first)}) = {literal(first)}"
    tests = [has_prefix]
    for number, column in enumerate(own.columns):
        part = f"substr({value}, {len(first) + 1})"
        if len(own.columns) > 1:
            part = f"split_part({value}, ':', {number + 2})"
            if not _is_plain(column):
                part = f"replace(replace({part}, '%3A', ':'), '%25', '%')"
        left = named(alias, column) if _cast(column) is not None else text(alias, column)
        tests.append(f"{left} = CASE WHEN {has_prefix} THEN {part}{_cast(column) or ''} END")
    return " AND ".join(tests)


def joined(alias: str, own: Id, other_alias: str, other: Id) -> str:
    """The condition that two rows have the same id, if both have the same prefix."""
    pairs = zip(own.columns, other.columns, strict=True)
    return " AND ".join(
        f"{named(alias, one)} = {named(other_alias, two)}"
        if one.type == two.type or (one.is_whole and two.is_whole)
        else f"{text(alias, one)} = {text(other_alias, two)}"
        for one, two in pairs
    )


def _is_plain(column: Column) -> bool:
    """Whether no value of a column has a character that `encoded` replaces."""
    return column.is_whole or column.type == "uuid"


def _cast(column: Column) -> str | None:
    """What converts a text to a value that an index of the column finds; None if nothing does."""
    if column.is_whole:
        return "::bigint"
    if column.type in {"uuid", "bpchar"} and not column.folded:
        return f"::{column.type}"
    return "" if column.is_text else None
