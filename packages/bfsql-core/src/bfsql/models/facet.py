"""Facets and measures: what is computed, and what is found (`protocol.md` 37)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from typing import Literal, TypeAlias

from bfsql.models.condition import PropertyCondition, ScopedProperty
from bfsql.models.expression import Computed
from bfsql.models.pattern import StepComparison

Function: TypeAlias = Literal[
    "count", "min", "max", "sum", "mean", "median", "argmax", "argmin", "top", "computed"
]
"""What is done with the values; `computed` is an expression over other measures."""
BEST: tuple[Function, ...] = ("argmax", "argmin", "top")
"""The functions that name nodes."""
Value: TypeAlias = int | float | Decimal | str | None
"""A number, or a text where a property has no number; None where there is no value."""

VALUES, LEAST_VALUES, MOST_VALUES = 20, 5, 1_000
"""Values of a facet: as many as are shown, as a budget leaves, and as a call may request."""
TIES, MOST_BEST = 5, 20
"""Nodes that `argmax` shows, and that `top` may show."""
PERCENTILES = {"p10": 10, "p25": 25, "p50": 50, "p75": 75, "p90": 90}
"""The percentiles of a facet, in percent."""
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
    """The property or the expression about one step; None where there is none."""
    most: int = TIES
    """Maximum number of nodes of `argmax`, `argmin` and `top`."""
    expression: Computed | None = None
    """An expression over two steps, over a step and its edges, or over other measures."""
    conditions: tuple[PropertyCondition | StepComparison, ...] = ()
    """What the nodes that `count` counts have to meet, and the walks on which it counts them."""
    name: str = ""
    """The name that the call gives it."""

    @property
    def label(self) -> str:
        """What heads its column: its name, or its text."""
        return self.name or self.text


@dataclass(frozen=True, slots=True)
class Best:
    """The nodes with the best values of a property, on the walks through a shown node."""

    values: Sequence[Value]
    """The values, the best first; those of equal values in the order of their ids."""
    nodes: Sequence[int]
    """For each value, the handle of its node."""
    ties: int | None
    """Number of nodes with the only value of `argmax` or `argmin`; None for `top`."""
    cut: bool
    """Whether `top` leaves out a node with the last of the values."""
    named: Sequence[tuple[str, str | None]] = ()
    """The id and the name of each node, if it has one; of shown nodes on the page."""

    @property
    def value(self) -> Value:
        """The value by which shown nodes are sorted."""
        return self.values[0]


MeasureValue: TypeAlias = Value | Best


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
    percentiles: Mapping[str, Value]
    """By name: percentiles of the numbers; empty where there are none."""
    common: tuple[tuple[str, int], ...]
    """The most common values with their numbers; equally common ones in order."""
    unordered: str | None = None
    """A text that looks like a date or a number, where `minimum` and `maximum` are texts."""
    known: tuple[str, ...] = ()
    """Properties that there are, where nothing has this one."""
    cut: bool = False
    """Whether a budget left fewer values than requested."""

    @property
    def is_whole(self) -> bool:
        """Whether all values are listed."""
        return len(self.common) == self.distinct


Facets: TypeAlias = Mapping[str, FacetSummary]


def with_fewer_values(facets: Facets, most: int) -> Facets:
    """Facets with at most so many values each."""
    return {
        label: one if len(one.common) <= most else replace(one, common=one.common[:most], cut=True)
        for label, one in facets.items()
    }
