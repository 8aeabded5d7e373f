"""What all seeds share: `intersect_subgraphs` (`protocol.md` 6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.engine.bfs import facts_of, known_seeds
from bfsql.engine.detail import detailed, due
from bfsql.engine.fit import Fits
from bfsql.engine.page import Windows
from bfsql.engine.select import Selection, select
from bfsql.engine.timing import seconds, within
from bfsql.engine.traverse import Reach, traverse
from bfsql.errors import FirstRingUnfinished
from bfsql.models import Facts, IntersectionQuery, IntersectionResult, Subgraph, Triple
from bfsql.settings.server import MAX_NODES


async def neighborhood_intersection(
    db: GraphDbInterface,
    query: IntersectionQuery,
    *,
    max_nodes: int = MAX_NODES,
    fits: Fits[IntersectionResult] | None = None,
) -> IntersectionResult:
    """The nodes within `k` undirected hops of every seed, and the edges among them.

    Store calls: those of a traversal, and one for the edges of the outermost
    common nodes, which no expansion has read.

    Args:
        db: The graph, with or without a cache around it.
        query: Any number of seeds, none included; one that does not exist is
            within reach of nothing, so the answer is empty.
        max_nodes: Stop after the ring that passes this number of nodes.
        fits: Whether a result keeps within a budget; None for no budget.

    Raises:
        FirstRingUnfinished: The deadline passed before the first ring was read.
        TypesUnread: It passed before the types of the nodes were read.
        NothingFits: Not even the empty answer fits the budget.
    """
    with call.joined() as under_way:
        seeds, unknown = await known_seeds(db, query.seeds)
        reach = await traverse(db, [] if unknown else seeds, query.k, max_nodes)
        common = await _complete(db, reach, seeds)
        selection = await select(
            db,
            reach,
            exclude_types=query.exclude_node_types,
            min_mentions=query.min_mentions,
            among=common,
        )
        in_reach = [s for s in seeds if s in common]
        facts = facts_of(reach, selection, in_reach, unknown, query.k)
        facts.dangling_ids, facts.dangling_edges = _dangling_at(reach, common)
        facts.omissions = under_way.omissions
        result = await detailed(
            db,
            query,
            _first_of(query, selection, [*seeds, *unknown], facts),
            len(selection.ids),
            least=0,
            selection=selection,
            fits=fits,
        )
        result.facts.omissions = under_way.omissions
        return result


def within_every(edges: Iterable[Triple], seeds: Sequence[str], hops: int) -> set[str]:
    """The nodes that are within so many hops of every seed.

    One bit a seed: in each round every node takes over the bits of its
    neighbours, so all seeds are followed at once.
    """
    reached = {seed: 1 << position for position, seed in enumerate(seeds)}
    pairs = {(subject, object_) for subject, _, object_ in edges}
    for _ in range(hops):
        before = dict(reached)
        for one, other in pairs:
            of_one, of_other = before.get(one, 0), before.get(other, 0)
            if of_one != of_other:
                reached[one] = reached.get(one, 0) | of_other
                reached[other] = reached.get(other, 0) | of_one
    everyone = (1 << len(seeds)) - 1
    return {entity_id for entity_id, bits in reached.items() if bits == everyone}


async def _complete(db: GraphDbInterface, reach: Reach, seeds: Sequence[str]) -> set[str]:
    """The common nodes; reads the edges among those of the last ring into `reach`.

    When the deadline does not leave the time for them, the answer is that of
    one hop less, whose edges are all known.
    """
    if not reach.nodes:
        return set()
    common = within_every(reach.edges, seeds, reach.depth)
    last = [i for ring in reach.rings[reach.depth :] for i in ring if i in common]
    if not last:
        return common
    try:
        ring = list(await within(db.edges_batch(last)))
    except TimeoutError as late:
        if reach.depth == 1:
            raise FirstRingUnfinished(seeds, seconds(), None) from late
        reach.depth, reach.stopped_by = reach.depth - 1, "deadline"
        return within_every(reach.edges, seeds, reach.depth)
    reach.edges.update((s, p, o) for s, p, o in ring if s in common and o in common)
    return common


def _dangling_at(reach: Reach, common: set[str]) -> tuple[int, int]:
    """Ends without a node next to a common one, and the edges to them."""
    near: list[int] = [
        touching
        for edges in reach.dangling.values()
        if (touching := sum(s in common or o in common for s, _, o in edges))
    ]
    return len(near), sum(near)


def _first_of(
    query: IntersectionQuery, selection: Selection, seeds: list[str], facts: Facts
) -> Callable[[int], IntersectionResult]:
    """Makes the answer of stubs with so many nodes; says so where that is not all of them."""
    total, summary, types = len(selection.ids), selection.summary(), selection.types
    windows = Windows(selection.ids, selection.triples, 0, total)

    def first(count: int) -> IntersectionResult:
        kept = windows.of(count)
        page = Subgraph(kept.ids, types, kept.triples)
        bare = due(query, page) if count < total else ((), ())
        cut = Counter(types[i] for i in selection.ids[count:])
        return IntersectionResult(
            seeds=seeds,
            k=query.k,
            node_count=total,
            edge_count=len(selection.triples),
            schema_summary=summary,
            page=page,
            facts=replace(
                facts,
                cut_nodes=total - count,
                cut_types=dict(sorted(cut.items())),
                bare_nodes=len(bare[0]),
                bare_edges=len(bare[1]),
            ),
        )

    return first
