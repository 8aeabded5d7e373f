"""The answer of a path: its complete walks, the shown nodes and their pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np

from bfsql import call
from bfsql.arrays import (
    NO_EDGES,
    NO_HANDLES,
    Handles,
    LongArray,
    are_named,
    distinct,
    distinct_numbers,
    places_of,
)
from bfsql.engine.conditions import Conditions
from bfsql.engine.pages import PagePlaces, Pages, Prefix
from bfsql.engine.path.arcs import FLIPPED, Arcs
from bfsql.engine.path.compare import compared
from bfsql.engine.path.distinct import different_nodes
from bfsql.engine.path.prune import Walks
from bfsql.engine.path.read import PathReader, PathReading
from bfsql.engine.select import Selection
from bfsql.engine.traverse import Bounds, types_of
from bfsql.errors import BoundMet, ToolError
from bfsql.integers import NO_NODE, IntArray, IntegerGraph, NodeSet
from bfsql.models import (
    MOST_PATHS,
    AnswerGaps,
    BfsResult,
    DeadEnd,
    PathQuery,
    ShownNodes,
    SortKeySummary,
    Step,
)
from bfsql.models.facet import Value
from bfsql.query.properties import counted_steps
from bfsql.workers import off_loop


@dataclass(frozen=True, slots=True)
class PathResult:
    """The whole answer of a path, before its page is cut."""

    walks: Walks
    selection: Selection
    """All nodes and edges of the answer."""
    shown: IntArray
    """Handles of the shown nodes, in order."""
    paths: LongArray
    """Number of walks through each shown node."""
    counts: Mapping[int, LongArray]
    """By step: the number of its different nodes on these walks."""
    dead_end: DeadEnd | None
    measures: tuple[Sequence[Value], ...] = ()
    """The measures of the query for each shown node; `bfsql.engine.measure` adds them."""

    def sorted_by(
        self, places: IntArray, order: SortKeySummary, degrees: LongArray | None
    ) -> PathResult:
        """The answer with its shown nodes in another order, given by their places.

        Args:
            places: The places of the shown nodes, in the new order.
            order: The facts about the order.
            degrees: The degree of each node at its old place, if they are sorted by it.
        """
        facts = replace(self.selection.facts, order=order if len(places) else None)
        rows = places.tolist()
        return replace(
            self,
            selection=replace(
                self.selection,
                facts=facts,
                degrees=None if degrees is None else degrees[places],
                last_page=[],
            ),
            shown=self.shown[places],
            paths=self.paths[places],
            counts={step: counts[places] for step, counts in self.counts.items()},
            measures=tuple([column[row] for row in rows] for column in self.measures),
        )


async def follow(
    columns: IntegerGraph,
    query: PathQuery,
    seeds: NodeSet,
    targets: NodeSet | None,
    *,
    conditions: Conditions,
    bounds: Bounds,
) -> PathResult:
    """Walk a path and keep the nodes and edges on complete walks.

    A result found earlier without any filter is reused.

    Args:
        columns: The graph.
        query: The path and its shown step.
        seeds: The nodes at which walks start.
        targets: The nodes at which walks must end; None for any node.
        conditions: Filters that remove nodes and edges before a walk continues.
        bounds: Limits on the nodes and edges to read.

    Raises:
        StepUnfinished: The deadline passed during a step, or the step exceeds a bound.
        TypesUnread: The deadline passed before the types were read.
        NodesUncounted: The deadline passed while different nodes were counted.
    """
    cache = None if conditions or query.comparisons else columns.answer_cache
    ends = [None if nodes is None else nodes.handles.tobytes() for nodes in (seeds, targets)]
    # Its type tells whether properties are redacted, as in `selected`.
    request = (type(columns), query.path, *ends, query.ordered_step, counted_steps(query), bounds)
    result: PathResult | None = None if cache is None else cache.find(request)
    if result is None:
        reader = partial(
            PathReader, columns, query.path, seeds, targets, conditions=conditions, bounds=bounds
        )
        result = await _result(reader, query, conditions, bounds)
        # What is known of a dead end depends on the time that was left to look at it.
        if cache is not None and result.dead_end is None:
            arcs = sum(map(len, result.walks.arcs))
            selection = result.selection
            cache.keep(request, result, len(selection.nodes) + len(selection.edges.subjects) + arcs)
    return result


async def _result(
    reader: Callable[..., PathReader], query: PathQuery, conditions: Conditions, bounds: Bounds
) -> PathResult:
    """The complete walks among those that are read, and what they show."""
    reading = await reader().read()
    columns, size = reading.columns, sum(map(len, reading.arcs))
    start = (columns, reading.layers, reading.arcs, reading.starts, reading.targets)
    walks = await off_loop(size, lambda: Walks(*start))
    nodes = await off_loop(size, lambda: walks.nodes)
    complete = bool(len(nodes))
    if query.comparisons and complete:
        walks = await off_loop(size, lambda: compared(walks, query.comparisons, bounds.edges))
        nodes = await off_loop(size, lambda: walks.nodes)
    types = await types_of(columns, nodes)
    missing, facts = Handles(columns.size, nodes[types == NO_NODE]), AnswerGaps()
    if missing:
        walks, facts = await off_loop(size, lambda: _without(walks, missing))
        types = await types_of(columns, await off_loop(size, lambda: walks.nodes))
    facts = replace(facts, conditions=conditions.facts)
    dead_end = None
    if complete and not len(nodes):
        dead_end = DeadEnd(walks.steps, "", 0, compared=True)
    elif not len(walks.nodes):
        # A condition on relations, whose query has no seeds, is read for nodes in any portions, so
        # what leads on from them would differ by store.
        named = bool(query.seeds)
        dead_end = await _dead_end(reader, reading, missing=bool(missing), relations=named)
    step = query.ordered_step
    shown = await columns.ordered(await off_loop(size, lambda: walks.nodes_of(step)))

    def result() -> PathResult:
        selection = Selection.of(columns, walks.nodes, types, walks.edges, facts)
        paths = walks.paths(step, shown)
        counts = {
            other: different_nodes(walks, step, shown, other) for other in counted_steps(query)
        }
        return PathResult(walks, selection, shown, paths, counts, dead_end)

    return await off_loop(size, result)


def _without(walks: Walks, missing: Handles) -> tuple[Walks, AnswerGaps]:
    """The walks over existing nodes only, and facts that count what the missing nodes remove."""
    walks = walks.without(missing, ends=False)
    last = walks.ending(missing)
    ends = last.ends
    return walks.without(missing, ends=True), AnswerGaps(
        dangling_ids=len(distinct_numbers(ends[missing.has(ends)])),
        dangling_edges=len(last.subjects),
    )


async def _dead_end(
    reader: Callable[..., PathReader], reading: PathReading, *, missing: bool, relations: bool
) -> DeadEnd | None:
    """The end of the longest walks over existing nodes; None if those of both sides do not meet.

    A store may have edges of an id without a node, or not.

    Args:
        reader: Reads the path again.
        reading: What was read of it.
        missing: Whether walks lead over ids without a node.
        relations: Whether to find the relations that lead on from there.
    """
    with suppress(BoundMet, ToolError, TimeoutError), call.borrowed():
        if not missing:
            nodes = distinct_numbers(np.concatenate([one.nodes for one in reading.frontiers]))
            missing = bool((await types_of(reading.columns, nodes) == NO_NODE).any())
        if missing:
            reading = await reader(existing=True).read()
    found = await _longest(reading, relations=relations)
    if await _turns_back(reader(turning=True, existing=missing), reading):
        apart = DeadEnd(len(reading.path.steps), "", 0, apart=True)
        return replace(found or apart, turned_back=True)
    return found


async def _longest(reading: PathReading, *, relations: bool) -> DeadEnd | None:
    """The end of the longest walks; None if the walks from both sides do not meet."""
    if not len(reading.starts):
        return DeadEnd(0, "", len(reading.seeds), removed=reading.starts_removed)
    if reading.targets is not None and not len(reading.targets):
        steps = reading.path.steps
        return DeadEnd(
            len(steps), steps[-1].text, 0, removed=reading.targets_removed, backwards=True
        )
    layer, misses_targets = reading.dead_end, False
    if layer is None:
        layer, misses_targets = len(reading.layers) - 1, True
        if reading.frontiers[layer].backwards:
            return None
    nodes, backwards, removed = reading.frontiers[layer]
    number = reading.layers[layer].step
    step = reading.path.steps[number]
    turned = None
    if step.direction is not None and not removed:
        other = replace(step, direction=FLIPPED[step.direction])
        if await _finds(reading, layer, other):
            turned = other.text
    leading_on = list[str]()
    explained = turned or removed or backwards or misses_targets
    if relations and not explained and len(nodes) <= 2_000:
        with suppress(BoundMet, ToolError, TimeoutError), call.borrowed():
            leading_on = await _relations(reading, layer)
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


async def _relations(reading: PathReading, layer: int, most: int = 2_000) -> list[str]:
    """The relations where the longest walks ended, the most frequent first.

    None are given if they have more than `most` edges. Nothing is missing from the answer that the
    store omits here.
    """
    edges, columns = set[tuple[int, ...]](), reading.columns
    with call.joined() as under_way, under_way.own_omissions(kept=False):
        async with call.time_limit(0.5), aclosing(_arcs(reading, layer, Step())) as batches:
            async for arcs in batches:
                kinds = await types_of(columns, arcs.ends)
                every = (arcs.along, arcs.predicates, kinds, arcs.origins, arcs.ends)
                edges.update(map(tuple, np.stack(every, axis=1).tolist()))
                if len(edges) > most:
                    return []
    names, types = columns.predicate_names, columns.type_names
    steps = Counter(
        f"-{names[predicate]}-> {types[kind]}" if along else f"<-{names[predicate]}- {types[kind]}"
        for along, predicate, kind, *_ in edges
        if kind != NO_NODE
    )
    return sorted(steps, key=lambda step: (-steps[step], step))


async def _turns_back(reader: PathReader, reading: PathReading) -> bool:
    """Whether there would be walks if two consecutive edges could be the same.

    Args:
        reader: Reads the path without this rule.
        reading: What was read with it.
    """
    steps = reading.path.steps
    following = [*pairwise(steps), *((one, one) for one in steps if one.most > 1)]
    named = ([one.predicates for one in pair] for pair in following)
    if not any(a is None or b is None or set(a) & set(b) for a, b in named):
        return False
    try:
        with call.borrowed():
            found = await reader.read()
            start = (found.columns, found.layers, found.arcs, found.starts, found.targets)
            size = sum(map(len, found.arcs))
            return len((await off_loop(size, lambda: Walks(*start, turning=True))).nodes) > 0
    except (BoundMet, ToolError, TimeoutError):
        return False


async def _finds(reading: PathReading, layer: int, step: Step) -> bool:
    """Whether another step, in place of one that found nothing, leads to the required nodes."""
    columns, layers = reading.columns, reading.layers
    backwards = reading.frontiers[layer].backwards
    types, among = step.types, reading.targets if layer == len(layers) - 1 else None
    if backwards:
        before = layers[layer].before
        types = reading.path.steps[layers[before[0]].step].types if before else None
        among = None if before else reading.starts
    try:
        async with aclosing(_arcs(reading, layer, step)) as batches:
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
        return False
    return False


async def _arcs(reading: PathReading, layer: int, step: Step) -> AsyncGenerator[Arcs]:
    """The arcs of another step, in place of one that found nothing."""
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


# --- pages ------------------------------------------------------------------------

NODE_BYTES, EDGE_BYTES = 26, 41
"""Bytes of a node and of an edge without their names."""


class PathPages(Pages):
    """The pages of a path's answer that begin at the same shown node, of any length.

    Args:
        query: The query, with existing seeds.
        result: The whole answer.
        walks: Whether a page contains the walks of its nodes.
        too_large: Whether the walks are left out because they do not fit.
    """

    def __init__(
        self, query: PathQuery, result: PathResult, *, walks: bool, too_large: bool = False
    ) -> None:
        self.walks, self._result = walks, result
        super().__init__(query, result.selection)
        self.query: PathQuery = query
        self._too_large = too_large

    def _of(self, prefix: Prefix, count: int) -> BfsResult:
        query, whole = self.query, self._result
        page, ids = self._page(prefix, count), prefix.ids[:count]
        part = slice(self._start, self._start + count)
        paths = whole.paths[part]
        distinct = measures = None
        if query.count_distinct is not None:
            numbers = whole.counts[query.count_distinct][part].tolist()
            distinct = dict(zip(ids, numbers, strict=True))
        if whole.measures:
            rows = zip(*(column[part] for column in whole.measures), strict=True)
            several = len(whole.measures) > 1
            measures = {
                i: list(row) if several else row[0] for i, row in zip(ids, rows, strict=True)
            }
        shown = ShownNodes(
            len(whole.shown),
            query.shown_step,
            dict(zip(ids, np.minimum(paths, MOST_PATHS).tolist(), strict=True)),
            distinct,
            measures or {},
            bool((paths > MOST_PATHS).any()),
            "shown" if self.walks else "too large" if self._too_large else "left out",
            whole.dead_end,
        )
        result = self._bfs_result(page, self._facts(count, page), query, query.path.longest)
        return replace(result, shown=shown)

    async def least_bytes(self, count: int) -> int:
        """A lower bound on the bytes that the first `count` shown nodes take."""
        if not self.walks or not count:
            return count * NODE_BYTES
        places = await self._places_of(count)
        nodes, edges = ((part < count).sum() for part in (places.of_nodes, places.of_edges))
        return int(nodes * NODE_BYTES + edges * EDGE_BYTES)

    @property
    def _listed(self) -> IntArray:
        return self._result.shown

    def _find_places(self, length: int) -> PagePlaces:
        """The first of the shown nodes that the walks through each node and edge pass."""
        selection, walks = self.selection, self._result.walks
        nodes, nothing = self._listed[self._start : self._start + length], NO_HANDLES
        if self.walks:
            firsts = walks.firsts(self.query.shown_step, nodes)
            whole = PagePlaces(length, selection.nodes, selection.types, *firsts, nothing)
            return whole.beginning(length)  # without nodes and edges that are on no such walk
        types = selection.types[places_of(selection.nodes, nodes, selection.columns.size)]
        return PagePlaces(length, nodes, types, np.arange(length), NO_EDGES, nothing, nothing)
