"""How answers are compared: as sets of rows, with numbers held as text as numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

Row: TypeAlias = tuple[Any, ...]
DIGITS = 9
"""Significant digits to which numbers are compared: sums depend on their order."""


def comparable(value: Any) -> Any:
    """A value as it is compared: numbers, also those held as text, as numbers."""
    if isinstance(value, bool):
        return value
    try:
        return float(f"{float(value):.{DIGITS}g}")
    except (TypeError, ValueError):
        return value.strip() if isinstance(value, str) else repr(value)


def rows_of(answer: Any) -> set[Row]:
    """The rows of an answer in JSON: a value, a list of values or of rows, or an object."""
    if isinstance(answer, dict):
        answer = [[key, value] for key, value in answer.items()]
    listed = answer if isinstance(answer, list) else [answer]
    rows = [row if isinstance(row, list) else [row] for row in listed]
    return {tuple(map(comparable, row)) for row in rows if None not in row}


def f1(answer: Iterable[Row], right: Iterable[Row]) -> float:
    """F1 of the sets of rows; 1 if both are empty.

    Args:
        answer: Rows of comparable values.
        right: The same.
    """
    found, wanted = {*answer}, {*right}
    if not found or not wanted:
        return float(found == wanted)
    return 2 * len(found & wanted) / (len(found) + len(wanted))
