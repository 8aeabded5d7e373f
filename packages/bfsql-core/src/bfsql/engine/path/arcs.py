"""Edges in the direction in which a walk takes them, and how consecutive steps meet.

An arc is an edge together with the direction in which a walk takes it. Two arcs meet if the
first ends at the node where the second begins, unless they are the same edge. A self-loop is
one arc, whatever the direction (`asking.md` 6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bfsql import call
from bfsql.arrays import Handles, LongArray, distinct_numbers, places_of, ranges, runs
from bfsql.integers import BoolArray, IntArray, Ring
from bfsql.models import MOST_PATHS, EdgeDirection

MANY = MOST_PATHS + 1
"""Represents every number of walks above the largest exact one."""
_HALF = 27
"""Bits of the lower part of a number that is summed in two parts."""
_EXACT = 2**53
"""Sums of floats below this value are exact."""
_KEY_BITS = 62
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

        Args:
            ring: Edges with one of the nodes at either end, each once.
            nodes: The nodes at which the arcs begin.
            direction: The direction of the edges that the arcs may take; None for all edges.
        """
        subjects, predicates, objects = ring
        parts: list[tuple[IntArray, IntArray, IntArray, BoolArray]] = []
        if direction != "in":
            leaves = nodes.has(subjects)
            parts.append(
                (subjects[leaves], predicates[leaves], objects[leaves], np.ones(leaves.sum(), bool))
            )
        if direction != "out":
            enters = nodes.has(objects)
            loops = subjects == objects
            if direction is None:
                enters &= ~loops
            parts.append((objects[enters], predicates[enters], subjects[enters], loops[enters]))
        return cls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    @classmethod
    def none(cls) -> Arcs:
        """No arcs."""
        nothing = np.empty(0, np.int32)
        return cls(nothing, nothing, nothing, np.empty(0, bool))

    def turned(self) -> Arcs:
        """The same arcs in the opposite direction."""
        loops = self.origins == self.ends
        return Arcs(self.ends, self.predicates, self.origins, ~self.along | loops)

    def marked(self, kept: BoolArray) -> Arcs:
        """The arcs that a mask selects."""
        return Arcs(self.origins[kept], self.predicates[kept], self.ends[kept], self.along[kept])

    @property
    def ring(self) -> Ring:
        """The edges of the arcs."""
        return Ring(
            np.where(self.along, self.origins, self.ends),
            self.predicates,
            np.where(self.along, self.ends, self.origins),
        )


def united(sets: Sequence[Arcs], size: int) -> tuple[Arcs, list[LongArray]]:
    """The arcs of several sets, each once, and for each set the places of its arcs among them.

    Args:
        sets: Sets of arcs, at least one.
        size: An upper bound that exceeds every handle.
    """
    if len(sets) == 1:
        return sets[0], [np.arange(len(sets[0]))]
    columns = zip(*((a.origins, a.predicates, a.ends, a.along) for a in sets), strict=True)
    origins, predicates, ends, along = map(np.concatenate, columns)
    order, new = runs(Ring(origins, 2 * predicates + along, ends), size)
    kept, places = order[new], np.empty(len(order), np.int64)
    places[order] = np.cumsum(new) - 1
    arcs = Arcs(origins[kept], predicates[kept], ends[kept], along[kept])
    return arcs, np.split(places, np.cumsum([len(one) for one in sets])[:-1])


