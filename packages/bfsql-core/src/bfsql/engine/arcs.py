"""Edges in the direction in which a walk takes them, and how consecutive steps meet.

An arc is an edge together with the direction in which a walk takes it. Two arcs meet if the
first ends at the node where the second begins, unless they are the same edge. A self-loop is
one arc, whatever the direction (`protocol.md` 30).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from bfsql import call
from bfsql.arrays import Handles, LongArray, at, distinct_numbers, marked, places_of, ranges, runs
from bfsql.integers import BoolArray, IntArray, Ring
from bfsql.models import MOST_PATHS, EdgeDirection

Pairs: TypeAlias = tuple[LongArray, LongArray]
"""Numbers of sources and of the arcs or nodes that they reach, each pair once."""
MANY = MOST_PATHS + 1
"""Represents every number of walks above the largest exact one."""
FLIPPED: dict[EdgeDirection | None, EdgeDirection | None] = {"out": "in", "in": "out", None: None}
"""A direction as seen from the other end."""


@dataclass(frozen=True, slots=True)
class Arcs:
    """A set of distinct arcs, stored in columns."""

    origins: IntArray
    """Handles of the nodes that the arcs leave."""
    predicates: IntArray
    """Numbers of the predicates."""
    ends: IntArray
    """Handles of the nodes that the arcs reach."""
    along: BoolArray
    """Whether the edge leads from the origin to the end; True for a loop."""

    def __len__(self) -> int:
        return len(self.ends)

    @classmethod
    def of(cls, ring: Ring, nodes: Handles, direction: EdgeDirection | None) -> Arcs:
        """The arcs that leave some nodes.

        The edges have one of the nodes at either end, each once. With a direction, they are taken
        only in that direction.
        """
        parts: list[Arcs] = []
        if direction != "in":
            leaving = marked(ring, nodes.has(ring.subjects))
            parts.append(cls(*leaving, np.ones(len(leaving.subjects), bool)))
        if direction != "out":
            enters = nodes.has(ring.objects)
            if direction is None:
                enters &= ring.subjects != ring.objects
            subjects, predicates, objects = marked(ring, enters)
            parts.append(cls(objects, predicates, subjects, subjects == objects))
        return parts[0] if len(parts) == 1 else cls.joined(parts)

    @classmethod
    def joined(cls, sets: Sequence[Arcs]) -> Arcs:
        """The arcs of several sets, one set after the other."""
        columns = [(one.origins, one.predicates, one.ends, one.along) for one in sets]
        return cls(*map(np.concatenate, zip(*columns, strict=True)))

    def turned(self) -> Arcs:
        """The same arcs in the opposite direction."""
        loops = self.origins == self.ends
        return Arcs(self.ends, self.predicates, self.origins, ~self.along | loops)

    def selected(self, arcs: BoolArray | npt.NDArray[np.intp]) -> Arcs:
        """The arcs that a mask selects, or those at some places."""
        if arcs.dtype == bool and arcs.all():
            return self
        places = np.flatnonzero(arcs) if arcs.dtype == bool else arcs.astype(np.intp, copy=False)
        columns = at(Ring(self.origins, self.predicates, self.ends), places)
        return Arcs(*columns, self.along.take(places))

    def may_share_edges(self, other: Arcs) -> bool:
        """Whether some edges have a predicate in common."""
        one, two = (set(distinct_numbers(arcs.predicates).tolist()) for arcs in (self, other))
        return not one.isdisjoint(two)

    def runs(self, size: int) -> tuple[npt.NDArray[np.intp], BoolArray]:
        """An order in which equal arcs are adjacent, and a mask of the first of each run."""
        return runs(self.coded, size)

    @property
    def coded(self) -> Ring:
        """The arcs as a ring from origins to ends, in which each predicate says the direction."""
        return Ring(self.origins, 2 * self.predicates + self.along, self.ends)

    @classmethod
    def decoded(cls, ring: Ring) -> Arcs:
        """The arcs of a ring that `coded` made."""
        return cls(ring.subjects, ring.predicates >> 1, ring.objects, ring.predicates % 2 == 1)

    @property
    def ring(self) -> Ring:
        """The edges of the arcs."""
        return Ring(
            np.where(self.along, self.origins, self.ends),
            self.predicates,
            np.where(self.along, self.ends, self.origins),
        )


def united(sets: Sequence[Arcs], size: int) -> tuple[Arcs, list[LongArray]]:
    """The arcs of several sets, each once, and for each set the places of its arcs among them."""
    if len(sets) == 1:
        return sets[0], [np.arange(len(sets[0]))]
    every = Arcs.joined(sets)
    order, new = every.runs(size)
    places = np.empty(len(order), np.int64)
    places[order] = np.cumsum(new) - 1
    starts = np.cumsum([len(one) for one in sets])[:-1]
    return every.selected(order[new]), np.split(places, starts)


class Junction:
    """How the arcs of one step meet those of the next.

    Args:
        first: The arcs of the earlier step.
        second: The arcs of the later step.
        size: An upper bound that exceeds every handle.
        turning: Whether an arc also meets the arc of the same edge.

    Attributes:
        count: The number of nodes at which earlier arcs end.
        arriving: For each earlier arc, the number of the node where it ends.
        leaving: For each later arc, the number of the node where it begins; -1 if no earlier arc
            ends there.

    Raises:
        TimeoutError: The deadline of the call passed; every method may raise it, too.
    """

    def __init__(self, first: Arcs, second: Arcs, size: int, *, turning: bool = False) -> None:
        call.check()
        self._turning = turning
        self._first, self._second, self._size = first, second, size
        self._nodes = nodes = distinct_numbers(first.ends)
        self.count = len(nodes)
        self.arriving = places_of(nodes, first.ends, size)
        self.leaving = places_of(nodes, second.origins, size)

    def sums(self, weights: LongArray, *, backwards: bool = False) -> LongArray:
        """For each later arc, the sum of the weights of the earlier arcs that it meets.

        Args:
            weights: Weights of the earlier arcs, from 0 to `MANY`.
            backwards: Whether earlier and later arcs change places.
        """
        return capped_sums(weights, *self._ways(backwards=backwards), self.count)

    def meets(self, *, backwards: bool = False) -> BoolArray:
        """Which later arcs meet an earlier arc; backwards, which earlier arcs meet a later arc."""
        others = self._second if backwards else self._first
        return self.sums(np.ones(len(others), np.int64), backwards=backwards) > 0

    def least(self, values: LongArray, nothing: int, *, backwards: bool = False) -> LongArray:
        """For each later arc, the least value of the earlier arcs that it meets.

        Args:
            values: Values of the earlier arcs.
            nothing: The value of an arc that meets no other; no value is larger.
            backwards: Whether earlier and later arcs change places.
        """
        at, wanted, same = self._ways(backwards=backwards)
        return _least(values, at, wanted, same, count=self.count, nothing=nothing)

    def _ways(self, *, backwards: bool) -> tuple[IntArray, IntArray, LongArray]:
        """The nodes of the arcs on one side and on the other, and the same edges of the latter."""
        back, on = self.same_edges
        if backwards:
            return self.leaving, self.arriving, on
        return self.arriving, self.leaving, back

    def pairs(self, sources: LongArray, arcs: LongArray, most: int | None) -> Pairs | None:
        """Take one step from some sources and return which source reaches which later arc.

        Args:
            sources: Numbers of the sources.
            arcs: The earlier arc that each source reaches; each pair occurs once.
            most: The largest number of pairs to return; None for any number.

        Returns:
            The numbers of the sources and the later arcs that they reach, each pair once; None if
            there are more pairs than allowed.
        """
        call.check()
        at = self.arriving[arcs].astype(np.int64)
        order = np.lexsort((at, sources))
        sources, arcs, at = sources[order], arcs[order], at[order]
        new = np.ones(len(at), bool)
        new[1:] = (sources[1:] != sources[:-1]) | (at[1:] != at[:-1])
        first = np.flatnonzero(new)
        alone = np.diff(np.append(first, len(at))) == 1
        sources, arcs, at = sources[first], arcs[first], at[first]
        leaving, starts = self._by_origin
        counts = starts[at + 1] - starts[at]
        if most is not None and counts.sum() > most:
            return None
        group, places = ranges(starts[at], counts)
        behind = leaving[places]
        back, _ = self.same_edges
        met = ~alone[group] | (back[behind] != arcs[group])
        return sources[group[met]], behind[met]

    @cached_property
    def _by_origin(self) -> tuple[LongArray, LongArray]:
        """The later arcs in the order of their nodes, and the start of each node's arcs."""
        known = np.flatnonzero(self.leaving >= 0)
        order = known[np.argsort(self.leaving[known], kind="stable")]
        counts = np.bincount(self.leaving[known], minlength=self.count)
        return order, np.concatenate([[0], np.cumsum(counts)])

    @cached_property
    def same_edges(self) -> tuple[LongArray, LongArray]:
        """For each later arc the earlier arc of the same edge, and the reverse, which do not meet.

        -1 stands for none. Only arcs that end where the other begins are compared.
        """
        call.check()
        first, second = self._first, self._second
        back = np.full(len(second), -1, np.int64)
        on = np.full(len(first), -1, np.int64)
        if self._turning or not first.may_share_edges(second):
            return back, on
        begins = Handles(self._size, distinct_numbers(second.ends))
        ones = np.flatnonzero(begins.has(first.origins))
        others = np.flatnonzero(self.leaving >= 0)
        # Few walks turn back: to compare all arcs of ten million edges takes most of a path's time.
        began = Handles(self._size, distinct_numbers(first.origins[ones]))
        others = others[began.has(second.ends[others])]
        if len(ones) and len(others):
            turned = second.selected(others).turned()
            one, other = _matches(first.selected(ones), turned, self._size)
            back[others[other]], on[ones[one]] = ones[one], others[other]
        return back, on


