"""The two traversals for programs, without a token budget; `bfsql.tools` adds the budget."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from bfsql import call
from bfsql.abc import GraphDbInterface, normalized
from bfsql.engine.executor import Executor
from bfsql.engine.pages import Pages, with_absent_fields, with_metadata
from bfsql.engine.plan import Plan
from bfsql.integers import NodeSet
from bfsql.models import BfsQuery, BfsResult, IntersectionQuery, IntersectionResult

R = TypeVar("R", bound=BfsResult | IntersectionResult)


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
    return await _answered(db, query, BfsResult, max_nodes, max_edges)


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
    return await _answered(db, query, IntersectionResult, max_nodes, max_edges)


async def _answered(
    db: GraphDbInterface,
    query: BfsQuery | IntersectionQuery,
    kind: type[R],
    max_nodes: int | None,
    max_edges: int | None,
) -> R:
    with call.joined() as under_way:
        db = normalized(db)
        executor = Executor(db, max_nodes, max_edges)
        asked = list(dict.fromkeys(query.seeds))
        found = await call.within(executor.columns.find(asked)) if asked else []
        nodes = [node for node in found if node is not None]
        unknown = tuple(i for i, seed in zip(asked, found, strict=True) if seed is None)
        seeds, ids = NodeSet.of(nodes), [node.id for node in nodes]
        if unknown and isinstance(query, IntersectionQuery):
            seeds, ids = NodeSet(()), [*ids, *unknown]
        table = await executor.answer(Plan(query, seeds))
        pages = Pages(query.model_copy(update={"seeds": ids}), table)
        result = await with_metadata(db, pages, await pages.of(pages.wanted))
        result = with_absent_fields(pages, result)
        facts = replace(result.facts, unknown_seeds=unknown, omissions=under_way.omissions)
        result = replace(result, facts=facts)
        assert isinstance(result, kind)
        return result
