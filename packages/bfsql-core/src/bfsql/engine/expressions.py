"""The values of expressions, many at a time (`protocol.md` 39).

Numbers are computed in arrays: as doubles, and beside them exactly where they are whole.
"""

from __future__ import annotations

import datetime as dt
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from decimal import ROUND_HALF_UP, Decimal
from operator import methodcaller
from typing import Any, NamedTuple, Self, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from bfsql import call
from bfsql.arrays import LongArray
from bfsql.integers import BoolArray
from bfsql.models.comparison import (
    LEAST_FLOAT,
    Literal,
    Moment,
    compared,
    moment_in,
    number_of,
    scalars,
    shown_as,
    start_of,
)
from bfsql.models.condition import OPERATORS, Operator
from bfsql.models.expression import COMPARISONS, Constant, Operation, Part, Tree

Doubles: TypeAlias = npt.NDArray[np.float64]

_LARGEST = 2.0**63
"""Whole numbers below it are exact."""
_SHORT = 2**53
"""Doubles below it hold whole numbers exactly."""
_DIGITS = 15
"""Significant digits of doubles."""
_POWERS = np.array([float(10**power) for power in range(23)])
"""Powers of ten; those up to 10^22 are exact, which `**` of arrays is not."""
_YEAR = re.compile(r"\s*([0-9]{4})(?![0-9])")


class Operand(NamedTuple):
    """Some numbers or dates; dates are days since the first of the year 1."""

    doubles: Doubles
    """The values; NaN where there is none."""
    wholes: LongArray
    """The exact values of those that are whole."""
    is_whole: BoolArray
    is_date: BoolArray

    @classmethod
    def of(cls, doubles: Doubles) -> Self:
        """Doubles, of which infinite ones are none."""
        none = np.zeros(len(doubles), bool)
        doubles = np.where(np.isfinite(doubles), doubles, np.nan)
        return cls(doubles, np.zeros(len(doubles), np.int64), none, none)

    @classmethod
    def read(cls, values: Sequence[Any]) -> Self:
        """The numbers and dates among the values of a property; a list has none."""
        if set(map(type, values)) <= {int, float, type(None)}:
            with suppress(OverflowError):  # an int that is larger than any double
                doubles = np.array(values, np.float64)
                if not (np.abs(doubles) >= _SHORT).any():
                    is_whole = doubles == np.floor(doubles)
                    wholes = np.where(is_whole, doubles, 0).astype(np.int64)
                    return cls(doubles, wholes, is_whole, np.zeros(len(values), bool))
        known = {value: _number(value) for value in {v for v in values if type(v) is str}}
        read = [
            known[value] if type(value) is str else _number(value) for value in call.checked(values)
        ]
        doubles = np.array([number for number, _ in read], np.float64)
        is_whole = np.fromiter((isinstance(number, int) for number, _ in read), bool, len(read))
        wholes = np.array([one if isinstance(one, int) else 0 for one, _ in read], np.int64)
        is_date = np.fromiter((date for _, date in read), bool, len(read))
        return cls(doubles, wholes, is_whole, is_date)

    def take(self, places: npt.NDArray[np.integer]) -> Self:
        """The values at some places."""
        return type(self)(*map(methodcaller("take", places), self))

    def rounded(self, among: BoolArray | bool = True) -> Self:  # noqa: FBT001, FBT002
        """The same with 15 significant digits in doubles, or in some of them."""
        doubles = self.doubles.copy()
        long = np.flatnonzero(~self.is_whole & ~self.is_date & ~np.isnan(doubles) & among)
        doubles[long] = _rounded_doubles(doubles[long])
        return self._replace(doubles=doubles)

    def values(self) -> list[Any]:
        """Each as an int or a float, None where there is none; a date is no value by itself."""
        shown = self.rounded()
        doubles = np.where(shown.is_date, np.nan, shown.doubles)
        is_whole = (doubles == np.floor(doubles)) & (np.abs(doubles) < LEAST_FLOAT)
        short = np.where(is_whole, doubles, 0).astype(np.int64)
        wholes = np.where(shown.is_whole, shown.wholes, short).tolist()
        kinds = np.where(np.isnan(doubles), 0, np.where(shown.is_whole | is_whole, 1, 2)).tolist()
        rows = zip(kinds, wholes, doubles.tolist(), strict=True)
        return [(None, whole, double)[kind] for kind, whole, double in rows]