def each_once(parts: Sequence[Pairs], size: int) -> Pairs:
    """The pairs of all parts, each once; the second numbers are below a size."""
    keys = [one * size + other for one, other in parts]
    every = distinct_numbers(np.concatenate([np.empty(0, np.int64), *keys]))
    one, other = np.divmod(every, max(1, size))
    return one, other


def _matches(one: Arcs, other: Arcs, size: int) -> tuple[LongArray, LongArray]:
    """The places of equal arcs in two sets of arcs."""
    call.check()
    order, new = Arcs.joined([one, other]).runs(size)
    # The order is stable, so the arc of the first set comes first.
    second = np.flatnonzero(~new)
    return order[second - 1], order[second] - len(one)


def capped_products(one: LongArray, other: LongArray) -> LongArray:
    """The products of numbers from 0 to `MANY`, at most `MANY`."""
    large = one.astype(float) * other.astype(float) >= MANY
    return np.where(large, MANY, np.where(large, 0, one) * other)


def capped_sums(
    weights: LongArray, at: IntArray, places: IntArray, same: LongArray, count: int
) -> LongArray:
    """For each wanted place, the sum of the weights there, at most `MANY`.

    Args:
        weights: Weights from 0 to `MANY`.
        at: The place of each weight; -1 for none.
        places: The wanted places; -1 for none.
        same: For each wanted place, the weight there that does not count; -1 for none.
        count: Number of places.
    """
    call.check()
    own = np.flatnonzero(same >= 0)

    def sums(weights: LongArray) -> LongArray:
        total = _summed(weights, at, count)[places]
        total[own] -= weights[same[own]]
        return total

    full = weights >= MANY
    if not full.any():
        return np.minimum(sums(weights), MANY)
    total = np.minimum(sums(np.where(full, 0, weights)), MANY)
    total[sums(full.astype(np.int64)) > 0] = MANY
    return total


