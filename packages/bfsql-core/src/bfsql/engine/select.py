"""The part of a traversal that makes up the answer: its selection and its pages.

The selection is the whole answer in its order (`protocol.md` 3, 5). A page is a
window of its nodes and the edges among them (`protocol.md` 4). `node_types` and
`predicates` select detail, not presence: nodes and edges that they do not name stay as
stubs and cost the store nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from bfsql import call
from bfsql.engine.arrays import FEW, counted_numbers, places_of, within
from bfsql.engine.conditions import Conditions
from bfsql.engine.traverse import Bounds, TraversalResult, off_loop, traverse
from bfsql.integers import (
    Handles,
    IntArray,
    IntegerGraph,
    ResolvedNode,
    Ring,
    at,
    distinct_numbers,
    marked,
)
from bfsql.models import (
    AnswerGaps,
    BfsQuery,
    BfsResult,
    IntersectionQuery,
    IntersectionResult,
    PathQuery,
    SchemaSummary,
    Subgraph,
    Triple,
)

Query: TypeAlias = BfsQuery | IntersectionQuery | PathQuery
Result: TypeAlias = BfsResult | IntersectionResult

PLACED = 4_096
"""Nodes, counted from the first of a page, whose edges are found at once."""


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
    last_page: list[tuple[int, _Placed | None, _Prefix]] = field(
        default_factory=list, compare=False
    )
    """The start of the last page looked up and the data found for it; at most one entry."""


async def selected(
    columns: IntegerGraph,
    seeds: Sequence[ResolvedNode],
    hops: int,
    bounds: Bounds,
    conditions: Conditions,
) -> Selection:
    """Traverse and select; a result found earlier without any filter is reused.

    Args:
        columns: The graph.
        seeds: Seed nodes, each once.
        hops: Rings to expand, 1 to 5.
        bounds: The bounds of the traversal.
        conditions: The filters of this call.

    Raises:
        FirstRingUnfinished: As in `traverse`.
        FirstRingTooLarge: As in `traverse`.
        TypesUnread: As in `traverse`.
        TimeoutError: As in `select`.
    """
    kept = None if conditions else columns.kept
    asked = (tuple(seed.handle for seed in seeds), hops, bounds)
    found: Selection | None = None if kept is None else kept.find(asked)
    if found is None:
        reach = await traverse(columns, seeds, hops, bounds)
        found = await select(reach, conditions)
        if kept is not None and reach.stopped_by is None:
            kept.keep(asked, found, len(found.nodes) + len(found.edges.subjects))
    return found


async def select(reach: TraversalResult, conditions: Conditions) -> Selection:
    """Remove what the conditions of the call do not keep: nodes with their edges, then edges.

    Args:
        reach: The result of the traversal.
        conditions: The filters of this call.

    Raises:
        TimeoutError: The deadline passed while metadata was read.
    """
    columns, nodes, types, edges = reach.columns, reach.nodes, reach.types, reach.edges
    size = len(reach.nodes) + len(edges.subjects)
    if not conditions:
        facts = _facts(reach, nodes)
        return await off_loop(size, lambda: _selection(columns, nodes, types, edges, facts))
    conditions.learn(types, edges.predicates)
    kept = await conditions.keeps_nodes(nodes, types, None)
    nodes, types = nodes[kept], types[kept]
    if len(nodes) < len(reach.nodes):
        members = Handles(columns.size, nodes)
        edges = await off_loop(size, lambda: within(reach.edges, members))
    kept = await conditions.keeps_edges(edges, None)
    if not kept.all():
        edges = marked(edges, kept)
    facts = replace(_facts(reach, nodes), conditions=conditions.facts)
    return await off_loop(size, lambda: _selection(columns, nodes, types, edges, facts))


def all_of(reach: TraversalResult, conditions: Conditions) -> Selection:
    """Select everything that was reached by a search that applied the conditions itself.

    Args:
        reach: The result of the search.
        conditions: The filters that the search applied.
    """
    facts = replace(_facts(reach, reach.nodes), conditions=conditions.facts)
    return _selection(reach.columns, reach.nodes, reach.types, reach.edges, facts)


def _selection(
    columns: IntegerGraph, nodes: IntArray, types: IntArray, edges: Ring, facts: AnswerGaps
) -> Selection:
    return Selection(columns, nodes, types, edges, summarized(columns, types, edges), facts)


def summarized(columns: IntegerGraph, types: IntArray, edges: Ring) -> SchemaSummary:
    """The vocabulary of an answer with nodes of the given types and the given edges."""
    nodes = _counts(columns.type_names, types)
    predicates = _counts(columns.predicate_names, edges.predicates)
    return SchemaSummary(list(nodes), list(predicates), nodes, predicates)


def _counts(names: Sequence[str], numbers: IntArray) -> dict[str, int]:
    """How often each number occurs, keyed by its name in sorted order."""
    return dict(sorted((names[n], count) for n, count in counted_numbers(numbers).items()))


def _facts(reach: TraversalResult, nodes: IntArray) -> AnswerGaps:
    stopped = reach.depth < reach.hops
    ends = np.concatenate([reach.dangling.subjects, reach.dangling.objects])
    missing = ends[reach.missing.has(ends)]
    removed: tuple[str, ...] = ()
    if len(nodes) < len(reach.nodes):
        kept = Handles(reach.columns.size, nodes).has(reach.handles).tolist()
        removed = tuple(s for s, present in zip(reach.seeds, kept, strict=True) if not present)
    return AnswerGaps(
        asked_depth=reach.hops if stopped else None,
        finished_depth=reach.depth if stopped else None,
        stopped_by=reach.stopped_by,
        dangling_ids=len(distinct_numbers(missing)),
        dangling_edges=len(reach.dangling.subjects),
        removed_seeds=removed,
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
    """

    def __init__(self, query: Query, selection: Selection) -> None:
        self.query = query
        self.selection = selection
        paged = not isinstance(query, IntersectionQuery)
        self._start, self.wanted = window(query, len(selection.nodes))
        self.least = 1 if paged else 0
        self._placed: _Placed | None = None
        self._prefix: _Prefix | None = None
        for start, placed, prefix in selection.last_page:
            if start == self._start:
                self._placed, self._prefix = placed, prefix

    async def of(self, count: int) -> Result:
        """The result with the first `count` nodes as stubs; its facts count the nodes cut off."""
        query, selection, start = self.query, self.selection, self._start
        assert not isinstance(query, PathQuery)
        total = len(selection.nodes)
        prefix = await self._prefix_of(count)
        page = prefix.page(count)
        bare = self.wanted_in_full(page) if count < self.wanted else ((), ())
        facts = replace(
            selection.facts,
            past_the_end=start >= total > 0,
            edges_to_earlier=prefix.edges_to_earlier(count),
            cut_nodes=self.wanted - count,
            bare_nodes=len(bare[0]),
            bare_edges=len(bare[1]),
        )
        seeds, summary = query.seeds, selection.summary
        edge_count = len(selection.edges.subjects)
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
        names = selection.columns.type_names
        cut = Counter(names[number] for number in selection.types[count:].tolist())
        facts = replace(facts, cut_types=dict(sorted(cut.items())))
        return IntersectionResult(
            seeds, total, edge_count, summary, page, facts, query.k, selection.common
        )

    async def least_bytes(self, count: int) -> int:  # noqa: ARG002
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

    async def _prefix_of(self, count: int) -> _Prefix:
        """A beginning of the page with at least `count` nodes, and at most twice as many."""
        length = min(self.wanted, 1 << max(count - 1, 0).bit_length())
        known = self._prefix
        if known is None or not count <= known.length <= 2 * length:
            selection, start = self.selection, self._start
            edges, crossing = await self._edges_of(length)
            part = slice(start, start + length)
            nodes, types = selection.nodes[part], selection.types[part]
            named = await in_strings(selection.columns, nodes, types, edges)
            self._prefix = known = _Prefix(*named[:3], crossing)
            selection.last_page[:] = [(start, self._placed, known)]
        return known

    async def _edges_of(self, length: int) -> tuple[Ring, IntArray]:
        """The edges of a beginning, and the places of the ends of crossing edges."""
        if length == len(self.selection.nodes):
            return self.selection.edges, self.selection.nodes[:0]
        placed = await self._placed_of(length)
        return marked(placed.edges, placed.later_ends < length), placed.crossing

    async def _placed_of(self, length: int) -> _Placed:
        """The edges of a longer beginning, since finding them visits all edges."""
        if self._placed is None or self._placed.length < length:
            longer = min(self.wanted, max(PLACED, 4 * length))
            size = len(self.selection.edges.subjects)
            self._placed = await off_loop(
                size, lambda: _placed(self.selection, self._start, longer)
            )
        return self._placed


