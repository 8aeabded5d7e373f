"""The number of different nodes behind a junction, for each node in front of it.

The pairs of the nodes on both sides of a hub are too many to be made. Nodes that pass the same
busy nodes of the junction therefore share what is found behind these, and pairs are made only
through the other nodes of the junction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np

from bfsql.arrays import LongArray, distinct_numbers, ranges
from bfsql.engine.thresholds import BUSY, PAIRS
from bfsql.integers import IntArray


@dataclass(frozen=True, slots=True)
class Side:
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


class _Behind:
    """The nodes behind a junction, in the order of its nodes and of the arcs that lead there.

    Args:
        side: The nodes and their arcs.
        size: The number of nodes of the junction.
    """

    def __init__(self, side: Side, size: int) -> None:
        at = side.at[side.arcs].astype(np.int64)
        order = np.lexsort((side.arcs, at))
        self.count, self.nodes, self.arcs = side.count, side.nodes[order], side.arcs[order]
        self.by_node = _Runs.of(at[order], size)
        self.by_arc = _Runs.of(self.arcs, len(side.at))

    def ways(self, at: LongArray) -> LongArray:
        """For each node, the number of arcs that lead to it from some nodes of the junction."""
        _, places = self.by_node.of_each(at)
        return np.bincount(self.nodes[places], minlength=self.count)


class Meeting:
    """The nodes in front of a junction and those behind it.

    Args:
        front: The nodes for which others are counted.
        behind: The nodes that are counted.
        size: The number of nodes of the junction.
    """

    def __init__(self, front: Side, behind: Side, size: int) -> None:
        self._count, self._behind = front.count, _Behind(behind, size)
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
        """For each node in front, the number of different nodes behind.

        Args:
            check: Called repeatedly; raises an error to stop the work.
        """
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
        part = (np.cumsum(pairs) // PAIRS)[first]
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
