"""The two traversals for programs, without a token budget; `bfsql.tools` has them with one."""

from __future__ import annotations

from dataclasses import replace

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.call import MAX_NODES
from bfsql.engine.intersect import intersect
from bfsql.engine.select import (
    Pages,
    Query,
    Result,
    select,
    with_edge_metadata,
    with_node_metadata,
)
from bfsql.engine.traverse import known_seeds, traverse
from bfsql.models import BfsQuery, BfsResult, IntersectionQuery, IntersectionResult


async def bfs_query(
    db: GraphDbInterface, query: BfsQuery, *, max_nodes: int = MAX_NODES
) -> BfsResult:
    """Expand all seeds at once and return the union of their neighbourhoods.

    Store calls: one for the seeds, one a hop, one for the types, and one each
    for the metadata of nodes and of edges, independent of the size of the answer.

    Args:
        db: The graph, with or without a cache around it.
        query: Seeds, depth and filters. Seeds that do not exist are left out.
        max_nodes: Stop after the ring that passes this number of nodes.

    Raises:
        FirstRingUnfinished: The deadline passed before the first ring was read.
        TypesUnread: It passed before the types of the nodes were read.
    """
    result = await _unbounded(db, query, query.max_hops, max_nodes)
    assert isinstance(result, BfsResult)
    return result


async def neighborhood_intersection(
    db: GraphDbInterface, query: IntersectionQuery, *, max_nodes: int = MAX_NODES
) -> IntersectionResult:
    """The nodes within `k` undirected hops of every seed, and the edges among them.

    Store calls: those of a traversal, and one for the edges of the outermost
    common nodes, which no expansion has read.

    Args:
        db: The graph, with or without a cache around it.
        query: Any number of seeds, none included; one that does not exist is
            within reach of nothing, so the answer is empty.
        max_nodes: Stop after the ring that passes this number of nodes.

    Raises:
        FirstRingUnfinished: The deadline passed before the first ring was read.
        TypesUnread: It passed before the types of the nodes were read.
    """
    result = await _unbounded(db, query, query.k, max_nodes)
    assert isinstance(result, IntersectionResult)
    return result


async def _unbounded(db: GraphDbInterface, query: Query, hops: int, max_nodes: int) -> Result:
    with call.joined() as under_way:
        seeds, unknown = await known_seeds(db, query.seeds)
        if isinstance(query, BfsQuery):
            reach = await traverse(db, seeds, hops, max_nodes)
        else:
            reach = await traverse(db, [] if unknown else seeds, hops, max_nodes)
            reach = await intersect(db, reach)
            seeds = [*seeds, *unknown]
        selection = await select(db, query, reach)
        pages = Pages(query.model_copy(update={"seeds": seeds}), selection)
        result = await with_node_metadata(db, pages, pages.of(pages.wanted))
        result = await with_edge_metadata(db, pages, result)
        facts = replace(result.facts, unknown_seeds=unknown, omissions=under_way.omissions)
        return replace(result, facts=facts)
