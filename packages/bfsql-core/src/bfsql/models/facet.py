"""Facets and measures: how they are written, and what is computed (`protocol.md` 37).

    facet    = [step "."] [scope "."] key [":" number]
    measure  = "count" step | ("min" | "max" | "sum" | "mean") step "." [scope "."] key

The scope is that of a condition of `where`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from typing import Literal, TypeAlias, get_args

from bfsql.errors import ToolError, bad_value
from bfsql.models.condition import Names, ScopedProperty, quoted, scoped_property

Function: TypeAlias = Literal["count", "min", "max", "sum", "mean"]
Value: TypeAlias = int | float | Decimal | str | None
"""A number, or a text where a property has no number; None where there is no value."""

VALUES, LEAST_VALUES, MOST_VALUES = 20, 5, 1_000
"""Values of a facet: as many as are shown, as a budget leaves, and as a call may request."""
EXACT = Context(prec=3_000)
"""Adds numbers exactly: they have at most 1,233 digits before the point and 1,100 after it."""
MEAN = Context(prec=15)
"""Rounds a mean to 15 significant digits."""

_MOST = re.compile(r"(.*\S)\s*:\s*([0-9]{1,9})\s*", re.DOTALL)
_MEASURE = re.compile(r"([a-z_]+)(?=[\s(]|\Z)", re.IGNORECASE)
_FUNCTIONS: dict[str, Function] = {one: one for one in get_args(Function)}
_FUNCTIONS |= {"count_distinct": "count", "distinct": "count", "minimum": "min", "maximum": "max"}
_FUNCTIONS |= {"total": "sum", "avg": "mean", "average": "mean"}


@dataclass(frozen=True)
class Facet:
    """A property whose values are counted over a whole answer."""

    label: str
    """The text without the number of values: the key in the answer."""
    of: ScopedProperty
    most: int = VALUES
    """Maximum number of values."""


def facet(text: str, names: Names, steps: int | None) -> Facet:
    """A facet from its text.

    Args:
        text: The text as written in a call.
        names: The names that a scope may use.
        steps: The number of steps of the path; None in a call without a path.

    Raises:
        ToolError: The text is not a facet.
    """

    def wrong(why: str) -> ToolError:
        return bad_value(
            f"facets: {quoted(text)} {why}. Name a property, perhaps with a type, a predicate or "
            'a step in front: "year", "Trial.phase", "2.year", "inhibits.confidence"; "year:100" '
            "shows more values.",
            "facets",
        )

    label, most = text.strip(), VALUES
    if found := _MOST.fullmatch(text):
        label, most = found[1].strip(), int(found[2])
        if most > MOST_VALUES:
            raise wrong(f"requests {most} values, and at most {MOST_VALUES:,} are shown")
    return Facet(label, scoped_property(label, names, steps, wrong), most)


@dataclass(frozen=True)
class Measure:
    """A number for each shown node of a path, over the walks through it."""

    text: str
    function: Function
    step: int
    """The step whose nodes or edges are counted or have the property."""
    of: ScopedProperty | None = None
    """The property; None for `count`."""


def measure(text: str, names: Names, steps: int) -> Measure:
    """A measure from its text; arguments and errors as in `facet`."""

    def wrong(why: str) -> ToolError:
        return bad_value(
            f'measure: {quoted(text)} {why}. Write "count 2" (the different nodes of step 2), or '
            'min, max, sum or mean with a step and a property: "max 2.year", '
            '"mean 1.inhibits.confidence".',
            "measure",
        )

    found = _MEASURE.match(text.strip())
    function = _FUNCTIONS.get(found[1].casefold()) if found else None
    rest = found.string[found.end() :].lstrip().removeprefix("(") if found else ""
    rest = rest.strip().removesuffix(")").rstrip()
    if function is None:
        raise wrong("begins with none of count, min, max, sum and mean")
    if function == "count":
        if not re.fullmatch(r"[0-9]{1,9}", rest):
            raise wrong("counts nodes, and needs the number of a step alone")
        if int(rest) > steps:
            raise wrong(f"names a step that the path does not have: its steps are 1 to {steps}")
        return Measure(text, function, int(rest))
    of = scoped_property(rest, names, steps, wrong)
    if of.step is None:
        raise wrong("names no step before its property")
    return Measure(text, function, of.step, of)


@dataclass(frozen=True)
class FacetSummary:
    """What a facet found."""

    count: int
    """Number of nodes or edges that have the property."""
    missing: int
    """Number of those that do not."""
    distinct: int
    """Number of different values."""
    items: int
    """Number of values; items of a list are values of their own."""
    numbers: int
    """Number of values that are numbers."""
    minimum: Value
    """Of the numbers; of the texts where there are none."""
    maximum: Value
    mean: Decimal | None
    total: Decimal | None
    """The sum of the numbers."""
    common: tuple[tuple[str, int], ...]
    """The most common values with their numbers; equally common ones in order."""
    unordered: str | None = None
    """A text that looks like a date or a number, where `minimum` and `maximum` are texts."""
    known: tuple[str, ...] = ()
    """Properties that there are, where nothing has this one."""
    cut: bool = False
    """Whether a budget left fewer values than requested."""


Facets: TypeAlias = Mapping[str, FacetSummary]


def with_fewer_values(facets: Facets, most: int) -> Facets:
    """Facets with at most so many values each."""
    return {
        label: one if len(one.common) <= most else replace(one, common=one.common[:most], cut=True)
        for label, one in facets.items()
    }
