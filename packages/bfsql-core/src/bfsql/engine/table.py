"""The whole answer of a call, before its page is cut: nodes, edges, and numbers of nodes by name.

Sets, neighbourhoods, walks, connections and intersections all are such a table. What comes after,
measures, order, facets and pages, sees nothing else (`protocol.md` 3, 5).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.arrays import (
    NO_EDGES,
    NO_HANDLES,
    Handles,
    LongArray,
    are_named,
    counted_numbers,
    distinct_numbers,
    marked,
    places_of,
)
from bfsql.engine.plan import Query
from bfsql.engine.properties import (
    LOOKED_AT,
    Column,
    Values,
    common_keys,
    computed_values,
    property_columns,
)
from bfsql.engine.thresholds import ARC_BYTES, EDGE_BYTES
from bfsql.integers import IntArray, IntegerGraph, Ring
from bfsql.models import (
    AnswerGaps,
    DeadEnd,
    PathQuery,
    PropertyCondition,
    SchemaSummary,
    SortKeySummary,
    Triple,
)
from bfsql.models.comparison import Scalar, number_in, shown_as, unordered_text
from bfsql.models.condition import ScopedProperty
from bfsql.models.expression import base_keys
from bfsql.models.facet import Best, Facets, MeasureValue, Value
from bfsql.models.merge import fold
from bfsql.models.name_keys import NAME
from bfsql.models.spelling import KnownNames
from bfsql.query.properties import DEGREE, SortBy, sort_by
from bfsql.query.vocabulary import Names
from bfsql.workers import off_loop

if TYPE_CHECKING:
    from bfsql.engine.walks import Walks


Numbers: TypeAlias = LongArray | Sequence[MeasureValue]
"""A number of each listed node."""


def count_of(step: int) -> str:
    """The name of the number of different nodes of a step, which is a measure, too."""
    return f"count {step}"


def plain_values(numbers: Numbers) -> list[Any]:
    """The numbers of nodes; those with a node beside them alone."""
    return [one.value if isinstance(one, Best) else one for one in numbers]


class Connection(NamedTuple):
    """The length of the shortest connection of a seed and a target.

    A pattern is one place: its connections run from its nearest nodes.
    """

    seed: str
    target: str
    length: int | None
    """Edges on each shortest connection; None if there is none within the requested length."""


class Dangling(NamedTuple):
    """Edges that are left out because the store has no node for one of their ends."""

    edges: Ring = NO_EDGES
    missing: Handles = Handles(0)
    """The ends for which the store has no node."""

    @property
    def counts(self) -> tuple[int, int]:
        """The number of these edges, and of different ids at their ends without a node."""
        ends = self.edges.ends
        return len(self.edges.subjects), len(distinct_numbers(ends[self.missing.has(ends)]))


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
    """By name: a number of each listed node; also the values of a property that orders them."""
    common: int | None = None
    """The number of leading nodes that form an intersection; the others connect them."""
    depth: int | None = None
    """The number of hops within which the answer is exact, and nodes of an intersection are."""
    distances: IntArray = field(default_factory=lambda: NO_HANDLES)
    """The distance of each node from the nearest seed, before anything is left out."""
    dangling: Dangling = field(default_factory=Dangling)
    seed_edges: Sequence[Triple] = ()
    """The edges among the seeds of an intersection."""
    connections: Sequence[Connection] = ()
    """The pairs of a seed and a target that shortest connections were looked for."""
    facets: Facets = field(default_factory=dict)
    """The facets of the answer; `bfsql.engine.facets` adds them."""
    last_page: list[Any] = field(default_factory=list, compare=False)
    """What `bfsql.engine.pages` holds of the last page looked up; at most one entry."""

    @classmethod
    def of(
        cls, columns: IntegerGraph, nodes: IntArray, types: IntArray, edges: Ring, facts: AnswerGaps
    ) -> AnswerTable:
        """A table that lists all its nodes, with its summary."""
        return cls(columns, nodes, types, edges, summarized(columns, types, edges), facts, nodes)

    @property
    def size(self) -> int:
        """The number of records that take as much memory: of nodes, edges, and arcs of walks."""
        arcs = 0 if self.walks is None else sum(map(len, self.walks.arcs))
        held = len(self.nodes) + len(self.edges.subjects)
        return 1 + (EDGE_BYTES * held + ARC_BYTES * arcs) // 256

    def sorted(self, places: IntArray, order: SortKeySummary) -> AnswerTable:
        """The table with its listed nodes in another order.

        Args:
            places: The previous places of the listed nodes, in the new order.
            order: The facts about the order.
        """
        facts = replace(self.facts, order=order if len(places) else None)
        table = replace(self.chosen(places), facts=facts)
        if self.walks is not None:
            return table
        return replace(table, nodes=table.listed, types=self.types[places])

    def chosen(self, places: IntArray | npt.NDArray[np.intp]) -> AnswerTable:
        """The table with the listed nodes at some places alone."""
        rows = places.tolist()
        numbers = {
            name: of[places] if isinstance(of, np.ndarray) else [of[row] for row in rows]
            for name, of in self.numbers.items()
        }
        return replace(self, listed=self.listed[places], numbers=numbers, last_page=[])

    # --- what a scope refers to -------------------------------------------------------

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


# --- order ----------------------------------------------------------------------


Order: TypeAlias = tuple[IntArray, SortKeySummary, Sequence[Value]]
"""The previous place of each node in a new order, the facts about it that notes report, and the
values that ordered them, in their previous places; none if they are known numbers."""


async def in_order(
    db: GraphDbInterface,
    columns: IntegerGraph,
    nodes: IntArray,
    by: SortBy,
    numbers: Numbers | None = None,
) -> Order:
    """The order of some nodes.

    Args:
        db: The graph; one key of metadata is read if `numbers` is None.
        columns: The graph in integers, for this call.
        nodes: Handles in any order, each once.
        by: The sort key and its direction.
        numbers: The number or the measure of each node if the key is not a property.

    Raises:
        TimeoutError: The deadline passed while metadata was read.
    """
    by_id = places_of(nodes, await columns.ordered(nodes), columns.size)
    if numbers is None and by.key in db.name_keys().types:
        numbered = distinct_numbers(await call.within(columns.types(nodes))).tolist()
        types = [columns.type_names[number] for number in numbered]
        by = by._replace(key=NAME if db.name_keys().types_of(by.key, types) else by.key)
    if isinstance(numbers, np.ndarray):
        signed = -numbers[by_id] if by.descending else numbers[by_id]
        places = by_id[np.argsort(signed, kind="stable")]
        return places, SortKeySummary(by.key, had=len(nodes), mixed=False), ()
    column: Column | None = None
    if numbers is None:
        column = (await property_columns(db, columns, nodes, {by.key}))[by.key]

    def ordered() -> Order:
        values = list(map(sort_value, numbers or ()))
        if column is not None:
            of_number = [_value(one, descending=by.descending) for one in column.values.scalars()]
            values = [of_number[number] for number in column.numbers.tolist()]
        places, had, kinds = _sorted(by_id.tolist(), values, descending=by.descending)
        texts = [one for one in values if isinstance(one, str)] if numbers is None else []
        facts = SortKeySummary(by.key, had, kinds > 1, unordered_text(Counter(texts)))
        return places, facts, values

    places, facts, values = await off_loop(len(nodes), ordered)
    if facts.had or numbers is not None or not len(nodes):
        return places, facts, values
    keys = await common_keys(db, columns, nodes[by_id[:LOOKED_AT]])
    known = tuple(same[0] for same in KnownNames(keys).nearest(by.key))
    return places, replace(facts, known=known), values


async def in_order_of(
    db: GraphDbInterface, table: AnswerTable, query: Query, names: Names
) -> AnswerTable:
    """Sort the listed nodes of an answer by `sort_by`; nodes that connect others stay last."""
    assert query.sort_by is not None
    nodes, step = table.listed, None
    if isinstance(query, PathQuery):
        step = query.shown_step if query.row_step is None else query.row_step
    by = sort_by(query.sort_by, (DEGREE, *table.numbers), names, step)
    if by.key == DEGREE:
        table = replace(table, numbers={**table.numbers, DEGREE: _degrees(table)})
    numbers = table.numbers.get(by.key)
    parts = [slice(None)]
    if table.common is not None:
        parts = [slice(table.common), slice(table.common, None)]
    order, values, facts = [], list[Value](), SortKeySummary(by.key, had=0, mixed=False)
    for part in parts:
        own = None if numbers is None else numbers[part]
        places, of_part, of_nodes = await in_order(db, table.columns, nodes[part], by, own)
        order.append(places + (part.start or 0))
        values += of_nodes
        facts = facts.joined(of_part)
    if numbers is None:
        table = replace(table, numbers={**table.numbers, facts.key: values})
    return table.sorted(np.concatenate(order), facts)


def with_measures(table: AnswerTable, conditions: Sequence[PropertyCondition]) -> AnswerTable:
    """The table with the listed nodes whose measures meet conditions; its facts count the others.

    Args:
        table: The table with its measures.
        conditions: Conditions on measures, by their names.
    """
    if not conditions:
        return table
    keep = np.ones(len(table.listed), bool)
    named = base_keys(one.key for one in conditions)
    known = {name: plain_values(table.numbers[name]) for name in named}
    for one in conditions:
        values = Values()
        own = computed_values(known, [one.key], len(keep))[one.key]
        numbers = values.numbers(own)
        keep &= values.meeting(one)[numbers]
    places = np.flatnonzero(keep)
    below = len(keep) - len(places), len(keep)
    table = table.chosen(places)
    return replace(table, facts=replace(table.facts, below=below))


def _degrees(table: AnswerTable) -> LongArray:
    """The number of edges of the answer that touch each listed node."""
    ends = places_of(table.listed, table.edges.ends, table.columns.size)
    subjects, objects = ends.reshape(2, -1)
    others = objects[subjects != objects]  # a self-loop touches its node once
    touched = np.concatenate([subjects, others])
    return np.bincount(touched[touched >= 0], minlength=len(table.listed))


def sort_value(one: MeasureValue) -> Value:
    """The value by which a node with a number or a measure is sorted."""
    value = one.value if isinstance(one, Best) else one
    return fold(value) if isinstance(value, str) else value


def _value(found: Sequence[Scalar], *, descending: bool) -> int | float | str | None:
    """The sort value of a node: of a list, the value that comes first in this direction."""
    every = found if len(found) == 1 else list(call.checked(found))
    read = (one if type(one) is float else number_in(shown_as(one)) for one in every)
    numbers = [number for number in read if number is not None]
    first = max if descending else min
    if numbers:
        return first(numbers)
    return first(map(fold, map(shown_as, every)), default=None)


def _sorted(
    by_id: Sequence[int], values: Sequence[Value], *, descending: bool
) -> tuple[IntArray, int, int]:
    """The places in order, the number of nodes with a value, and the number of kinds of values."""
    numbers = [place for place in by_id if isinstance(values[place], int | float | Decimal)]
    texts = [place for place in by_id if isinstance(values[place], str)]
    others = [place for place in by_id if values[place] is None]
    for part in (numbers, texts):
        part.sort(key=values.__getitem__, reverse=descending)  # type: ignore[arg-type]
    places = np.array([*numbers, *texts, *others], np.int32)
    return places, len(numbers) + len(texts), bool(numbers) + bool(texts)
