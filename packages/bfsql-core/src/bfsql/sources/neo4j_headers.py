"""The headers of neo4j-admin's import and of Amazon Neptune.

neo4j-admin has `personId:ID(Person)`, `name`, `born:date`, `:LABEL`; Neptune `~id`, `~label`,
`name:String(single)`, `~from`, `~to`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

_COLUMN = re.compile(
    r"(?P<name>.*):(?P<kind>\w+)(?:\((?P<group>[^()]*)\))?(?:\{.*\})?(?P<many>\[\])?\Z", re.DOTALL
)
_IDS = frozenset({"id", "start_id", "end_id"})
_SPECIAL = _IDS | {"label", "type", "ignore"}
_INTEGERS = frozenset({"int", "long", "short", "byte"})
_DECIMALS = frozenset({"float", "double"})
_TEXTS = frozenset(
    {
        *("char", "string", "point", "date", "localtime", "time", "localdatetime", "datetime"),
        "duration",
    }
)
_PROPERTIES = _INTEGERS | _DECIMALS | _TEXTS | {"boolean", "bool"}
_NEPTUNE = {"~id": "id", "~from": "start_id", "~to": "end_id", "~label": "label"}
_INTEGER = re.compile(r"[+-]?\d{1,18}\Z", re.ASCII)

SEPARATOR = ";"
"""Separator of labels and of array values."""


class Neo4jColumn(NamedTuple):
    """The header of one column."""

    name: str
    """The name of the property; may be empty if the column is special."""
    kind: str
    """`id`, `start_id`, `end_id`, `label`, `type`, `ignore`, or the type of a property; empty
    if the header names no type.
    """
    group: str
    """The id space of an id."""
    many: bool
    """Whether the value is an array."""

    @property
    def special(self) -> bool:
        """Whether the column is not a property."""
        return self.kind in _SPECIAL

    def value(self, default: Callable[[str], Any]) -> Callable[[str], Any]:
        """The conversion from a cell to a value; the default if the header names no type."""
        make = _VALUES.get(self.kind, default)
        return partial(_array, make) if self.many else make


def neo4j_columns(header: Sequence[str]) -> list[Neo4jColumn] | None:
    """The parsed header of every column, or None if no id column has this form."""
    columns = [_column(cell) for cell in header]
    return columns if any(column.kind in _IDS for column in columns) else None


def _column(cell: str) -> Neo4jColumn:
    if kind := _NEPTUNE.get(cell.strip().lower()):
        return Neo4jColumn(cell.strip()[1:], kind, "", many=False)
    found = _COLUMN.match(cell)
    if found is None or (kind := found["kind"].lower()) not in _SPECIAL | _PROPERTIES:
        return Neo4jColumn(cell, "", "", many=False)
    group = found["group"] if kind in _IDS else None
    return Neo4jColumn(found["name"].strip(), kind, group or "", bool(found["many"]))


def _integer(cell: str) -> int | str:
    return int(cell) if _INTEGER.match(cell) else cell


def _decimal(cell: str) -> float | str:
    try:
        value = float(cell)
    except ValueError:
        return cell
    return value if math.isfinite(value) else cell


def _boolean(cell: str) -> bool | str:
    return {"true": True, "false": False}.get(cell.strip().lower(), cell)


def _array(make: Callable[[str], Any], cell: str) -> list[Any]:
    return [make(part) for part in cell.split(SEPARATOR) if part]


_VALUES: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(_INTEGERS, _integer),
    **dict.fromkeys(_DECIMALS, _decimal),
    **dict.fromkeys(_TEXTS, str),
    "boolean": _boolean,
    "bool": _boolean,
}
