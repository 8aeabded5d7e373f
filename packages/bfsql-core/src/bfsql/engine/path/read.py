"""Walks along a path: the arcs of each step, read from the seeds, from the targets, or from both.

A step that may be taken several times has one layer of arcs for each time. For a layer, the
edges that its step names are read at the nodes that the previous layers reach or, from the
targets, at the nodes that the following layers leave. `bfsql.engine.path.prune` determines which
arcs lie on complete walks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bfsql import call
from bfsql.arrays import NO_HANDLES, Handles, are_named, distinct_numbers
from bfsql.engine.arcs import FLIPPED, Arcs, Junction
from bfsql.engine.conditions import Conditions
from bfsql.engine.thresholds import ARC_BYTES, JUNCTION_BYTES, RING_SHARE
from bfsql.engine.traverse import Bounds, whole_ring
from bfsql.errors import BoundMet, StepUnfinished
from bfsql.integers import NO_NODE, BoolArray, IntArray, IntegerGraph, NodeSet
from bfsql.models import Path, Step
from bfsql.workers import off_loop


@dataclass(frozen=True, slots=True)
class Layer:
    """One repetition of a step."""

    step: int
    """Number of the step, from 0."""
    time: int
    """The number of times that the step has been taken, including this one."""
    before: tuple[int, ...]
    """The layers that a walk may come from; empty if a walk begins at this layer."""
    again: bool
    """Whether the step may be taken once more."""
    onwards: bool
    """Whether the next step, or the end of the walk, may follow."""


def layers_of(steps: Sequence[Step]) -> tuple[Layer, ...]:
    """The layers of some steps; each layer comes after those that a walk may come from."""
    layers: list[Layer] = []
    done: tuple[int, ...] = ()
    for number, step in enumerate(steps):
        before, done = done, ()
        for time in range(1, step.most + 1):
            onwards = time >= step.least
            layers.append(Layer(number, time, before, time < step.most, onwards))
            before = (len(layers) - 1,)
            done += before if onwards else ()
    return tuple(layers)


class Frontier(NamedTuple):
    """The nodes at which the reading of a layer began."""

    nodes: IntArray
    backwards: bool
    """Whether the nodes are those that the layer has to reach."""
    removed: bool
    """Whether conditions removed something that was found from these nodes."""


@dataclass(frozen=True, slots=True)
class PathReading:
    """The layers of a path and their arcs, from which pruning makes the answer."""

    columns: IntegerGraph
    path: Path
    layers: tuple[Layer, ...]
    seeds: IntArray
    """Handles of all seeds."""
    starts: IntArray
    """Handles of the seeds at which a walk may start."""
    starts_removed: bool
    """Whether conditions removed some of these seeds."""
    targets: IntArray | None
    """Handles of the nodes at which a walk may end; None for any node."""
    targets_removed: bool
    """Whether conditions removed some of these nodes."""
    arcs: Sequence[Arcs]
    """The arcs of each layer."""
    frontiers: Sequence[Frontier]
    """The frontier of each layer."""

    @property
    def dead_end(self) -> int | None:
        """The layer at which the longest walks ended; None if all layers have arcs.

        The layer is found from the targets if the walks from there ended.
        """
        ends = [n for way in (False, True) if (n := self._dead_end(backwards=way)) is not None]
        return ends[0] if ends else None

    def meets(self, before: int, arcs: Arcs) -> BoolArray:
        """Which arcs meet an arc of an earlier layer that is another edge."""
        return Junction(self.arcs[before], arcs, self.columns.size).meets()

    def _dead_end(self, *, backwards: bool) -> int | None:
        steps = range(len(self.path.steps))
        for step in reversed(steps) if backwards else steps:
            numbers = [n for n, layer in enumerate(self.layers) if layer.step == step]
            empty = [
                n
                for n in numbers
                if not len(self.arcs[n]) and self.frontiers[n].backwards == backwards
            ]
            leading = [n for n in numbers if backwards or self.layers[n].onwards]
            if set(leading) <= set(empty):
                started = [n for n in empty if len(self.frontiers[n].nodes)]
                return started[-1 if backwards else 0] if started else empty[0]
        return None


class PathReader:
    """Reads the arcs of all steps of a path.

    Args:
        columns: The graph.
        path: The steps.
        seeds: The nodes at which walks start.
        targets: The nodes at which walks must end; None for any node.
        conditions: Filters that remove nodes and edges before a walk continues.
        bounds: Limits on the nodes and edges; a step that exceeds one is not finished.
        turning: Whether two consecutive edges may be the same.
        existing: Whether walks end at ids without a node.
    """

    def __init__(
        self,
        columns: IntegerGraph,
        path: Path,
        seeds: NodeSet,
        targets: NodeSet | None,
        *,
        conditions: Conditions,
        bounds: Bounds,
        turning: bool = False,
        existing: bool = False,
    ) -> None:
        self._columns, self._path, self._conditions = columns, path, conditions
        self._bounds, self._turning, self._existing = bounds, turning, existing
        self._room = bounds.edges
        self._nodes = Handles(columns.size)
        self._node_count = 0
        self._layers = layers_of(path.steps)
        nothing = Arcs(NO_HANDLES, NO_HANDLES, NO_HANDLES, np.empty(0, bool))
        self._arcs = [nothing] * len(self._layers)
        self._seeds, self._targets = seeds, targets
        self._starts = NO_HANDLES
        self._ends: IntArray | None = None
        # Targets that conditions remove elsewhere: a walk may end there, and not pass them.
        self._ends_only = Handles(columns.size)
        self._entities: dict[int, NodeSet] = {}
        self._frontiers: dict[int, Frontier] = {}
        self._done_front, self._done_back = 0, len(self._layers)

    async def read(self) -> PathReading:
        """Read all layers, each time on the side with fewer nodes.

        Raises:
            StepUnfinished: The deadline passed during a step, or the step exceeds a bound.
        """
        steps = self._path.steps
        self._entities = {
            number: await self._named_at(step) for number, step in enumerate(steps) if step.end.ids
        }
        targets = self._targets
        if targets is None:
            targets = self._entities.get(len(steps) - 1)
        self._starts, starts_removed = await self._kept_at(self._seeds, 0, self._path.start.types)
        targets_removed = False
        if targets is not None:
            kept = self._kept_at(targets, len(steps), steps[-1].types)
            self._ends, targets_removed = await kept
        while self._done_front < self._done_back:
            read = self._bounds.edges - self._room
            front, back = await off_loop(read, lambda: (self._front(), self._back()))
            if back is not None and len(back) < len(front):
                self._done_back -= 1
                await self._read_layer(self._done_back, back, backwards=True)
            else:
                await self._read_layer(self._done_front, front, backwards=False)
                self._done_front += 1
        return PathReading(
            self._columns,
            self._path,
            self._layers,
            self._seeds.handles,
            self._starts,
            starts_removed,
            self._ends,
            targets_removed,
            self._arcs,
            [self._frontiers[n] for n in range(len(self._layers))],
        )

    # --- frontiers ----------------------------------------------------------------

    def _front(self) -> IntArray:
        """The nodes at which the next layer from the seeds starts."""
        before = self._layers[self._done_front].before
        if not before:
            return self._starts
        nodes = distinct_numbers(np.concatenate([self._arcs[n].ends for n in before]))
        self._ends_only.cover(self._columns.size)
        return nodes[~self._ends_only.has(nodes)]

    def _back(self) -> IntArray | None:
        """The nodes that the next layer from the targets has to reach; None without targets."""
        if self._ends is None:
            return None
        number = self._done_back - 1
        parts = [self._arcs[n].origins for n in self._layers_after(number)]
        if self._is_last(self._layers[number]):
            parts.append(self._ends)
        return distinct_numbers(np.concatenate([NO_HANDLES, *parts]))

    def _layers_after(self, number: int) -> list[int]:
        """The layers that may follow a layer."""
        return [n for n, layer in enumerate(self._layers) if number in layer.before]

    # --- one layer ----------------------------------------------------------------

    async def _read_layer(self, number: int, frontier: IntArray, *, backwards: bool) -> None:
        """Read the arcs of a layer at some nodes and apply the conditions."""
        layer = self._layers[number]
        self._removed = False
        if len(frontier):
            try:
                async with call.time_limit(RING_SHARE):
                    with call.borrowed():
                        arcs = await self._fresh(layer, frontier, backwards=backwards)
                        arcs = await self._continuing_arcs(number, arcs, backwards=backwards)
                    call.hold(ARC_BYTES * len(arcs))
            except TimeoutError as late:
                raise self._unfinished(layer, frontier, None) from late
            except BoundMet as met:
                raise self._unfinished(layer, frontier, met) from None
            self._room -= len(arcs)
            self._arcs[number] = arcs
        self._frontiers[number] = Frontier(frontier, backwards, self._removed)

    def _unfinished(self, layer: Layer, frontier: IntArray, met: BoundMet | None) -> StepUnfinished:
        return StepUnfinished(
            layer.step + 1, self._path.steps[layer.step].text, len(frontier), call.seconds(), met
        )

    async def _fresh(self, layer: Layer, frontier: IntArray, *, backwards: bool) -> Arcs:
        """The arcs of a step that leave some nodes or, backwards, end there."""
        columns, step = self._columns, self._path.steps[layer.step]
        direction = FLIPPED[step.direction] if backwards else step.direction
        read = self._bounds.edges - self._room
        ring = await whole_ring(
            columns, frontier, self._bounds, step.predicates, direction, elsewhere=read
        )

        def arcs() -> Arcs:
            made = Arcs.of(ring, Handles(columns.size, frontier), direction)
            return made.turned() if backwards else made

        return await off_loop(len(ring.subjects), arcs)

    async def _continuing_arcs(self, number: int, arcs: Arcs, *, backwards: bool) -> Arcs:
        """The arcs that join those read before and that the conditions keep."""
        layer = self._layers[number]
        beside = self._layers_after(number) if backwards else layer.before
        most = max((len(self._arcs[n]) for n in beside), default=0)
        call.hold(JUNCTION_BYTES * (len(arcs) + most))
        arcs = await off_loop(len(arcs), lambda: self._joined(number, arcs, backwards=backwards))
        if len(arcs):
            self._conditions.learn(NO_HANDLES, arcs.predicates)
            stays = await self._conditions.keeps_edges(arcs.ring, layer.step + 1)
            self._removed |= not stays.all()
            arcs = arcs.selected(stays)
        reached = arcs.origins if backwards else arcs.ends
        if backwards and not layer.before:
            nodes = self._starts
        else:
            entered = self._layers[layer.before[0] if backwards else number]
            nodes = await off_loop(len(reached), lambda: distinct_numbers(reached))
            self._count(nodes)
            nodes = await self._kept_nodes(nodes, entered, ending=not backwards)
        size = self._columns.size
        return await off_loop(len(arcs), lambda: arcs.selected(Handles(size, nodes).has(reached)))

    def _joined(self, number: int, arcs: Arcs, *, backwards: bool) -> Arcs:
        """The arcs that meet an arc of a layer read before that is another edge."""
        layer, size = self._layers[number], self._columns.size
        if not backwards and not layer.before:
            return arcs
        met = np.zeros(len(arcs), bool)
        if backwards and self._is_last(layer):
            met = Handles(size, self._ends).has(arcs.ends)
        for n in self._layers_after(number) if backwards else layer.before:
            pair = (arcs, self._arcs[n]) if backwards else (self._arcs[n], arcs)
            met |= Junction(*pair, size, turning=self._turning).meets(backwards=backwards)
        return arcs.selected(met)

    def _count(self, nodes: IntArray) -> None:
        """Count the nodes reached; BoundMet if there are too many."""
        self._nodes.cover(self._columns.size)
        new = nodes[~self._nodes.has(nodes)]
        self._nodes.add(new)
        self._node_count += len(new)
        if self._node_count > self._bounds.nodes:
            raise BoundMet("nodes", self._bounds.nodes)

    async def _kept_nodes(self, nodes: IntArray, layer: Layer, *, ending: bool) -> IntArray:
        """The nodes that a layer may reach; with `ending`, walks may end at the targets."""
        columns, conditions = self._columns, self._conditions
        wanted = self._path.steps[layer.step].types
        if entities := self._entities.get(layer.step):
            nodes = nodes[np.isin(nodes, entities.handles)]
        if not len(nodes):
            return nodes
        types = np.zeros(len(nodes), np.int32)
        if wanted is not None or conditions.reads_types or self._existing:
            types = await columns.types(nodes)
            kept = types != NO_NODE
            if wanted is not None:
                kept &= are_named(types, columns.type_names, wanted)
            nodes, types = nodes[kept], types[kept]
            conditions.learn(types, NO_HANDLES)
        ends = self._ends if ending and self._is_last(layer) else None
        named = Handles(columns.size, ends).has(nodes)
        due = ~named | layer.again
        stays = named.copy()
        stays[due] = await conditions.keeps_nodes(nodes[due], types[due], layer.step + 1)
        self._ends_only.cover(columns.size)
        self._ends_only.add(nodes[named & ~stays])
        stays |= named
        self._removed |= not stays.all()
        return nodes[stays]

    async def _kept_at(
        self, nodes: NodeSet, step: int, types: frozenset[str] | None
    ) -> tuple[IntArray, bool]:
        """The nodes named for a step that have its types and that the conditions keep.

        Conditions that do not name the step spare entities that the call named.

        Returns:
            The nodes, and whether conditions removed some.
        """
        handles, kinds = nodes.handles, nodes.types
        if types is not None:
            typed = are_named(kinds, self._columns.type_names, types)
            handles, kinds = handles[typed], kinds[typed]
        self._conditions.learn(kinds, NO_HANDLES)
        kept = np.zeros(len(handles), bool)
        is_named = np.isin(handles, nodes.named)
        for group, named in ((is_named, True), (~is_named, False)):
            if group.any():
                judged = handles[group], kinds[group]
                kept[group] = await self._conditions.keeps_nodes(*judged, step, named=named)
        return handles[kept], not kept.all()

    async def _named_at(self, step: Step) -> NodeSet:
        """The entities at which a step may end."""
        found = await call.within(self._columns.find(sorted(step.end.ids or ())))
        return NodeSet.of([node for node in found if node is not None])

    def _is_last(self, layer: Layer) -> bool:
        """Whether a walk may end behind a layer."""
        return layer.onwards and layer.step == len(self._path.steps) - 1
