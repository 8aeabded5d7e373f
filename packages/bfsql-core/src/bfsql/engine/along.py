"""The edges that some steps take, in any order: `along` (`protocol.md` 38).

A traversal or a search for connections follows these edges and reads no others: predicates and
directions are asked of the store, and the conditions of a step are tested at the nodes and edges
that it reaches.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from bfsql import call
from bfsql.arrays import NO_EDGES, Handles, are_named, distinct_numbers
from bfsql.engine.arcs import FLIPPED, Arcs, united
from bfsql.engine.conditions import Conditions
from bfsql.engine.plan import Bounds
from bfsql.engine.traverse import whole_ring
from bfsql.integers import NO_NODE, BoolArray, IntArray, IntegerGraph, Ring
from bfsql.models import ANY, ConditionTally, EdgeDirection, Path, Step
from bfsql.workers import off_loop


class StepArcs:
    """The arcs that some steps allow.

    Args:
        columns: The graph.
        steps: Paths of one step, with the conditions in their brackets.
        bounds: Limits on the nodes and edges to read at once.

    Attributes:
        paths: The paths.
    """

    def __init__(
        self, columns: IntegerGraph, steps: Sequence[tuple[Path, Conditions]], bounds: Bounds
    ) -> None:
        self.paths = tuple(path for path, _ in steps)
        self._columns, self._bounds = columns, bounds
        self._steps = [_StepFilter(columns, path, conditions) for path, conditions in steps]
        self._conditions = [conditions for _, conditions in steps]

    @property
    def has_conditions(self) -> bool:
        """Whether steps have conditions, so that properties or relations of nodes are read."""
        return any(self._conditions)

    @property
    def facts(self) -> tuple[ConditionTally, ...]:
        """The results of the conditions so far."""
        return tuple(one for conditions in self._conditions for one in conditions.facts)

    async def ring(self, nodes: IntArray) -> Ring:
        """The edges of the arcs that leave some nodes; an edge between two of them may be twice."""
        return (await self.arcs(nodes)).ring

    async def arcs(self, nodes: IntArray, *, backwards: bool = False) -> Arcs:
        """The arcs that leave some nodes or, backwards, end there, each once.

        Raises:
            BoundMet: More is read than the bounds allow.
            TimeoutError: The deadline passed while properties were read.
            StepUnfinished: A condition on relations exceeds a bound.
        """
        columns, found = self._columns, [Arcs.of(NO_EDGES, Handles(0), None)]
        for predicates, direction in _parts([path.steps[0] for path in self.paths]):
            asked = FLIPPED[direction] if backwards else direction
            ring = await whole_ring(columns, nodes, self._bounds, predicates, asked)
            members = Handles(columns.size, nodes)
            arcs = await off_loop(len(ring.subjects), partial(Arcs.of, ring, members, asked))
            found.append(await self._allowed(arcs.turned() if backwards else arcs))
        return Arcs.joined(found)

    async def _allowed(self, arcs: Arcs) -> Arcs:
        allowed = np.zeros(len(arcs), bool)
        for step in self._steps:
            rest = np.flatnonzero(~allowed)
            allowed[rest] = await step.allows(arcs.selected(rest))
        return arcs.selected(allowed)


class EdgeConditions:
    """Which edges some conditions keep; an edge that is read again is not counted again.

    Args:
        columns: The graph.
        conditions: The conditions.
        step: The step of the path that takes the edges; None in a call without a path.
    """

    def __init__(self, columns: IntegerGraph, conditions: Conditions, step: int | None) -> None:
        self._columns, self._conditions, self._step = columns, conditions, step
        self._tested = Arcs.of(NO_EDGES, Handles(0), None)
        self._kept = np.empty(0, bool)

    async def keeps(self, ring: Ring) -> BoolArray:
        """Which edges of a ring are kept."""
        if not self._conditions:
            return np.ones(len(ring.subjects), bool)
        here = Arcs(*ring, np.ones(len(ring.subjects), bool))
        every, (before, now) = united([self._tested, here], self._columns.size)
        kept, new = np.empty(len(every), bool), np.ones(len(every), bool)
        kept[before], new[before] = self._kept, False
        kept[new] = await self._conditions.keeps_edges(every.selected(new).ring, self._step)
        self._tested, self._kept = every, kept
        return kept[now]


class _StepFilter:
    """One step, and which nodes may be at its ends."""

    def __init__(self, columns: IntegerGraph, path: Path, conditions: Conditions) -> None:
        self._columns, self._conditions = columns, conditions
        self._step, self._patterns = path.steps[0], (path.start, path.steps[0].end)
        self._edges = EdgeConditions(columns, conditions, 1)
        self._tested = [Handles(columns.size) for _ in self._patterns]
        self._fits = [Handles(columns.size) for _ in self._patterns]

    async def allows(self, arcs: Arcs) -> BoolArray:
        """Which arcs the step allows."""
        step, loops = self._step, arcs.origins == arcs.ends
        allowed = np.ones(len(arcs), bool)
        if step.direction is not None:
            allowed &= loops | (arcs.along == (step.direction == "out"))
        if step.predicates is not None:
            names = self._columns.predicate_names
            allowed &= are_named(arcs.predicates, names, step.predicates)
        for end, nodes in enumerate((arcs.origins, arcs.ends)):
            if self._patterns[end] != ANY:
                allowed[allowed] = await self._at_end(nodes[allowed], end)
        if step.conditions:
            allowed[allowed] = await self._edges.keeps(arcs.selected(allowed).ring)
        return allowed

    async def _at_end(self, nodes: IntArray, end: int) -> BoolArray:
        """Which of some nodes may be where the step starts (0) or ends (1)."""
        tested, fits = self._tested[end], self._fits[end]
        for handles in (tested, fits):
            handles.cover(self._columns.size)
        new = distinct_numbers(nodes[~tested.has(nodes)])
        if len(new):
            tested.add(new)
            fits.add(await self._fitting(new, end))
        return fits.has(nodes)

    async def _fitting(self, nodes: IntArray, end: int) -> IntArray:
        pattern, columns = self._patterns[end], self._columns
        if pattern.ids is not None:
            found = await call.within(columns.find(sorted(pattern.ids)))
            known = np.array([node.handle for node in found if node is not None], np.int32)
            nodes = nodes[np.isin(nodes, known)]
        types = await call.within(columns.types(nodes))
        kept = types != NO_NODE
        if pattern.types is not None:
            kept &= are_named(types, columns.type_names, pattern.types)
        nodes, types = nodes[kept], types[kept]
        return nodes[await self._conditions.keeps_nodes(nodes, types, end)]


def _parts(steps: Sequence[Step]) -> Iterator[tuple[frozenset[str] | None, EdgeDirection | None]]:
    """The predicates and directions of edges that steps take, in parts that have none in common."""
    directions = {step.direction for step in steps}
    common = next(iter(directions)) if len(directions) == 1 else None
    if any(step.predicates is None for step in steps):
        yield None, common
        return
    ways: defaultdict[str, set[EdgeDirection | None]] = defaultdict(set)
    for step in steps:
        for name in step.predicates or ():
            ways[name].add(step.direction)
    groups: defaultdict[EdgeDirection | None, set[str]] = defaultdict(set)
    for name, found in ways.items():
        groups[next(iter(found)) if len(found) == 1 else None].add(name)
    for direction, names in sorted(groups.items(), key=str):
        yield frozenset(names), direction
