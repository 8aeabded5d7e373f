"""The nodes of a pattern: those of some types that meet its conditions (`protocol.md` 34).

The store yields nodes that may meet the conditions, and core compares what the store does not
compare exactly. Relations are read last, at nodes that meet all other conditions.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

import numpy as np

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.engine.conditions import RelationFilter
from bfsql.engine.properties import Values, properties_of
from bfsql.engine.thresholds import NODE_BYTES
from bfsql.engine.traverse import Bounds
from bfsql.errors import SetTooLarge
from bfsql.integers import NO_NODES, BoolArray, IntArray, IntegerGraph, NodeBatch, Place
from bfsql.models import Metadata, Pattern, PropertyCondition
from bfsql.workers import off_loop

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
        self, db: GraphDbInterface, columns: IntegerGraph, bounds: Bounds, relations: RelationFilter
    ) -> None:
        self._db, self._columns = db, columns
        self._bounds, self._relations = bounds, relations

    async def place(self, pattern: Pattern, most: int | None = None) -> Place:
        """The nodes of a pattern, in the order of their ids.

        Args:
            pattern: The pattern.
            most: The most nodes to find; by default as many as the bound allows, and if there
                are more, they are counted within the deadline.

        Raises:
            EntitiesNotListed: The store cannot list its entities.
            SetTooLarge: There are more nodes.
            TimeoutError: The deadline passed.
        """
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
            kept = await self._relations.meeting(ordered, types, relation)
            ordered, types = ordered[kept], types[kept]
        return Place(pattern.text, ordered, types, named=False)

    async def batches(self, pattern: Pattern) -> AsyncGenerator[tuple[IntArray, IntArray]]:
        """The nodes that meet the conditions of a pattern on properties, and their types.

        Each node occurs once, in any order.

        Raises:
            EntitiesNotListed: The store cannot list its entities.
            TimeoutError: The deadline passed.
        """
        columns = self._columns
        pushed = [one for one in pattern.conditions if one.key != _ID]
        compared = [one for one in pattern.conditions if not self._is_exact(one)]
        values = {one.key: Values() for one in compared}
        async with aclosing(columns.nodes(pattern.types, pushed)) as stream:
            async for batch in stream:
                call.check()
                call.has_read(nodes=len(batch.handles))
                kept = await self._meeting(batch, compared, values)
                yield batch.handles[kept], batch.types[kept]

    def _is_exact(self, one: PropertyCondition) -> bool:
        return one.key != _ID and self._columns.filters_exactly(one)

    async def _meeting(
        self, batch: NodeBatch, conditions: Sequence[PropertyCondition], values: dict[str, Values]
    ) -> BoolArray:
        """Which nodes of a batch meet conditions that the store does not compare exactly."""
        kept = np.ones(len(batch.handles), bool)
        if not conditions:
            return kept
        records: list[Metadata] = []
        ids = await self._columns.ids(batch.handles)
        if batch.metadata and _ID not in values:
            records = [batch.metadata.get(one, {}) for one in ids]
        else:
            read = properties_of(self._db, self._columns, batch.handles, values.keys())
            async with aclosing(read) as parts:
                async for _, some in parts:
                    records += some

        def compare() -> BoolArray:
            met = kept
            for one in conditions:
                known = values[one.key]
                numbers = known.numbers([record.get(one.key) for record in records])
                met = met & known.meeting(one)[numbers]
            return met

        return await off_loop(len(records) * len(conditions), compare)