class Junction:
    """How the arcs of one step meet those of the next.

    Args:
        first: The arcs of the earlier step.
        second: The arcs of the later step.
        size: An upper bound that exceeds every handle.

    Attributes:
        count: The number of nodes at which earlier arcs end.
        arriving: For each earlier arc, the number of the node where it ends.
        leaving: For each later arc, the number of the node where it begins; -1 if no earlier arc
            ends there.

    Raises:
        TimeoutError: The deadline of the call passed; every method may raise it, too.
    """

    def __init__(self, first: Arcs, second: Arcs, size: int) -> None:
        call.check()
        self._first, self._second, self._size = first, second, size
        self._nodes = nodes = distinct_numbers(first.ends)
        self.count = len(nodes)
        self.arriving = places_of(nodes, first.ends, size)
        self.leaving = places_of(nodes, second.origins, size)

    def onwards(self, weights: LongArray) -> LongArray:
        """For each later arc, the sum of the weights of the earlier arcs that it meets.

        Args:
            weights: Weights of the earlier arcs, from 0 to `MANY`.
        """
        back, _ = self.same_edges
        return _sums(weights, self.arriving, self.leaving, back, self.count)

    def backwards(self, weights: LongArray) -> LongArray:
        """For each earlier arc, the sum of the weights of the later arcs that it meets."""
        _, on = self.same_edges
        return _sums(weights, self.leaving, self.arriving, on, self.count)

    def least_onwards(self, values: LongArray, nothing: int) -> LongArray:
        """For each later arc, the least value of the earlier arcs that it meets.

        Args:
            values: Values of the earlier arcs.
            nothing: The value of an arc that meets no other; no value is larger.
        """
        back, _ = self.same_edges
        return _least(values, self.arriving, self.leaving, back, count=self.count, nothing=nothing)

    def least_backwards(self, values: LongArray, nothing: int) -> LongArray:
        """For each earlier arc, the least value of the later arcs that it meets."""
        _, on = self.same_edges
        return _least(values, self.leaving, self.arriving, on, count=self.count, nothing=nothing)

    def pairs(
        self, sources: LongArray, arcs: LongArray, most: int | None
    ) -> tuple[LongArray, LongArray] | None:
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
        """For each later arc the earlier arc of the same edge, and the reverse; -1 for none.

        Only arcs that end where the other begins are compared.
        """
        call.check()
        first, second = self._first, self._second
        back = np.full(len(second), -1, np.int64)
        on = np.full(len(first), -1, np.int64)
        begins = Handles(self._size, distinct_numbers(second.ends))
        ones = np.flatnonzero(begins.has(first.origins))
        others = np.flatnonzero(self.leaving >= 0)
        if len(ones) and len(others):
            turned = second.marked(self.leaving >= 0).turned()
            one, other = _matches(_only(first, ones), turned, self._size)
            back[others[other]], on[ones[one]] = ones[one], others[other]
        return back, on


def _only(arcs: Arcs, places: npt.NDArray[np.intp]) -> Arcs:
    return Arcs(
        arcs.origins[places], arcs.predicates[places], arcs.ends[places], arcs.along[places]
    )


def _matches(one: Arcs, other: Arcs, size: int) -> tuple[LongArray, LongArray]:
    """The places of equal arcs in two sets of arcs."""
    call.check()
    origins, ends, predicates, along = (
        np.concatenate([getattr(one, column), getattr(other, column)])
        for column in ("origins", "ends", "predicates", "along")
    )
    bits = max(1, (size - 1).bit_length())
    numbers = max(1, int(predicates.max(initial=0)).bit_length())
    if 2 * bits + numbers + 1 <= _KEY_BITS:
        keys = origins.astype(np.int64) << bits | ends
        keys = (keys << numbers | predicates) << 1 | along
        order = np.argsort(keys, kind="stable")
        columns = [keys[order]]
    else:
        order = np.lexsort((along, predicates, ends, origins))
        columns = [column[order] for column in (origins, ends, predicates, along)]
    equal = np.logical_and.reduce([column[1:] == column[:-1] for column in columns])
    first = np.flatnonzero(equal)
    # Sorting is stable, so the arc of the first set comes first.
    return order[first], order[first + 1] - len(one)


def _sums(
    weights: LongArray, at: IntArray, wanted: IntArray, same: LongArray, count: int
) -> LongArray:
    """For each wanted place, the sum of the weights there without that of the same edge.

    Args:
        weights: Weights from 0 to `MANY`.
        at: The place of each weight; -1 for none.
        wanted: The wanted places; -1 for none.
        same: For each wanted place, the weight that does not count; -1 for none.
        count: Number of places.
    """
    call.check()
    full = weights >= MANY
    partial = np.where(full, 0, weights) if full.any() else weights
    sums = summed(partial, at, count)[wanted]
    own = np.flatnonzero(same >= 0)
    sums[own] -= partial[same[own]]
    if full.any():
        fulls = summed(full.astype(np.int64), at, count)[wanted]
        fulls[own] -= full[same[own]]
        sums[fulls > 0] = MANY
    return np.minimum(sums, MANY)


def summed(weights: LongArray, at: IntArray, count: int) -> LongArray:
    """The sums of weights by place, with a final 0 after the last; exact below 2 to the 55th.

    Args:
        weights: Weights from 0 to `MANY`.
        at: The place of each weight; -1 for none.
        count: Number of places.
    """
    sums = np.zeros(count + 1, np.int64)
    if int(weights.max(initial=0)) * len(weights) < _EXACT:
        sums[:count] = np.bincount(at + 1, weights, count + 1)[1:]
    else:
        low = np.bincount(at + 1, weights & (1 << _HALF) - 1, count + 1)[1:]
        high = np.bincount(at + 1, weights >> _HALF, count + 1)[1:]
        high = np.minimum(high, 1 << 55 - _HALF)
        sums[:count] = (high.astype(np.int64) << _HALF) + low.astype(np.int64)
    return sums


def _least(
    values: LongArray,
    at: IntArray,
    wanted: IntArray,
    same: LongArray,
    *,
    count: int,
    nothing: int,
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
