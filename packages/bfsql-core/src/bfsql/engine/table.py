"""The whole answer of a call, before its page is cut: nodes, edges, and numbers of nodes by name.

Sets, neighbourhoods, walks, connections and intersections all are such a table. What comes after,
measures, order, facets and pages, sees nothing else (`protocol.md` 3, 5).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from bfsql.arrays import LongArray, are_named, counted_numbers, marked, places_of
from bfsql.integers import IntArray, IntegerGraph, Ring
from bfsql.models import AnswerGaps, DeadEnd, SchemaSummary, SortKeySummary
from bfsql.models.condition import Names, ScopedProperty
from bfsql.models.facet import Facets, Value

if TYPE_CHECKING:
    from bfsql.engine.pages import LastPage
    from bfsql.engine.path.prune import Walks

Numbers: TypeAlias = LongArray | Sequence[Value]
"""A number of each listed node."""

DEGREE, PATHS, DISTINCT, MEASURE = "degree", "paths", "distinct", "measure"
"""The names of numbers: edges of the answer at a node, walks through it, what `count_distinct`
counts, and the first measure. Each measure has its text as its name, too."""


def count_of(step: int) -> str:
    """The name of the number of different nodes of a step, which is a measure, too."""
    return f"count {step}"


@dataclass(frozen=True, slots=True)
class AnswerTable:
    """The nodes and edges of a whole answer; internal to `engine`."""

    columns: IntegerGraph
    """The graph that the handles refer to."""
    nodes: IntArray
    """Handles, each once: by distance from the nearest seed, then by id; those of walks by number.
    """
    types: IntArray
    """Number of the type of each node."""
    edges: Ring
    """The edges, in no order: only those of a page are sorted."""
    summary: SchemaSummary
    """The vocabulary of the whole answer."""
    facts: AnswerGaps
    """What the traversal and the filters left out."""
    listed: IntArray
    """Handles of the nodes that pages list, in order: all, or those of one step of walks."""
    walks: Walks | None = None
    """The walks of a path."""
    dead_end: DeadEnd | None = None
    """Where the longest walks ended, if none is complete."""
    numbers: Mapping[str, Numbers] = field(default_factory=dict)
    """By name: a number of each listed node."""
    common: int | None = None
    """The number of leading nodes that form an intersection; the others connect them."""
    facets: Facets = field(default_factory=dict)
    """The facets of the answer; `bfsql.engine.facets` adds them."""
    last_page: list[LastPage] = field(default_factory=list, compare=False)
    """The last page looked up; at most one entry."""

    @classmethod
    def of(
        cls, columns: IntegerGraph, nodes: IntArray, types: IntArray, edges: Ring, facts: AnswerGaps
    ) -> AnswerTable:
        """A table with its summary."""
        return cls(columns, nodes, types, edges, summarized(columns, types, edges), facts, nodes)

    @property
    def size(self) -> int:
        """The number of nodes, edges, and arcs of walks."""
        arcs = () if self.walks is None else self.walks.arcs
        return len(self.nodes) + len(self.edges.subjects) + sum(map(len, arcs))

    def sorted(self, places: IntArray, order: SortKeySummary) -> AnswerTable:
        """The table with its listed nodes in another order.

        Args:
            places: The previous places of the listed nodes, in the new order.
            order: The facts about the order.
        """
        rows = places.tolist()
        numbers = {
            name: of[places] if isinstance(of, np.ndarray) else [of[row] for row in rows]
            for name, of in self.numbers.items()
        }
        facts = replace(self.facts, order=order if rows else None)
        listed = self.listed[places]
        table = replace(self, listed=listed, numbers=numbers, facts=facts, last_page=[])
        if self.walks is not None:
            return table
        return replace(table, nodes=listed, types=self.types[places])

    # --- what a scope refers to -------------------------------------------------------

    @property
    def steps(self) -> int | None:
        """The number of steps of the path; None without a path."""
        return None if self.walks is None else self.walks.steps

    def names(self, known: Names) -> Names:
        """Known names, and those of the types and predicates of the answer."""
        return known.union(self.summary.entity_types_found, self.summary.predicates_found)

    def nodes_of(self, of: ScopedProperty, *, ending: bool = False) -> IntArray:
        """Handles of the nodes that may have a property, each once.

        Args:
            of: The property. A step stands for the nodes of all its repetitions.
            ending: Whether it stands for the nodes where walks leave it.
        """
        nodes = self.listed[: self.common]
        if of.step is not None:
            assert self.walks is not None
            nodes = (self.walks.nodes_of if ending else self.walks.nodes_at)(of.step)
        elif of.type is not None:
            nodes = self.nodes
        if of.type is None:
            return nodes
        types = self.types[places_of(self.nodes, nodes, self.columns.size)]
        return nodes[are_named(types, self.columns.type_names, {of.type})]

    def edges_of(self, of: ScopedProperty) -> Ring:
        """The edges that may have a property, each once."""
        edges = self.edges
        if of.step is not None:
            assert self.walks is not None
            edges = self.walks.edges_of(of.step)
        wanted = {of.predicate} if of.predicate is not None else ()
        return marked(edges, are_named(edges.predicates, self.columns.predicate_names, wanted))

    def scope(self, of: ScopedProperty, *, ending: bool = False) -> IntArray | Ring:
        """The nodes or the edges that may have a property; `ending` as in `nodes_of`."""
        if of.predicate is not None:
            return self.edges_of(of)
        return self.nodes_of(of, ending=ending)


def summarized(columns: IntegerGraph, types: IntArray, edges: Ring) -> SchemaSummary:
    """The vocabulary of an answer with nodes of the given types and the given edges."""
    nodes = _counts(columns.type_names, types)
    predicates = _counts(columns.predicate_names, edges.predicates)
    return SchemaSummary(list(nodes), list(predicates), nodes, predicates)


def _counts(names: Sequence[str], numbers: IntArray) -> dict[str, int]:
    """How often each number occurs, keyed by its name in sorted order."""
    return dict(sorted((names[n], count) for n, count in counted_numbers(numbers).items()))
