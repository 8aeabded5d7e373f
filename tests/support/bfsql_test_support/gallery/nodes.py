"""Changes to lists of entities that take more than an expression."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Sequence
from typing import Any

from bfsql.memory import MemoryBackend
from bfsql.models import Node, PropertyCondition

Types = Collection[str] | None
Conditions = Sequence[PropertyCondition]


class ListsByOtherType(MemoryBackend):
    """nodes-list: Also lists entities with a requested type among their `other_types`."""

    async def nodes_stream(
        self, *, entity_types: Types = None, conditions: Conditions = ()
    ) -> AsyncGenerator[list[Node]]:
        asked = set(entity_types or ())
        async for nodes in super().nodes_stream(conditions=conditions):
            yield [
                node
                for node in nodes
                if entity_types is None
                or asked & {node.entity_type, *self._node_metadata[node.id].get("other_types", ())}
            ]


def as_doubles(one: PropertyCondition, known: Any, right: bool) -> bool:
    """Whether a condition is met if numbers are compared as doubles."""
    value, number = known.get(one.key), one.literals[0].number if one.literals else None
    if one.operator == ">" and isinstance(value, int) and number is not None:
        return float(value) > float(number)
    return right


async def with_one_property(
    right: Any, db: Any, *, entity_types: Types = None, conditions: Conditions = ()
) -> AsyncGenerator[list[Node]]:
    """The nodes with the property of the last condition."""
    keys = {one.key for one in conditions[-1:]}
    async for nodes in right(entity_types=entity_types, conditions=conditions):
        found = await db.metadata_for_nodes_batch([node.id for node in nodes], keys)
        yield [node._replace(metadata=found[node.id]) for node in nodes]


async def each_twice(right: Any, _: Any, *asked: Any) -> AsyncGenerator[Any]:
    """Each batch twice."""
    async for batch in right(*asked):
        yield batch
        yield batch
