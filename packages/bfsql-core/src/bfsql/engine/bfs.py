"""The union of neighbourhoods: `bfs_query`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.engine.detail import detailed, due
from bfsql.engine.fit import Fits
from bfsql.engine.page import Windows
from bfsql.engine.select import Selection, select
from bfsql.engine.timing import within
from bfsql.engine.traverse import Reach, traverse
from bfsql.models import BfsQuery, BfsResult, Facts, Subgraph
from bfsql.settings.server import MAX_NODES


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
        result = await detailed(
            db,
            query,
            _page_of(query, selection, seeds, facts),
            _wanted(query, selection),
            least=1,
            selection=selection,
            fits=fits,
        )
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


def _page_of(
    query: BfsQuery, selection: Selection, seeds: list[str], facts: Facts
) -> Callable[[int], BfsResult]:
    """Makes the page of stubs with so many nodes; says so where that is less than was asked."""
    total, summary, start = len(selection.ids), selection.summary(), query.offset
    wanted = _wanted(query, selection)
    windows = Windows(selection.ids, selection.triples, start, wanted)

    def page_of(count: int) -> BfsResult:
        cut = windows.of(count)
        page = Subgraph(cut.ids, selection.types, cut.triples)
        bare = due(query, page) if count < wanted else ((), ())
        return BfsResult(
            seeds=seeds,
            max_hops=query.max_hops,
            node_count=total,
            edge_count=len(selection.triples),
            schema_summary=summary,
            page=page,
            facts=replace(
                facts,
                past_the_end=start >= total > 0,
                edges_to_earlier=cut.to_earlier,
                cut_nodes=wanted - count,
                bare_nodes=len(bare[0]),
                bare_edges=len(bare[1]),
            ),
            offset=start,
            limit=query.limit,
        )

    return page_of


def _wanted(query: BfsQuery, selection: Selection) -> int:
    """Nodes of the page that the call asks for."""
    after = max(0, len(selection.ids) - query.offset)
    return after if query.limit is None else min(query.limit, after)
