"""How the values of a condition are compared with a column or an expression, as SQL.

Two expressions over the text of a property, each of which an index can be made of, are compared
with texts and dates (`folded_text`) and with numbers and years (`number`). They have a value of
their own for a text that Postgres would compare in another way than `bfsql.models.comparison`.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import partial
from typing import NamedTuple

from bfsql.models.intervals import (
    CERTAIN_DATE,
    CERTAIN_NUMBER,
    Interval,
    Intervals,
    date_texts,
    times,
)
from bfsql.models.json_values import INT64
from bfsql_postgres.schema import Column
from bfsql_postgres.sql import Parameters

CANDIDATE = "["
"""The folded text of a candidate. The JSON text of a list begins with it."""
INDEXED_CHARACTERS = 200
"""Characters of a folded text: an entry of an index has at most some 2,700 bytes."""

IN_C = 'COLLATE pg_catalog."C"'
"""Text is compared by code points, and only ASCII letters have a case."""
ODD_TEXT = "^[[ ]| $|[^ -~]|^-?[0-9.]+[eE][-+]?[0-9]{3,}$"
"""Text that Postgres folds in another way: see above; and a JSON number that may be infinite."""
_ODD, _NAN = f"'{CANDIDATE}'", "'NaN'::double precision"
NUMBERS = "'1e+150'::double precision"
"""What all numbers are below, and the years of dates and NaN are not."""
_YEAR, _YEARS = 1e200, "'1e+200'::double precision"
"""A year more than its number, times this, is the year of a date."""
_NUMBER_CHARACTERS = 40
"""Characters up to which such a number is in the range of a double."""
_DATE = "^[0-9]{4}-[0-9]{2}(-[0-9]{2}([Tt ][0-9:.]+[Zz]?)?)?$"
"""A date without an offset, whose year is as it is written."""
_NO_TEXT = "^(-?[0-9]|[[{]|true$|false$)"
"""JSON that may be other than a text."""
_ODD_FOR_NUMBERS = "^[[ ]| $|[^ -~]|^[-+.0-9eE]+$|^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ]"
"""Text that may be a number, or a date whose year depends on its offset."""
TIMES = {"date": "timestamp", "timestamp": "timestamp", "timestamptz": "timestamptz"}


# --- the two expressions ---------------------------------------------------------------


class TextValue(NamedTuple):
    """The text of a property, as SQL."""

    value: str
    unreadable: str = ""
    """Whether the server cannot read it, which makes it a candidate; empty if it always can."""
    any_unreadable: str = ""
    """Whether there is such a row, which an index answers once a statement; empty without it."""

    def when_unreadable(self, candidate: str) -> str:
        """The branch of a CASE for rows that the server cannot read; empty if there are none."""
        return f"WHEN {self.unreadable} THEN {candidate} " if self.unreadable else ""

    def __str__(self) -> str:
        """The text, `CANDIDATE` where the server cannot read it."""
        if not self.unreadable:
            return self.value
        unreadable = " AND ".join(filter(None, (self.any_unreadable, self.unreadable)))
        return f"(CASE WHEN {unreadable} THEN {_ODD} ELSE {self.value} END)"


def folded_text(text: TextValue) -> str:
    """The beginning of a text, folded; `CANDIDATE` for one that Postgres folds in another way."""
    return (
        f"(CASE {text.when_unreadable(_ODD)}WHEN ({text.value} {IN_C}) ~ '{ODD_TEXT}' THEN {_ODD} "
        f'ELSE "left"(lower({text.value} {IN_C}), {INDEXED_CHARACTERS}) END)'
    )


def number(text: TextValue) -> str:
    """The number that a text represents; above `NUMBERS` for a date, NaN for a candidate."""
    value, plain = text.value, f"({text.value} {IN_C})"
    # Most values pass these two tests, which take less time than the others.
    word = f"{plain} >= ':' AND {plain} < '[' OR {plain} >= ']' AND {plain} < '~'"
    digits = f"{plain} ~ '^[0-9]+[.]?[0-9]*$'"
    short = f"octet_length({value}) < {_NUMBER_CHARACTERS}"
    year, double = f'"left"({value}, 4)::double precision', f"{value}::double precision"
    return (
        f"(CASE {text.when_unreadable(_NAN)}WHEN {word} THEN NULL::double precision "
        f"WHEN {short} AND ({digits} OR {plain} ~ '{CERTAIN_NUMBER}') THEN {double} "
        f"WHEN {plain} ~ '{_DATE}' THEN ({year} + 1::double precision) * {_YEARS} "
        f"WHEN {plain} ~ '{_ODD_FOR_NUMBERS}' THEN {_NAN} "
        "ELSE NULL::double precision END)"
    )


def certain(text: TextValue, intervals: Intervals) -> str:
    """Whether a text that compares is certain to do so, for a decidable condition."""
    plain = f"({text.value} {IN_C})"
    if not intervals.numbers:
        return f"{plain} !~ '{ODD_TEXT}'"
    return f"octet_length({text.value}) < {_NUMBER_CHARACTERS} AND {plain} ~ '{CERTAIN_NUMBER}'"


def unlike_test(text: str, alike: Intervals, *, is_json: bool) -> str:
    """Passed by all texts that cannot be compared with any value of a condition."""
    if alike.texts and not is_json:
        return "FALSE"
    plain = f"({text} {IN_C})"
    short = f"octet_length({text}) < {_NUMBER_CHARACTERS}"
    tests = [f"{short} AND {plain} ~ '{CERTAIN_NUMBER}'"] if alike.numbers else []
    tests += [f"{plain} ~ '{CERTAIN_DATE}'"] if alike.moments else []
    tests += [f"{plain} !~ '{_NO_TEXT}'"] if alike.texts else []
    return f"NOT ({' OR '.join(tests)})"


# --- the values of a condition ------------------------------------------------------------


def is_decidable(intervals: Intervals) -> bool:
    """Whether an indexed text or number that compares is certain to meet the condition.

    A text is cut, and may be the JSON of an object; a JSON number has no order among texts.
    """
    if intervals.texts:
        return not (intervals.numbers or intervals.dates) and all(
            one.is_point and len(one.low) < INDEXED_CHARACTERS and one.low[:1] not in "[{"
            for one in intervals.texts
        )
    return not (intervals.parts or intervals.dates) and all(
        one.is_exact for one in intervals.numbers
    )


def in_intervals(
    value: str, intervals: Iterable[Interval], sent: Parameters, kind: str
) -> list[str]:
    """Tests whether a value is in an interval, one for each."""
    add = partial(sent.add, kind=kind)
    return [
        f"{value} = {add(one.low)}" if one.is_point else f"({one.test(value, add) or 'TRUE'})"
        for one in intervals
    ]


def text_tests(
    folded: str, intervals: Intervals, sent: Parameters, longest: int | None = None
) -> tuple[list[str], list[str]]:
    """Tests of a folded text, of which there are at most `longest` characters, and of dates."""
    dates = in_intervals(folded, map(date_texts, intervals.dates), sent, "text")
    texts = [one.map(lambda text: text[:longest])._replace(open=False) for one in intervals.texts]
    if len(texts) > 1 and all(one.is_point for one in texts):
        return [f"{folded} = ANY ({sent.add([one.low for one in texts], 'text[]')})"], dates
    return in_intervals(folded, texts, sent, "text"), dates


def number_tests(
    number: str, intervals: Intervals, sent: Parameters
) -> tuple[list[str], list[str]]:
    """Tests of a number: those that certain rows pass, and those of other candidates."""
    exact, others = list[str](), list[str]()
    for one in intervals.numbers:
        [test] = in_intervals(number, [doubles(one)], sent, "float8")
        below = f" AND {number} < {NUMBERS}" if one.high is None else ""
        (exact if one.is_exact else others).append(f"({test}{below})")
    for one in intervals.years:
        year = one.map(lambda moment: (moment[0] + 1) * _YEAR)
        others += in_intervals(number, [year._replace(low=year.low or _YEAR)], sent, "float8")
    return exact, [*others, f"{number} = {_NAN}"] if intervals.numbers else others


def typed_test(value: str, column: Column, intervals: Intervals, sent: Parameters) -> str:
    """A test of a column of numbers or times, without texts."""
    if column.type in TIMES:
        kind = f"text::{TIMES[column.type]}"
        ends = [times(one).map(dt.datetime.isoformat) for one in intervals.moments]
    else:
        kind, of_number, of_year = NUMERIC[column.type]
        # A number of four digits is a year for a date.
        years = (one.map(lambda moment: of_year(moment[0])) for one in intervals.dates)
        ends = [*map(of_number, intervals.numbers), *(one._replace(open=False) for one in years)]
    return f"({' OR '.join(in_intervals(value, ends, sent, kind)) or 'FALSE'})"


def _double(value: float) -> float:
    """A number as a double, an infinity for an integer beyond their range."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def doubles(numbers: Interval) -> Interval:
    """At least all doubles of some numbers."""
    return numbers.map(_double)._replace(open=numbers.open and numbers.is_exact)


def _integers(numbers: Interval) -> Interval:
    """The exact interval of integers of 64 bits."""
    low, high, is_open = numbers
    low = -INT64 if low is None else math.floor(low) + 1 if is_open else math.ceil(low)
    high = INT64 - 1 if high is None else math.ceil(high) - 1 if is_open else math.floor(high)
    low, high = max(low, -INT64), min(high, INT64 - 1)
    return Interval(low, high) if low <= high else Interval(1, 0)


def _decimals(numbers: Interval) -> Interval:
    """Decimals that are rounded to the same double, at least."""

    def beyond(value: float, end: float) -> Decimal | None:
        near = math.nextafter(_double(value), end)
        return None if math.isinf(near) else Decimal(near)

    return numbers.map(partial(beyond, end=-math.inf), partial(beyond, end=math.inf))


NUMERIC: dict[str, tuple[str, Callable[[Interval], Interval], type]] = {
    **dict.fromkeys(("int2", "int4", "int8"), ("int8", _integers, int)),
    "float8": ("float8", doubles, float),
    "numeric": ("numeric", _decimals, int),
}
"""How a type of numbers is compared: as which, in which intervals, and with a year as what."""
