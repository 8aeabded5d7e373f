"""Shortest connections, over edges in both directions (`asking.md` 7, 9).

Between seeds and targets, the search expands from both ends. For an intersection the edges
are already known, and only those on shortest connections are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np

from bfsql import call
from bfsql.arrays import Handles, concatenated, distinct, distinct_numbers, grown, marked, within
from bfsql.engine.along import EdgeFilter, StepArcs
from bfsql.engine.conditions import Conditions
from bfsql.engine.path.arcs import Arcs
from bfsql.engine.select import Selection, summarized
from bfsql.engine.traverse import (
    Bounds,
    EdgeCollector,
    Ranks,
    TraversalResult,
    Ways,
    both_ways,
    next_level,
    ranks_from,
    whole_ring,
)
from bfsql.errors import BoundMet
from bfsql.integers import NO_NODE, BoolArray, IntArray, IntegerGraph, NodeSet, Ring
from bfsql.models import AnswerGaps, Triple
from bfsql.workers import off_loop


class Connection(NamedTuple):
    """The length of the shortest connection of a seed and a target.

    A pattern is one place: its connections run from its nearest nodes.
    """

    seed: str
    target: str
    length: int | None
    """Edges on each shortest connection; None if there is none within the requested length."""


@dataclass(frozen=True, slots=True)
class ShortestPaths:
    """The shortest connections of all pairs of a seed and a target."""

    selection: Selection
    """The nodes and edges on the connections."""
    pairs: Sequence[Connection]


class ShortestPathSearch:
    """A search for shortest connections from both ends.

    Args:
        columns: The graph.
        conditions: Filters; removed nodes connect nothing. Seeds and targets are never removed.
        bounds: Limits on the nodes and edges to read.
        along: The steps that connections take from seeds to targets; None for edges in both
            directions.
    """

    def __init__(
        self,
        columns: IntegerGraph,
        conditions: Conditions,
        bounds: Bounds,
        along: StepArcs | None = None,
    ) -> None:
        self._columns, self._conditions, self._bounds = columns, conditions, bounds
        self._along = along

    async def connections(self, seeds: NodeSet, targets: NodeSet, most: int) -> ShortestPaths:
        """All shortest connections of each pair of a seed and a target.

        Args:
            seeds: The places at one end.
            targets: The places at the other end.
            most: The largest number of edges of a connection.

        Raises:
            BoundMet: The search would exceed a bound.
            TimeoutError: The deadline passed.
        """
        columns = self._columns
        named = distinct_numbers(np.concatenate([seeds.named, targets.named]))
        known = _EdgesRead(columns, named, self._conditions, self._bounds, self._along)
        sides: dict[tuple[str, bool], _Side] = {}
        for back, places in ((False, seeds.places), (known.directed, targets.places)):
            for place in places:
                ends = await known.passable(place.handles)
                sides.setdefault((place.text, back), _Side(known, ends, backwards=back))
        found: list[Connection] = []
        edges: list[Ring] = []
        joined: list[IntArray] = [named[:0]]
        for seed, target in product(seeds.places, targets.places):
            one, other = sides[seed.text, False], sides[target.text, known.directed]
            length = await _meet(one, other, most)
            found.append(Connection(seed.text, target.text, length))
            if length is not None:
                edges.append(await off_loop(known.count, partial(_between, one, other, length)))
            if length == 0:
                joined.append(np.intersect1d(one.levels[0], other.levels[0]))
        ring = concatenated(edges)
        if known.directed:
            ring = Arcs.decoded(ring).ring
        ring = distinct(ring, columns.size)
        nodes = distinct_numbers(np.concatenate([*joined, ring.ends]))
        return ShortestPaths(await self._selection(seeds, nodes, ring, most), found)

    async def _selection(
        self, seeds: NodeSet, nodes: IntArray, edges: Ring, most: int
    ) -> Selection:
        """The connections, with nodes by distance within them, then by id."""
        columns, every = self._columns, Handles(self._columns.size, nodes)
        starts = seeds.handles
        rank = ranks_from(columns.size, starts[every.has(starts)], edges, most)[nodes]
        levels = [await columns.ordered(nodes[rank == far + 1]) for far in range(most + 1)]
        nodes = np.concatenate(levels)
        types = await call.within(columns.types(nodes))
        own = () if self._along is None else self._along.facts
        facts = AnswerGaps(conditions=(*self._conditions.facts, *own))
        return Selection.of(columns, nodes, types, edges, facts)


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


class _EdgesRead:
    """The edges that a search has read, and the nodes that it may pass.

    Conditions never remove the `ends`, which are the entities that the call named.
    """

    def __init__(
        self,
        columns: IntegerGraph,
        ends: IntArray,
        conditions: Conditions,
        bounds: Bounds,
        along: StepArcs | None,
    ) -> None:
        self.columns = columns
        self.directed = along is not None
        self._along = along
        # An edge is in the rings of both its ends.
        self._found = EdgeCollector(columns, bounds.edges, repeats=True)
        self._conditions, self._bounds = conditions, bounds
        self._edge_filter = EdgeFilter(columns, conditions, None)
        self._read = {back: Handles(columns.size) for back in (False, True)}
        self._tested = Handles(columns.size, ends)
        self._removed = Handles(columns.size)
        self._nodes = len(ends)

    @property
    def count(self) -> int:
        """The number of edges read so far."""
        return self._found.count

    def edges(self) -> Ring:
        """All edges read so far, as arcs in code if they are directed; some may occur twice."""
        self._found.rings = [concatenated(self._found.rings)]
        return self._found.rings[0]

    def ways(self, *, backwards: bool) -> Ways:
        """The edges in the directions in which a side follows them."""
        edges = self.edges()
        if not self.directed:
            return both_ways(edges)
        way = (edges.subjects, edges.objects)
        return (way[::-1] if backwards else way,)

    async def read(self, nodes: IntArray, *, backwards: bool) -> None:
        """Read the edges of those nodes whose edges have not been read yet."""
        unread = nodes[~self._read[backwards].has(nodes)]
        if not len(unread):
            return
        async with call.time_limit():
            if self._along is None:
                ring = await whole_ring(self.columns, unread, self._bounds)
                ring = marked(ring, await self._keeps(ring))
            else:
                arcs = await self._along.arcs(unread, backwards=backwards)
                ring = arcs.selected(await self._keeps(arcs.ring)).coded
            await self._found.add(ring)
        for handles in (*self._read.values(), self._tested, self._removed):
            handles.cover(self.columns.size)
        self._read[backwards].add(unread)

    async def _keeps(self, edges: Ring) -> BoolArray:
        """Which edges the conditions keep."""
        self._conditions.learn(edges.predicates[:0], edges.predicates)
        return await self._edge_filter.keeps(edges)

    async def passable(self, nodes: IntArray) -> IntArray:
        """Those of some nodes that exist and are not removed; BoundMet if there are too many."""
        new = nodes[~self._tested.has(nodes)]
        if len(new):
            self._nodes += len(new)
            if self._nodes > self._bounds.nodes:
                raise BoundMet("nodes", self._bounds.nodes)
            call.has_read(nodes=len(new))
            types = await call.within(self.columns.types(new))
            kept = types != NO_NODE
            self._conditions.learn(types[kept], types[:0])
            kept[kept] = await self._conditions.keeps_nodes(new[kept], types[kept], None)
            self._tested.add(new)
            self._removed.add(new[~kept])
        return nodes[~self._removed.has(nodes)]


class _Side:
    """The nodes within reach of one end: an entity, or the nodes of a pattern.

    Attributes:
        known: The edges and nodes shared by all sides.
        backwards: Whether directed edges are followed against their direction.
        rank: The rank of each handle, by its distance from the end.
        levels: The nodes at each distance.
    """

    def __init__(self, known: _EdgesRead, ends: IntArray, *, backwards: bool) -> None:
        self.known, self.backwards = known, backwards
        self.levels = [ends]
        self.rank: Ranks = np.zeros(known.columns.size, np.int8)
        self.rank[ends] = 1

    @property
    def depth(self) -> int:
        """The distance up to which all nodes are known."""
        return len(self.levels) - 1

    def nearest(self, other: _Side) -> int | None:
        """The length in edges of the shortest known connection of both ends."""
        self._cover()
        other._cover()
        fewer, more = sorted((self, other), key=lambda side: sum(map(len, side.levels)))
        lengths = [
            distance + int(ranks.min()) - 1
            for distance, level in enumerate(fewer.levels)
            if len(ranks := more.rank[level][more.rank[level] > 0])
        ]
        return min(lengths, default=None)

    async def expand(self) -> None:
        """Expand the side by one edge."""
        await self.known.read(self.levels[-1], backwards=self.backwards)
        self._cover()
        found = await off_loop(self.known.count, self._beyond)
        found = await self.known.passable(found)
        self._cover()
        self.rank[found] = len(self.levels) + 1
        self.levels.append(found)

    def _beyond(self) -> IntArray:
        """The nodes directly beyond the last level."""
        found = next_level(self.ways, self.rank, len(self.levels))
        return distinct_numbers(np.concatenate(found))

    @property
    def ways(self) -> Ways:
        """The edges in the directions in which the side follows them."""
        return self.known.ways(backwards=self.backwards)

    def _cover(self) -> None:
        """Extend the ranks to all handles."""
        self.rank = grown(self.rank, self.known.columns.size)


async def connected(
    selection: Selection, reach: TraversalResult, conditions: Conditions
) -> Selection:
    """Extend an intersection by the shortest connections of its nodes to every seed.

    Args:
        selection: The common nodes and the edges among them.
        reach: The whole traversal in which the common nodes were found.
        conditions: Filters; removed nodes connect nothing. Seeds are never removed.
    """
    columns, common = reach.columns, selection.nodes
    kept = await conditions.keeps_nodes(reach.nodes, reach.types, None)
    passable = Handles(columns.size, np.concatenate([reach.nodes[kept], reach.seeds.handles]))
    passed = within(reach.edges, passable)
    edges = marked(passed, await conditions.keeps_edges(passed, None))

    def added() -> tuple[BoolArray, Ring]:
        on = np.zeros(len(edges.subjects), bool)
        for place in reach.seeds.places:
            rank = ranks_from(columns.size, place.handles, edges, reach.depth)
            on |= towards(both_ways(edges), rank, common)
        ways = marked(edges, on)
        here = Handles(columns.size, common)
        ends = distinct_numbers(ways.ends)
        nearest = np.isin(reach.nodes, ends[~here.has(ends)])
        every = distinct(concatenated([selection.edges, ways]), columns.size)
        return nearest, every

    via, every = await off_loop(len(edges.subjects), added)
    nodes = np.concatenate([common, reach.nodes[via]])
    types = np.concatenate([selection.types, reach.types[via]])
    shown = Handles(columns.size, nodes)
    ends = {place.text for place in reach.seeds.places if shown.has(place.handles).all()}
    removed = tuple(text for text in selection.facts.removed_seeds if text not in ends)
    return replace(
        selection,
        facts=replace(selection.facts, removed_seeds=removed),
        nodes=nodes,
        types=types,
        edges=every,
        summary=summarized(columns, types, every),
        common=len(common),
        last_page=[],  # The last page belongs to the common nodes only.
    )


async def edges_among(reach: TraversalResult, nodes: IntArray) -> list[Triple]:
    """The edges of a traversal between some of its nodes, sorted and without self-loops."""
    columns = reach.columns
    edges = within(reach.edges, Handles(columns.size, nodes))
    edges = marked(edges, edges.subjects != edges.objects)
    count = len(edges.subjects)
    ends = await call.within(columns.ids(edges.ends))
    names = [columns.predicate_names[p] for p in edges.predicates.tolist()]
    return sorted(zip(ends[:count], names, ends[count:], strict=True))


async def _meet(one: _Side, other: _Side, most: int) -> int | None:
    """Expand two sides until they meet; return the length of the shortest connection, or None."""
    while (length := one.nearest(other)) is None:
        if one.depth + other.depth >= most:
            return None
        smaller = min(one, other, key=lambda side: len(side.levels[-1]))
        if not len(smaller.levels[-1]):  # Everything within its reach is known.
            return None
        await smaller.expand()
    return length if length <= most else None


def _between(one: _Side, other: _Side, length: int) -> Ring:
    """The edges on all connections of the given length, which must be the shortest."""
    edges = one.known.edges()
    near = min(one.depth, length)
    middle = one.levels[near]
    middle = middle[other.rank[middle] == length - near + 1]
    on = towards(one.ways, one.rank, middle) | towards(other.ways, other.rank, middle)
    return marked(edges, on)
