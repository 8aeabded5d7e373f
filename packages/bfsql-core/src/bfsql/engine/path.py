"""Walks along a path: the arcs of each step, read from the seeds, from the targets, or from both.

A step that may be taken several times has one layer of arcs for each time. For a layer, the
edges that its step names are read at the nodes that the previous layers reach or, from the
targets, at the nodes that the following layers leave. `bfsql.engine.walks` determines which
arcs lie on complete walks. Where none is complete, the dead end is looked at again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np

from bfsql import call
from bfsql.arrays import NO_HANDLES, Handles, are_named, distinct, distinct_numbers
from bfsql.engine.arcs import FLIPPED, Arcs, Junction
from bfsql.engine.conditions import Conditions
from bfsql.engine.plan import Bounds
from bfsql.engine.step_pairs import different_nodes
from bfsql.engine.table import AnswerTable, Numbers, count_of
from bfsql.engine.thresholds import ARC_BYTES, JUNCTION_BYTES, RING_SHARE
from bfsql.engine.traverse import types_of, whole_ring
from bfsql.engine.walks import Layer, Walks, layers_of
from bfsql.errors import BoundMet, StepUnfinished, ToolError
from bfsql.integers import NO_NODE, BoolArray, IntArray, IntegerGraph, NodeSet
from bfsql.models import AnswerGaps, DeadEnd, Path, PathQuery, Step
from bfsql.query.properties import PATHS, counted_steps
from bfsql.workers import off_loop


class Frontier(NamedTuple):
    """The nodes at which the reading of a layer began."""

    nodes: IntArray
    backwards: bool
    """Whether the nodes are those that the layer has to reach."""
    removed: bool
    """Whether conditions removed something that was found from these nodes."""


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

    Attributes:
        layers: The layers of the path.
        arcs: The arcs of each layer, from which pruning makes the answer.
        frontiers: By layer: where its reading began.
        starts: Handles of the seeds at which a walk may start.
        starts_removed: Whether conditions removed some of the seeds.
        targets: Handles of the nodes at which a walk may end; None for any node.
        targets_removed: Whether conditions removed some of these nodes.
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
        self.columns, self.path, self._conditions = columns, path, conditions
        self._bounds, self._turning, self._existing = bounds, turning, existing
        self._room = bounds.edges
        self._nodes = Handles(columns.size)
        self._node_count = 0
        self.layers = layers_of(path.steps)
        nothing = Arcs(NO_HANDLES, NO_HANDLES, NO_HANDLES, np.empty(0, bool))
        self.arcs = [nothing] * len(self.layers)
        self.seeds, self._named_targets = seeds, targets
        self.starts, self.starts_removed = NO_HANDLES, False
        self.targets: IntArray | None = None
        self.targets_removed = False
        # Targets that conditions remove elsewhere: a walk may end there, and not pass them.
        self._ends_only = Handles(columns.size)
        self._entities: dict[int, NodeSet] = {}
        self.frontiers: dict[int, Frontier] = {}
        self._done_front, self._done_back = 0, len(self.layers)

    async def read(self) -> Self:
        """Read all layers, each time on the side with fewer nodes.

        Raises:
            StepUnfinished: The deadline passed during a step, or the step exceeds a bound.
        """
        steps = self.path.steps
        self._entities = {
            number: NodeSet.of(filter(None, await call.within(self.columns.find(sorted(ids)))))
            for number, step in enumerate(steps)
            if (ids := step.end.ids)
        }
        targets = self._named_targets
        if targets is None:
            targets = self._entities.get(len(steps) - 1)
        start = self.path.start.types
        self.starts, self.starts_removed = await self._kept_at(self.seeds, 0, start)
        if targets is not None:
            kept = self._kept_at(targets, len(steps), steps[-1].types)
            self.targets, self.targets_removed = await kept
        while self._done_front < self._done_back:
            read = self._bounds.edges - self._room
            front, back = await off_loop(read, lambda: (self._front(), self._back()))
            if back is not None and len(back) < len(front):
                self._done_back -= 1
                await self._read_layer(self._done_back, back, backwards=True)
            else:
                await self._read_layer(self._done_front, front, backwards=False)
                self._done_front += 1
        return self

    async def lost(self, step: int, kept: IntArray) -> tuple[int, int] | None:
        """The number of nodes reached at a step that are not kept, and of all reached there.

        None if all are kept, or if those behind the start may have been read from the end.
        """
        every, end = [self.starts], self.path.steps[-1].end
        if step:
            is_last = step == len(self.path.steps)
            if is_last or self._named_targets is not None or end.ids or end.conditions:
                return None
            layers = (n for n, layer in enumerate(self.layers) if layer.step == step - 1)
            every = [self.arcs[n].ends for n in layers if self.layers[n].onwards]
        lost = np.setdiff1d(np.concatenate(every), kept)
        if step and len(lost):
            lost = lost[await types_of(self.columns, lost) != NO_NODE]
        return (len(lost), len(lost) + len(kept)) if len(lost) else None

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

    # --- frontiers ----------------------------------------------------------------

    def _front(self) -> IntArray:
        """The nodes at which the next layer from the seeds starts."""
        before = self.layers[self._done_front].before
        if not before:
            return self.starts
        nodes = distinct_numbers(np.concatenate([self.arcs[n].ends for n in before]))
        self._ends_only.cover(self.columns.size)
        return nodes[~self._ends_only.has(nodes)]

    def _back(self) -> IntArray | None:
        """The nodes that the next layer from the targets has to reach; None without targets."""
        if self.targets is None:
            return None
        number = self._done_back - 1
        parts = [self.arcs[n].origins for n in self._layers_after(number)]
        if self._is_last(self.layers[number]):
            parts.append(self.targets)
        return distinct_numbers(np.concatenate([NO_HANDLES, *parts]))

    def _layers_after(self, number: int) -> list[int]:
        """The layers that may follow a layer."""
        return [n for n, layer in enumerate(self.layers) if number in layer.before]

    # --- one layer ----------------------------------------------------------------

    async def _read_layer(self, number: int, frontier: IntArray, *, backwards: bool) -> None:
        """Read the arcs of a layer at some nodes and apply the conditions."""
        layer = self.layers[number]
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
            self.arcs[number] = arcs
        self.frontiers[number] = Frontier(frontier, backwards, self._removed)

    def _unfinished(self, layer: Layer, frontier: IntArray, met: BoundMet | None) -> StepUnfinished:
        return StepUnfinished(
            layer.step + 1, self.path.steps[layer.step].text, len(frontier), call.seconds(), met
        )

    async def _fresh(self, layer: Layer, frontier: IntArray, *, backwards: bool) -> Arcs:
        """The arcs of a step that leave some nodes or, backwards, end there."""
        columns, step = self.columns, self.path.steps[layer.step]
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
        layer = self.layers[number]
        beside = self._layers_after(number) if backwards else layer.before
        most = max((len(self.arcs[n]) for n in beside), default=0)
        call.hold(JUNCTION_BYTES * (len(arcs) + most))
        arcs = await off_loop(len(arcs), lambda: self._joined(number, arcs, backwards=backwards))
        if len(arcs):
            self._conditions.learn(NO_HANDLES, arcs.predicates)
            stays = await self._conditions.keeps_edges(arcs.ring, layer.step + 1)
            self._removed |= not stays.all()
            arcs = arcs.selected(stays)
        reached = arcs.origins if backwards else arcs.ends
        if backwards and not layer.before:
            nodes = self.starts
        else:
            entered = self.layers[layer.before[0] if backwards else number]
            nodes = await off_loop(len(reached), lambda: distinct_numbers(reached))
            self._count(nodes)
            nodes = await self._kept_nodes(nodes, entered, ending=not backwards)
        size = self.columns.size
        return await off_loop(len(arcs), lambda: arcs.selected(Handles(size, nodes).has(reached)))

    def _joined(self, number: int, arcs: Arcs, *, backwards: bool) -> Arcs:
        """The arcs that meet an arc of a layer read before that is another edge."""
        layer, size = self.layers[number], self.columns.size
        beside = self._layers_after(number) if backwards else layer.before
        # They begin, or end, at nodes of these, which bars only edges that are taken twice.
        if self._turning or not any(self.arcs[n].may_share_edges(arcs) for n in beside):
            return arcs
        met = np.zeros(len(arcs), bool)
        if backwards and self._is_last(layer):
            met = Handles(size, self.targets).has(arcs.ends)
        for n in beside:
            pair = (arcs, self.arcs[n]) if backwards else (self.arcs[n], arcs)
            met |= Junction(*pair, size, turning=self._turning).meets(backwards=backwards)
        return arcs.selected(met)

    def _count(self, nodes: IntArray) -> None:
        """Count the nodes reached; BoundMet if there are too many."""
        self._nodes.cover(self.columns.size)
        new = nodes[~self._nodes.has(nodes)]
        self._nodes.add(new)
        self._node_count += len(new)
        if self._node_count > self._bounds.nodes:
            raise BoundMet("nodes", self._bounds.nodes)

    async def _kept_nodes(self, nodes: IntArray, layer: Layer, *, ending: bool) -> IntArray:
        """The nodes that a layer may reach; with `ending`, walks may end at the targets."""
        columns, conditions = self.columns, self._conditions
        wanted = self.path.steps[layer.step].types
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
        ends = self.targets if ending and self._is_last(layer) else None
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
            typed = are_named(kinds, self.columns.type_names, types)
            handles, kinds = handles[typed], kinds[typed]
        self._conditions.learn(kinds, NO_HANDLES)
        kept = np.zeros(len(handles), bool)
        is_named = np.isin(handles, nodes.named)
        for group, named in ((is_named, True), (~is_named, False)):
            if group.any():
                judged = handles[group], kinds[group]
                kept[group] = await self._conditions.keeps_nodes(*judged, step, named=named)
        return handles[kept], not kept.all()

    def _is_last(self, layer: Layer) -> bool:
        """Whether a walk may end behind a layer."""
        return layer.onwards and layer.step == len(self.path.steps) - 1


# --- the answer -----------------------------------------------------------------


async def walk_table(
    reader: Callable[..., PathReader], query: PathQuery, conditions: Conditions, bounds: Bounds
) -> tuple[AnswerTable, bool]:
    """The complete walks of a path, and whether no bound cut off what is said about them.

    Args:
        reader: Makes a reader of the path; where no walk is complete, it is read again.
        query: The path and its shown step.
        conditions: Filters that remove nodes and edges before a walk continues.
        bounds: Limits on the nodes and edges to read.

    Raises:
        ToolError: A measure cannot be read.
        StepUnfinished: The deadline passed during a step, or the step exceeds a bound.
        TypesUnread: The deadline passed before the types were read.
        NodesUncounted: The deadline passed while different nodes were counted.
    """
    tests = conditions.step_tests
    counted = counted_steps(query)  # before anything is read: a measure may be no measure
    reading = await reader().read()
    columns, size = reading.columns, sum(map(len, reading.arcs))
    start = (columns, reading.layers, reading.arcs, reading.starts, reading.targets)
    walks = await off_loop(size, lambda: Walks(*start))
    nodes = await off_loop(size, lambda: walks.nodes)
    complete = bool(len(nodes))
    facts = AnswerGaps()
    if any(one.expression for one in query.comparisons) and complete:
        # Some stores have edges of ids without a node, whose pairs are not counted.
        absent = nodes[await types_of(columns, nodes) == NO_NODE]
        gone = Handles(columns.size, absent)
        walks, facts = await off_loop(size, lambda: _without(walks, gone))
    if query.comparisons and complete:
        walks = await tests.meeting(walks, query.comparisons, bounds.edges)
        nodes = await off_loop(size, lambda: walks.nodes)
    types = await types_of(columns, nodes)
    missing = Handles(columns.size, nodes[types == NO_NODE])
    if missing:
        walks, facts = await off_loop(size, lambda: _without(walks, missing))
        types = await types_of(columns, await off_loop(size, lambda: walks.nodes))
    facts = replace(
        facts, conditions=conditions.facts, valueless=tuple(tests.without_value.items())
    )
    dead_end, search = None, _DeadEndSearch(reader, reading)
    if complete and not len(nodes):
        dead_end = DeadEnd(walks.steps, "", 0, compared=True)
    elif not len(walks.nodes):
        dead_end = await search.find(missing=bool(missing), relations=bool(query.seeds))
    step = query.ordered_step
    shown = await columns.ordered(await off_loop(size, lambda: walks.nodes_of(step)))

    if len(shown) and query.seeds:
        first = step if query.row_step is None else 0
        facts = replace(facts, lost=await reading.lost(first, walks.nodes_of(first)))

    def table() -> AnswerTable:
        numbers: dict[str, Numbers] = {PATHS: walks.paths(step, shown)}
        for other in counted:
            numbers[count_of(other)] = different_nodes(walks, step, shown, other)
        whole = AnswerTable.of(columns, walks.nodes, types, walks.edges, facts)
        return replace(whole, listed=shown, walks=walks, dead_end=dead_end, numbers=numbers)

    return await off_loop(size, table), search.is_whole


def _without(walks: Walks, missing: Handles) -> tuple[Walks, AnswerGaps]:
    """The walks over existing nodes only, and facts that count what the missing nodes remove."""
    walks = walks.without(missing, ends=False)
    last = walks.ending(missing)
    ends = last.ends
    return walks.without(missing, ends=True), AnswerGaps(
        dangling_ids=len(distinct_numbers(ends[missing.has(ends)])),
        dangling_edges=len(last.subjects),
    )


class _DeadEndSearch:
    """Further looks at the graph where no walk is complete, to say why.

    A store may have edges of an id without a node, or not.

    Args:
        reader: Reads the path again.
        reading: What was read of it.

    Attributes:
        is_whole: Whether no look was cut off by a bound; what it would have found is not said.
    """

    def __init__(self, reader: Callable[..., PathReader], reading: PathReader) -> None:
        self._reader, self._reading = reader, reading
        self.is_whole = True

    async def find(self, *, missing: bool, relations: bool) -> DeadEnd | None:
        """The end of the longest walks over existing nodes; None if both sides do not meet.

        Args:
            missing: Whether walks lead over ids without a node.
            relations: Whether to find the relations that lead on from there.
        """
        reading = self._reading
        with self._bounded():
            if not missing:
                starts = [one.nodes for one in reading.frontiers.values()]
                nodes = distinct_numbers(np.concatenate(starts))
                missing = bool((await types_of(reading.columns, nodes) == NO_NODE).any())
            if missing:
                self._reading = await self._reader(existing=True).read()
        found = await self._longest(relations=relations)
        if await self._turns_back(existing=missing):
            apart = DeadEnd(len(reading.path.steps), "", 0, apart=True)
            return replace(found or apart, turned_back=True)
        return found

    @contextmanager
    def _bounded(self) -> Iterator[None]:
        """A look that ends where it meets a bound, and holds no memory of the call after it."""
        try:
            with call.borrowed():
                yield
        except (BoundMet, ToolError, TimeoutError):
            self.is_whole = False

    async def _longest(self, *, relations: bool) -> DeadEnd | None:
        """The end of the longest walks; None if the walks from both sides do not meet."""
        reading = self._reading
        if not len(reading.starts):
            count = len(reading.seeds.handles)
            return DeadEnd(0, "", count, removed=reading.starts_removed)
        steps = reading.path.steps
        if reading.targets is not None and not len(reading.targets):
            removed = reading.targets_removed
            return DeadEnd(len(steps), steps[-1].text, 0, removed=removed, backwards=True)
        layer, misses_targets = reading.dead_end, False
        if layer is None:
            layer, misses_targets = len(reading.layers) - 1, True
            if reading.frontiers[layer].backwards:
                return None
        nodes, backwards, removed = reading.frontiers[layer]
        number = reading.layers[layer].step
        step = steps[number]
        turned = None
        if step.direction is not None and not removed:
            other = replace(step, direction=FLIPPED[step.direction])
            if await self._finds(layer, other):
                turned = other.text
        leading_on: list[str] = []
        explained = turned or removed or backwards or misses_targets
        if relations and not explained and len(nodes) <= 2_000:
            with self._bounded():
                leading_on = await self._relations(layer)
        return DeadEnd(
            number + 1,
            step.text,
            len(nodes),
            removed=removed,
            turned=turned,
            backwards=backwards,
            misses_targets=misses_targets,
            relations=leading_on,
        )

    async def _relations(self, layer: int, most: int = 2_000) -> list[str]:
        """The relations where the longest walks ended, the most frequent first.

        None are given if they have more than `most` edges. Nothing is missing from the answer that
        the store omits here.
        """
        edges, columns = set[tuple[int, ...]](), self._reading.columns
        with call.joined() as under_way, under_way.own_omissions(kept=False):
            async with call.time_limit(0.5), aclosing(self._arcs(layer, Step())) as batches:
                async for arcs in batches:
                    kinds = await types_of(columns, arcs.ends)
                    every = (arcs.along, arcs.predicates, kinds, arcs.origins, arcs.ends)
                    edges.update(map(tuple, np.stack(every, axis=1).tolist()))
                    if len(edges) > most:
                        return []
        names, types = columns.predicate_names, columns.type_names
        steps = Counter(
            f"-{names[p]}-> {types[kind]}" if along else f"<-{names[p]}- {types[kind]}"
            for along, p, kind, *_ in edges
            if kind != NO_NODE
        )
        return sorted(steps, key=lambda step: (-steps[step], step))

    async def _turns_back(self, *, existing: bool) -> bool:
        """Whether there would be walks if two consecutive edges could be the same."""
        steps = self._reading.path.steps
        following = [*pairwise(steps), *((one, one) for one in steps if one.most > 1)]
        named = ([one.predicates for one in pair] for pair in following)
        if not any(a is None or b is None or set(a) & set(b) for a, b in named):
            return False
        nodes = NO_HANDLES
        with self._bounded():
            found = await self._reader(turning=True, existing=existing).read()
            start = (found.columns, found.layers, found.arcs, found.starts, found.targets)
            size = sum(map(len, found.arcs))
            nodes = await off_loop(size, lambda: Walks(*start, turning=True).nodes)
        return len(nodes) > 0

    async def _finds(self, layer: int, step: Step) -> bool:
        """Whether another step, in place of one that found nothing, leads to required nodes."""
        reading = self._reading
        columns, layers = reading.columns, reading.layers
        types, among = step.types, reading.targets if layer == len(layers) - 1 else None
        if reading.frontiers[layer].backwards:
            before = layers[layer].before
            types = reading.path.steps[layers[before[0]].step].types if before else None
            among = None if before else reading.starts
        try:
            async with aclosing(self._arcs(layer, step)) as batches:
                async for arcs in batches:
                    ends = distinct_numbers(arcs.ends)
                    if among is not None:
                        ends = ends[np.isin(ends, among)]
                    kinds = await types_of(columns, ends)
                    if types is not None:
                        kinds = kinds[are_named(kinds, columns.type_names, types)]
                    if (kinds != NO_NODE).any():
                        return True
        except (BoundMet, TimeoutError):
            self.is_whole = False
        return False

    async def _arcs(self, layer: int, step: Step) -> AsyncGenerator[Arcs]:
        """The arcs of another step, in place of one that found nothing."""
        reading = self._reading
        columns, (nodes, backwards, *_) = reading.columns, reading.frontiers[layer]
        direction = FLIPPED[step.direction] if backwards else step.direction
        starts = Handles(columns.size, nodes)
        batches = columns.rings(nodes, predicates=step.predicates, direction=direction)
        async with aclosing(batches):
            async for ring in batches:
                call.has_read(edges=len(ring.subjects))
                starts.cover(columns.size)
                edges = distinct(ring, columns.size) if columns.repeats else ring
                arcs = Arcs.of(edges, starts, direction)
                for earlier in () if backwards else reading.layers[layer].before[-1:]:
                    arcs = arcs.selected(reading.meets(earlier, arcs))
                yield arcs
