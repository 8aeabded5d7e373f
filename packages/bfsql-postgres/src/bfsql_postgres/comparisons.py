"""How the values of a condition are compared with a column or an expression, as SQL.

Two expressions over the text of a property, each of which an index can be made of, are compared
with texts and dates (`folded_text`) and with numbers and years (`number`). They have a value of
their own for a text that Postgres would compare in another way than `bfsql.models.comparison`.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from bfsql.models.comparison import Moment
from bfsql.models.condition import PropertyCondition
from bfsql.models.intervals import CERTAIN_DATE
from bfsql.models.json_values import INT64
from bfsql_postgres.schema import Column
from bfsql_postgres.sql import Parameters

Interval = tuple[Any, Any]
"""Lower and upper bound, both included; None for no bound."""

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
_NUMBER = "^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]{1,2})?$"
_NUMBER_CHARACTERS = 40
"""Characters up to which such a number is in the range of a double."""
_DATE = "^[0-9]{4}-[0-9]{2}(-[0-9]{2}([Tt ][0-9:.]+[Zz]?)?)?$"
"""A date without an offset, whose year is as it is written."""
_NO_TEXT = "^(-?[0-9]|[[{]|true$|false$)"
"""JSON that may be other than a text."""
_ODD_FOR_NUMBERS = "^[[ ]| $|[^ -~]|^[-+.0-9eE]+$|^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ]"
"""Text that may be a number, or a date whose year depends on its offset."""
_OFFSET = dt.timedelta(days=5)
"""More than the largest offset that a moment may be written with, 99:99."""
_EXACT = 2**53
"""Below this, a number compares equally as an integer and as a double."""
_SPANS = (366 * 86_400, 31 * 86_400, 86_400, 86_400, 60, 1)
"""At least the seconds that a moment covers, by the number of its parts less one."""
TIMES = {"date": "timestamp", "timestamp": "timestamp", "timestamptz": "timestamptz"}
NUMERIC = frozenset({"int2", "int4", "int8", "float8", "numeric"})


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
    year = f'"left"({value}, 4)::double precision'
    return (
        f"(CASE {text.when_unreadable(_NAN)}WHEN {word} THEN NULL::double precision "
        f"WHEN {short} AND ({digits} OR {plain} ~ '{_NUMBER}') THEN {value}::double precision "
        f"WHEN {plain} ~ '{_DATE}' THEN ({year} + 1::double precision) * {_YEARS} "
        f"WHEN {plain} ~ '{_ODD_FOR_NUMBERS}' THEN {_NAN} "
        "ELSE NULL::double precision END)"
    )


def certain(text: TextValue, forms: Forms) -> str:
    """Whether a text that compares is certain to do so, for a decidable condition."""
    plain = f"({text.value} {IN_C})"
    if not forms.numbers:
        return f"{plain} !~ '{ODD_TEXT}'"
    return f"octet_length({text.value}) < {_NUMBER_CHARACTERS} AND {plain} ~ '{_NUMBER}'"


def unlike_test(text: str, forms: Forms, *, is_json: bool) -> str:
    """Passed by all texts that cannot be compared with any value of a condition."""
    if forms.texts and not is_json:
        return "FALSE"
    plain = f"({text} {IN_C})"
    short = f"octet_length({text}) < {_NUMBER_CHARACTERS}"
    alike = [f"{short} AND {plain} ~ '{_NUMBER}'"] if forms.numbers else []
    alike += [f"{plain} ~ '{CERTAIN_DATE}'"] if forms.years or forms.dates else []
    alike += [f"{plain} !~ '{_NO_TEXT}'"] if forms.texts else []
    return f"NOT ({' OR '.join(alike)})"


# --- the values of a condition ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Forms:
    """The alternatives of a condition, by the way they are compared."""

    texts: list[str]
    """Folded; for `~` all alternatives."""
    numbers: list[int | float]
    years: list[int]
    """The numbers that are years, with which dates are compared as well."""
    dates: list[Moment]
    """Dates that are more than a year."""

    @classmethod
    def of(cls, condition: PropertyCondition) -> Forms:
        """The alternatives of a condition."""
        literals = condition.literals
        if condition.operator == "~":
            return cls([one.text for one in literals], [], [], [])
        return cls(
            [one.text for one in literals if one.number is None and one.moment is None],
            [one.number for one in literals if one.number is not None],
            [int(one.number) for one in literals if one.number is not None and one.moment],
            [one.moment for one in literals if one.number is None and one.moment is not None],
        )

    @property
    def of_text(self) -> bool:
        """Whether the folded text of a property is compared."""
        return bool(self.texts or self.dates)

    def is_decidable(self, operator: str) -> bool:
        """Whether an indexed text or number that compares is certain to meet the condition.

        A text is cut, and may be the JSON of an object; a JSON number has no order among texts.
        """
        if self.texts and not (self.numbers or self.dates):
            whole = all(len(one) < INDEXED_CHARACTERS and one[:1] not in "[{" for one in self.texts)
            return operator == "=" and whole
        return not self.of_text and all(abs(one) < _EXACT for one in self.numbers)


def bounds_of(operator: str, first: Any, last: Any) -> Interval:
    """The interval of the values that may meet a condition, whose own is from `first` to `last`."""
    return (None if operator in ("<", "<=") else first, None if operator in (">", ">=") else last)


def in_intervals(
    value: str, intervals: Iterable[Interval], sent: Parameters, kind: str
) -> list[str]:
    """Tests whether a value is in an interval, one for each."""
    found = []
    for low, high in intervals:
        if low is not None and low == high:
            found.append(f"{value} = {sent.add(low, kind)}")
            continue
        tests = [] if low is None else [f"{value} >= {sent.add(low, kind)}"]
        tests += [] if high is None else [f"{value} <= {sent.add(high, kind)}"]
        found.append(f"({' AND '.join(tests) or 'TRUE'})")
    return found


def text_comparisons(
    folded: str, operator: str, texts: Sequence[str], sent: Parameters, longest: int | None = None
) -> list[str]:
    """Tests of a folded text, of which there are at most `longest` characters."""
    texts = [one[:longest] for one in texts]
    if len(texts) > 1 and operator == "=":
        return [f"{folded} = ANY ({sent.add(texts, 'text[]')})"]
    return in_intervals(folded, [bounds_of(operator, one, one) for one in texts], sent, "text")


def date_comparisons(
    folded: str, operator: str, dates: Iterable[Moment], sent: Parameters
) -> list[str]:
    """Tests of the folded text of dates."""
    return in_intervals(folded, (_date_texts(one, operator) for one in dates), sent, "text")


def number_comparisons(
    number: str, operator: str, forms: Forms, sent: Parameters
) -> tuple[list[str], list[str]]:
    """Tests of a number: those that certain rows pass, and those of other candidates."""
    decided, possible = list[str](), list[str]()
    if not forms.numbers:
        return decided, possible
    for one in forms.numbers:
        if abs(one) < _EXACT:
            test = f"{number} {operator} {sent.add(float(one), 'float8')}"
            below = f" AND {number} < {NUMBERS}" if operator in (">", ">=") else ""
            decided.append(f"({test}{below})")
        else:
            bounds = _double_bounds(one, operator)
            possible += in_intervals(number, [bounds], sent, "float8")
    for year in forms.years:
        low, high = _double_bounds((year + 1) * _YEAR, operator)
        possible += in_intervals(number, [(low or _YEAR, high)], sent, "float8")
    return decided, [*possible, f"{number} = {_NAN}"]


def double_comparison(
    value: str, operator: str, numbers: Sequence[int | float], sent: Parameters
) -> str:
    """A test of a text that is a double: passed if it may meet one of the alternatives."""
    if any(abs(one) >= _EXACT for one in numbers):
        operator = {"<": "<=", ">": ">="}.get(operator, operator)
    doubles = [sent.add(nearest_double(one), "float8") for one in numbers]
    tests = [f"{value}::double precision {operator} {double}" for double in doubles]
    return " OR ".join(tests)


def nearest_double(value: float) -> float:
    """A number as a double, an infinity for an integer beyond their range."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _span(moment: Moment, margin: dt.timedelta) -> tuple[dt.datetime | None, dt.datetime | None]:
    """The first and the last moment that a moment covers, with a margin; None out of range."""
    found: list[dt.datetime | None] = []
    seconds = _SPANS[len(moment) - 1]
    for shift in (-margin, margin + dt.timedelta(seconds=seconds)):
        try:
            parts = [int(part) for part in moment]
            start = dt.datetime(*(parts + [1] * (3 - len(parts))))  # type: ignore[arg-type]  # noqa: DTZ001
            found.append(start + shift)
        except (ValueError, OverflowError):
            found.append(None)
    return found[0], found[1]


