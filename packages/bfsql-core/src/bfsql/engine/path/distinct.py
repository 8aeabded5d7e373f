"""The number of different nodes of one step on the walks through each node of another step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bfsql import call
from bfsql.arrays import LongArray, distinct_numbers, places_of
from bfsql.engine.path.arcs import Junction, united
from bfsql.engine.path.junctions import Meeting, Side
from bfsql.engine.path.prune import Walks
from bfsql.engine.thresholds import PAIRS
from bfsql.errors import NodesUncounted
from bfsql.integers import IntArray

Pairs = tuple[LongArray, LongArray]
"""Numbers of sources and the arcs or nodes that they reach, each pair once."""


def different_nodes(walks: Walks, step: int, nodes: IntArray, counted: int) -> LongArray:
    """Count the different nodes of one step on the walks through each node of another.

    The walks are divided at the junction with the fewest nodes between the two steps. If either
    part has too many pairs, or there is no junction, the pairs of the two steps are counted.

    Args:
        walks: The walks.
        step: The step that reaches the nodes.
        nodes: Handles of all nodes that the step reaches, each once.
        counted: The step whose nodes are counted.

    Raises:
        NodesUncounted: The deadline of the call passed.
    """
    if step == counted:
        return np.ones(len(nodes), np.int64)
    others, forwards = walks.nodes_of(counted), step < counted
    if forwards:
        span = _Span(walks, step, nodes, counted, others)
    else:
        span = _Span(walks, counted, others, step, nodes)
    for layer in span.junctions:
        divided = span.divided(layer)
        if divided is not None:
            early, late, size = divided
            front, behind = (early, late) if forwards else (late, early)
            return Meeting(front, behind, size).counts(span.check)
    early_counts, late_counts = span.counts()
    return early_counts if forwards else late_counts


@dataclass(frozen=True, slots=True)
class _Span:
    """The walks between two steps."""

    walks: Walks
    first: int
    """The earlier step."""
    early: IntArray
    """Handles of the nodes that it reaches, each once."""
    last: int
    """The later step."""
    late: IntArray
    """Handles of the nodes that it reaches, each once."""

    def check(self) -> None:
        """Raise an error if the deadline of the call has passed."""
        if call.remaining() == 0:
            raise NodesUncounted(self.first, self.last, call.seconds())

    @property
    def junctions(self) -> list[int]:
        """The layers that begin a step in between, those that leave the fewest nodes first."""
        walks = self.walks
        layers = [
            n
            for n, layer in enumerate(walks.layers)
            if layer.time == 1 and self.first < layer.step < self.last
        ]
        return sorted(layers, key=lambda n: len(distinct_numbers(walks.arcs[n].origins)))

    def divided(self, number: int) -> tuple[Side, Side, int] | None:
        """Divide the walks at the junction before a layer.

        Args:
            number: The number of the layer, which begins a step.

        Returns:
            The nodes of the earlier and of the later step, and the number of nodes of the
            junction; None if there are too many pairs on either side.
        """
        walks, size = self.walks, self.walks.columns.size
        layer, arcs = walks.layers[number], walks.arcs[number]
        every = np.arange(len(arcs))
        before = self._spread(self._arrivals(self.early), range(self.first, layer.step), PAIRS)
        after = self._spread({number: (every, every)}, range(layer.step, self.last), PAIRS)
        if before is None or after is None:
            return None
        arriving, places = united([walks.arcs[n] for n in layer.before], size)
        pairs = [before[n] for n in layer.before]
        joined = [(one, at[reached]) for (one, reached), at in zip(pairs, places, strict=True)]
        nodes, arrivals = _each_once(joined, len(arriving))
        departures, ends = self._ends(after)
        junction = Junction(arriving, arcs, size)
        back, on = junction.same_edges
        return (
            Side(nodes, arrivals, len(self.early), junction.arriving, on),
            Side(ends, departures, len(self.late), junction.leaving, back),
            junction.count,
        )

    def counts(self) -> tuple[LongArray, LongArray]:
        """For each earlier node, the number of later ones, and the reverse."""
        early, late = (np.zeros(len(nodes), np.int64) for nodes in (self.early, self.late))
        start, chunk = 0, len(early)
        while start < len(early):
            part = self.early[start : start + chunk]
            most = PAIRS if len(part) > 1 else None
            reached = self._spread(self._arrivals(part), range(self.first, self.last), most)
            if reached is None:
                chunk = -(-len(part) // 4)
                continue
            found, ends = self._ends(reached)
            early[start : start + len(part)] = np.bincount(found, minlength=len(part))
            late += np.bincount(ends, minlength=len(late))
            start += len(part)
        return early, late

    def _arrivals(self, sources: IntArray) -> dict[int, Pairs]:
        """By layer, the arcs by which walks come to some nodes of the earlier step.

        At step 0, these are the arcs by which walks leave the nodes.
        """
        reached = {}
        for n, nodes, mask in self.walks.step_ends(self.first):
            place = places_of(sources, nodes, self.walks.columns.size)
            reached[n] = place[place >= 0].astype(np.int64), np.flatnonzero(mask)[place >= 0]
        return reached

    def _spread(
        self, reached: dict[int, Pairs], steps: range, most: int | None
    ) -> dict[int, Pairs] | None:
        """Take some steps from the arcs that sources have reached.

        Args:
            reached: By layer, the arcs that each source has reached.
            steps: The steps to take.
            most: The number of pairs that may be made at once, if it exceeds the number of arcs.

        Returns:
            By layer, the arcs that each source has reached; None if there are too many pairs.
        """
        walks, reached = self.walks, dict(reached)
        for n, layer in enumerate(walks.layers):
            if layer.step not in steps or n in reached:
                continue
            allowed = None if most is None else max(most, len(walks.arcs[n]))
            parts = []
            for before in layer.before:
                if before not in reached:
                    continue
                self.check()
                pairs = walks.junctions[before, n].pairs(*reached[before], allowed)
                if pairs is None:
                    return None
                parts.append(pairs)
            reached[n] = _each_once(parts, len(walks.arcs[n]))
        return reached

    def _ends(self, reached: dict[int, Pairs]) -> Pairs:
        """The nodes of the later step that sources have reached."""
        parts = []
        for n, nodes, mask in self.walks.step_ends(self.last):
            place = np.full(len(mask), -1, np.int64)
            place[mask] = places_of(self.late, nodes, self.walks.columns.size)
            found, ends = reached[n][0], place[reached[n][1]]
            parts.append((found[ends >= 0], ends[ends >= 0]))
        return _each_once(parts, len(self.late))


def _each_once(parts: Sequence[Pairs], size: int) -> Pairs:
    """The pairs of all parts, each once; the second numbers are below a size."""
    keys = [one * size + other for one, other in parts]
    every = distinct_numbers(np.concatenate([np.empty(0, np.int64), *keys]))
    one, other = np.divmod(every, max(1, size))
    return one, other
