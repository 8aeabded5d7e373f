"""The pages of an answer: windows of its nodes and the edges among them (`protocol.md` 4).

`node_types` and `predicates` select detail, not presence: nodes and edges that they do not name
stay as stubs and cost the store nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from bfsql import call
from bfsql.arrays import (
    NO_HANDLES,
    Handles,
    at,
    counted_numbers,
    distinct_numbers,
    marked,
    places_of,
    within,
)
from bfsql.engine.conditions import Query
from bfsql.engine.select import LastPage, PagePlaces, Prefix, Selection
from bfsql.engine.thresholds import FEW_EDGES, PLACED
from bfsql.integers import IntArray, IntegerGraph, Ring
from bfsql.models import (
    AnswerGaps,
    BfsQuery,
    BfsResult,
    IntersectionQuery,
    IntersectionResult,
    PathQuery,
    Subgraph,
    Triple,
)
from bfsql.workers import off_loop

Result: TypeAlias = BfsResult | IntersectionResult


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
        self.least, self._start, self.wanted = 0, 0, self._total
        if not isinstance(query, IntersectionQuery):
            after = max(0, self._total - query.offset)
            self.least, self._start = 1, min(query.offset, self._total)
            self.wanted = after if query.limit is None else min(query.limit, after)
        self.facets = selection.facets
        self._places: PagePlaces | None = None
        self._prefix: Prefix | None = None
        for last in selection.last_page:
            if (last.start, last.walks) == (self._start, self.walks):
                self._places, self._prefix = last.places, last.prefix

    async def of(self, count: int) -> Result:
        """The result with the first `count` nodes as stubs; its facts count the nodes cut off."""
        prefix = await self._prefix_of(count)
        size = len(prefix.types) + len(prefix.triples)
        return await off_loop(size, lambda: self._of(prefix, count))

    def _of(self, prefix: Prefix, count: int) -> Result:
        query, selection = self.query, self.selection
        assert not isinstance(query, PathQuery)
        page = self._page(prefix, count)
        facts = self._facts(count, page, bisect_left(prefix.crossing, count))
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
        """A page with the first `count` nodes, and what is on it with them."""
        ids, triples, degrees = prefix.ids[:count], prefix.triples, self.selection.degrees
        if count < len(prefix.ids):
            places = zip(triples, prefix.of_triples, strict=True)
            triples = [triple for triple, place in places if place < count]
        if prefix.others:
            listed = frozenset(ids)
            more = [i for i, place in prefix.others if place < count and i not in listed]
            ids = [*ids, *more]
        page = Subgraph(ids, prefix.types, triples)
        if degrees is None:
            return page
        numbers = degrees[self._start : self._start + count].tolist()
        return replace(page, degrees=dict(zip(ids, numbers, strict=False)))

    async def _prefix_of(self, count: int) -> Prefix:
        """A beginning of the page with at least `count` nodes, and at most twice as many."""
        length = min(self.wanted, 1 << max(count - 1, 0).bit_length())
        known = self._prefix
        if known is None or not count <= len(known.ids) <= 2 * length:
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
