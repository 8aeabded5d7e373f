"""Facets and measures: what is computed, and what is found (`protocol.md` 37)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from typing import Literal, TypeAlias

from bfsql.models.condition import ScopedProperty

Function: TypeAlias = Literal["count", "min", "max", "sum", "mean"]
Value: TypeAlias = int | float | Decimal | str | None
"""A number, or a text where a property has no number; None where there is no value."""

VALUES, LEAST_VALUES, MOST_VALUES = 20, 5, 1_000
"""Values of a facet: as many as are shown, as a budget leaves, and as a call may request."""
EXACT = Context(prec=3_000)
"""Adds numbers exactly: they have at most 1,233 digits before the point and 1,100 after it."""
MEAN = Context(prec=15)
"""Rounds a mean to 15 significant digits."""


@dataclass(frozen=True)
class Facet:
    """A property whose values are counted over a whole answer."""

    label: str
    """The text without the number of values: the key in the answer."""
    of: ScopedProperty
    most: int = VALUES
    """Maximum number of values."""


@dataclass(frozen=True)
class Measure:
    """A number for each shown node of a path, over the walks through it."""

    text: str
    function: Function
    step: int
    """The step whose nodes or edges are counted or have the property."""
    of: ScopedProperty | None = None
    """The property; None for `count`."""


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
