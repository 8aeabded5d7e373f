"""How metadata is compared with the values of a condition, and how it is sorted (`protocol.md` 32).

Text is compared without case and accents, numbers as numbers, and ISO dates as dates, even if
a store holds them as text. The condition determines the comparison: a number is compared
with numbers, a date with dates, other text with text.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from types import NoneType
from typing import Any, NamedTuple, TypeAlias

from bfsql.deadline import checked
from bfsql.models.json_values import MAX_BITS, iso_text, json_number, non_finite
from bfsql.models.merge import fold

Scalar: TypeAlias = str | int | float | bool
Moment: TypeAlias = tuple[float, ...]
"""Year, month, day, hour, minute, second; as many as are written, at least the year."""

_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)
_DATE = re.compile(
    r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2})(?:[T ]([0-9]{2}):([0-9]{2})"
    r"(?::([0-9]{2}(?:\.[0-9]+)?))?(Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?)?)?",
    re.IGNORECASE,
)
_UNORDERED = re.compile(
    r"[0-9]{1,2}([./-])[0-9]{1,2}\1[0-9]{2,4}|[0-9]{4}([./])[0-9]{1,2}\2[0-9]{1,2}"
    r"|[0-9]{1,2}\.? [a-z]{3,9}\.?,? [0-9]{2,4}|[a-z]{3,9}\.? [0-9]{1,2},? [0-9]{4}"
    r"|[+-]?[0-9]{1,3}([,' ][0-9]{3})+([.,][0-9]+)?"
    r"|[<>~=]?\s?[$\u20ac\u00a3]?\s?[+-]?[0-9]+([.,][0-9]+)?"
    r"\s?([a-z\u00b5%\u00b0$\u20ac\u00a3]{1,10}(/[a-z]{1,5})?)?[0-9\u00b2\u00b3]?",
    re.IGNORECASE,
)
"""Dates that are not ISO, and numbers with separators, a currency or a unit."""
_SHORT = 40
"""Maximum length of such a text."""
LEAST_FLOAT = 1e16
"""A whole float below it is shown as an int."""
MOST_DIGITS = 400
"""Maximum characters of a number; longer ones are text."""
_DAY = 3
"""Number of parts of a moment that specifies a day."""
_FIRST = (1, 1, 1, 0, 0, 0)
"""Default parts of a moment."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A value as a condition writes it, in all the forms in which it can be compared."""

    text: str
    """The text, folded."""
    number: int | float | None
    moment: Moment | None
    """The moment of a date with at least a month; or of a year, which also has a `number`."""

    @classmethod
    def of(cls, written: str) -> Literal:
        """A literal from its written form, without quotes."""
        written = written.strip()
        return cls(fold(written), number_in(written), moment_in(written))

    @property
    def example(self) -> str:
        """The same text for all literals that compare with the same values."""
        if self.number is not None:
            return "0" if self.moment is None else "2000"
        if self.moment is not None:
            return "2000-01"
        return "true" if self.text in ("true", "false") else "a"


def scalars(value: Any) -> list[Scalar]:  # noqa: PLR0911 - one line a kind
    """The values that a condition can compare: the items of a list, or the single value.

    Mappings and binary values have none.
    """
    match value:
        case str() | bool():
            return [value]
        case Enum():
            return scalars(value.value)
        case int():
            return [int(value)]
        case float():
            return [float(value) if math.isfinite(value) else non_finite(value)]
        case Decimal():
            return [json_number(value)]
        case dt.date() | dt.time() | dt.timedelta():
            return [iso_text(value)]
        case None | Mapping() | bytes() | bytearray() | memoryview():
            return []
        case Sequence() | AbstractSet():
            return [scalar for item in checked(value) for scalar in scalars(item)]
        case _ if hasattr(value, "tolist"):
            return scalars(value.tolist())
    return [str(value)]


def key_texts(
    known: Mapping[str, Any], keys: Sequence[str]
) -> tuple[str | tuple[str, ...] | None, ...] | None:
    """The values of some keys of metadata as texts, or None; None for all if they are long."""
    values = [
        value if value is None or type(value) is str else tuple(map(shown_as, scalars(value)))
        for value in map(known.get, keys)
    ]
    return tuple(values) if len(repr(values)) <= 1_000 else None


def column_texts(
    columns: Mapping[str, Sequence[Any]], keys: Sequence[str], count: int
) -> Sequence[tuple[str | tuple[str, ...] | None, ...] | None]:
    """`key_texts` of each of `count` rows; in much less time if they are short, as dates are.

    Args:
        columns: The values of the rows, by key.
        keys: The keys, in the order of the texts.
        count: The number of rows.
    """
    rows = list(zip(*(columns.get(key) or [None] * count for key in keys), strict=True))
    for column in columns.values():
        if not {str, NoneType}.issuperset(map(type, column)) or (
            max(map(len, filter(None, column)), default=0) > _SHORT
        ):
            return [key_texts(dict(zip(keys, row, strict=True)), keys) for row in rows]
    return rows


