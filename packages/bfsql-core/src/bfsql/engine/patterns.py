"""The nodes of a pattern, and the relations of nodes (`protocol.md` 34, 36).

The store yields nodes that may meet the conditions of a pattern, and core compares what the store
does not compare exactly. Relations are read last, at nodes that meet all other conditions. A
relation is a path that begins at the node, independent of the walk that led to it; the nodes at its
end are counted as those of a path's answer are.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

import numpy as np

from bfsql import call
from bfsql.abc import NormalizedBackend
from bfsql.engine.conditions import RelationFilter
from bfsql.engine.plan import Bounds
from bfsql.engine.properties import Values, columnar, properties_of
from bfsql.engine.thresholds import MOST_VALUES, NODE_BYTES
from bfsql.errors import SetTooLarge
from bfsql.integers import NO_NODES, BoolArray, IntArray, IntegerGraph, NodeBatch, Place
from bfsql.models import NO_METADATA, Pattern, PropertyCondition
from bfsql.models.expression import Computed
from bfsql.workers import off_loop

log = logging.getLogger("bfsql")

_ID = "id"
"""The key that means the id of an entity without such a property, which no store compares."""


class PatternSearch:
    """Finds the nodes of patterns for one call.

    Args:
        db: The graph.
        columns: The graph in integers, for this call.
        bounds: Limits on the nodes.
        relations: Reads the relations of nodes.
    """

    def __init__(
        self,
        db: NormalizedBackend,
        columns: IntegerGraph,
        bounds: Bounds,
        relations: RelationFilter,
    ) -> None:
        self._db, self._columns = db, columns
        self._bounds, self._relations = bounds, relations
        self._counted: dict[Pattern, int] = {}  # while all nodes were compared anyway

    async def place(self, pattern: Pattern, most: int | None = None) -> Place:
        """The nodes of a pattern, in the order of their ids; those found earlier are reused.

        Args:
            pattern: The pattern.
            most: The most nodes to find; by default as many as the bound allows, and if there
                are more, they are counted within the deadline.

        Raises:
            EntitiesNotListed: The store cannot list its entities.
            SetTooLarge: There are more nodes.
            TimeoutError: The deadline passed.
        """
        cache = self._columns.answer_cache if self._is_shared(pattern) else None
        request = (type(self._columns), self._bounds, pattern, most)
        place: Place | None = None if cache is None else cache.find(request)
        if place is None:
            place = await self._search(pattern, most)
            if cache is not None and not call.omissions():
                cache.keep(request, place, 1 + len(place.handles) // 32)
        return place

    async def _search(self, pattern: Pattern, most: int | None) -> Place:
        bound = self._bounds.nodes if most is None else most
        batches: list[tuple[IntArray, IntArray]] = [(NO_NODES, NO_NODES)]
        count = 0
        try:
            async with call.time_limit(), aclosing(self.batches(pattern)) as stream:
                async for batch in stream:
                    count += len(batch[0])
                    if count <= bound:
                        call.hold(NODE_BYTES * len(batch[0]))
                        batches.append(batch)
                    elif most is not None:
                        break
        except TimeoutError:
            if count <= bound:
                raise
            raise SetTooLarge(pattern.text, bound) from None
        if count > bound:
            before = ", before its conditions on relations," if pattern.relations else ""
            raise SetTooLarge(pattern.text + before, bound, None if most is not None else count)
        handles, types_as_read = map(np.concatenate, zip(*batches, strict=True))
        ordered = await self._columns.ordered(handles)

        def types_in_order() -> IntArray:
            order = np.argsort(handles)
            return types_as_read[order[np.searchsorted(handles, ordered, sorter=order)]]

        types = await off_loop(len(handles), types_in_order)
        # All nodes at once, so that what is reported of a relation does not depend on batches.
        for relation in pattern.relations:
            kept = await self._relations(ordered, types, relation)
            ordered, types = ordered[kept], types[kept]
        return Place(pattern.text, ordered, types, named=False)

    async def unlike(self, pattern: Pattern) -> dict[PropertyCondition, int]:
        """The numbers of values that conditions of a pattern cannot compare, where there are any.

        They are values of all nodes of its types, whatever its other conditions. A number is
        negative if they could not be counted.

        Args:
            pattern: A pattern whose nodes were found before.
        """
        tests = _unlike(pattern)
        return {one: count for one in tests if (count := await self._number(tests[one]))}

    async def _number(self, pattern: Pattern) -> int:
        """The number of nodes of a pattern, counted once for all calls.

        It is negative if the store does not count them in a second, or less if time is short.
        That is not tried again for a few minutes.
        """
        if pattern in self._counted:
            return self._counted[pattern]
        answers, count, now = self._db.answers, 0, time.monotonic()
        held = None if answers is None else answers.find(pattern)
        if held is not None and (held[0] >= 0 or now < held[1]):
            return int(held[0])
        with call.joined() as under_way, under_way.own_omissions(kept=False) as gaps:
            try:
                async with (
                    asyncio.timeout(call.seconds_left(1.0, 0.1)),
                    aclosing(self.batches(pattern)) as batches,
                ):
                    async for handles, _ in batches:
                        count += len(handles)
            except Exception as fault:  # noqa: BLE001 - a driver's own; an answer does without
                log.warning("Values that cannot be compared were not counted: %r", fault)
                count = -1
            if any(gap.direction == "nodes" for gap in gaps):
                count = -1
        if answers is not None:
            answers.keep(pattern, (count, now + 300), 1)
        return count

    async def batches(self, pattern: Pattern) -> AsyncGenerator[tuple[IntArray, IntArray]]:
        """The nodes that meet the conditions of a pattern on properties, and their types.

        Each node occurs once, in any order.

        Raises:
            EntitiesNotListed: The store cannot list its entities.
            TimeoutError: The deadline passed.
        """
        columns = self._columns
        pushed = list(filter(self._is_pushed, pattern.conditions))
        compared = [one for one in pattern.conditions if not self.is_exact(one)]
        values = {one.key: Values(MOST_VALUES) for one in compared}
        others = values.keys() - {one.key for one in pushed}  # which nodes do not bring along
        counts = not pushed and not self._db.knows_operator("unlike")
        # Expressions are computed here anyway, of all nodes that come.
        tests = [
            test
            for one, test in _unlike(pattern).items()
            if counts or isinstance(one.key, Computed)
        ]
        tests = list(dict.fromkeys(tests))
        self._counted |= dict.fromkeys(tests, 0)
        conditions = [*compared, *(one for test in tests for one in test.conditions)]
        async with aclosing(columns.nodes(pattern.types, pushed)) as stream:
            async for batch in stream:
                call.check()
                call.has_read(nodes=len(batch.handles))
                usable = batch._replace(metadata={}) if others else batch
                met = await self._meeting(usable, conditions, values)
                for test, found in zip(tests, met[len(compared) :], strict=True):
                    self._counted[test] += int(found.sum())
                every = np.ones(len(batch.handles), bool)
                kept = np.logical_and.reduce([every, *met[: len(compared)]])
                yield batch.handles[kept], batch.types[kept]

    def is_exact(self, one: PropertyCondition) -> bool:
        """Whether the store yields only nodes that meet a condition, if it is given."""
        return self._is_pushed(one) and self._columns.filters_exactly(one)

    def _is_shared(self, pattern: Pattern) -> bool:
        """Whether its nodes are those of all calls; what hooks redact may depend on the caller."""
        return self._db.knows_operator("has") and not pattern.relations

    def _is_pushed(self, one: PropertyCondition) -> bool:
        if isinstance(one.key, Computed):
            return False
        return one.key != _ID and self._db.knows_operator(one.operator)

    async def _meeting(
        self, batch: NodeBatch, conditions: Sequence[PropertyCondition], values: dict[str, Values]
    ) -> list[BoolArray]:
        """Which nodes of a batch meet each condition that the store does not compare exactly."""
        if not conditions:
            return []
        known: dict[str, list[Any]] = {key: [] for key in values}
        if batch.metadata:
            ids = await self._columns.ids(batch.handles)
            known = columnar([batch.metadata.get(one, NO_METADATA) for one in ids], values)
        else:
            read = properties_of(self._db, self._columns, batch.handles, values.keys())
            async with aclosing(read) as parts:
                async for _, part in parts:
                    for key, of_key in part.items():
                        known[key] += of_key

        def compare() -> list[BoolArray]:
            met: list[BoolArray] = []
            for one in conditions:
                numbers = values[one.key].numbers(known[one.key])
                met.append(values[one.key].meeting(one)[numbers])
            return met

        size = len(batch.handles) * len(conditions) + call.held_items()
        return await off_loop(size, compare)


def _unlike(pattern: Pattern) -> dict[PropertyCondition, Pattern]:
    """The nodes of the types of a pattern whose values its conditions cannot compare."""
    tests = ((one, one.unlike) for one in pattern.conditions)
    return {one: Pattern(pattern.types, (test,)) for one, test in tests if test is not None}