def _date_texts(moment: Moment, operator: str) -> Interval:
    """The interval of the texts of dates that may meet a condition.

    The text of a date may lack day and month, which are then the first; its offset may be that of
    another day.
    """
    first, last = _span(moment, _OFFSET)
    low, high = "0", ":"
    if first is not None and operator in ("=", ">", ">="):
        low = first.date().isoformat()
        while low.endswith("-01"):
            low = low.removesuffix("-01")
    if last is not None and operator in ("=", "<", "<="):
        high = f"{last.date().isoformat()}~"
    return low, high


def time_test(
    value: str, column: Column, condition: PropertyCondition, sent: Parameters
) -> str | None:
    """A test of a date or a time stamp; None if a value is not a moment."""
    moments = [one.moment for one in condition.literals if one.moment is not None]
    if condition.operator == "~" or len(moments) < len(condition.literals):
        return None
    kind = f"text::{TIMES[column.type]}"
    arms = []
    for moment in moments:
        first, last = (one and one.isoformat() for one in _span(moment, dt.timedelta()))
        arms += in_intervals(value, [bounds_of(condition.operator, first, last)], sent, kind)
    return f"({' OR '.join(arms)})"


def numeric_test(
    value: str, column: Column, condition: PropertyCondition, sent: Parameters
) -> str | None:
    """A test of a column of numbers; None if every value is a candidate."""
    forms = Forms.of(condition)
    if forms.texts:  # NaN and the infinities are text, as are other numbers for `~`
        return None
    operator = condition.operator
    kind = column.type if column.type in ("float8", "numeric") else "int8"
    bounds = {"int8": _whole_bounds, "float8": _double_bounds, "numeric": _decimal_bounds}[kind]
    intervals = [bounds(one, operator) for one in forms.numbers]
    # A number of four digits is a year for a date.
    years = [(float if kind == "float8" else int)(moment[0]) for moment in forms.dates]
    intervals += [bounds_of(operator, year, year) for year in years]
    return f"({' OR '.join(in_intervals(value, intervals, sent, kind))})"


def _whole_bounds(value: float, operator: str) -> Interval:
    """The exact interval of integers of 64 bits."""
    low, high = -INT64, INT64 - 1
    if operator in ("=", ">", ">="):
        low = max(low, math.floor(value) + 1 if operator == ">" else math.ceil(value))
    if operator in ("=", "<", "<="):
        high = min(high, math.ceil(value) - 1 if operator == "<" else math.floor(value))
    return (low, high) if low <= high else (1, 0)


def _double_bounds(value: float, operator: str) -> Interval:
    return bounds_of(operator, nearest_double(value), nearest_double(value))


def _decimal_bounds(value: float, operator: str) -> Interval:
    """Decimals that are rounded to the same double, at least."""
    near = [math.nextafter(nearest_double(value), end) for end in (-math.inf, math.inf)]
    return bounds_of(operator, *(None if math.isinf(one) else Decimal(one) for one in near))