def _rounded_doubles(doubles: Doubles) -> Doubles:
    """Finite doubles with 15 significant digits."""
    size = np.abs(doubles)
    digits = _DIGITS - 1 - np.floor(np.log10(np.where(size > 0, size, 1)))
    plain = (digits >= 0) & (digits < 22)
    power = _POWERS[np.where(plain, digits, 0).astype(np.int64)]
    power = np.where(np.rint(size * power) < 10.0 ** (_DIGITS - 1), 10 * power, power)
    scaled = doubles * power
    result: Doubles = np.rint(scaled) / power
    # The product itself is rounded, which decides where it is close to a half.
    close = np.abs(np.abs(scaled - np.rint(scaled)) - 0.5) <= np.spacing(np.abs(scaled))
    for place in np.flatnonzero(close | ~plain).tolist():
        result[place] = float(f"{doubles[place]:.{_DIGITS}g}")
    return result


def _number(value: Any) -> tuple[int | float, bool]:
    """The number that a value is, or the days of its date; and whether it is a date."""
    found = [] if value is None else scalars(value)
    if len(found) == 1:
        if (number := number_of(found[0])) is not None:
            value = number.value
            if abs(value) < _LARGEST:
                return value, False
            return (float(value) if abs(value) <= sys.float_info.max else np.nan), False
        if (moment := moment_in(shown_as(found[0]))) is not None and len(moment) > 1:
            return _days(moment), True
    return np.nan, False


def _days(moment: Moment) -> float:
    parts = start_of(moment)
    hour, minute, second = parts[3:]
    whole = dt.date(*map(int, parts[:3])).toordinal()
    return whole + (hour * 3600 + minute * 60 + second) / 86400


def _years(values: Sequence[Any]) -> Operand:
    """The year of each date, or of text that begins with one."""

    def year(value: Any) -> float:
        found = scalars(value)
        match = _YEAR.match(shown_as(found[0])) if len(found) == 1 else None
        return float(match[1]) if match else np.nan

    known = {value: year(value) for value in set(filter(_is_hashable, values))}
    doubles = [known[v] if _is_hashable(v) else year(v) for v in call.checked(values)]
    return Operand.read([None if one != one else int(one) for one in doubles])  # noqa: PLR0124


def _is_hashable(value: Any) -> bool:
    return isinstance(value, str | int | float)


# --- operators and functions ------------------------------------------------------------

Function: TypeAlias = Callable[..., Operand]


def _arithmetic(doubles: Callable[[Any, Any], Any], *, of_dates: bool = False) -> Function:
    """An operator of two numbers that is exact where both, and the result, are whole."""

    def apply(one: Operand, other: Operand) -> Operand:
        result = doubles(one.doubles, other.doubles)
        both = one.is_date & other.is_date if of_dates else np.zeros(len(result), bool)
        result = np.where((one.is_date | other.is_date) & ~both, np.nan, result)
        exact = one.is_whole & other.is_whole & (np.abs(result) < _LARGEST)
        wholes = np.where(exact, doubles(one.wholes, other.wholes), 0)
        made = Operand.of(np.where(exact, wholes, result).astype(np.float64))
        return made._replace(wholes=wholes, is_whole=exact)

    return apply


def _divided(one: Operand, other: Operand) -> Operand:
    is_number = ~(one.is_date | other.is_date) & (other.doubles != 0)
    return Operand.of(np.where(is_number, one.doubles / other.doubles, np.nan))


def _absolute(one: Operand) -> Operand:
    made = one._replace(doubles=np.abs(one.doubles), wholes=np.abs(one.wholes))
    return made._replace(doubles=np.where(one.is_date, np.nan, made.doubles))


def _round(one: Operand, digits: Operand | None = None) -> Operand:
    """Halves away from zero, as SQL rounds and people do."""
    places = np.zeros(len(one.doubles)) if digits is None else digits.doubles
    result = [
        np.nan if x != x or d != d else _rounded(x, int(d))  # noqa: PLR0124 - NaN
        for x, d in zip(one.rounded().doubles.tolist(), places.tolist(), strict=True)
    ]
    made = Operand.of(np.where(one.is_date, np.nan, np.array(result, np.float64)))
    keep = one.is_whole & (places >= 0)
    return made._replace(
        doubles=np.where(keep, one.doubles, made.doubles), wholes=one.wholes, is_whole=keep
    )


def _rounded(number: float, digits: int) -> float:
    if abs(digits) > 300:
        return number if digits > 0 else 0.0
    return float(Decimal(repr(number)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))


FUNCTIONS: dict[str, Function] = {
    "+": _arithmetic(np.add),
    "-": _arithmetic(np.subtract, of_dates=True),
    "*": _arithmetic(np.multiply),
    "/": _divided,
    "abs": _absolute,
    "round": _round,
}
"""The operators and functions of numbers; `year` reads the texts of a property."""


