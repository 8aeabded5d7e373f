"""What the text of a table's cell means: conservative, for most cells are text."""

from __future__ import annotations

import re

_INTEGER = re.compile(r"(?:-?[1-9]\d{0,14}|0)\Z", re.ASCII)
_DECIMAL = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+(?:[eE][+-]?\d{1,2})?|[eE]-\d{1,2})\Z", re.ASCII)
_TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_MAYBE = frozenset("-0123456789tTfF")


def value_of(cell: str) -> str | int | float | bool:
    """A number or a truth value where the text can mean nothing else, otherwise the text.

    Whole numbers have at most 15 digits and no leading zero, since `0042` and
    long rows of digits are codes. Decimals are `1.5`, `0.90`, `1e-05`.

    Args:
        cell: As the table has it, not empty.
    """
    if cell[0] not in _MAYBE:
        return cell
    if _INTEGER.match(cell):
        return int(cell)
    if _DECIMAL.match(cell):
        return float(cell)
    return _TRUTH.get(cell, cell)
