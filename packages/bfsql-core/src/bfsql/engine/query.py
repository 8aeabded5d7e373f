"""The two traversals for programs, without a token budget; `bfsql.tools` adds the budget."""

from __future__ import annotations

from dataclasses import replace

from bfsql import call
from bfsql.abc import GraphDbInterface, normalized
from bfsql.engine.along import steps_along
from bfsql.engine.conditions import Query
from bfsql.engine.connect import intersect
from bfsql.engine.facets import with_facets
from bfsql.engine.numbered import columns_of
from bfsql.engine.pages import Pages, Result, with_absent_fields, with_metadata
from bfsql.engine.patterns import RelationReader
from bfsql.engine.table import in_order_of
from bfsql.engine.traverse import Bounds, select, selected, traverse
from bfsql.integers import NodeSet
from bfsql.models import BfsQuery, BfsResult, IntersectionQuery, IntersectionResult


async def bfs_query(
    db: GraphDbInterface,
    query: BfsQuery,
    *,
    max_nodes: int | None = None,
    max_edges: int | None = None,
) -> BfsResult:
    """Expand all seeds at once and return the union of their neighbourhoods.

    Store calls: one for the seeds, one per hop, one for the types, and one each
    for the metadata of nodes and of edges, regardless of the size of the answer.

    Args:
        db: The graph, with or without a cache around it.
        query: Seeds, depth and filters. Seeds that do not exist are left out.
        max_nodes: A ring that exceeds this number of nodes is not finished; None selects the
            default of `bfsql.call`.
        max_edges: A ring that exceeds this number of edges is not finished; None as above.

    Raises:
        FirstRingUnfinished: The deadline passed before the first ring was read.
        FirstRingTooLarge: The first ring exceeds a bound.
        TypesUnread: The deadline passed before the types of the nodes were read.
    """
    result = await _answered(db, query, query.max_hops, max_nodes, max_edges)
    assert isinstance(result, BfsResult)
    return result


async def neighborhood_intersection(
    db: GraphDbInterface,
    query: IntersectionQuery,
    *,
    max_nodes: int | None = None,
    max_edges: int | None = None,
) -> IntersectionResult:
    """The nodes within `k` undirected hops of every seed, and the edges among them.

    Store calls: those of a traversal, and one for the edges of the outermost
    common nodes, which no expansion has read.

    Args:
        db: The graph, with or without a cache around it.
        query: Any number of seeds, including none. A seed that does not exist reaches no node,
            so the answer is empty.
        max_nodes: As in `bfs_query`.
        max_edges: As in `bfs_query`.

    Raises:
        BfsqlError: As in `bfs_query`.
    """
    result = await _answered(db, query, query.k, max_nodes, max_edges)
    assert isinstance(result, IntersectionResult)
    return result


async def _answered(
    db: GraphDbInterface, query: Query, hops: int, max_nodes: int | None, max_edges: int | None
) -> Result:
    with call.joined() as under_way:
        db = normalized(db)
        columns = columns_of(db)
        bounds = Bounds.of(columns, max_nodes, max_edges)
        relations = RelationReader(db, columns, bounds)
        conditions = await relations.conditions(query)
        asked = list(dict.fromkeys(query.seeds))
        found = await call.within(columns.find(asked)) if asked else []
        nodes = [node for node in found if node is not None]
        unknown = tuple(i for i, seed in zip(asked, found, strict=True) if seed is None)
        seeds, ids = NodeSet.of(nodes), [node.id for node in nodes]
        if isinstance(query, BfsQuery):
            along = await steps_along(columns, query, relations.conditions, bounds)
            table = await selected(columns, seeds, hops, bounds, conditions, along)
        else:
            reach = await traverse(columns, NodeSet(()) if unknown else seeds, hops, bounds)
            table = await select(await intersect(reach, bounds), conditions)
            ids = [*ids, *unknown]
        if query.sort_by is not None:
            table = await in_order_of(db, table, query.sort_by)
        if query.facets:
            table = await with_facets(db, query, table)
        pages = Pages(query.model_copy(update={"seeds": ids}), table)
        result = await with_metadata(db, pages, await pages.of(pages.wanted))
        result = with_absent_fields(pages, result)
        facts = replace(result.facts, unknown_seeds=unknown, omissions=under_way.omissions)
        return replace(result, facts=facts)