def compared(value: Scalar, literal: Literal) -> int | None:
    """Whether a value is smaller than a literal (-1), equal (0) or larger (1).

    Args:
        value: A value from the metadata.
        literal: The literal; a date without a day, or without a time, covers all of that time.

    Returns:
        None if the two cannot be compared, such as text with a number.
    """
    if isinstance(value, bool):
        return 0 if literal.text == ("true" if value else "false") else None
    number = number_in(value) if isinstance(value, str) else value
    if literal.number is not None and number is not None:
        return _sign(number, literal.number)
    if literal.moment is not None:
        moment = moment_in(shown_as(value))
        return None if moment is None else _in_time(moment, literal.moment)
    if literal.number is not None or not isinstance(value, str):
        return None
    return _sign(fold(value), literal.text)


def comparable(value: Scalar, literal: Literal) -> bool:
    """Whether a value is of a kind that can be compared with a literal."""
    is_flag = isinstance(value, bool) and literal.text in ("true", "false")
    return is_flag or compared(value, literal) is not None


def contains(value: Scalar, literal: Literal) -> bool:
    """Whether the text of a value contains that of a literal."""
    return literal.text in fold(shown_as(value))


def shown_as(value: Scalar) -> str:
    """The text of a value as an answer displays it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)


def number_in(text: str) -> int | float | None:
    """The number that a text represents, or None."""
    text = text.strip()
    if len(text) > MOST_DIGITS or not _NUMBER.fullmatch(text):
        return None
    if text.lstrip("+-").isdigit():
        return int(text)
    number = float(text)
    return number if math.isfinite(number) else None


class Number(NamedTuple):
    """A value that is a number, also one that is held as text."""

    value: int | float
    """The number as conditions compare it; a whole one below 10^16 is an int."""
    decimal: Decimal
    """The decimal that the value is written as."""


def number_of(value: Scalar) -> Number | None:
    """The number that a value is or represents; None for text, flags and ints of 4,096 bits."""
    if isinstance(value, bool):
        return None
    number = number_in(value) if isinstance(value, str) else value
    if number is None or (isinstance(number, int) and number.bit_length() > MAX_BITS):
        return None
    decimal = Decimal(number) if isinstance(number, int) else Decimal(repr(number))
    if isinstance(number, float):
        if isinstance(value, str) and abs(Decimal(value.strip()).adjusted()) <= MOST_DIGITS:
            decimal = Decimal(value.strip())
        if number.is_integer() and abs(number) < LEAST_FLOAT:
            number = int(number)
    return Number(number, decimal or Decimal(0))


def unordered_text(counts: Mapping[str, int]) -> str | None:
    """A text that looks like a date or a number, where most texts are such and sorted as text.

    Such as `24/08/2017`, `3 May 2017`, `1,250` and `10 km`; ISO dates are in order.

    Args:
        counts: Texts, and how often each occurs.
    """
    found = [text for text in checked(counts) if is_unordered(text)]
    return min(found) if 2 * sum(map(counts.__getitem__, found)) > sum(counts.values()) else None


def is_unordered(text: str) -> bool:
    """Whether a text looks like a date or a number, and the order of text is not theirs."""
    return len(text) <= _SHORT and _UNORDERED.fullmatch(text.strip()) is not None


def moment_in(text: str) -> Moment | None:
    """The moment that a text represents, a year alone included, or None."""
    found = _DATE.fullmatch(text.strip())
    if found is None:
        return None
    *parts, second, zone = found.groups()
    written = [int(part) for part in parts if part]
    if len(written) == 1:  # also 0000, which `datetime` does not have
        return (written[0],)
    whole = int(second[:2]) if second else 0
    try:
        when = dt.datetime(*written, *[1] * (_DAY - len(written)), second=whole)  # type: ignore[arg-type, misc]  # noqa: DTZ001
        if zone is not None and zone not in "zZ":
            hours, minutes = int(zone[1:3]), int(zone[3:].lstrip(":") or 0)
            offset = dt.timedelta(hours=hours, minutes=minutes)
            when = when + offset if zone[0] == "-" else when - offset
    except (ValueError, OverflowError):  # no such day, or before the first one
        return None
    if len(written) <= _DAY:
        return tuple(written)
    minute = (when.year, when.month, when.day, when.hour, when.minute)
    return (*minute, when.second + float(second) - whole) if second else minute


def start_of(moment: Moment) -> Moment:
    """The first instant of a moment, with all six parts."""
    return (*moment, *_FIRST[len(moment) :])


def end_of(moment: Moment) -> Moment:
    """A position just after a day, month or year, or else after an instant."""
    if len(moment) <= _DAY:
        return start_of((*moment[:-1], moment[-1] + 1))
    *minute, second = start_of(moment)
    return (*minute, math.nextafter(second, math.inf))


def _in_time(moment: Moment, literal: Moment) -> int:
    """The position of a moment relative to a span of time: in it, before or after."""
    start = start_of(moment)
    return _sign(start[: len(literal)], literal)


def _sign(one: Any, other: Any) -> int:
    return int(one > other) - int(one < other)
