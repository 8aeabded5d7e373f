"""Filters that remove nodes and edges: `exclude_node_types`, `min_mentions` and `where`.

A plain traversal applies them once, to everything that was reached; a walk along a path
applies them at each step. Only the keys that the conditions name are read, in one batch.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import compress
from typing import Any, Protocol, TypeVar

import numpy as np

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.columns import BoolArray, Columns, IntArray, Ring, distinct_numbers, marked
from bfsql.engine.arrays import are_named
from bfsql.engine.traverse import off_loop
from bfsql.models import (
    NO_METADATA,
    ConditionFacts,
    Metadata,
    Triple,
)
from bfsql.models.comparison import scalars, shown_as
from bfsql.models.condition import Condition, Names, condition

K = TypeVar("K", str, Triple)

MENTIONS = "total_mentions"
"""The key that `min_mentions` refers to."""
VALUES_TOLD = 5
"""Number of property values that a note lists if none of them meets a condition."""


async def conditions_of(
    db: GraphDbInterface,
    columns: Columns,
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
        columns: Columns,
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
        self._tallies = {text: _Tally() for text in self._where}

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
    def facts(self) -> tuple[ConditionFacts, ...]:
        """The results of each condition of `where` so far."""
        return tuple(
            self._tallies[one.text].facts(one, hidden=self._hidden(one)) for one in self._conditions
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
        if not len(places):
            return kept
        keys = {c.key for c in judged} | ({MENTIONS} if least > 1 else set())
        ids = await call.within(self._columns.ids(handles[places]))
        metadata = await known_of_nodes(self._db, self._columns, ids, keys)
        kinds, type_names = types[places].tolist(), self._columns.type_names

        def judge() -> BoolArray:
            stays = np.ones(len(ids), bool)
            if least > 1:
                mentions = (_mentions(metadata.get(i, NO_METADATA), least) for i in ids)
                stays &= np.fromiter((n >= least for n in mentions), bool, len(ids))
            for one in judged:
                scoped = one.type is not None or step is not None
                own = [one.type is None or type_names[kind] == one.type for kind in kinds]
                stays &= self._met(one, ids, own, metadata, scoped=scoped)
            return stays

        kept[places] = await off_loop(len(ids) * (1 + len(judged)), judge)
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
        places = np.flatnonzero(due)
        if not judged or not len(places):
            return kept
        triples = await self._triples(marked(ring, due))
        keys = {c.key for c in judged} - self._stripped
        metadata: Mapping[Triple, Metadata] = {}
        if keys:
            metadata = await call.within(self._db.metadata_for_edges_batch(triples, keys))

        def judge() -> BoolArray:
            stays = np.ones(len(triples), bool)
            for one in judged:
                own = [one.predicate is None or t[1] == one.predicate for t in triples]
                known = {} if self._hidden(one) else metadata
                stays &= self._met(one, triples, own, known, scoped=one.predicate is not None)
            return stays

        kept[places] = await off_loop(len(triples) * len(judged), judge)
        return kept

    def _read(self) -> list[Condition]:
        return [condition(text, self._names, self._steps) for text in self._where]

    def _hidden(self, one: Condition) -> bool:
        return one.key in self._stripped

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

    async def _triples(self, ring: Ring) -> list[Triple]:
        ends = distinct_numbers(np.concatenate([ring.subjects, ring.objects]))
        ids = await call.within(self._columns.ids(ends))
        id_of = dict(zip(ends.tolist(), ids, strict=True)).__getitem__
        names = self._columns.predicate_names
        return [
            (id_of(s), names[p], id_of(o))
            for s, p, o in zip(*(column.tolist() for column in ring), strict=True)
        ]

    def _met(
        self,
        one: Condition,
        things: Sequence[K],
        own: Sequence[bool],
        metadata: Mapping[K, Metadata],
        *,
        scoped: bool,
    ) -> BoolArray:
        """Which nodes or edges are kept under a condition.

        Args:
            one: The condition.
            things: Nodes or edges.
            own: Whether the condition applies to each of them.
            metadata: Their known metadata.
            scoped: Whether the condition removes items that lack the property.
        """
        tally = self._tallies[one.text]
        stays = [True] * len(things)
        for place in compress(range(len(things)), own):
            known = metadata.get(things[place], NO_METADATA)
            verdict = tally.verdict(one, known.get(one.key))
            stays[place] = (not scoped) if verdict is None else verdict
        tally.kept |= not scoped
        return np.array(stays, bool)


class _Tally:
    """Counts of the results of one condition."""

    def __init__(self) -> None:
        self.judged = self.had = self.met = self.unlike = 0
        self.values: Counter[str] = Counter()
        self.kept = False

    def verdict(self, one: Condition, value: Any) -> bool | None:
        """Whether a value meets the condition; None if there is no value."""
        self.judged += 1
        if value is None:
            return None
        self.had += 1
        known = scalars(value)
        met = one.met_by(known)
        self.met += met
        if not met:
            self.unlike += not one.compares_with(known)
            if not self.met:
                self.values.update(map(shown_as, known))
        return met

    def facts(self, one: Condition, *, hidden: bool) -> ConditionFacts:
        """The counts, as facts for a note."""
        common = sorted(self.values, key=lambda value: (-self.values[value], value))
        return ConditionFacts(
            one,
            hidden=hidden,
            judged=self.judged,
            had=self.had,
            met=self.met,
            kept=self.kept,
            unlike=self.unlike,
            values=() if self.met else tuple(common[:VALUES_TOLD]),
        )


async def known_of_nodes(
    db: GraphDbInterface, columns: Columns, ids: Sequence[str], keys: set[str]
) -> Mapping[str, Metadata]:
    """Some keys of the metadata of nodes, brought with the nodes or read in one batch.

    Raises:
        TimeoutError: The deadline passed.
    """
    brought = columns.brought
    if all(brought.get(i, NO_METADATA).keys() >= keys for i in ids):
        return brought
    read = await call.within(db.metadata_for_nodes_batch(ids, keys))
    return {
        i: {**brought[i], **read.get(i, {})} if i in brought else read.get(i, NO_METADATA)
        for i in ids
    }


def _named(names: Sequence[str], numbers: IntArray) -> list[str]:
    return [names[number] for number in distinct_numbers(numbers).tolist()]


def _mentions(metadata: Metadata, otherwise: int) -> float | Decimal:
    value = metadata.get(MENTIONS)
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return value if value == value else otherwise  # noqa: PLR0124 - NaN is no number
    return otherwise  # "a value that is no number counts as absent"
