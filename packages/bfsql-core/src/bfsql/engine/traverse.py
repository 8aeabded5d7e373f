"""Breadth-first traversal, ring by ring: topology only, in integers (`protocol.md` 1, 8, 10).

A ring arrives in batches, and the bounds of the call are checked after each. The
types of all nodes are read at the end: an end that the store has no node for has no
edges either, so the traversal does not continue from it.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from bfsql import call
from bfsql.arrays import (
    NO_EDGES,
    NO_HANDLES,
    Handles,
    at,
    concatenated,
    distinct,
    distinct_numbers,
    marked,
    places_of,
    runs,
    within,
)
from bfsql.engine.conditions import Conditions
from bfsql.engine.plan import Bounds
from bfsql.engine.table import AnswerTable, Dangling
from bfsql.engine.thresholds import EDGE_BYTES, RING_SHARE
from bfsql.errors import BoundMet, FirstRingTooLarge, FirstRingUnfinished, TypesUnread
from bfsql.integers import NO_NODE, BoolArray, IntArray, IntegerGraph, NodeSet, Ring
from bfsql.models import AnswerGaps, EdgeDirection, SchemaSummary
from bfsql.workers import off_loop

StoppedBy: TypeAlias = Literal["deadline", "nodes", "edges", "memory"]

Ranks: TypeAlias = npt.NDArray[np.int8]
"""By handle: a distance in edges plus one; 0 if the distance is unknown."""
_NO_SUMMARY = SchemaSummary([], [])
"""The vocabulary of a traversal, before `select` makes that of what is left."""
EdgeReader: TypeAlias = Callable[[IntArray], Awaitable[Ring]]
"""Reads the edges that a traversal follows from some nodes."""
Ways: TypeAlias = tuple[tuple[IntArray, IntArray], ...]
"""The same edges once for each direction in which they are followed: where from, and where to."""


async def traverse(
    columns: IntegerGraph,
    seeds: NodeSet,
    hops: int,
    bounds: Bounds,
    followed: EdgeReader | None = None,
) -> AnswerTable:
    """Expand from all seeds at once, in both directions; nodes by distance, then by id.

    Args:
        columns: The graph.
        seeds: Seed nodes.
        hops: Rings to expand, 1 to 5; up to 20 where not all edges are followed.
        bounds: Limits on nodes and edges; a ring that exceeds one is not finished.
        followed: Reads the edges to follow from a node; None to follow all.

    Raises:
        FirstRingUnfinished: The deadline passed before the first ring was read.
        FirstRingTooLarge: The first ring exceeds one of the bounds.
        TypesUnread: The deadline passed before the types were read.
    """
    stopped_by: StoppedBy | None = None
    handles = seeds.handles
    search = _Search(columns, handles, bounds, followed)
    rings = [await columns.ordered(handles)]
    while len(rings) <= hops and len(rings[-1]):
        try:
            found = await search.expand(rings[-1])
        except (TimeoutError, BoundMet) as stop:
            stopped_by = stopping_bound(stop, seeds.texts, len(rings) - 1, _known_degree())
            break
        rings.append(await columns.ordered(found))
    nodes = np.concatenate(rings)
    types = await types_of(columns, nodes)
    real = types != NO_NODE
    missing = Handles(columns.size, nodes[~real])
    edges, dangling = await off_loop(
        _count(search.edges), lambda: _apart(search.every_edge(), missing)
    )
    # Through an id that is not a node, which a cache of rings may know, a search ends too early.
    depth = len(rings) - 1 if stopped_by else hops
    if missing and columns.repeats and followed is None:
        # A backend may return edges for an id that is not a node, and so does a cache of rings if
        # such an id was requested together with its neighbours. It connects nothing.
        rank = ranks_from(columns.size, handles, edges, depth)
        levels = [np.flatnonzero(rank == d + 1).astype(np.int32) for d in range(depth + 1)]
        rings = [await columns.ordered(level) for level in levels]
        nodes = np.concatenate(rings)
        types = await types_of(columns, nodes)
        real = types != NO_NODE
        expanded = (rank > 0) & (rank <= depth)
        edges, dangling = (
            marked(part, expanded[part.subjects] | expanded[part.objects])
            for part in (edges, dangling)
        )
    distances = np.repeat(np.arange(len(rings), dtype=np.int32), list(map(len, rings)))
    facts = AnswerGaps(hops, depth, stopped_by) if depth < hops else AnswerGaps()
    return AnswerTable(
        columns,
        nodes[real],
        types[real],
        edges,
        _NO_SUMMARY,
        facts,
        nodes[real],
        distances=distances[real],
        depth=depth,
        dangling=Dangling(dangling, missing),
    )


async def select(reach: AnswerTable, seeds: NodeSet, conditions: Conditions) -> AnswerTable:
    """Remove what the conditions of the call do not keep: nodes with their edges, then edges."""
    columns, nodes, types, edges = reach.columns, reach.nodes, reach.types, reach.edges
    size, facts = len(nodes) + len(edges.subjects), reach.facts
    if len(reach.dangling.edges.subjects):
        dangling_edges, dangling_ids = reach.dangling.counts
        facts = replace(facts, dangling_edges=dangling_edges, dangling_ids=dangling_ids)
    if conditions:
        conditions.learn(types, edges.predicates)
        kept = await conditions.keeps_nodes(nodes, types, None)
        nodes, types = nodes[kept], types[kept]
        if not kept.all():
            members = Handles(columns.size, nodes)
            edges = await off_loop(size, lambda: within(reach.edges, members))
            named = (place for place in seeds.places if place.named)
            removed = tuple(one.text for one in named if not members.has(one.handles).all())
            facts = replace(facts, removed_seeds=removed)
        edges = marked(edges, await conditions.keeps_edges(edges, None))
        facts = replace(facts, conditions=conditions.facts)
    return await off_loop(size, lambda: AnswerTable.of(columns, nodes, types, edges, facts))


def stopping_bound(
    by: TimeoutError | BoundMet, seeds: Sequence[str], depth: int, degree: int | None = None
) -> StoppedBy:
    """What stopped a traversal that is complete up to some depth.

    Args:
        by: The error that stopped it.
        seeds: Ids of the seeds.
        depth: The depth, 0 if not even the first ring is complete.
        degree: The largest known number of edges of a node, for the error message.

    Raises:
        FirstRingUnfinished: There is no complete ring, since the deadline passed.
        FirstRingTooLarge: There is no complete ring, since a bound was met.
    """
    if isinstance(by, TimeoutError):
        if not depth:
            raise FirstRingUnfinished(seeds, call.seconds(), degree) from by
        bound: StoppedBy = "deadline"
    else:
        if not depth:
            raise FirstRingTooLarge(seeds, by) from None
        bound = by.bound
    call.cut_by(bound)
    return bound


def ranks_from(size: int, starts: IntArray, edges: Ring, depth: int) -> Ranks:
    """Search breadth-first outward from a set of nodes, over edges that have been read.

    Args:
        size: Upper bound (exclusive) of the handles.
        starts: Handles of the nodes at distance 0.
        edges: The edges, which are followed in both directions.
        depth: The largest distance.

    Returns:
        By handle: the distance plus one; 0 for a node that is not reached.
    """
    rank: Ranks = np.zeros(size, np.int8)
    rank[starts] = 1
    for level in range(1, depth + 1):
        for beyond in next_level(both_ways(edges), rank, level):
            rank[beyond] = level + 1
    return rank


def both_ways(edges: Ring) -> Ways:
    """Edges that are followed in both directions."""
    return (edges.subjects, edges.objects), (edges.objects, edges.subjects)


def next_level(ways: Ways, rank: Ranks, level: int) -> list[IntArray]:
    """The nodes without a rank to which edges lead from those of rank `level`."""
    ends = [far.compress(rank.take(near) == level) for near, far in ways]
    return [nodes.compress(rank.take(nodes) == 0) for nodes in ends]


def towards(ways: Ways, rank: Ranks, ends: IntArray) -> BoolArray:
    """Which edges lie on a shortest way from the nodes of rank 1 to some nodes.

    Args:
        ways: All edges that such a way may use.
        rank: The rank of each handle.
        ends: Handles of the nodes; those without a rank are skipped.
    """
    on = np.zeros(len(ways[0][0]), bool)
    reached = Handles(len(rank), ends)
    for far in range(int(rank[ends].max(initial=0)), 1, -1):
        for near, beyond in ways:
            step = (rank[beyond] == far) & (rank[near] == far - 1) & reached.has(beyond)
            on |= step
            reached.add(distinct_numbers(near[step]))
    return on


class EdgeCollector:
    """Edges collected from the batches of rings, within a bound.

    Args:
        columns: The graph.
        most: The largest number of edges.
        rings: Edges collected earlier.
        elsewhere: Number of further edges that count toward the bound.
        repeats: Whether rings may repeat edges; None if they do so where those of the graph do.

    Attributes:
        rings: The edges; each once, unless rings repeat some.
        count: The number of these edges.
    """

    def __init__(
        self,
        columns: IntegerGraph,
        most: int,
        rings: Sequence[Ring] = (),
        *,
        elsewhere: int = 0,
        repeats: bool | None = None,
    ) -> None:
        self.rings = list(rings)
        self._columns = columns
        self._repeats = columns.repeats if repeats is None else repeats
        self._most, self._room = most, most - elsewhere
        self.count = _count(rings)

    async def add(self, ring: Ring) -> None:
        """Add edges that have been read.

        Raises:
            BoundMet: The number of edges exceeds the bound.
        """
        self.rings.append(ring)
        self.count += len(ring.subjects)
        if self.count > self._room and self._repeats:
            await self.whole()
        if self.count > self._room:
            raise BoundMet("edges", self._most)

    async def whole(self) -> Ring:
        """The edges as one ring, each once."""
        rings, columns, repeats = self.rings, self._columns, self._repeats

        def joined() -> Ring:
            ring = concatenated(rings)
            return distinct(ring, columns.size) if repeats else ring

        ring = await off_loop(self.count, joined)
        self.rings, self.count = [ring], len(ring.subjects)
        return ring


async def whole_ring(
    columns: IntegerGraph,
    nodes: IntArray,
    bounds: Bounds,
    predicates: Collection[str] | None = None,
    direction: EdgeDirection | None = None,
    *,
    elsewhere: int = 0,
) -> Ring:
    """The ring of some nodes, or a part of it, each edge once.

    The bounds hold before any condition removes edges or nodes, as they do where a cache reads
    the ring. So an answer does not depend on what a cache holds. Edges `elsewhere` count, too.

    Raises:
        BoundMet: The ring exceeds a bound.
    """
    found = EdgeCollector(columns, bounds.edges, elsewhere=elsewhere)
    rings = columns.rings(nodes, predicates=predicates, direction=direction)
    async with aclosing(rings) as batches:
        async for batch in batches:
            _charge(batch)
            await found.add(batch)
    ring = await found.whole()
    if predicates is None and direction is None:  # The ends of a part are not bounded.
        ends = await off_loop(len(ring.subjects), lambda: distinct_numbers(ring.ends))
        if len(ends) > bounds.nodes:
            raise BoundMet("nodes", bounds.nodes)
    return ring


def _charge(batch: Ring) -> None:
    """Count edges that a store returned, and their bytes, for the call."""
    call.has_read(edges=len(batch.subjects))
    call.hold(EDGE_BYTES * len(batch.subjects))


def _count(edges: Sequence[Ring]) -> int:
    """The number of edges of some rings."""
    return sum(len(ring.subjects) for ring in edges)


async def types_of(columns: IntegerGraph, nodes: IntArray) -> IntArray:
    """The types of all nodes reached.

    Raises:
        TypesUnread: The deadline passed before the types were read.
    """
    if not len(nodes):
        return nodes
    call.has_read(nodes=len(nodes))
    try:
        return await call.within(columns.types(nodes))
    except TimeoutError as late:
        raise TypesUnread(len(nodes), call.seconds()) from late


class _Search:
    """The rings that a traversal has read.

    Attributes:
        edges: All edges; each once unless not all edges are followed.
    """

    def __init__(
        self, columns: IntegerGraph, seeds: IntArray, bounds: Bounds, followed: EdgeReader | None
    ) -> None:
        self.edges: list[Ring] = []
        self._columns, self._followed = columns, followed
        # An edge that is followed in both directions is in the rings of both its ends.
        self._repeats = columns.repeats or followed is not None
        self._bounds = bounds
        self._room = bounds.nodes - len(seeds)
        size = columns.size
        self._seen, self._expanded = Handles(size, seeds), Handles(size)
        self._slowest = 0.0

    def every_edge(self) -> Ring:
        """All edges, each once."""
        edges, columns = concatenated(self.edges), self._columns
        return distinct(edges, columns.size) if self._repeats and not columns.repeats else edges

    async def expand(self, frontier: IntArray) -> IntArray:
        """Read one more ring and return the nodes that it is the first to reach.

        Raises:
            TimeoutError: The time for a ring is up. The search ends with the edges read before.
            BoundMet: The ring exceeds a bound. The search ends with the edges read before.
        """
        columns, followed = self._columns, self._followed
        if self._room < 0:  # as a cache that counts the ends of a ring finds
            raise BoundMet("nodes", self._bounds.nodes)
        # An id that is not a node has no ring that contained its edges, and no step starts at it.
        if not columns.repeats or followed is not None:
            frontier = frontier[await columns.types(frontier) != NO_NODE]
        edges = EdgeCollector(columns, self._bounds.edges, self.edges, repeats=self._repeats)
        reached = [NO_HANDLES]

        async def fresh(batch: Ring) -> Ring:
            ring, found = await off_loop(len(batch.subjects), partial(self._fresh, batch))
            reached.append(found)
            if sum(map(len, reached)) > self._room:
                raise BoundMet("nodes", self._bounds.nodes)
            return ring

        began, left = time.monotonic(), call.remaining()
        # Reading the types of all nodes, which comes last, may take somewhat longer than a ring.
        share = min(RING_SHARE, 1 - 1.5 * self._slowest / left) if left else RING_SHARE
        async with call.time_limit(max(share, 0.0)):
            if followed is None:
                async with aclosing(columns.rings(frontier)) as batches:
                    async for batch in batches:
                        _charge(batch)
                        await edges.add(await fresh(batch))
            else:
                await edges.add(await fresh(await followed(frontier)))
            self.edges = [await edges.whole()] if columns.repeats else edges.rings
        self._slowest = max(self._slowest, time.monotonic() - began)
        if not self._repeats:
            self._expanded.add(frontier)
        found = np.concatenate(reached)
        self._room -= len(found)
        return found

    def _fresh(self, batch: Ring) -> tuple[Ring, IntArray]:
        """The edges and the nodes that were in no earlier ring.

        An edge whose other end was expanded earlier was in the ring of that end. If rings repeat
        edges, `distinct` removes them instead, since ids that are not nodes are then expanded, too.
        """
        seen, expanded = self._seen, self._expanded
        if self._repeats:
            seen.cover(self._columns.size)
        elif self.edges:
            batch = marked(batch, ~(expanded.has(batch.subjects) | expanded.has(batch.objects)))
        ends = batch.ends
        found = distinct_numbers(ends.compress(~seen.has(ends)))
        seen.add(found)
        return batch, found


def _apart(edges: Ring, missing: Handles) -> tuple[Ring, Ring]:
    """The edges with nodes at both ends, and the other edges."""
    if not missing:
        return edges, NO_EDGES
    apart = missing.has(edges.subjects) | missing.has(edges.objects)
    return marked(edges, ~apart), marked(edges, apart)


def _known_degree() -> int | None:
    """The largest number of edges that the backend reported for a node, for the error message."""
    return max((o.at_least for o in call.omissions() if o.at_least), default=None)


# --- counts of edges ------------------------------------------------------------


async def relations_of(reach: AnswerTable) -> dict[tuple[str, str, str], int]:
    """Count the edges of a traversal by subject type, predicate and object type."""
    columns, edges = reach.columns, reach.edges
    size = columns.size

    def count() -> list[tuple[tuple[int, ...], int]]:
        subjects, objects = reach.types[places_of(reach.nodes, edges.ends, size)].reshape(2, -1)
        typed = Ring(subjects, edges.predicates, objects)
        order, new = runs(typed, len(columns.type_names))
        rows = zip(*(column.tolist() for column in at(typed, order[new])), strict=True)
        counts = np.diff(np.append(np.flatnonzero(new), len(order)))
        return list(zip(rows, counts.tolist(), strict=True))

    types, predicates = columns.type_names, columns.predicate_names
    return {
        (types[s], predicates[p], types[o]): number
        for (s, p, o), number in await off_loop(len(edges.subjects), count)
    }


def directions_of(reach: AnswerTable, seeds: NodeSet) -> dict[str, int]:
    """Count the edges of the seed by predicate and direction, keyed by step: `-inhibits->` to 3.

    A self-loop counts in both directions. Edges with an end that is not a node do not count.

    Args:
        reach: A traversal of one hop around one node.
        seeds: The node.
    """
    edges, names = reach.edges, reach.columns.predicate_names
    found = {}
    for ends, form in ((edges.subjects, "-{}->"), (edges.objects, "<-{}-")):
        here = np.isin(ends, seeds.handles)
        numbers, counts = np.unique(edges.predicates[here], return_counts=True)
        named = zip(numbers.tolist(), counts.tolist(), strict=True)
        found.update({form.format(names[number]): count for number, count in named})
    return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))
