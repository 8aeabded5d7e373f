"""From a selection to a result: pages of stubs, their metadata, and the way through it all.

A page is a window of nodes and the edges inside it (`protocol.md` 4).
`node_types` and `predicates` choose detail, not presence: what they do not name
stays as a stub, and costs the store nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import TypeAlias, TypeVar

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.engine.intersect import intersect
from bfsql.engine.select import Selection, select
from bfsql.engine.traverse import known_seeds, traverse
from bfsql.models import (
    BfsQuery,
    BfsResult,
    IntersectionQuery,
    IntersectionResult,
    Metadata,
    Subgraph,
    Triple,
)
from bfsql.settings.server import MAX_NODES

Query: TypeAlias = BfsQuery | IntersectionQuery
Result: TypeAlias = BfsResult | IntersectionResult

K = TypeVar("K", str, Triple)


async def bfs_query(
    db: GraphDbInterface, query: BfsQuery, *, max_nodes: int = MAX_NODES
) -> BfsResult:
    """Expand all seeds at once and return the union of their neighbourhoods.

    Store calls: one for the seeds, one a hop, one for the types, and one each
    for the metadata of nodes and of edges, whatever the size of the answer.

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
    """Traverse, select, detail, without a token budget; `bfsql.tools` has the same with one."""
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


class Pages:
    """The pages of stubs of one selection that begin at the same node, of any length.

    A budget tries many lengths: an edge is placed once, so that trying one
    costs as much as what is in it, and not as much as the whole answer.

    Args:
        query: Its seeds, which exist, its page and its filters of detail.
        selection: The whole answer.

    Attributes:
        wanted: Nodes of the page that the query asks for.
        least: Fewest nodes that are worth an answer.
    """

    def __init__(self, query: Query, selection: Selection) -> None:
        self.query = query
        self.selection = selection
        self._start, limit = 0, None
        if isinstance(query, BfsQuery):
            self._start, limit = query.offset, query.limit
        after = max(0, len(selection.ids) - self._start)
        self.wanted = after if limit is None else min(limit, after)
        self.least = 1 if isinstance(query, BfsQuery) else 0

    def of(self, count: int) -> Result:
        """The result of stubs with so many nodes; its facts count what is missing of the page."""
        query, selection, start = self.query, self.selection, self._start
        total = len(selection.ids)
        page, to_earlier = self._window(count)
        facts = replace(
            selection.facts,
            past_the_end=start >= total > 0,
            edges_to_earlier=to_earlier,
            cut_nodes=self.wanted - count,
        )
        if count < self.wanted:
            nodes, edges = self.due(page)
            facts = replace(facts, bare_nodes=len(nodes), bare_edges=len(edges))
        seeds, summary, edge_count = query.seeds, selection.summary, len(selection.triples)
        if isinstance(query, BfsQuery):
            return BfsResult(
                seeds,
                total,
                edge_count,
                summary,
                page,
                facts,
                query.max_hops,
                query.offset,
                query.limit,
            )
        cut = Counter(selection.types[i] for i in selection.ids[count:])
        facts = replace(facts, cut_types=dict(sorted(cut.items())))
        return IntersectionResult(seeds, total, edge_count, summary, page, facts, query.k)

    def due(self, page: Subgraph) -> tuple[Sequence[str], Sequence[Triple]]:
        """The nodes and the edges of a page that the filters want in full."""
        if self.query.topology_only:
            return (), ()
        types, full_types = page.types, frozenset(self.query.node_types)
        full_predicates = frozenset(self.query.predicates)
        return (
            [i for i in page.ids if not full_types or types[i] in full_types],
            [t for t in page.triples if not full_predicates or t[1] in full_predicates],
        )

    def _window(self, count: int) -> tuple[Subgraph, int]:
        """So many nodes with the edges among them; and the edges between them and earlier nodes."""
        ids, types, stop = self.selection.ids, self.selection.types, self._start + count
        if self._start == 0 and stop >= len(ids):
            return Subgraph(ids, types, self.selection.triples), 0
        inside, crossing = self._placed
        triples = sorted(t for _, t in inside[: bisect_left(inside, stop, key=_later_end)])
        return Subgraph(ids[self._start : stop], types, triples), bisect_left(crossing, stop)

    @cached_property
    def _placed(self) -> tuple[list[tuple[int, Triple]], list[int]]:
        """Edges inside the longest page by their later end; later ends of those that enter it."""
        start, end = self._start, self._start + self.wanted
        place = {entity_id: position for position, entity_id in enumerate(self.selection.ids[:end])}
        inside: list[tuple[int, Triple]] = []
        crossing: list[int] = []
        for triple in self.selection.triples:
            one, other = place.get(triple[0], end), place.get(triple[2], end)
            first, last = (one, other) if one < other else (other, one)
            if start <= first and last < end:
                inside.append((last, triple))
            elif first < start <= last < end:
                crossing.append(last)
        inside.sort(key=_later_end)
        return inside, sorted(crossing)


def _later_end(placed: tuple[int, Triple]) -> int:
    return placed[0]


async def with_node_metadata(db: GraphDbInterface, pages: Pages, result: Result) -> Result:
    """The result with the metadata of all nodes that are due, or of none when it comes too late."""
    due, _ = pages.due(result.page)
    selection = pages.selection
    found = selection.metadata
    if found is None:
        try:
            found = await call.within(db.metadata_for_nodes_batch(due)) if due else {}
        except TimeoutError:
            return replace(result, facts=replace(result.facts, late=("nodes",)))
    brought = selection.brought
    full: dict[str, Metadata] = {
        i: {**brought[i], **found.get(i, {})} if i in brought else found.get(i, {}) for i in due
    }
    return replace(result, page=replace(result.page, node_metadata=full))


async def with_edge_metadata(db: GraphDbInterface, pages: Pages, result: Result) -> Result:
    """The result with the metadata of all edges that are due, or of none when it comes too late."""
    _, due = pages.due(result.page)
    if not due:
        return result
    try:
        found = await call.within(db.metadata_for_edges_batch(due))
    except TimeoutError:
        late = (*result.facts.late, "edges")
        return replace(result, facts=replace(result.facts, late=late))
    full = {triple: found.get(triple, {}) for triple in due}
    return replace(result, page=replace(result.page, edge_metadata=full))


def without_edge_metadata(pages: Pages, result: Result) -> Result:
    """The result whose nodes leave no room for the metadata of edges; its facts count them."""
    _, due = pages.due(result.page)
    return replace(result, facts=replace(result.facts, bare_edges=len(due)))


def trimmed(result: Result, nodes: int, edges: int) -> Result:
    """The result with the metadata of its first so many nodes and edges; its facts count the rest.

    Args:
        result: With metadata.
        nodes: How many of the nodes that have metadata keep it.
        edges: How many of the edges.
    """
    page, facts = result.page, result.facts
    return replace(
        result,
        page=replace(
            page,
            node_metadata=_first(page.node_metadata, nodes),
            edge_metadata=_first(page.edge_metadata, edges),
        ),
        facts=replace(
            facts,
            bare_nodes=len(page.node_metadata) - nodes,
            bare_edges=facts.bare_edges + len(page.edge_metadata) - edges,
        ),
    )


def _first(full: dict[K, Metadata], count: int) -> dict[K, Metadata]:
    return full if count == len(full) else dict(islice(full.items(), count))
