"""Which values of id properties a text may stand for.

The id of a node is the text of the first id property that it has, as the server
makes it (`toString`); what it makes no text of, a list, is no id. A text is
looked up as every value whose text it may be, and what is found counts only
where its text is the one that was asked for: `007` never finds the number 7.
"""

from __future__ import annotations

import re
from typing import Any

from neo4j.time import Date, DateTime, Time

ELEMENT = "neo4j:element:"
"""What the id of a node begins with that has none of its own; its element id follows."""

_TYPED = re.compile(r"-?\d|-?Infinity$|true$|false$")  # what the text of another value begins with
_INT64 = 2**63
_MOMENTS: tuple[type[Any], ...] = (Date, DateTime, Time)


def candidates(text: str) -> list[Any]:
    """The values that a text may be the text of, itself first."""
    if not _TYPED.match(text):
        return [text]
    values: list[Any] = [text]
    if text in ("true", "false"):
        values.append(text == "true")
    for kind in (int, float):
        try:
            value = kind(text)
        except ValueError:
            continue
        if kind is float or -_INT64 <= value < _INT64:
            return [*values, value]
    for moment in _MOMENTS:
        try:
            values.append(moment.from_iso_format(text))
        except (ValueError, IndexError, OverflowError):
            continue
    return values
