"""Pairs of the nodes or edges of two steps that lie on the same walk, and their numbers.

To count different nodes, the walks are divided at a junction between the two steps. The pairs of
the nodes on both sides of a hub are too many to be made. Nodes that pass the same busy nodes of the
junction share what is found behind these, and pairs are made only through the other nodes of the
junction (`protocol.md` 37).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np

from bfsql import call
from bfsql.arrays import (
    NO_HANDLES,
    LongArray,
    concatenated,
    distinct_numbers,
    places_of,
    places_of_edges,
    ranges,
)
from bfsql.engine.arcs import Junction, Pairs, each_once, united
from bfsql.engine.thresholds import BUSY, PAIR_BYTES, PAIRS
from bfsql.engine.walks import Stops, Walks
from bfsql.errors import NodesUncounted
from bfsql.integers import BoolArray, IntArray, Ring


@dataclass(frozen=True, slots=True)
class Waypoints:
    """Nodes or edges that walks pass at a step."""

    step: int
    first: int
    """The first step, from 0, that a walk takes at or after them; edges are taken by their own."""
    count: int
    """The number of nodes or edges."""
    places: dict[int, LongArray]
    """By layer: for each arc, the number of the node or edge; -1 for none.

    At step 0, these are the arcs by which walks leave the nodes.
    """

    @classmethod
    def at_nodes(cls, walks: Walks, step: int, nodes: IntArray) -> Self:
        """Nodes where walks leave a step; given by their handles, each once."""
        places = {}
        for n, reached, mask in walks.step_ends(step):
            places[n] = np.full(len(mask), -1, np.int64)
            places[n][mask] = places_of(nodes, reached, walks.size)
        return cls(step, step, len(nodes), places)

    @classmethod
    def at_edges(cls, walks: Walks, step: int, edges: Ring) -> Self:
        """Edges that a step takes, in any of its repetitions; each once."""
        layers = walks.layers_of(step)
        passed = concatenated([walks.ring(walks.arcs[n]) for n in layers])
        ends = np.cumsum([len(walks.arcs[n]) for n in layers], dtype=np.int64)  # none at step 0
        own = np.split(places_of_edges(edges, passed, walks.size), ends)[:-1]
        return cls(step, step - 1, len(edges.subjects), dict(zip(layers, own, strict=True)))

    @classmethod
    def at_all(cls, walks: Walks, step: int, *, edges: bool) -> tuple[Self, Stops]:
        """All nodes or edges of a step, in the graph of pairs if walks are taken in one.

        Args:
            walks: The walks.
            step: The step.
            edges: Whether an edge and the node it reaches count together; not at step 0.
        """
        if edges:
            layers = walks.layers_of(step)
            arcs, places_ = united([walks.arcs[n] for n in layers], walks.size)
            own = dict(zip(layers, places_, strict=True))
            return cls(step, step - 1, len(arcs), own), walks.stops(arcs.ends, arcs)
        reached: dict[int, tuple[IntArray, BoolArray]] = {}
        for n, _, mask in walks.step_ends(step):
            one = walks.arcs[n]
            reached[n] = (one.ends if step else one.origins)[mask], mask
        nodes = distinct_numbers(np.concatenate([NO_HANDLES, *(of for of, _ in reached.values())]))
        places: dict[int, LongArray] = {}
        for n, (of, mask) in reached.items():
            places[n] = np.full(len(mask), -1, np.int64)
            places[n][mask] = np.searchsorted(nodes, of)
        return cls(step, step, len(nodes), places), walks.stops(nodes, None)

    def chosen(self, numbers: LongArray) -> Waypoints:
        """Some of them, by their numbers, which are ascending; they are numbered anew."""
        new = np.full(self.count + 1, -1, np.int64)
        new[numbers] = np.arange(len(numbers))
        places = {n: new[place] for n, place in self.places.items()}
        return Waypoints(self.step, self.first, len(numbers), places)

    def arrivals(self, start: int, stop: int) -> dict[int, Pairs]:
        """By layer: some of them, numbered from `start`, with the arcs by which walks pass them."""
        reached = {}
        for n, place in self.places.items():
            arcs = np.flatnonzero((place >= start) & (place < stop))
            reached[n] = place[arcs] - start, arcs
        return reached

    def ends(self, pairs: dict[int, Pairs]) -> Pairs:
        """Which of them sources reach, if they reach some arcs by layer."""
        parts = []
        for n, place in self.places.items():
            found, ends = pairs[n][0], place[pairs[n][1]]
            parts.append((found[ends >= 0], ends[ends >= 0]))
        return each_once(parts, self.count)


def different_nodes(
    walks: Walks, step: int, nodes: IntArray, counted: int, among: IntArray | None = None
) -> LongArray:
    """Count the different nodes of one step on the walks through each node of another.

    The walks are divided at the junction with the fewest nodes between the two steps. If either
    part has too many pairs, or there is no junction, the pairs of the two steps are counted.

    Args:
        walks: The walks.
        step: The step that reaches the nodes.
        nodes: Handles of all nodes that the step reaches, each once.
        counted: The step whose nodes are counted.
        among: Handles of the nodes that count, each once; None for all.

    Raises:
        NodesUncounted: The deadline of the call passed.
    """
    if step == counted:
        return np.isin(nodes, nodes if among is None else among).astype(np.int64)
    ends = [
        Waypoints.at_nodes(walks, step, nodes),
        Waypoints.at_nodes(walks, counted, walks.nodes_of(counted) if among is None else among),
    ]
    forwards = step < counted
    segment = WalkSegment(walks, *(ends if forwards else reversed(ends)))
    for layer in segment.junctions:
        divided = segment.divided(layer)
        if divided is not None:
            early, late, size = divided
            front, behind = (early, late) if forwards else (late, early)
            return JunctionPairs(front, behind, size).counts(segment.check)
    early_counts, late_counts = segment.counts()
    return early_counts if forwards else late_counts


@dataclass(frozen=True, slots=True)
class WalkSegment:
    """The walks between two steps."""

    walks: Walks
    early: Waypoints
    """The nodes or edges of the earlier step."""
    late: Waypoints
    """The nodes or edges of the later step."""

    def check(self) -> None:
        """Raise an error if the deadline of the call has passed."""
        if call.remaining() == 0:
            raise NodesUncounted(self.early.step, self.late.step, call.seconds())

    @property
    def junctions(self) -> list[int]:
        """The layers that begin a step in between, those that leave the fewest nodes first.

        A step that two layers begin, because it is compared with another, has no junction.
        """
        walks, begun = self.walks, defaultdict(list)
        for n, layer in enumerate(walks.layers):
            if layer.time == 1 and self.early.step < layer.step < self.late.step:
                begun[layer.step].append(n)
        layers = [numbers[0] for numbers in begun.values() if len(numbers) == 1]
        return sorted(layers, key=lambda n: len(distinct_numbers(walks.arcs[n].origins)))

    def divided(self, number: int) -> tuple[JunctionSide, JunctionSide, int] | None:
        """Divide the walks at the junction before a layer, which begins a step.

        Returns:
            The nodes of the earlier and of the later step, and the number of nodes of the
            junction; None if there are too many pairs on either side.
        """
        walks, size = self.walks, self.walks.size
        early, late = self.early, self.late
        layer, arcs = walks.layers[number], walks.arcs[number]
        every = np.arange(len(arcs))
        arrivals = early.arrivals(0, early.count)
        before = self._spread(arrivals, range(early.first, layer.step), _pairs_at_once())
        after = self._spread(
            {number: (every, every)}, range(layer.step, late.step), _pairs_at_once()
        )
        if before is None or after is None:
            return None
        arriving, places = united([walks.arcs[n] for n in layer.before], size)
        pairs = [before[n] for n in layer.before]
        joined = [(one, at[reached]) for (one, reached), at in zip(pairs, places, strict=True)]
        nodes, arrivals_ = each_once(joined, len(arriving))
        departures, ends = late.ends(after)
        junction = Junction(arriving, arcs, size)
        back, on = junction.same_edges
        return (
            JunctionSide(nodes, arrivals_, early.count, junction.arriving, on),
            JunctionSide(ends, departures, late.count, junction.leaving, back),
            junction.count,
        )

    def counts(self) -> tuple[LongArray, LongArray]:
        """For each earlier node, the number of later ones, and the reverse."""
        early, late = (np.zeros(ends.count, np.int64) for ends in (self.early, self.late))
        for ones, others in self.pairs():
            early += np.bincount(ones, minlength=len(early))
            late += np.bincount(others, minlength=len(late))
        return early, late

    def pairs(self) -> Iterator[Pairs]:
        """All pairs of an earlier and a later stop of the same walk, each once, in parts.

        Raises:
            NodesUncounted: The deadline of the call passed.
        """
        start, chunk = 0, self.early.count
        while start < self.early.count:
            stop = min(start + chunk, self.early.count)
            most = _pairs_at_once() if stop - start > 1 else None
            arrivals = self.early.arrivals(start, stop)
            reached = self._spread(arrivals, range(self.early.first, self.late.step), most)
            if reached is None:
                chunk = -(-(stop - start) // 4)
                continue
            ones, others = self.late.ends(reached)
            yield ones + start, others
            start = stop

    def _spread(
        self, reached: dict[int, Pairs], steps: range, most: int | None
    ) -> dict[int, Pairs] | None:
        """Take some steps from the arcs that sources have reached, by layer.

        The result is None if more than `most` pairs would be made at once, and more than the arcs.
        """
        walks, reached = self.walks, dict(reached)
        for n, layer in enumerate(walks.layers):
            earlier = [before for before in layer.before if before in reached]
            if layer.step not in steps or (n in reached and not earlier):
                continue
            allowed = None if most is None else max(most, len(walks.arcs[n]))
            parts = [reached[n]] if n in reached else []
            for before in earlier:
                self.check()
                pairs = walks.junctions[before, n].pairs(*reached[before], allowed)
                if pairs is None:
                    return None
                parts.append(pairs)
            reached[n] = each_once(parts, len(walks.arcs[n]))
        return reached


def _pairs_at_once() -> int:
    """The approximate number of pairs to make at once, by the memory that is left to the call."""
    return max(BUSY, call.room(PAIR_BYTES, PAIRS))


# --- both sides of a junction ----------------------------------------------------


@dataclass(frozen=True, slots=True)
class JunctionSide:
    """The nodes of a step on one side of a junction."""

    nodes: LongArray
    """Numbers of nodes, from 0."""
    arcs: LongArray
    """For each of them, an arc by which walks pass the junction; each pair once."""
    count: int
    """The number of nodes."""
    at: IntArray
    """For each arc, its node of the junction."""
    same: LongArray
    """For each arc, the arc of the other side that is the same edge; -1 for none."""


@dataclass(frozen=True, slots=True)
class _Runs:
    """The places at which each number occurs in an array; they are consecutive."""

    starts: LongArray
    lengths: LongArray

    @classmethod
    def of(cls, numbers: LongArray, size: int) -> Self:
        """The runs of all numbers below a size."""
        starts = np.zeros(size, np.int64)
        first = _run_starts(numbers)
        starts[numbers[first]] = first
        return cls(starts, np.bincount(numbers, minlength=size))

    def of_each(self, numbers: LongArray) -> tuple[LongArray, LongArray]:
        """The places of some numbers, each with the index of its number."""
        return ranges(self.starts[numbers], self.lengths[numbers])


class _SideByNode:
    """The nodes behind a junction, in the order of its nodes and of the arcs that lead there."""

    def __init__(self, side: JunctionSide, size: int) -> None:
        at = side.at[side.arcs].astype(np.int64)
        order = np.lexsort((side.arcs, at))
        self.count, self.nodes, self.arcs = side.count, side.nodes[order], side.arcs[order]
        self.by_node = _Runs.of(at[order], size)
        self.by_arc = _Runs.of(self.arcs, len(side.at))

    def ways(self, at: LongArray) -> LongArray:
        """For each node, the number of arcs that lead to it from some nodes of the junction."""
        _, places = self.by_node.of_each(at)
        return np.bincount(self.nodes[places], minlength=self.count)


class JunctionPairs:
    """The nodes in front of a junction and those behind it.

    Args:
        front: The nodes for which others are counted.
        behind: The nodes that are counted.
        size: The number of nodes of the junction.
    """

    def __init__(self, front: JunctionSide, behind: JunctionSide, size: int) -> None:
        self._count, self._behind = front.count, _SideByNode(behind, size)
        at = front.at[front.arcs].astype(np.int64)
        order = np.lexsort((at, front.nodes))
        nodes, arcs, at = front.nodes[order], front.arcs[order], at[order]
        # By row: a node in front, and a node of the junction that it is connected with.
        first = np.flatnonzero(np.diff(nodes, prepend=-1) | np.diff(at, prepend=-1))
        self._nodes, self._at = nodes[first], at[first]
        # An edge is not taken twice in a row, unless another arc leads to the junction as well.
        alone = np.diff(np.append(first, len(nodes))) == 1
        self._barred = np.where(alone, front.same[arcs[first]], -1)
        pairs = np.bincount(self._at, minlength=size) * self._behind.by_node.lengths
        self._busy = (pairs > BUSY)[self._at]

    def counts(self, check: Callable[[], None]) -> LongArray:
        """For each node in front, the number of different nodes behind; `check` may stop it."""
        total = np.zeros(self._count, np.int64)
        groups, passed = self._groups()
        group = groups[self._nodes]
        order = np.argsort(group, kind="stable")
        bounds = np.searchsorted(group[order], np.arange(len(passed) + 1))
        for busy, (start, stop) in zip(passed, pairwise(bounds.tolist()), strict=True):
            ways = self._behind.ways(busy)
            every = np.count_nonzero(ways)
            for rows in self._parts(order[start:stop]):
                check()
                total[self._nodes[rows]] = every
                more, gone = self._difference(rows, ways)
                np.add.at(total, more, 1)
                np.subtract.at(total, gone, 1)
        return total

    def _groups(self) -> tuple[LongArray, list[LongArray]]:
        """The group of each node, and the busy nodes of the junction that each group passes."""
        groups = np.zeros(self._count, np.int64)
        numbers = {b"": 0}
        nodes, at = self._nodes[self._busy], self._at[self._busy]
        first = _run_starts(nodes)
        bounds = pairwise([*first.tolist(), len(nodes)])
        for node, (start, stop) in zip(nodes[first].tolist(), bounds, strict=True):
            groups[node] = numbers.setdefault(at[start:stop].tobytes(), len(numbers))
        return groups, [np.frombuffer(key, np.int64) for key in numbers]

    def _parts(self, rows: LongArray) -> Iterator[LongArray]:
        """Divide the rows of some nodes, so that the pairs of each part can be made at once."""
        pairs = np.where(self._busy[rows], 0, self._behind.by_node.lengths[self._at[rows]])
        first = _run_starts(self._nodes[rows])
        part = (np.cumsum(pairs) // _pairs_at_once())[first]
        yield from np.split(rows, first[np.flatnonzero(np.diff(part)) + 1])

    def _difference(self, rows: LongArray, ways: LongArray) -> tuple[LongArray, LongArray]:
        """How the nodes behind some nodes differ from those behind their busy nodes.

        Args:
            rows: The rows of some nodes in front, which all pass the same busy nodes.
            ways: For each node behind, the number of arcs from these busy nodes.

        Returns:
            A node in front for each node that is also behind it, and one for each that is not.
        """
        behind, (busy, barred) = self._behind, (self._busy[rows], self._barred[rows])
        beside, lost = rows[~busy], rows[busy & (barred >= 0)]
        row, places = behind.by_node.of_each(self._at[beside])
        taken = behind.arcs[places] != self._barred[beside][row]
        found = distinct_numbers(self._pairs(beside[row[taken]], places[taken]))
        row, places = behind.by_arc.of_each(self._barred[lost])
        gone, arcs = np.unique(self._pairs(lost[row], places), return_counts=True)
        gone = np.setdiff1d(gone[arcs == ways[gone % behind.count]], found, assume_unique=True)
        more = found[ways[found % behind.count] == 0]
        return more // behind.count, gone // behind.count

    def _pairs(self, rows: LongArray, places: LongArray) -> LongArray:
        """The pairs of nodes in front and behind as one number each."""
        return self._nodes[rows] * self._behind.count + self._behind.nodes[places]


def _run_starts(numbers: LongArray) -> LongArray:
    """The first place of each run of equal numbers; none may be negative."""
    return np.flatnonzero(np.diff(numbers, prepend=-1))
