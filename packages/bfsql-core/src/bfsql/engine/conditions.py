"""Filters that remove nodes and edges: `exclude_node_types`, `min_mentions` and `where`.

A plain traversal applies them once, to everything that was reached; a walk along a path
applies them at each step. Only the keys that the conditions name are read, all together.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from contextlib import aclosing
from decimal import Decimal
from functools import partial
from typing import Protocol, TypeAlias

import numpy as np

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.arrays import are_named, at, distinct_numbers
from bfsql.engine.properties import Tally, Values, properties_of_edges, properties_of_nodes
from bfsql.engine.traverse import off_loop
from bfsql.integers import BoolArray, IntArray, IntegerGraph, Ring
from bfsql.models import ConditionTally, Metadata
from bfsql.models.condition import Condition, Names, condition

Subject: TypeAlias = tuple[str, str | None, int | None]
"""What conditions apply to: a property, a type or predicate, and a step."""

MENTIONS = "total_mentions"
"""The key that `min_mentions` refers to."""


async def conditions_of(
    db: GraphDbInterface,
    columns: IntegerGraph,
    query: Filters,
    *,
    stripped: Collection[str] = (),
    steps: int | None = None,
    shown: int | None = None,
) -> Conditions:
    """The conditions of a call.

    Args:
        db: The graph; its types and predicates are read if there is a `where`.
        columns: The graph in integers, for this call.
        query: The query with its `exclude_node_types`, `min_mentions` and `where`.
        stripped: Keys of edge metadata that traversals leave out; they count as absent.
        steps: The number of steps of a path; None in a call without a path.
        shown: The step of a path that is shown; a condition without a scope applies to its nodes.

    Raises:
        ToolError: A condition cannot be read.
        TimeoutError: The deadline passed.
    """
    types: Iterable[str] = ()
    predicates: Iterable[str] = ()
    if query.where:
        types, predicates = await call.within(_vocabulary(db))
    return Conditions(
        db, columns, query, Names(types, predicates), stripped=stripped, steps=steps, shown=shown
    )


async def _vocabulary(db: GraphDbInterface) -> tuple[Iterable[str], Iterable[str]]:
    types, predicates = await asyncio.gather(db.entity_types(), db.predicates())
    return types, predicates


class Filters(Protocol):
    """The filters of a query."""

    @property
    def exclude_node_types(self) -> Sequence[str]:
        """Types of the nodes to remove."""

    @property
    def min_mentions(self) -> int:
        """The smallest `total_mentions` that a node may have."""

    @property
    def where(self) -> Sequence[str]:
        """Conditions on metadata."""


class Conditions:
    """All filters that remove nodes and edges in one call.

    Args:
        db: The graph, from which the metadata named by conditions is read.
        columns: The graph in integers, for this call.
        query: The query, as in `conditions_of`.
        names: The types and predicates that a scope may name.
        stripped: Keys of edges that count as absent.
        steps: The number of steps of a path.
        shown: The step whose nodes are shown.

    Raises:
        ToolError: A condition cannot be read.
    """

    def __init__(
        self,
        db: GraphDbInterface,
        columns: IntegerGraph,
        query: Filters,
        names: Names,
        *,
        stripped: Collection[str] = (),
        steps: int | None = None,
        shown: int | None = None,
    ) -> None:
        self._db = db
        self._columns = columns
        self._excluded = frozenset(query.exclude_node_types)
        self._least = query.min_mentions
        self._where = tuple(dict.fromkeys(query.where))
        self._names = names
        self._stripped = frozenset(stripped)
        self._steps, self._shown = steps, shown
        self._conditions = self._read()
        self._values: defaultdict[str, Values] = defaultdict(Values)
        self._tallies: defaultdict[Subject, Tally] = defaultdict(Tally)

    def __bool__(self) -> bool:
        """Whether any filter is set."""
        return bool(self._excluded or self._where or self._least > 1)

    def learn(self, types: IntArray, predicates: IntArray) -> None:
        """Add types and predicates that were reached to the names that a scope may use.

        Args:
            types: Numbers of types.
            predicates: Numbers of predicates.
        """
        if not self._where:
            return
        names, columns = self._names, self._columns
        more = Names(
            names.types.union(_named(columns.type_names, types)),
            names.predicates.union(_named(columns.predicate_names, predicates)),
        )
        if (more.types, more.predicates) != (names.types, names.predicates):
            self._names = more
            self._conditions = self._read()

    @property
    def reads_types(self) -> bool:
        """Whether `keeps_nodes` uses the types of nodes."""
        return bool(self._excluded) or any(one.type is not None for one in self._conditions)

    @property
    def facts(self) -> tuple[ConditionTally, ...]:
        """The results of each condition of `where` so far."""
        return tuple(
            self._tallies[_subject(one)].facts(
                one, hidden=one.key in self._stripped, absent=self._spares(one)
            )
            for one in self._conditions
        )

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
        kept = np.ones(len(handles), bool) if named else self._of_kept_types(types)
        least = 1 if named else self._least
        judged = [
            c for c in self._conditions if c.predicate is None and self._at(c, step, named=named)
        ]
        due = kept.copy()
        if least <= 1:
            due &= self._about(judged, types)
        places = np.flatnonzero(due)
        keys = {c.key for c in judged} | ({MENTIONS} if least > 1 else set())
        read = properties_of_nodes(self._db, self._columns, handles[places], keys)
        async with aclosing(read) as parts:
            async for part, metadata in parts:
                here = places[part]

                def judge(
                    metadata: Sequence[Metadata] = metadata, kinds: IntArray = types[here]
                ) -> BoolArray:
                    stays = self._meet(judged, metadata, kinds, self._columns.type_names)
                    if least > 1:
                        mentions = (_mentions(one, least) >= least for one in metadata)
                        stays &= np.fromiter(mentions, bool, len(metadata))
                    return stays

                kept[here] = await off_loop(len(metadata) * (1 + len(judged)), judge)
        return kept

    async def keeps_edges(self, ring: Ring, step: int | None) -> BoolArray:
        """Which edges are kept.

        Args:
            ring: The edges.
            step: The step of the path that took the edges; None in a call without a path.

        Raises:
            TimeoutError: The deadline passed while metadata was read.
        """
        kept = np.ones(len(ring.subjects), bool)
        judged = [c for c in self._conditions if self._about_edges(c, step)]
        wide = any(c.predicate is None for c in judged)
        names = self._columns.predicate_names
        scopes = {c.predicate for c in judged if c.predicate is not None}
        due = kept.copy() if wide else are_named(ring.predicates, names, scopes)
        if not judged:
            return kept
        places = np.flatnonzero(due)
        keys = {c.key for c in judged} - self._stripped
        read = properties_of_edges(self._db, self._columns, at(ring, places), keys)
        async with aclosing(read) as parts:
            async for part, metadata in parts:
                here = places[part]
                work = partial(
                    self._meet, judged, metadata, ring.predicates[here], names, self._stripped
                )
                kept[here] = await off_loop(len(metadata) * len(judged), work)
        return kept

    def _read(self) -> list[Condition]:
        return [condition(text, self._names, self._steps) for text in self._where]

    def _at(self, one: Condition, step: int | None, *, named: bool) -> bool:
        """Whether a condition on nodes applies to a step; without a scope, to the shown step."""
        if step is None or one.step is not None:
            return one.step == step
        return step == self._shown if one.type is None else not named

    def _about_edges(self, one: Condition, step: int | None) -> bool:
        if one.type is not None or (one.predicate is None and step is not None):
            return False
        return one.step is None or one.step == step

    def _of_kept_types(self, types: IntArray) -> BoolArray:
        if not self._excluded:
            return np.ones(len(types), bool)
        return ~are_named(types, self._columns.type_names, self._excluded)

    def _about(self, judged: Sequence[Condition], types: IntArray) -> BoolArray:
        """Which nodes at least one of the given conditions applies to."""
        if any(one.type is None for one in judged):
            return np.ones(len(types), bool)
        scopes = {one.type for one in judged if one.type is not None}
        return are_named(types, self._columns.type_names, scopes)

    def _meet(
        self,
        judged: Sequence[Condition],
        metadata: Sequence[Metadata],
        kinds: IntArray,
        names: Sequence[str],
        hidden: Collection[str] = (),
    ) -> BoolArray:
        """Which nodes or edges are kept under some conditions.

        Args:
            judged: The conditions.
            metadata: The metadata of each node or edge.
            kinds: The number of the type or the predicate of each.
            names: The names of the types or predicates.
            hidden: Keys that count as absent.

        Raises:
            TimeoutError: The deadline passed.
        """
        groups: dict[Subject, list[Condition]] = {}
        for one in judged:
            groups.setdefault(_subject(one), []).append(one)
        numbers: dict[str, IntArray] = {}
        for key in {one.key for one in judged}:
            known = [None if key in hidden else one.get(key) for one in metadata]
            numbers[key] = self._values[key].numbers(known)
        stays = np.ones(len(metadata), bool)
        for subject, group in groups.items():
            key, scope, _ = subject
            own = np.arange(len(kinds))
            if scope is not None:
                own = np.flatnonzero(are_named(kinds, names, {scope}))
            kept = self._tallies[subject].keeps(
                group, numbers[key][own], self._values[key], absent=self._spares(group[0])
            )
            stays[own] &= kept
        return stays

    def _spares(self, one: Condition) -> bool:
        """Whether a condition keeps nodes and edges without the property."""
        return one.scope is None and self._steps is None


def _subject(one: Condition) -> Subject:
    return one.key, one.scope, one.step


def _named(names: Sequence[str], numbers: IntArray) -> list[str]:
    return [names[number] for number in distinct_numbers(numbers).tolist()]


def _mentions(metadata: Metadata, otherwise: int) -> float | Decimal:
    value = metadata.get(MENTIONS)
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return value if value == value else otherwise  # noqa: PLR0124 - NaN is no number
    return otherwise  # "a value that is no number counts as absent"
