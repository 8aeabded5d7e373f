"""Intersection: the part of a traversal within reach of every seed (`protocol.md` 6).

Its connections are shortest ways over edges that the traversal has read (`protocol.md` 33).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from bfsql import call
from bfsql.arrays import Handles, concatenated, distinct, distinct_numbers, marked, within
from bfsql.engine.conditions import Conditions
from bfsql.engine.select import Selection, summarized
from bfsql.engine.traverse import (
    Bounds,
    TraversalResult,
    both_ways,
    ranks_from,
    stopping_bound,
    towards,
    whole_ring,
)
from bfsql.errors import BoundMet
from bfsql.integers import BoolArray, IntArray, Ring
from bfsql.models import Triple
from bfsql.workers import off_loop


async def intersect(reach: TraversalResult, bounds: Bounds) -> TraversalResult:
    """Narrow a traversal to the nodes within its depth of every seed, and the edges among them.

    One more ring is read: the edges of the outermost common nodes, which no expansion has
    read. If there is no time or no room for it, the result is that of one hop
    less, whose edges are all known.

    Args:
        reach: A traversal from all seeds.
        bounds: The bounds of the traversal.

    Raises:
        FirstRingUnfinished: The deadline passed at depth 1, which has no smaller depth.
        FirstRingTooLarge: A bound was met at depth 1, which has no smaller depth.
    """
    if not len(reach.nodes):
        return reach
    columns, common = reach.columns, await _within_every(reach)
    outermost = reach.nodes[common & (reach.distances >= reach.depth)]
    if not len(outermost):
        return await _narrowed(reach, common)
    try:
        async with call.time_limit():
            read = len(reach.edges.subjects)
            ring = await whole_ring(columns, outermost, bounds, direction="out", elsewhere=read)
        further = await off_loop(
            len(ring.subjects), lambda: within(ring, Handles(columns.size, outermost))
        )
    except (TimeoutError, BoundMet) as stop:
        depth = reach.depth - 1
        reach = replace(
            reach, depth=depth, stopped_by=stopping_bound(stop, reach.seeds.texts, depth)
        )
        return await _narrowed(reach, await _within_every(reach))
    return await _narrowed(reach, common, further)


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


async def _within_every(reach: TraversalResult) -> BoolArray:
    """Which nodes of a traversal are within its depth of every seed."""
    edges, size, hops = reach.edges, reach.columns.size, reach.depth
    common = np.ones(len(reach.nodes), bool)
    for place in reach.seeds.places:
        search = partial(ranks_from, size, place.handles, edges, hops)
        rank = await off_loop(hops * len(edges.subjects), search)
        common &= rank[reach.nodes] > 0
    return common


async def _narrowed(
    reach: TraversalResult, common: BoolArray, further: Ring | None = None
) -> TraversalResult:
    """The reach limited to the common nodes; dangling edges that touch one of them are kept."""

    def narrowed() -> TraversalResult:
        nodes = reach.nodes[common]
        members = Handles(reach.columns.size, nodes)
        edges, dangling = reach.edges, reach.dangling
        kept = [within(edges, members)]
        return replace(
            reach,
            nodes=nodes,
            distances=reach.distances[common],
            types=reach.types[common],
            edges=concatenated([*kept, further] if further else kept),
            dangling=marked(
                dangling, members.has(dangling.subjects) | members.has(dangling.objects)
            ),
        )

    return await off_loop(len(reach.nodes) + len(reach.edges.subjects), narrowed)
