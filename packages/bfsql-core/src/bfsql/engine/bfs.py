"""The union of neighbourhoods: `bfs_query`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.engine.detail import add_detail
from bfsql.engine.fit import Fits, most
from bfsql.engine.page import window
from bfsql.engine.select import Selection, select
from bfsql.engine.timing import within
from bfsql.engine.traverse import MAX_NODES, Reach, traverse
from bfsql.errors import NothingFits
from bfsql.models import BfsQuery, BfsResult, Facts, Subgraph


async def bfs_query(
    db: GraphDbInterface,
    query: BfsQuery,
    *,
    max_nodes: int = MAX_NODES,
    fits: Fits[BfsResult] | None = None,
) -> BfsResult:
    """Expand all seeds at once and return the union of their neighbourhoods.

    Store calls: one for the seeds, one a hop, one for the types, and one each
    for the metadata of nodes and of edges, whatever the size of the answer.

    Args:
        db: The graph, with or without a cache around it.
        query: Seeds, depth and filters. Seeds that do not exist are left out.
        max_nodes: Stop after the ring that passes this number of nodes.
        fits: Whether a result keeps within a budget; None for no budget.

    Raises:
        FirstRingUnfinished: The deadline passed before the first ring was read.
        TypesUnread: It passed before the types of the nodes were read.
        NothingFits: Not even one node fits the budget.
    """
    with call.joined() as under_way:
        seeds, unknown = await known_seeds(db, query.seeds)
        reach = await traverse(db, seeds, query.max_hops, max_nodes)
        selection = await select(
            db, reach, exclude_types=query.exclude_node_types, min_mentions=query.min_mentions
        )
        facts = facts_of(reach, selection, seeds, unknown, query.max_hops)
        facts.omissions = under_way.omissions
        result = _fitting(query, selection, seeds, facts, fits)
        if not result.facts.cut_nodes:
            result = await add_detail(db, query, result, selection, fits)
        result.facts.omissions = under_way.omissions
        return result


async def known_seeds(
    db: GraphDbInterface, seeds: Sequence[str]
) -> tuple[list[str], tuple[str, ...]]:
    """The seeds that exist, in the order given and without duplicates; and those that do not."""
    asked = list(dict.fromkeys(seeds))
    if not asked:
        return [], ()
    nodes = {node.id: node for node in await within(db.get_nodes_batch(asked))}
    return [s for s in asked if s in nodes], tuple(s for s in asked if s not in nodes)


def facts_of(
    reach: Reach,
    selection: Selection,
    seeds: Sequence[str],
    unknown: tuple[str, ...],
    asked_depth: int,
) -> Facts:
    """What a traversal and a selection have to say about themselves."""
    present = frozenset(selection.ids)
    facts = Facts(
        unknown_seeds=unknown,
        removed_seeds=tuple(s for s in seeds if s not in present),
        dangling_ids=len(reach.dangling),
        dangling_edges=sum(map(len, reach.dangling.values())),
        stopped_by=reach.stopped_by,
    )
    if reach.depth < asked_depth:
        facts.asked_depth, facts.finished_depth = asked_depth, reach.depth
    return facts


def _fitting(
    query: BfsQuery,
    selection: Selection,
    seeds: list[str],
    facts: Facts,
    fits: Fits[BfsResult] | None,
) -> BfsResult:
    """The page as stubs; cut at its end where even that is too large."""
    total, summary = len(selection.ids), selection.summary()
    start = query.offset
    stop = total if query.limit is None else min(total, start + query.limit)
    wanted = max(0, stop - start)

    def page_of(count: int) -> BfsResult:
        page = window(selection.ids, selection.triples, start, start + count)
        told = replace(
            facts,
            past_the_end=start >= total > 0 and start > 0,
            edges_to_earlier=page.to_earlier,
            edges_to_later=page.to_later,
            cut_nodes=wanted - count,
        )
        return BfsResult(
            seeds=seeds,
            max_hops=query.max_hops,
            node_count=total,
            edge_count=len(selection.triples),
            schema_summary=summary,
            page=Subgraph(page.ids, selection.types, page.triples),
            facts=told,
            offset=start,
            limit=query.limit,
        )

    complete = page_of(wanted)
    if fits is None or fits(complete):
        return complete
    count = most(wanted - 1, lambda n: fits(page_of(n)))
    if count < 1:
        raise NothingFits
    return page_of(count)
