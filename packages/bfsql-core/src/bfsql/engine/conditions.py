"""Filters that remove nodes and edges: `exclude_node_types`, `min_mentions` and conditions.

A plain traversal applies them once, to everything that was reached; a walk along a path
applies them at each step. Only the keys that the conditions name are read, all together; relations
are only read at nodes that meet all other conditions.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import aclosing
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from bfsql import call
from bfsql.abc import GraphDbInterface, NormalizedBackend
from bfsql.arrays import are_named, at, distinct_numbers
from bfsql.engine.plan import Query
from bfsql.engine.properties import Part, Properties, Tally, Values, properties_of
from bfsql.engine.step_values import StepTests
from bfsql.engine.thresholds import MOST_VALUES
from bfsql.integers import BoolArray, IntArray, IntegerGraph, Ring
from bfsql.models import ConditionTally, Path, PathQuery, RelationCondition, ScopedRelation
from bfsql.models.condition import Condition
from bfsql.models.expression import Computed, base_keys
from bfsql.models.spelling import KnownNames
from bfsql.query.expressions import may_compute
from bfsql.query.properties import condition
from bfsql.query.vocabulary import NOTHING_COMPUTED, Names
from bfsql.workers import off_loop

Subject: TypeAlias = tuple[str, str | None, int | None]
"""What conditions apply to: a property, a type or predicate, and a step."""

MENTIONS = "total_mentions"
"""The key that `min_mentions` refers to."""


RelationFilter: TypeAlias = Callable[[IntArray, IntArray, RelationCondition], Awaitable[BoolArray]]
"""Which of some nodes, whose types follow, meet a condition on relations."""


async def names_of(
    db: GraphDbInterface,
    texts: Iterable[str] = (),
    computed: Mapping[str, Computed] = NOTHING_COMPUTED,
) -> Names:
    """What the properties in some texts may be called.

    Args:
        db: The graph; the keys of its nodes are asked for only where they matter.
        texts: The texts.
        computed: The expressions that the call gives a name.

    Raises:
        TimeoutError: The deadline passed.
    """
    async with call.time_limit():
        lists = await asyncio.gather(db.entity_types(), db.predicates())
        keys = await db.keys() if any(map(may_compute, texts)) else None
    return Names(*lists, db.name_keys(), keys, computed)


class Conditions:
    """All filters that remove nodes and edges in one call.

    Args:
        db: The graph.
        columns: The graph in integers, for this call.
        query: The query with its `exclude_node_types`, `min_mentions`, conditions, and path.
        names: The names that a scope of `where` may use.
        relations: Reads relations, for conditions on them.
        idle: The conditions on relations that applied to no node; those that do are removed.
        stripped: Keys of edge metadata that traversals leave out; they count as absent.

    Attributes:
        are_repeatable: Whether later calls may reuse what is left: without hooks and relations.

    Raises:
        ToolError: A condition cannot be read.
    """

    def __init__(
        self,
        db: NormalizedBackend,
        columns: IntegerGraph,
        query: Query,
        names: Names,
        relations: RelationFilter,
        *,
        idle: set[ScopedRelation],
        stripped: Collection[str] = (),
    ) -> None:
        self._db = db
        self._columns = columns
        self._excluded = frozenset(query.exclude_node_types)
        self._least = query.min_mentions
        self._where = tuple(dict.fromkeys(query.where))
        self._names = names
        self._stripped = frozenset(stripped)
        self._path, self._steps, self._shown = None, None, None
        if isinstance(query, PathQuery):
            self._path, self._shown = query.path, query.shown_step
            self._steps = len(query.path.steps)
        self._meeting, self._idle = relations, idle
        self._relations = _relations_of(query, self._path)
        self._conditions = self._read()
        self._values: defaultdict[str, Values] = defaultdict(partial(Values, MOST_VALUES))
        self._tallies: defaultdict[Subject, Tally] = defaultdict(Tally)
        self.are_repeatable = not self._relations and (db.knows_operator("has") or not self)

    def __bool__(self) -> bool:
        """Whether any filter is set."""
        filters = self._excluded or self._conditions or self._relations
        return bool(filters or self._where or self._least > 1)

    def learn(self, types: IntArray, predicates: IntArray) -> None:
        """Add types and predicates that were reached to the names that a scope may use."""
        if not self._where:
            return
        names, columns = self._names, self._columns
        more = names.union(
            _named(columns.type_names, types), _named(columns.predicate_names, predicates)
        )
        if (more.types, more.predicates) != (names.types, names.predicates):
            self._names = more
            self._conditions = self._read()

    @property
    def step_tests(self) -> StepTests:
        """Tests the walks of the call by comparisons of steps."""
        return StepTests(self._db, self._stripped)

    @property
    def reads_types(self) -> bool:
        """Whether `keeps_nodes` uses the types of nodes."""
        named = any(one.type is not None for one in self._conditions)
        return named or bool(self._excluded or self._relations)

    @property
    def facts(self) -> tuple[ConditionTally, ...]:
        """The results of each condition of `where` so far."""
        return tuple(map(self._facts, self._conditions))

    def _facts(self, one: Condition) -> ConditionTally:
        hidden, absent = one.key in self._stripped, self._spares(one)
        facts = self._tallies[_subject(one)].facts(one, hidden=hidden, absent=absent)
        asks = not facts.had and one.operator in ("has", "lacks")
        near = KnownNames(self._names.predicates).nearest(one.key) if asks else []
        return replace(facts, predicate=near[0][0]) if near else facts

    async def keeps_nodes(
        self, handles: IntArray, types: IntArray, step: int | None, *, named: bool = False
    ) -> BoolArray:
        """Which nodes are kept.

        Args:
            handles: The nodes.
            types: The number of the type of each node; ignored if `reads_types` is false.
            step: The step of the path at which the nodes stand, 0 where walks start; None in a
                call without a path.
            named: Whether the call named the nodes for this step, as `seeds` or `to`. Only
                conditions on the step itself apply to them.

        Raises:
            TimeoutError: The deadline passed while metadata was read.
        """
        kept, names = np.ones(len(handles), bool), self._columns.type_names
        if self._excluded and not named:
            kept = ~are_named(types, names, self._excluded)
        least = 1 if named else self._least
        at_step = partial(self._at, step, named=named)
        active = [c for c in self._conditions if not c.of_edges and at_step(c.step, c.type)]
        places = np.flatnonzero(kept if least > 1 else kept & _about(active, types, names))
        keys = {c.key for c in active} | ({MENTIONS} if least > 1 else set())
        read = properties_of(self._db, self._columns, handles[places], keys)
        meet = partial(self._meet, active, names, least=least)
        kept = await _filtered(kept, places, types, read, meet, 1 + len(active))
        for one in self._relations:
            if at_step(one.step, one.types):
                about = kept if one.types is None else kept & are_named(types, names, one.types)
                places = np.flatnonzero(about)
                if len(places):
                    self._idle.discard(one)
                kept[places] = await self._meeting(handles[places], types[places], one.condition)
        return kept

    async def keeps_edges(self, ring: Ring, step: int | None) -> BoolArray:
        """Which edges are kept, if a step of a path took them; None in a call without a path."""
        kept, names = np.ones(len(ring.subjects), bool), self._columns.predicate_names
        active = [c for c in self._conditions if self._about_edges(c, step)]
        places = np.flatnonzero(_about(active, ring.predicates, names))
        keys = {c.key for c in active if self._stripped.isdisjoint(base_keys({c.key}))}
        read = properties_of(self._db, self._columns, at(ring, places), keys)
        meet = partial(self._meet, active, names)
        return await _filtered(kept, places, ring.predicates, read, meet, len(active))

    def _read(self) -> list[Condition]:
        written = [condition(text, self._names, self._steps) for text in self._where]
        return [*written, *_conditions_of_steps(self._path)]

    def _at(self, step: int | None, own: int | None, types: object, *, named: bool) -> bool:
        """Whether a condition on nodes applies to a step; without a scope, to the shown step."""
        if step is None or own is not None:
            return own == step
        return step == self._shown if types is None else not named

    def _about_edges(self, one: Condition, step: int | None) -> bool:
        if one.type is not None or (not one.of_edges and step is not None):
            return False
        return one.step is None or one.step == step

    def _meet(
        self,
        conditions: Sequence[Condition],
        names: Sequence[str],
        properties: Properties,
        kinds: IntArray,
        *,
        least: int = 1,
    ) -> BoolArray:
        """Which nodes or edges some conditions keep; a key without values counts as absent."""
        groups: dict[Subject, list[Condition]] = {}
        for one in conditions:
            groups.setdefault(_subject(one), []).append(one)
        numbers: dict[str, IntArray] = {}
        for key in {one.key for one in conditions}:
            known = properties.get(key) or [None] * len(kinds)
            numbers[key] = self._values[key].numbers(known)
        stays = np.ones(len(kinds), bool)
        for subject, group in groups.items():
            own = np.flatnonzero(_about(group, kinds, names))
            values = self._values[group[0].key]
            stays[own] &= self._tallies[subject].keeps(
                group, numbers[group[0].key][own], values, absent=self._spares(group[0])
            )
        if least > 1:
            mentions = (_mentions(one, least) >= least for one in properties[MENTIONS])
            stays &= np.fromiter(mentions, bool, len(kinds))
        return stays

    def _spares(self, one: Condition) -> bool:
        """Whether a condition keeps nodes and edges without the property."""
        # An expression without a value meets no condition (`protocol.md` 39).
        return one.scope is None and self._steps is None and not isinstance(one.key, Computed)


def _conditions_of_steps(path: Path | None) -> Iterator[Condition]:
    """The conditions that stand in brackets in the steps of a path."""
    if path is None:
        return
    for number, pattern in enumerate((path.start, *(step.end for step in path.steps))):
        for one in pattern.conditions:
            text = f"{number}.{one.property_text}"
            yield Condition(one.key, one.operator, one.values, text, number)
    for number, step in enumerate(path.steps, 1):
        for one in step.conditions:
            text = f"{number}.{one.property_text}"
            yield Condition(one.key, one.operator, one.values, text, number, of_edges=True)


def _relations_of(query: Query, path: Path | None) -> tuple[ScopedRelation, ...]:
    """The conditions on relations in `where` and in the steps of a path."""
    patterns = () if path is None else (path.start, *(step.end for step in path.steps))
    own = (
        ScopedRelation(f"{number} {one.text}", one, number)
        for number, pattern in enumerate(patterns)
        for one in pattern.relations
    )
    return (*query.relations, *own)


async def _filtered(  # noqa: PLR0917 - what nodes and edges have in common
    keep: BoolArray,
    places: npt.NDArray[np.intp],
    kinds: IntArray,
    read: AsyncGenerator[Part],
    meet: Callable[[Properties, IntArray], BoolArray],
    comparisons: int,
) -> BoolArray:
    """Which nodes or edges are kept: those at some places if their metadata meets conditions."""
    async with aclosing(read) as parts:
        async for part, properties in parts:
            here = places[part]
            work = partial(meet, properties, kinds[here])
            size = len(here) * comparisons + call.held_items()
            keep[here] = await off_loop(size, work)
    return keep


def _about(conditions: Sequence[Condition], kinds: IntArray, names: Sequence[str]) -> BoolArray:
    """Which nodes or edges at least one of the conditions applies to, by type or predicate."""
    if not conditions:
        return np.zeros(len(kinds), bool)
    scopes = {one.scope for one in conditions}
    if None in scopes:
        return np.ones(len(kinds), bool)
    return are_named(kinds, names, {scope for scope in scopes if scope is not None})


def _subject(one: Condition) -> Subject:
    return one.key, one.scope, one.step


def _named(names: Sequence[str], numbers: IntArray) -> list[str]:
    return [names[number] for number in distinct_numbers(numbers).tolist()]


def _mentions(value: object, otherwise: int) -> float | Decimal:
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return value if value == value else otherwise  # noqa: PLR0124 - NaN is not a number
    return otherwise  # "a value that is no number counts as absent"
