"""What several entities have in common: shortest connections, and intersections.

Connections of seeds and targets are searched from both ends (`protocol.md` 31). An intersection is
the part of a traversal within reach of every seed (`protocol.md` 6); its connections are shortest
ways over edges that the traversal has read (`protocol.md` 33).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np

from bfsql import call
from bfsql.arrays import (
    NO_EDGES,
    Handles,
    concatenated,
    distinct,
    distinct_numbers,
    grown,
    marked,
    within,
)
from bfsql.engine.along import EdgeConditions, StepArcs
from bfsql.engine.arcs import Arcs
from bfsql.engine.conditions import Conditions
from bfsql.engine.plan import Bounds
from bfsql.engine.table import AnswerTable, Connection, summarized
from bfsql.engine.traverse import (
    EdgeCollector,
    Ranks,
    Ways,
    both_ways,
    next_level,
    ranks_from,
    stopping_bound,
    towards,
    whole_ring,
)
from bfsql.errors import BoundMet
from bfsql.integers import NO_NODE, BoolArray, IntArray, IntegerGraph, NodeSet, Ring
from bfsql.models import AnswerGaps, Triple
from bfsql.workers import off_loop


class ShortestPathSearch:
    """A search for shortest connections from both ends, with the edges that it has read.

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
        self.columns = columns
        self.directed = along is not None
        self._along = along
        # An edge is in the rings of both its ends.
        self._found = EdgeCollector(columns, bounds.edges, repeats=True)
        self._conditions, self._bounds = conditions, bounds
        self._edge_conditions = EdgeConditions(columns, conditions, None)
        self._read = {back: Handles(columns.size) for back in (False, True)}
        self._tested, self._removed = Handles(columns.size), Handles(columns.size)
        self._nodes = 0

    async def connections(self, seeds: NodeSet, targets: NodeSet, most: int) -> AnswerTable:
        """The nodes and edges on all shortest connections of each seed and target.

        Args:
            seeds: The places at one end.
            targets: The places at the other end.
            most: The largest number of edges of a connection.

        Raises:
            BoundMet: The search would exceed a bound.
            TimeoutError: The deadline passed.
        """
        columns = self.columns
        named = distinct_numbers(np.concatenate([seeds.named, targets.named]))
        self._tested.add(named)
        self._nodes = len(named)
        sides: dict[tuple[str, bool], _Side] = {}
        for back, places in ((False, seeds.places), (self.directed, targets.places)):
            for place in places:
                ends = await self.passable(place.handles)
                sides.setdefault((place.text, back), _Side(self, ends, backwards=back))
        found: list[Connection] = []
        edges: list[Ring] = []
        joined: list[IntArray] = [named[:0]]
        for seed, target in product(seeds.places, targets.places):
            one, other = sides[seed.text, False], sides[target.text, self.directed]
            length = await _meet(one, other, most)
            found.append(Connection(seed.text, target.text, length))
            if length is not None:
                edges.append(await off_loop(self.count, partial(_between, one, other, length)))
            if length == 0:
                joined.append(np.intersect1d(one.levels[0], other.levels[0]))
        ring = concatenated(edges)
        if self.directed:
            ring = Arcs.decoded(ring).ring
        ring = distinct(ring, columns.size)
        nodes = distinct_numbers(np.concatenate([*joined, ring.ends]))
        return replace(await self._table(seeds, nodes, ring, most), connections=found)

    async def _table(self, seeds: NodeSet, nodes: IntArray, edges: Ring, most: int) -> AnswerTable:
        """The connections, with nodes by distance within them, then by id."""
        columns, every = self.columns, Handles(self.columns.size, nodes)
        starts = seeds.handles
        rank = ranks_from(columns.size, starts[every.has(starts)], edges, most)[nodes]
        levels = [await columns.ordered(nodes[rank == far + 1]) for far in range(most + 1)]
        nodes = np.concatenate(levels)
        types = await call.within(columns.types(nodes))
        own = () if self._along is None else self._along.facts
        facts = AnswerGaps(conditions=(*self._conditions.facts, *own))
        return AnswerTable.of(columns, nodes, types, edges, facts)

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
        return await self._edge_conditions.keeps(edges)

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
        known: The search, with the edges and nodes shared by all sides.
        backwards: Whether directed edges are followed against their direction.
        rank: The rank of each handle, by its distance from the end.
        levels: The nodes at each distance.
    """

    def __init__(self, known: ShortestPathSearch, ends: IntArray, *, backwards: bool) -> None:
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


# --- intersections --------------------------------------------------------------


async def intersect(reach: AnswerTable, seeds: NodeSet, bounds: Bounds) -> AnswerTable:
    """Narrow a traversal to the nodes within its depth of every seed, and the edges among them.

    One more ring is read: the edges of the outermost common nodes, which no expansion has
    read. If there is no time or no room for it, the result is that of one hop
    less, whose edges are all known.

    Args:
        reach: A traversal from all seeds.
        seeds: The seeds.
        bounds: The bounds of the traversal.

    Raises:
        FirstRingUnfinished: The deadline passed at depth 1, which has no smaller depth.
        FirstRingTooLarge: A bound was met at depth 1, which has no smaller depth.
    """
    if not len(reach.nodes):
        return reach
    depth, columns = reach.depth or 0, reach.columns
    common, further = await _within_every(reach, seeds, depth), NO_EDGES
    outermost = reach.nodes[common & (reach.distances >= depth)]
    try:
        if len(outermost):
            async with call.time_limit():
                read = len(reach.edges.subjects)
                ring = await whole_ring(columns, outermost, bounds, direction="out", elsewhere=read)
            members = Handles(columns.size, outermost)
            further = await off_loop(len(ring.subjects), lambda: within(ring, members))
    except (TimeoutError, BoundMet) as stop:
        stopped_by = stopping_bound(stop, seeds.texts, depth - 1)
        facts = AnswerGaps(reach.facts.asked_depth or depth, depth - 1, stopped_by)
        reach = replace(reach, depth=depth - 1, facts=facts)
        common = await _within_every(reach, seeds, depth - 1)

    def narrowed() -> AnswerTable:
        nodes, dangling = reach.nodes[common], reach.dangling
        members = Handles(columns.size, nodes)
        touched = members.has(dangling.edges.subjects) | members.has(dangling.edges.objects)
        edges = concatenated([within(reach.edges, members), further])
        return replace(
            reach,
            nodes=nodes,
            types=reach.types[common],
            edges=edges,
            dangling=dangling._replace(edges=marked(dangling.edges, touched)),
        )

    return await off_loop(len(reach.nodes) + len(reach.edges.subjects), narrowed)


async def connected(
    table: AnswerTable, reach: AnswerTable, seeds: NodeSet, conditions: Conditions
) -> AnswerTable:
    """Extend an intersection by the shortest connections of its nodes to every seed.

    Args:
        table: The common nodes and the edges among them.
        reach: The whole traversal in which the common nodes were found.
        seeds: The seeds, which are never removed.
        conditions: Filters; removed nodes connect nothing.
    """
    columns, common, depth = reach.columns, table.nodes, reach.depth or 0
    kept = await conditions.keeps_nodes(reach.nodes, reach.types, None)
    passable = Handles(columns.size, np.concatenate([reach.nodes[kept], seeds.handles]))
    passed = within(reach.edges, passable)
    edges = marked(passed, await conditions.keeps_edges(passed, None))

    def added() -> tuple[BoolArray, Ring]:
        on = np.zeros(len(edges.subjects), bool)
        for place in seeds.places:
            rank = ranks_from(columns.size, place.handles, edges, depth)
            on |= towards(both_ways(edges), rank, common)
        ways = marked(edges, on)
        here = Handles(columns.size, common)
        ends = distinct_numbers(ways.ends)
        nearest = np.isin(reach.nodes, ends[~here.has(ends)])
        every = distinct(concatenated([table.edges, ways]), columns.size)
        return nearest, every

    via, every = await off_loop(len(edges.subjects), added)
    nodes = np.concatenate([common, reach.nodes[via]])
    types = np.concatenate([table.types, reach.types[via]])
    shown = Handles(columns.size, nodes)
    ends = {place.text for place in seeds.places if shown.has(place.handles).all()}
    removed = tuple(text for text in table.facts.removed_seeds if text not in ends)
    return replace(
        table,
        facts=replace(table.facts, removed_seeds=removed),
        nodes=nodes,
        listed=nodes,
        types=types,
        edges=every,
        summary=summarized(columns, types, every),
        common=len(common),
        last_page=[],  # The last page belongs to the common nodes only.
    )


async def edges_among(reach: AnswerTable, nodes: IntArray) -> list[Triple]:
    """The edges of a traversal between some of its nodes, sorted and without self-loops."""
    columns = reach.columns
    edges = within(reach.edges, Handles(columns.size, nodes))
    edges = marked(edges, edges.subjects != edges.objects)
    count = len(edges.subjects)
    ends = await call.within(columns.ids(edges.ends))
    names = [columns.predicate_names[p] for p in edges.predicates.tolist()]
    return sorted(zip(ends[:count], names, ends[count:], strict=True))


async def _within_every(reach: AnswerTable, seeds: NodeSet, depth: int) -> BoolArray:
    """Which nodes of a traversal are within a depth of every seed."""
    edges, size = reach.edges, reach.columns.size
    common = np.ones(len(reach.nodes), bool)
    for place in seeds.places:
        search = partial(ranks_from, size, place.handles, edges, depth)
        rank = await off_loop(depth * len(edges.subjects), search)
        common &= rank[reach.nodes] > 0
    return common
