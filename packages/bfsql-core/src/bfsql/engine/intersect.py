"""Intersection: the part of a traversal within reach of every seed (`protocol.md` 6)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from bfsql import call
from bfsql.arrays import Handles, concatenated, marked, within
from bfsql.engine.traverse import Bounds, EdgeCollector, TraversalResult, ranks_from, stopping_bound
from bfsql.errors import BoundMet
from bfsql.integers import BoolArray, IntArray, Ring
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
    common = await _within_every(reach)
    outermost = reach.nodes[common & (reach.distances >= reach.depth)]
    if not len(outermost):
        return await _narrowed(reach, common)
    try:
        async with call.time_limit():
            further = await _among(reach, outermost, bounds)
    except (TimeoutError, BoundMet) as stop:
        depth = reach.depth - 1
        reach = replace(
            reach, depth=depth, stopped_by=stopping_bound(stop, reach.seeds.texts, depth)
        )
        return await _narrowed(reach, await _within_every(reach))
    return await _narrowed(reach, common, further)


async def _among(reach: TraversalResult, outermost: IntArray, bounds: Bounds) -> Ring:
    """The edges among the outermost common nodes, read as the outgoing edges of each of them."""
    members = Handles(reach.columns.size, outermost)
    found = EdgeCollector(reach.columns, bounds.edges, elsewhere=len(reach.edges.subjects))

    async def among(batch: Ring) -> Ring:
        members.cover(reach.columns.size)
        return await off_loop(len(batch.subjects), partial(within, batch, members))

    await found.read(reach.columns.rings(outermost, direction="out"), among)
    return await found.whole()


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