# --- values -------------------------------------------------------------------------------


class PartValues:
    """The value of a property of each of some things.

    Args:
        values: The values.
        places: For each thing, the place of its value; None if there is one for each, in order.
    """

    def __init__(self, values: Sequence[Any], places: LongArray | None = None) -> None:
        self.values, self._places = values, places
        self._read: list[Operand] = []

    @property
    def operand(self) -> Operand:
        """The numbers and dates among them; the values are read once, for all parts."""
        if not self._read:
            self._read.append(Operand.read(self.values))
        [read] = self._read
        return read if self._places is None else read.take(self._places)

    def part(self, rows: slice) -> PartValues:
        """The values of some of the things."""
        assert self._places is not None
        own = PartValues(self.values, self._places[rows])
        own._read = self._read
        return own

    def at(self, place: int) -> Any:
        """The value of one of the things."""
        return self.values[place if self._places is None else int(self._places[place])]

    def each(self) -> list[Any]:
        """The value of each thing."""
        if self._places is None:
            return list(self.values)
        return [self.values[place] for place in self._places.tolist()]


class Evaluation:
    """Expressions over the same things.

    Args:
        count: The number of things.
        column: Returns the values of a property.
    """

    def __init__(self, count: int, column: Callable[[Part], PartValues]) -> None:
        self._count, self._column = count, column
        self._operands: dict[Part, Operand] = {}

    def values(self, tree: Tree) -> Sequence[Any]:
        """The value of each thing: a number, or whether a comparison holds; None for none."""
        with np.errstate(all="ignore"):
            if isinstance(tree, Part):
                return self._column(tree).each()
            if isinstance(tree, Operation) and tree.name in COMPARISONS:
                return self._compared(tree)
            return self._operand(tree).values()

    def _operand(self, tree: Tree) -> Operand:
        if isinstance(tree, Part):
            if tree not in self._operands:
                self._operands[tree] = self._column(tree).operand
            return self._operands[tree]
        if isinstance(tree, Constant):
            return Operand.read([tree.text]).take(np.zeros(self._count, np.int64))
        if tree.name == "year":
            (one,) = tree.arguments
            return _years(self.values(one))
        return FUNCTIONS[tree.name](*map(self._operand, tree.arguments))

    def _compared(self, tree: Operation) -> list[bool | None]:
        """Whether a comparison holds; with several right sides, whether one of them does."""
        left, *rights = tree.arguments
        _, results, negated, _ = OPERATORS[cast("Operator", tree.name)]
        held = np.zeros(self._count, bool)
        known = np.zeros(self._count, bool)
        for right in rights:
            sign, comparable = self._signs(left, right)
            known |= comparable
            held |= comparable & np.isin(sign, results)
        result = (held != negated).astype(object)
        result[~known] = None
        return list(result)

    def _signs(self, left: Tree, right: Tree) -> tuple[npt.NDArray[np.int8], BoolArray]:
        """The sign of left minus right, and where there is one."""
        one, other = self._operand(left), self._operand(right)
        # Rounding keeps the order, and only doubles that are close become equal.
        size = np.abs(one.doubles) + np.abs(other.doubles)
        close = ~(np.abs(one.doubles - other.doubles) > 1e-13 * size)
        one, other = one.rounded(close), other.rounded(close)
        exact = one.is_whole & other.is_whole
        doubles = np.sign(one.doubles - other.doubles)
        wholes = (one.wholes > other.wholes).astype(np.int8) - (one.wholes < other.wholes)
        known = ~np.isnan(doubles) & (one.is_date == other.is_date)
        signs = np.where(exact, wholes, np.where(known, doubles, 0)).astype(np.int8)
        if isinstance(left, Part) and isinstance(right, Part):  # dates of a month, and texts
            lefts, rights = self._column(left), self._column(right)
            found: dict[tuple[Any, Any], int | None] = {}
            for place in call.checked(np.flatnonzero(~known | one.is_date).tolist()):
                pair = lefts.at(place), rights.at(place)
                if not all(isinstance(value, str | bool) for value in pair):
                    sign = _sign(*pair)
                elif pair in found:
                    sign = found[pair]
                else:
                    sign = found[pair] = _sign(*pair)
                signs[place], known[place] = sign or 0, sign is not None
        return signs, known


def _sign(one: Any, other: Any) -> int | None:
    """How two values of properties compare: as numbers, dates or text."""
    if one is None or other is None:
        return None
    known, others = scalars(one), scalars(other)
    if len(known) != 1 or len(others) != 1:
        return None
    return compared(known[0], Literal.of(shown_as(others[0])))
