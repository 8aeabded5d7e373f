"""The part of a traversal that makes up the answer: its selection and its pages.

The selection is the whole answer in its order (`protocol.md` 3, 5). A page is a
window of its nodes and the edges among them (`protocol.md` 4). `node_types` and
`predicates` select detail, not presence: nodes and edges that they do not name stay as
stubs and cost the store nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from bfsql import call
from bfsql.arrays import (
    NO_HANDLES,
    Handles,
    LongArray,
    at,
    counted_numbers,
    distinct_numbers,
    marked,
    places_of,
    within,
)
from bfsql.engine.along import StepArcs
from bfsql.engine.conditions import Conditions, Query
from bfsql.engine.thresholds import FEW_EDGES, PLACED
from bfsql.engine.traverse import Bounds, TraversalResult, traverse
from bfsql.integers import IntArray, IntegerGraph, NodeSet, Ring
from bfsql.models import (
    AnswerGaps,
    BfsQuery,
    BfsResult,
    ConditionTally,
    IntersectionQuery,
    IntersectionResult,
    PathQuery,
    SchemaSummary,
    Subgraph,
    Triple,
)
from bfsql.models.facet import Facets
from bfsql.workers import off_loop

Result: TypeAlias = BfsResult | IntersectionResult


@dataclass(frozen=True, slots=True)
class Selection:
    """The whole answer, before its page is cut and its detail is read; internal to `engine`."""

    columns: IntegerGraph
    """The graph that the numbers refer to."""
    nodes: IntArray
    """Handles, ordered by distance from the nearest seed, then by id."""
    types: IntArray
    """Number of the type of each node."""
    edges: Ring
    """The edges, in no order: only those of a page are sorted."""
    summary: SchemaSummary
    """The vocabulary of the whole answer."""
    facts: AnswerGaps
    """What the traversal and the filters left out."""
    common: int | None = None
    """The number of leading nodes that form an intersection; the others connect them."""
    facets: Facets = field(default_factory=dict)
    """The facets of the answer; `bfsql.engine.facets` adds them."""
    degrees: LongArray | None = None
    """The edges at each node that pages count, in their order, if it goes by this number."""
    last_page: list[LastPage] = field(default_factory=list, compare=False)
    """The last page looked up; at most one entry."""

    @classmethod
    def of(
        cls, columns: IntegerGraph, nodes: IntArray, types: IntArray, edges: Ring, facts: AnswerGaps
    ) -> Selection:
        """A selection with its summary."""
        return cls(columns, nodes, types, edges, summarized(columns, types, edges), facts)


async def selected(  # noqa: PLR0917 - what makes two answers the same
    columns: IntegerGraph,
    seeds: NodeSet,
    hops: int,
    bounds: Bounds,
    conditions: Conditions,
    along: StepArcs | None = None,
) -> Selection:
    """Traverse and select; a result found earlier without any filter is reused.

    Args:
        columns: The graph.
        seeds: Seed nodes.
        hops: Rings to expand.
        bounds: Limits on nodes and edges.
        conditions: Filters that remove nodes and edges afterwards.
        along: The steps to follow; None to follow all edges in both directions.

    Raises:
        FirstRingUnfinished: As in `traverse`.
        FirstRingTooLarge: As in `traverse`.
        TypesUnread: As in `traverse`.
        TimeoutError: The deadline passed while metadata was read.
    """
    filtered = conditions or (along is not None and along.has_conditions)
    cache = None if filtered else columns.answer_cache
    steps = None if along is None else along.paths
    # A graph without the properties that a hook redacts shares the cache of the whole graph.
    request = (type(columns), seeds.handles.tobytes(), hops, bounds, steps)
    found: Selection | None = None if cache is None else cache.find(request)
    if found is None:
        reach = await traverse(columns, seeds, hops, bounds, along)
        found = await select(reach, conditions)
        if along is not None:
            facts = replace(
                found.facts,
                farthest=int(reach.distances.max(initial=0)),
                outermost=int((reach.distances == hops).sum()),
                conditions=(*found.facts.conditions, *along.facts),
            )
            found = replace(found, facts=facts)
        if cache is not None and reach.stopped_by is None:
            cache.keep(request, found, len(found.nodes) + len(found.edges.subjects))
    return found


async def select(reach: TraversalResult, conditions: Conditions) -> Selection:
    """Remove what the conditions of the call do not keep: nodes with their edges, then edges."""
    columns, nodes, types, edges = reach.columns, reach.nodes, reach.types, reach.edges
    size = len(reach.nodes) + len(edges.subjects)
    tallies: tuple[ConditionTally, ...] = ()
    if conditions:
        conditions.learn(types, edges.predicates)
        kept = await conditions.keeps_nodes(nodes, types, None)
        nodes, types = nodes[kept], types[kept]
        if len(nodes) < len(reach.nodes):
            members = Handles(columns.size, nodes)
            edges = await off_loop(size, lambda: within(reach.edges, members))
        kept = await conditions.keeps_edges(edges, None)
        if not kept.all():
            edges = marked(edges, kept)
        tallies = conditions.facts
    facts = _facts(reach, nodes, tallies)
    return await off_loop(size, lambda: Selection.of(columns, nodes, types, edges, facts))


def summarized(columns: IntegerGraph, types: IntArray, edges: Ring) -> SchemaSummary:
    """The vocabulary of an answer with nodes of the given types and the given edges."""
    nodes = _counts(columns.type_names, types)
    predicates = _counts(columns.predicate_names, edges.predicates)
    return SchemaSummary(list(nodes), list(predicates), nodes, predicates)


def _counts(names: Sequence[str], numbers: IntArray) -> dict[str, int]:
    """How often each number occurs, keyed by its name in sorted order."""
    return dict(sorted((names[n], count) for n, count in counted_numbers(numbers).items()))


def _facts(
    reach: TraversalResult, nodes: IntArray, tallies: tuple[ConditionTally, ...]
) -> AnswerGaps:
    stopped, (dangling, missing) = reach.depth < reach.hops, reach.dangling_counts
    removed: tuple[str, ...] = ()
    if len(nodes) < len(reach.nodes):
        kept = Handles(reach.columns.size, nodes)
        named = (place for place in reach.seeds.places if place.named)
        removed = tuple(place.text for place in named if not kept.has(place.handles).all())
    return AnswerGaps(
        asked_depth=reach.hops if stopped else None,
        finished_depth=reach.depth if stopped else None,
        stopped_by=reach.stopped_by,
        dangling_ids=missing,
        dangling_edges=dangling,
        removed_seeds=removed,
        conditions=tallies,
    )


class Pages:
    """The pages of stubs of one selection that begin at the same node, of any length.

    A budget tries many lengths. Only the content of the longest page tried is looked up and
    sorted, whatever the size of the whole answer.

    Args:
        query: The query, with existing seeds.
        selection: The whole answer.

    Attributes:
        wanted: Number of nodes on the page that the query requests.
        least: The smallest number of nodes that makes a useful answer.
        facets: The facets of the whole answer, with as many values as a budget leaves.
    """

    walks: bool | None = None
    """Whether the page of a path contains walks; None for an answer without a path."""

    def __init__(self, query: Query, selection: Selection) -> None:
        self.query = query
        self.selection = selection
        paged = not isinstance(query, IntersectionQuery)
        self._start, self.wanted = window(query, self._total)
        self.least = 1 if paged else 0
        self.facets = selection.facets
        self._places: PagePlaces | None = None
        self._prefix: Prefix | None = None
        for last in selection.last_page:
            if (last.start, last.walks) == (self._start, self.walks):
                self._places, self._prefix = last.places, last.prefix

    async def of(self, count: int) -> Result:
        """The result with the first `count` nodes as stubs; its facts count the nodes cut off."""
        prefix = await self._prefix_of(count)
        return await off_loop(prefix.size, lambda: self._of(prefix, count))

    def _of(self, prefix: Prefix, count: int) -> Result:
        query, selection = self.query, self.selection
        assert not isinstance(query, PathQuery)
        page = self._page(prefix, count)
        facts = self._facts(count, page, prefix.edges_to_earlier(count))
        if isinstance(query, BfsQuery):
            result = self._bfs_result(page, facts, query, query.max_hops)
            return replace(result, along=[path.text for path in query.along])
        names = selection.columns.type_names
        counts = counted_numbers(selection.types[count:])
        cut = {names[number]: many for number, many in counts.items()}
        return IntersectionResult(
            query.seeds,
            len(selection.nodes),
            len(selection.edges.subjects),
            selection.summary,
            page,
            replace(facts, cut_types=dict(sorted(cut.items()))),
            query.k,
            selection.common,
            self.facets,
        )

    async def least_bytes(self, count: int) -> int:
        """A lower bound on the bytes of an answer with the first `count` nodes, if known."""
        return 0

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

    @property
    def _listed(self) -> IntArray:
        """The nodes that pages count, of all pages and in order."""
        return self.selection.nodes

    def _bfs_result(
        self, page: Subgraph, facts: AnswerGaps, query: BfsQuery | PathQuery, depth: int
    ) -> BfsResult:
        """The result of `bfs_query` with a page."""
        selection = self.selection
        return BfsResult(
            query.seeds,
            len(selection.nodes),
            len(selection.edges.subjects),
            selection.summary,
            page,
            facts,
            depth,
            query.offset,
            query.limit,
            seed_count=query.seed_count,
            facets=self.facets,
        )

    @property
    def _total(self) -> int:
        """The number of what pages count."""
        return len(self._listed)

    def _facts(self, count: int, page: Subgraph, edges_to_earlier: int = 0) -> AnswerGaps:
        """The facts of the answer and of a page with the first `count` nodes."""
        bare = self.wanted_in_full(page) if count < self.wanted else ((), ())
        return replace(
            self.selection.facts,
            past_the_end=self._start >= self._total > 0,
            edges_to_earlier=edges_to_earlier,
            cut_nodes=self.wanted - count,
            bare_nodes=len(bare[0]),
            bare_edges=len(bare[1]),
        )

    def _page(self, prefix: Prefix, count: int) -> Subgraph:
        """A page with the first `count` nodes."""
        page, degrees = prefix.page(count), self.selection.degrees
        if degrees is None:
            return page
        numbers = degrees[self._start : self._start + count].tolist()
        return replace(page, degrees=dict(zip(page.ids, numbers, strict=False)))

    async def _prefix_of(self, count: int) -> Prefix:
        """A beginning of the page with at least `count` nodes, and at most twice as many."""
        length = min(self.wanted, 1 << max(count - 1, 0).bit_length())
        known = self._prefix
        if known is None or not count <= known.length <= 2 * length:
            places = await self._places_of(length)
            self._prefix = known = await self._read(places, length)
            last = LastPage(self._start, self.walks, places, known)
            self.selection.last_page[:] = [last]
        return known

    async def _read(self, places: PagePlaces, length: int) -> Prefix:
        """The beginning of the page in strings."""
        columns, listed = self.selection.columns, self._listed[self._start : self._start + length]
        if length < places.length:
            places = places.beginning(length)
        nodes = places.nodes
        ids, type_of, triples, order = await in_strings(columns, nodes, places.types, places.edges)
        others: list[tuple[str, int]] = []
        if self.walks:
            id_of = dict(zip(nodes.tolist(), ids, strict=True))
            others = sorted(zip(ids, places.of_nodes.tolist(), strict=True))
            ids = [id_of[handle] for handle in listed.tolist()]
        of_triples = places.of_edges[order].tolist()
        return Prefix(ids, type_of, others, triples, of_triples, places.crossing)

    async def _places_of(self, length: int) -> PagePlaces:
        """The content of a longer beginning, since finding it visits all edges."""
        if self._places is None or self._places.length < length:
            longer = min(self.wanted, max(PLACED, 4 * length))
            size = len(self.selection.edges.subjects)
            self._places = await off_loop(size, lambda: self._find_places(longer))
        return self._places

    def _find_places(self, length: int) -> PagePlaces:
        """The content of a beginning with `length` nodes."""
        selection, start, stop = self.selection, self._start, self._start + length
        size, edges, until = selection.columns.size, selection.edges, selection.nodes[:stop]
        if stop < len(selection.nodes):
            edges = within(edges, Handles(size, until))
        one, other = places_of(until, edges.ends, size).reshape(2, -1)
        last, crossing = np.maximum(one, other), NO_HANDLES
        if start:
            first = np.minimum(one, other)
            crossing = np.sort(last[(first < start) & (last >= start)] - start)
            edges, last = marked(edges, first >= start), last.compress(first >= start) - start
        nodes, types = until[start:], selection.types[start:stop]
        return PagePlaces(length, nodes, types, np.arange(length), edges, last, crossing)


def window(query: Query, count: int) -> tuple[int, int]:
    """The offset of a page among `count` nodes, and the number of nodes on the page."""
    if isinstance(query, IntersectionQuery):
        return 0, count
    after = max(0, count - query.offset)
    return query.offset, after if query.limit is None else min(query.limit, after)


class PagePlaces(NamedTuple):
    """The content of pages of any length, by the page on which it first is.

    The place of a node or an edge is a number: pages with more nodes than it contain it.
    """

    length: int
    """Number of nodes on the longest of these pages; those that they add to it do not count."""
    nodes: IntArray
    """Handles of the nodes, each once."""
    types: IntArray
    """Numbers of their types."""
    of_nodes: npt.NDArray[np.integer]
    """The place of each node."""
    edges: Ring
    """The edges, each once, in no order."""
    of_edges: npt.NDArray[np.integer]
    """The place of each edge."""
    crossing: IntArray
    """Places of the ends of edges that lead to nodes before the page, ascending."""

    def beginning(self, length: int) -> PagePlaces:
        """The content of pages with at most `length` nodes."""
        nodes, edges = self.of_nodes < length, self.of_edges < length
        return PagePlaces(
            length,
            self.nodes[nodes],
            self.types[nodes],
            self.of_nodes[nodes],
            marked(self.edges, edges),
            self.of_edges[edges],
            self.crossing,
        )


class Prefix(NamedTuple):
    """The beginning of a page in strings, from which shorter pages are cut."""

    ids: Sequence[str]
    """The nodes that pages count, in order."""
    types: dict[str, str]
    others: Sequence[tuple[str, int]]
    """The ids of all nodes on the walks of a path, sorted, and their places."""
    triples: Sequence[Triple]
    """The edges, sorted."""
    of_triples: Sequence[int]
    """The place of each edge."""
    crossing: IntArray
    """As in `PagePlaces`."""

    @property
    def length(self) -> int:
        """The number of nodes that count."""
        return len(self.ids)

    @property
    def size(self) -> int:
        """The number of nodes and edges."""
        return len(self.types) + len(self.triples)

    def page(self, count: int) -> Subgraph:
        """The first `count` nodes, and what is on the page with them."""
        ids, triples = self.ids[:count], self.triples
        if count < self.length:
            places = zip(triples, self.of_triples, strict=True)
            triples = [triple for triple, place in places if place < count]
        if self.others:
            listed = frozenset(ids)
            more = [i for i, place in self.others if place < count and i not in listed]
            ids = [*ids, *more]
        return Subgraph(ids, self.types, triples)

    def edges_to_earlier(self, count: int) -> int:
        """The number of edges that lead from the first `count` nodes to earlier pages."""
        return bisect_left(self.crossing, count)


class LastPage(NamedTuple):
    """The last page that was looked up."""

    start: int
    """The place of its first node in the answer."""
    walks: bool | None
    """As in `Pages`."""
    places: PagePlaces
    prefix: Prefix


async def in_strings(
    columns: IntegerGraph, nodes: IntArray, types: IntArray, edges: Ring
) -> tuple[list[str], dict[str, str], list[Triple], npt.NDArray[np.intp]]:
    """The ids of nodes, their types by id, the edges among them in order, and that order."""
    ids = await call.within(columns.ids(nodes))
    order = None
    if len(edges.subjects) > FEW_EDGES:
        order = await order_of_edges(columns, nodes, edges)

    def result() -> tuple[list[str], dict[str, str], list[Triple], npt.NDArray[np.intp]]:
        names = columns.type_names
        type_of = {i: names[t] for i, t in zip(ids, types.tolist(), strict=True)}
        id_of = dict(zip(nodes.tolist(), ids, strict=True)).__getitem__
        subjects, predicates, objects = edges if order is None else at(edges, order)
        triples = list(
            zip(
                map(id_of, subjects.tolist()),
                map(columns.predicate_names.__getitem__, predicates.tolist()),
                map(id_of, objects.tolist()),
                strict=True,
            )
        )
        if order is not None:
            return ids, type_of, triples, order
        places = sorted(range(len(triples)), key=triples.__getitem__)
        return ids, type_of, [triples[place] for place in places], np.array(places, np.intp)

    return await off_loop(len(nodes) + len(edges.subjects), result)


async def order_of_edges(
    columns: IntegerGraph, nodes: IntArray, edges: Ring
) -> npt.NDArray[np.intp]:
    """The places of many edges in the order of their strings."""
    in_order = await columns.ordered(nodes)

    def order() -> npt.NDArray[np.intp]:
        subjects, objects = places_of(in_order, edges.ends, columns.size).reshape(2, -1)
        used = distinct_numbers(edges.predicates).tolist()
        numbers = sorted(used, key=columns.predicate_names.__getitem__)
        rank = np.empty(max(numbers, default=-1) + 1, np.int32)
        rank[numbers] = np.arange(len(numbers), dtype=np.int32)
        return np.lexsort((objects, rank[edges.predicates], subjects))

    return await off_loop(len(edges.subjects), order)