def _summed(weights: LongArray, at: IntArray, count: int) -> LongArray:
    """The sums of weights by place, with a final 0 after the last; exact below 2 to the 55th."""
    sums = np.zeros(count + 1, np.int64)
    if int(weights.max(initial=0)) * len(weights) < 2**53:  # sums of floats are exact
        sums[:count] = np.bincount(at + 1, weights, count + 1)[1:]
    else:
        half = 27  # bits of the lower parts, which are summed separately
        low = np.bincount(at + 1, weights & (1 << half) - 1, count + 1)[1:]
        high = np.bincount(at + 1, weights >> half, count + 1)[1:]
        high = np.minimum(high, 1 << 55 - half)
        sums[:count] = (high.astype(np.int64) << half) + low.astype(np.int64)
    return sums


def _least(
    values: LongArray, at: IntArray, wanted: IntArray, same: LongArray, *, count: int, nothing: int
) -> LongArray:
    """For each wanted place, the least value there without that of the same edge."""
    call.check()
    order = np.argsort(at.astype(np.int64) * (nothing + 1) + values, kind="stable")
    begin = np.searchsorted(at[order], np.arange(count + 1))
    stop = np.append(begin[1:], begin[count])
    padded, with_nothing = np.append(order, -1), np.append(values, nothing)
    places = [
        np.where(begin + skip < stop, padded[np.minimum(begin + skip, len(order))], -1)
        for skip in (0, 1)
    ]
    own = (same >= 0) & (same == places[0][wanted])
    chosen: LongArray = with_nothing[np.where(own, places[1][wanted], places[0][wanted])]
    return chosen
