"""The part of a traversal that makes up the answer: its selection.

The selection is the whole answer in its order (`protocol.md` 3, 5); `bfsql.engine.pages` cuts it
into pages. It keeps the content of the last of them, since calls for the next ones follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bfsql.arrays import Handles, LongArray, counted_numbers, marked, within
from bfsql.engine.along import StepArcs
from bfsql.engine.conditions import Conditions
from bfsql.engine.traverse import Bounds, TraversalResult, traverse
from bfsql.integers import IntArray, IntegerGraph, NodeSet, Ring
from bfsql.models import AnswerGaps, ConditionTally, SchemaSummary, Triple
from bfsql.models.facet import Facets
from bfsql.workers import off_loop


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


class LastPage(NamedTuple):
    """The last page that was looked up."""

    start: int
    """The place of its first node in the answer."""
    walks: bool | None
    """As in `Pages`."""
    places: PagePlaces
    prefix: Prefix


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
        reach = await traverse(columns, seeds, hops, bounds, None if along is None else along.ring)
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