def window(query: Query, count: int) -> tuple[int, int]:
    """The offset of a page among `count` nodes, and the number of nodes on the page."""
    if isinstance(query, IntersectionQuery):
        return 0, count
    after = max(0, count - query.offset)
    return query.offset, after if query.limit is None else min(query.limit, after)


class _Prefix:
    """The beginning of a page in strings, from which shorter pages are cut.

    Args:
        ids: Its nodes, in order.
        types: Their types.
        triples: Its edges, sorted.
        crossing: Places of the ends of edges that lead to earlier pages, ascending.
    """

    def __init__(
        self,
        ids: list[str],
        types: dict[str, str],
        triples: list[Triple],
        crossing: IntArray,
    ) -> None:
        self.length = len(ids)
        self._ids = ids
        self._types = types
        self._triples = triples
        self._crossing = crossing

    def page(self, count: int) -> Subgraph:
        """The first `count` nodes, and the edges between them."""
        if count == self.length:
            return Subgraph(self._ids, self._types, self._triples)
        ids = self._ids[:count]
        kept = frozenset(ids)
        inside = [t for t in self._triples if t[0] in kept and t[2] in kept]
        return Subgraph(ids, self._types, inside)

    def edges_to_earlier(self, count: int) -> int:
        """The number of edges that lead from the first `count` nodes to earlier pages."""
        return int(np.searchsorted(self._crossing, count))


