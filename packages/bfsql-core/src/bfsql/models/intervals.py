"""The values that a condition looks for, as intervals of text, of numbers and of time.

A store spells the ends of an interval beside its own expression for a text, a number or a date, and
lets core look again at each value that it may compare in another way than `models.comparison`.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from bfsql.models.comparison import Literal, Moment

CERTAIN_DATE = (
    "^[12][0-9]{3}(-(0[1-9]|1[0-2])(-(0[1-9]|1[0-9]|2[0-8])"
    "(T([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]+)?)?Z?)?)?)?$"
)
"""A year, a month, or a day that every month has, for stores that can only compare expressions."""
CERTAIN_NUMBER = "^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]{1,2})?$"
"""A number that a store converts to a double; indexes of databases contain this text."""
_EXACT = 2**53
"""Below this, a number compares equally as an integer and as a double."""
_SPANS = (366 * 86_400, 31 * 86_400, 86_400, 86_400, 60, 1)
"""At least the seconds that a moment covers, by the number of its parts less one."""


class Interval(NamedTuple):
    """The values between two ends."""

    low: Any = None
    """None for no end."""
    high: Any = None
    open: bool = False
    """Whether the ends are outside."""

    @property
    def ends(self) -> list[Any]:
        """Its one or two ends; none if it has all values."""
        return [one for one in (self.low, self.high) if one is not None]

    @property
    def is_point(self) -> bool:
        """Whether one value alone is inside."""
        return self.low is not None and self.low == self.high

    @property
    def is_exact(self) -> bool:
        """Whether a number is inside if and only if its double is."""
        return all(abs(one) < _EXACT for one in self.ends)

    def map(self, low: Callable[[Any], Any], high: Callable[[Any], Any] | None = None) -> Interval:
        """The interval from a function of the low end to the same, or another, of the high end."""
        first = None if self.low is None else low(self.low)
        return Interval(first, None if self.high is None else (high or low)(self.high), self.open)

    def test(self, value: str, end: Callable[[Any], str], both: str = " AND ") -> str:
        """A test in the signs that SQL, SPARQL and Cypher share; empty if all values are inside.

        Args:
            value: What is compared.
            end: Spells an end.
            both: Joins two tests.
        """
        sides, sign = ((">", self.low), ("<", self.high)), "" if self.open else "="
        return both.join(f"{value} {way}{sign} {end(one)}" for way, one in sides if one is not None)


class Intervals(NamedTuple):
    """The intervals of each kind of value: a value that is in one of them is looked for."""

    parts: tuple[str, ...] = ()
    """Not intervals, but what the folded text of a value of any kind may contain."""
    texts: tuple[Interval, ...] = ()
    """Of folded text."""
    numbers: tuple[Interval, ...] = ()
    years: tuple[Interval, ...] = ()
    """Of moments: those of the numbers that are years, with which dates are compared as well."""
    dates: tuple[Interval, ...] = ()
    """Of moments with at least a month, with which years are compared as well."""
    flags: tuple[str, ...] = ()
    """The texts of booleans."""

    @classmethod
    def of(cls, literals: Sequence[Literal], results: Collection[int]) -> Intervals:
        """The values whose comparison with a literal, as by `compared`, has one of the results."""

        def around(values: list[Any]) -> tuple[Interval, ...]:
            below, above = -1 in results, 1 in results
            ends = ((None if below else one, None if above else one) for one in values)
            return tuple(Interval(low, high, 0 not in results) for low, high in ends)

        texts = [one.text for one in literals if one.number is None and one.moment is None]
        flags = [one for one in texts if one in ("true", "false") and 0 in results]
        return cls(
            (),
            around(texts),
            around([one.number for one in literals if one.number is not None]),
            around([one.moment for one in literals if one.moment and one.number is not None]),
            around([one.moment for one in literals if one.moment and one.number is None]),
            ("true", "false") if flags and len(results) == 3 else tuple(flags),
        )

    @property
    def moments(self) -> tuple[Interval, ...]:
        """All intervals of moments."""
        return (*self.years, *self.dates)


def times(moments: Interval, margin: dt.timedelta = dt.timedelta()) -> Interval:
    """At least all points in time of some moments; without an end that Python cannot express."""

    def shifted(moment: Moment, shift: dt.timedelta) -> dt.datetime | None:
        parts = [int(part) for part in moment]
        try:
            return dt.datetime(*(parts + [1] * (3 - len(parts)))) + shift  # type: ignore[arg-type]  # noqa: DTZ001
        except (ValueError, OverflowError):
            return None

    return moments._replace(open=False).map(
        lambda first: shifted(first, -margin),
        lambda last: shifted(last, margin + dt.timedelta(seconds=_SPANS[len(last) - 1])),
    )


def date_texts(dates: Interval) -> Interval:
    """At least all texts of some dates.

    Such a text may lack day and month, which are then the first; its offset may be that of another
    day.
    """
    first, last, _ = times(dates, dt.timedelta(days=5))  # more than the largest offset, 99:99
    low = "0" if first is None else re.sub("(-01)+$", "", first.date().isoformat())
    return Interval(low, ":" if last is None else f"{last.date().isoformat()}~")
