"""The answer of a path: its complete walks, the shown nodes and their pages."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

import numpy as np

from bfsql import call
from bfsql.engine.arrays import LongArray, are_named, distinct, places_of
from bfsql.engine.conditions import Conditions
from bfsql.engine.path.arcs import FLIPPED, Arcs
from bfsql.engine.path.distinct import different_nodes
from bfsql.engine.path.prune import Walks
from bfsql.engine.path.read import Walked, walk
from bfsql.engine.select import PLACED, Pages, Selection, in_strings, summarized, window
from bfsql.engine.traverse import Bounds, off_loop, types_of
from bfsql.errors import BoundMet
from bfsql.integers import (
    NO_NODE,
    Handles,
    IntArray,
    IntegerGraph,
    ResolvedNode,
    Ring,
    distinct_numbers,
    marked,
)
from bfsql.models import (
    MOST_PATHS,
    AnswerGaps,
    BfsResult,
    DeadEnd,
    PathQuery,
    ShownNodes,
    Step,
    Subgraph,
    Triple,
)


@dataclass(frozen=True, slots=True)
class Followed:
    """The whole answer of a path, before its page is cut."""

    query: PathQuery
    walks: Walks
    selection: Selection
    """All nodes and edges of the answer."""
    shown: IntArray
    """Handles of the shown nodes, in order."""
    paths: LongArray
    """Number of walks through each shown node."""
    distinct: LongArray | None
    """Different nodes of another step on these walks; None if no step is counted."""
    dead_end: DeadEnd | None


async def follow(
    columns: IntegerGraph,
    query: PathQuery,
    seeds: Sequence[ResolvedNode],
    targets: Sequence[ResolvedNode] | None,
    *,
    conditions: Conditions,
    bounds: Bounds,
) -> Followed:
    """Walk a path and keep the nodes and edges on complete walks.

    Args:
        columns: The graph.
        query: The path and its shown step.
        seeds: The nodes at which walks start, each once.
        targets: The nodes at which walks must end, each once; None for any node.
        conditions: Filters that remove nodes and edges before a walk continues.
        bounds: Limits on the nodes and edges to read.

    Raises:
        StepUnfinished: The deadline passed during a step, or the step exceeds a bound.
        TypesUnread: The deadline passed before the types were read.
        NodesUncounted: The deadline passed while different nodes were counted.
    """
    walked = await walk(columns, query.path, seeds, targets, conditions=conditions, bounds=bounds)
    size = sum(map(len, walked.arcs))
    walks = await off_loop(size, lambda: Walks.of(walked))
    types = await types_of(columns, walks.nodes)
    missing, facts = Handles(columns.size, walks.nodes[types == NO_NODE]), AnswerGaps()
    if missing:
        walks, facts = await off_loop(size, lambda: _without(walks, missing))
        types = await types_of(columns, walks.nodes)
    dead_end = None if len(walks.nodes) else await _dead_end(walked)
    shown = await columns.ordered(walks.nodes_of(query.shown_step))

    told = replace(facts, conditions=conditions.facts)

    def followed() -> Followed:
        summary = summarized(columns, types, walks.edges)
        selection = Selection(columns, walks.nodes, types, walks.edges, summary, told)
        paths = walks.paths(query.shown_step, shown)
        counted = query.count_distinct
        distinct = None
        if counted is not None:
            distinct = different_nodes(walks, query.shown_step, shown, counted)
        return Followed(query, walks, selection, shown, paths, distinct, dead_end)

    return await off_loop(size, followed)


def _without(walks: Walks, missing: Handles) -> tuple[Walks, AnswerGaps]:
    """The walks over existing nodes only, and facts that count what the missing nodes remove."""
    walks = walks.without(missing, ends=False)
    last = walks.ending(missing)
    ends = np.concatenate([last.subjects, last.objects])
    return walks.without(missing, ends=True), AnswerGaps(
        dangling_ids=len(distinct_numbers(ends[missing.has(ends)])),
        dangling_edges=len(last.subjects),
    )


async def _dead_end(walked: Walked) -> DeadEnd | None:
    """The end of the longest walks; None if the walks from both sides do not meet."""
    if not len(walked.starts):
        return DeadEnd(0, "", len(walked.seeds), removed=walked.starts_removed)
    if walked.targets is not None and not len(walked.targets):
        steps = walked.path.steps
        return DeadEnd(
            len(steps), steps[-1].text, 0, removed=walked.targets_removed, backwards=True
        )
    layer, astray = walked.dead_end, False
    if layer is None:
        layer, astray = len(walked.layers) - 1, True
        if walked.frontiers[layer].backwards:
            return None
    nodes, backwards, removed = walked.frontiers[layer]
    number = walked.layers[layer].step
    step = walked.path.steps[number]
    turned = None
    if step.direction is not None and not removed:
        other = replace(step, direction=FLIPPED[step.direction])
        if await _finds(walked, layer, other):
            turned = other.text
    return DeadEnd(
        number + 1,
        step.text,
        len(nodes),
        removed=removed,
        turned=turned,
        backwards=backwards,
        astray=astray,
    )


async def _finds(walked: Walked, layer: int, step: Step) -> bool:
    """Whether another step, in place of one that found nothing, leads to the required nodes."""
    columns, layers = walked.columns, walked.layers
    nodes, backwards, _ = walked.frontiers[layer]
    direction = FLIPPED[step.direction] if backwards else step.direction
    types, among = step.types, walked.targets if layer == len(layers) - 1 else None
    if backwards:
        before = layers[layer].before
        types = walked.path.steps[layers[before[0]].step].types if before else None
        among = None if before else walked.starts
    starts = Handles(columns.size, nodes)
    batches = columns.rings(nodes, predicates=step.predicates, direction=direction)
    try:
        async with aclosing(batches):
            async for ring in batches:
                call.has_read(edges=len(ring.subjects))
                starts.cover(columns.size)
                edges = distinct(ring, columns.size) if columns.repeats else ring
                arcs = Arcs.of(edges, starts, direction)
                for earlier in () if backwards else layers[layer].before[-1:]:
                    arcs = arcs.marked(walked.meets(earlier, arcs))
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


# --- pages ------------------------------------------------------------------------

NODE_BYTES, EDGE_BYTES = 26, 41
"""Bytes of a node and of an edge without their names."""


class PathPages(Pages):
    """The pages of a path's answer that begin at the same shown node, of any length.

    Args:
        followed: The whole answer.
        walks: Whether a page contains the walks of its nodes.
        too_large: Whether the walks are left out because they do not fit.
    """

    def __init__(self, followed: Followed, *, walks: bool, too_large: bool = False) -> None:
        super().__init__(followed.query, followed.selection)
        self.query: PathQuery = followed.query
        self._followed = followed
        self._start, self.wanted = window(followed.query, len(followed.shown))
        self._walks = walks
        self._too_large = too_large
        self._first: _Firsts | None = None
        self._beginning: _Beginning | None = None

    async def of(self, count: int) -> BfsResult:
        """The first `count` shown nodes as stubs; the facts count the nodes cut off."""
        query, followed, start = self.query, self._followed, self._start
        total = len(followed.shown)
        page, ids = (await self._beginning_of(count)).page(count)
        bare = self.wanted_in_full(page) if count < self.wanted else ((), ())
        facts = replace(
            self.selection.facts,
            past_the_end=start >= total > 0,
            cut_nodes=self.wanted - count,
            bare_nodes=len(bare[0]),
            bare_edges=len(bare[1]),
        )
        part = slice(start, start + count)
        paths = followed.paths[part]
        numbers = None if followed.distinct is None else followed.distinct[part].tolist()
        shown = ShownNodes(
            total,
            query.shown_step,
            dict(zip(ids, np.minimum(paths, MOST_PATHS).tolist(), strict=True)),
            None if numbers is None else dict(zip(ids, numbers, strict=True)),
            bool((paths > MOST_PATHS).any()),
            "shown" if self._walks else "too large" if self._too_large else "left out",
            followed.dead_end,
        )
        return BfsResult(
            query.seeds,
            len(self.selection.nodes),
            len(self.selection.edges.subjects),
            self.selection.summary,
            page,
            facts,
            query.path.longest,
            query.offset,
            query.limit,
            shown,
        )

    async def least_bytes(self, count: int) -> int:
        """A lower bound on the bytes that the first `count` shown nodes take."""
        if not self._walks or not count:
            return count * NODE_BYTES
        firsts = await self._firsts_of(count)
        nodes, edges = ((part < count).sum() for part in (firsts.by_node, firsts.by_edge))
        return int(nodes * NODE_BYTES + edges * EDGE_BYTES)

    async def _beginning_of(self, count: int) -> _Beginning:
        """A beginning of the page with at least `count` shown nodes, and at most twice as many."""
        length = min(self.wanted, 1 << max(count - 1, 0).bit_length())
        known = self._beginning
        if known is None or not count <= known.length <= 2 * length:
            self._beginning = known = await self._first_rows(length)
        return known

    async def _first_rows(self, length: int) -> _Beginning:
        columns, every = self.selection.columns, self.selection.nodes
        shown = self._followed.shown[self._start : self._start + length]
        if not self._walks:
            no_edges = Ring(*(np.empty(0, np.int32) for _ in range(3)))
            types = self._types(shown)
            ids, type_of, _, _ = await in_strings(columns, shown, types, no_edges)
            return _Beginning(ids, type_of, [], [], [], [])
        firsts = await self._firsts_of(length)
        passed = firsts.by_node < length
        nodes = await columns.ordered(every[passed])
        firsts_of_nodes = firsts.by_node[places_of(every, nodes, columns.size)]
        inside = firsts.by_edge < length
        edges = marked(firsts.edges, inside)
        ids, type_of, triples, order = await in_strings(columns, nodes, self._types(nodes), edges)
        id_of = dict(zip(nodes.tolist(), ids, strict=True))
        return _Beginning(
            [id_of[handle] for handle in shown.tolist()],
            type_of,
            ids,
            firsts_of_nodes.tolist(),
            triples,
            firsts.by_edge[inside][order].tolist(),
        )

    def _types(self, nodes: IntArray) -> IntArray:
        """The types of some nodes of the answer."""
        selection = self.selection
        return selection.types[places_of(selection.nodes, nodes, selection.columns.size)]

    async def _firsts_of(self, length: int) -> _Firsts:
        """The `_Firsts` of a longer beginning, since computing them visits all arcs."""
        if self._first is None or self._first.length < length:
            longer = min(self.wanted, max(PLACED, 4 * length))
            shown = self._followed.shown[self._start : self._start + longer]
            walks, step = self._followed.walks, self.query.shown_step
            size = len(self.selection.edges.subjects)
            found = await off_loop(size, lambda: walks.firsts(step, shown))
            self._first = _Firsts(longer, *found)
        return self._first


@dataclass(frozen=True, slots=True)
class _Firsts:
    """For each node and edge, the first of the shown nodes that its walks pass."""

    length: int
    """Number of shown nodes that were examined."""
    by_node: LongArray
    edges: Ring
    by_edge: LongArray


@dataclass(frozen=True, slots=True)
class _Beginning:
    """The beginning of a page in strings, from which shorter beginnings are cut."""

    shown: Sequence[str]
    """Ids of the shown nodes, in order."""
    types: dict[str, str]
    nodes: Sequence[str]
    """Ids of all nodes on their walks, sorted; empty if walks are not shown."""
    firsts: Sequence[int]
    """For each node, the place of the first shown node that its walks pass."""
    triples: Sequence[Triple]
    """The edges on the walks, sorted."""
    edge_firsts: Sequence[int]
    """For each edge, the place of the first shown node that its walks pass."""

    @property
    def length(self) -> int:
        """The number of shown nodes."""
        return len(self.shown)

    def page(self, count: int) -> tuple[Subgraph, Sequence[str]]:
        """The first shown nodes with their walks, and the ids of these shown nodes."""
        shown = self.shown[:count]
        listed = frozenset(shown)
        others = [
            i
            for i, first in zip(self.nodes, self.firsts, strict=True)
            if first < count and i not in listed
        ]
        inside = zip(self.triples, self.edge_firsts, strict=True)
        triples = [t for t, first in inside if first < count]
        return Subgraph([*shown, *others], self.types, triples), shown