class _Placed(NamedTuple):
    """The edges of a part of the answer; places are counted from its first node."""

    length: int
    """Number of nodes in the part."""
    edges: Ring
    """The edges between nodes of the part, in no order."""
    later_ends: IntArray
    """For each edge, the place of the end that comes later."""
    crossing: IntArray
    """Places of the ends of edges that lead to nodes before the part, ascending."""


def _placed(selection: Selection, start: int, length: int) -> _Placed:
    size, stop = selection.columns.size, start + length
    until = selection.nodes[:stop]
    edges = within(selection.edges, Handles(size, until))
    one, other = (places_of(until, ends, size) for ends in (edges.subjects, edges.objects))
    first, last = np.minimum(one, other), np.maximum(one, other)
    inside = first >= start
    crossing = last[(first < start) & (last >= start)] - start
    return _Placed(length, marked(edges, inside), last.compress(inside) - start, np.sort(crossing))


async def in_strings(
    columns: IntegerGraph, nodes: IntArray, types: IntArray, edges: Ring
) -> tuple[list[str], dict[str, str], list[Triple], npt.NDArray[np.intp]]:
    """The ids of nodes, their types by id, their edges in sorted order, and that order.

    Args:
        columns: The graph that the numbers refer to.
        nodes: Handles, each once.
        types: Number of the type of each node.
        edges: Edges with both ends among the nodes.
    """
    ids = await call.within(columns.ids(nodes))
    names = columns.type_names
    type_of = {i: names[t] for i, t in zip(ids, types.tolist(), strict=True)}
    order: npt.NDArray[np.intp] | None = None
    if len(edges.subjects) > FEW:
        order = await _order(columns, nodes, edges)
        edges = at(edges, order)
    id_of = dict(zip(nodes.tolist(), ids, strict=True)).__getitem__
    triples = list(
        zip(
            map(id_of, edges.subjects.tolist()),
            map(columns.predicate_names.__getitem__, edges.predicates.tolist()),
            map(id_of, edges.objects.tolist()),
            strict=True,
        )
    )
    if order is None:
        places = sorted(range(len(triples)), key=triples.__getitem__)
        order, triples = np.array(places, np.intp), [triples[place] for place in places]
    return ids, type_of, triples, order


async def _order(columns: IntegerGraph, nodes: IntArray, edges: Ring) -> npt.NDArray[np.intp]:
    """The places of many edges in the order of their strings."""
    in_order = await columns.ordered(nodes)
    subjects, objects = (
        places_of(in_order, ends, columns.size) for ends in (edges.subjects, edges.objects)
    )
    used = distinct_numbers(edges.predicates).tolist()
    numbers = sorted(used, key=columns.predicate_names.__getitem__)
    rank = np.empty(max(numbers, default=-1) + 1, np.int32)
    rank[numbers] = np.arange(len(numbers), dtype=np.int32)
    return np.lexsort((objects, rank[edges.predicates], subjects))
