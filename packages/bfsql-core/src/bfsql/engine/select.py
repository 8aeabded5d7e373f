"""What of a traversal is in the answer: its selection, its pages and their metadata.

The selection is the whole answer in its order (`protocol.md` 3, 5). A page is a
window of its nodes and the edges inside (`protocol.md` 4). `node_types` and
`predicates` choose detail, not presence: what they do not name stays as a stub,
and costs the store nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import islice
from typing import TypeAlias, TypeVar

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.engine.traverse import Reach
from bfsql.models import (
    NO_METADATA,
    BfsQuery,
    BfsResult,
    Facts,
    IntersectionQuery,
    IntersectionResult,
    Metadata,
    SchemaSummary,
    Subgraph,
    Triple,
)

Query: TypeAlias = BfsQuery | IntersectionQuery
Result: TypeAlias = BfsResult | IntersectionResult

K = TypeVar("K", str, Triple)


@dataclass(frozen=True, slots=True)
class Selection:
    """The whole answer, before its page is cut and its detail is read; `engine` reads it."""

    ids: Sequence[str]
    """Nodes: by distance from the nearest seed, then by id."""
    types: dict[str, str]
    """Type of every node in the answer, and perhaps of more."""
    triples: Sequence[Triple]
    """Edges: by subject, predicate, object."""
    summary: SchemaSummary
    """The vocabulary of the whole answer."""
    brought: Mapping[str, Metadata]
    """What came along with the nodes; their metadata is laid over it."""
    metadata: Mapping[str, Metadata] | None
    """Metadata of all nodes reached, where `min_mentions` had to read it."""
    facts: Facts
    """What the traversal and the removing filters left out."""


async def select(db: GraphDbInterface, query: Query, reach: Reach) -> Selection:
    """Remove what the two removing filters name, and put the rest in order.

    Args:
        db: The graph; asked for metadata only where `min_mentions` needs it.
        query: Its `exclude_node_types` and `min_mentions`.
        reach: What the traversal reached.

    Raises:
        TimeoutError: The deadline passed while the mentions were read.
    """
    ids = [i for ring in reach.rings for i in ring]
    types = {entity_id: node.entity_type for entity_id, node in reach.nodes.items()}
    brought = {i: node.metadata for i, node in reach.nodes.items() if node.metadata}
    if query.exclude_node_types:
        excluded = frozenset(query.exclude_node_types)
        ids = [i for i in ids if types[i] not in excluded]
    metadata, least = None, query.min_mentions
    if least > 1 and ids:
        if not all("total_mentions" in brought.get(i, NO_METADATA) for i in ids):
            metadata = await call.within(db.metadata_for_nodes_batch(ids))
        read = metadata or {}
        ids = [
            i for i in ids if _mentions({**brought.get(i, {}), **read.get(i, {})}, least) >= least
        ]
    triples = _between(reach, ids)
    summary = SchemaSummary(
        sorted({types[i] for i in ids}), sorted({predicate for _, predicate, _ in triples})
    )
    return Selection(ids, types, triples, summary, brought, metadata, _facts(reach, ids))


def _mentions(metadata: Metadata, otherwise: int) -> float | Decimal:
    value = metadata.get("total_mentions")
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return value if value == value else otherwise  # noqa: PLR0124 - NaN is no number
    return otherwise  # "a value that is no number counts as absent"


def _between(reach: Reach, ids: Sequence[str]) -> list[Triple]:
    """The edges whose two ends are among the ids, sorted."""
    if len(ids) == len(reach.nodes):
        return sorted(reach.edges)
    kept = frozenset(ids)
    return sorted(t for t in reach.edges if t[0] in kept and t[2] in kept)


def _facts(reach: Reach, ids: Sequence[str]) -> Facts:
    present, stopped = frozenset(ids), reach.depth < reach.hops
    return Facts(
        asked_depth=reach.hops if stopped else None,
        finished_depth=reach.depth if stopped else None,
        stopped_by=reach.stopped_by,
        dangling_ids=len(reach.dangling),
        dangling_edges=sum(map(len, reach.dangling.values())),
        removed_seeds=tuple(s for s in reach.seeds if s not in present),
    )


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
        """The result with the first `count` nodes as stubs; its facts count those cut off."""
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
            nodes, edges = self.wanted_in_full(page)
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

    def wanted_in_full(self, page: Subgraph) -> tuple[Sequence[str], Sequence[Triple]]:
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
        """`count` nodes with their edges, and how many more edges lead to earlier nodes."""
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
    """The result with node metadata.

    It is that of all nodes that the filters want in full, or of none if the deadline passes first.
    """
    wanted, _ = pages.wanted_in_full(result.page)
    selection = pages.selection
    found = selection.metadata
    if found is None:
        try:
            found = await call.within(db.metadata_for_nodes_batch(wanted)) if wanted else {}
        except TimeoutError:
            return replace(result, facts=replace(result.facts, late=("nodes",)))
    brought = selection.brought
    full: dict[str, Metadata] = {
        i: {**brought[i], **found.get(i, {})} if i in brought else found.get(i, {}) for i in wanted
    }
    return replace(result, page=replace(result.page, node_metadata=full))


async def with_edge_metadata(db: GraphDbInterface, pages: Pages, result: Result) -> Result:
    """The result with edge metadata.

    It is that of all edges that the filters want in full, or of none if the deadline passes first.
    """
    _, wanted = pages.wanted_in_full(result.page)
    if not wanted:
        return result
    try:
        found = await call.within(db.metadata_for_edges_batch(wanted))
    except TimeoutError:
        late = (*result.facts.late, "edges")
        return replace(result, facts=replace(result.facts, late=late))
    full = {triple: found.get(triple, {}) for triple in wanted}
    return replace(result, page=replace(result.page, edge_metadata=full))


def without_edge_metadata(pages: Pages, result: Result) -> Result:
    """The result whose nodes leave no room for the metadata of edges; its facts count them."""
    _, wanted = pages.wanted_in_full(result.page)
    return replace(result, facts=replace(result.facts, bare_edges=len(wanted)))


def trimmed(result: Result, nodes: int, edges: int) -> Result:
    """Keep the metadata of the first `nodes` nodes and `edges` edges; the facts count the rest.

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
