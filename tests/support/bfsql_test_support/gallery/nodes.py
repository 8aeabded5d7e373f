"""Mistakes in lists of entities: which are listed, and what conditions remove."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Sequence
from typing import Any

from bfsql.integers import NodeBatch
from bfsql.memory import MemoryBackend
from bfsql.models import Metadata, Node, PropertyCondition
from bfsql_test_support.backends.columns import PlainColumns

Types = Collection[str] | None
Conditions = Sequence[PropertyCondition]


class _Listing(MemoryBackend):
    """The reference, with one place for a mistake."""

    async def nodes_stream(
        self, *, entity_types: Types = None, conditions: Conditions = ()
    ) -> AsyncGenerator[list[Node]]:
        async for nodes in super().nodes_stream(entity_types=entity_types):
            yield [node for node in nodes if all(self.met(one, node.id) for one in conditions)]

    def met(self, one: PropertyCondition, entity_id: str) -> bool:
        """Whether the store takes an entity as meeting a condition."""
        return one.holds(self._node_metadata[entity_id])


class ListsAHundred(MemoryBackend):
    """Has a LIMIT in its query, and does not report the entities beyond it."""

    async def nodes_stream(self, **asked: Any) -> AsyncGenerator[list[Node]]:
        async for nodes in super().nodes_stream(**asked):
            yield nodes[:100]


class NoTypesAreAllTypes(MemoryBackend):
    """Treats an empty list of types as no filter."""

    async def nodes_stream(
        self, *, entity_types: Types = None, conditions: Conditions = ()
    ) -> AsyncGenerator[list[Node]]:
        stream = super().nodes_stream(entity_types=entity_types or None, conditions=conditions)
        async for nodes in stream:
            yield nodes


class ListsByOtherType(MemoryBackend):
    """Also lists entities that have a requested type only among their `other_types`."""

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


class ComparesTextExactly(_Listing):
    """Compares text with its case and accents."""

    def met(self, one: PropertyCondition, entity_id: str) -> bool:
        value = self._node_metadata[entity_id].get(one.key)
        if one.operator == "=" and isinstance(value, str):
            return value in one.values
        return super().met(one, entity_id)


class ComparesOnlyNumbers(_Listing):
    """Compares a number only with numbers, not with text that is a number."""

    def met(self, one: PropertyCondition, entity_id: str) -> bool:
        value = self._node_metadata[entity_id].get(one.key)
        is_text = isinstance(value, str) and any(of.number is not None for of in one.literals)
        return super().met(one, entity_id) and not (is_text and one.operator == "=")


class ComparesDoublesStrictly(_Listing):
    """Compares large numbers as doubles, in which neighbours are equal."""

    def met(self, one: PropertyCondition, entity_id: str) -> bool:
        value = self._node_metadata[entity_id].get(one.key)
        number = one.literals[0].number if one.literals else None
        if one.operator == ">" and isinstance(value, int) and number is not None:
            return float(value) > float(number)
        return super().met(one, entity_id)


class ComparesNoLists(_Listing):
    """Takes a list as a value that meets nothing."""

    def met(self, one: PropertyCondition, entity_id: str) -> bool:
        is_list = isinstance(self._node_metadata[entity_id].get(one.key), list)
        return super().met(one, entity_id) and not (is_list and one.values)


class RequiresWhatLacks(_Listing):
    """Reads only entities that have the properties of all conditions."""

    def met(self, one: PropertyCondition, entity_id: str) -> bool:
        return one.key in self._node_metadata[entity_id]


class ReadsValuesAsQueries(_Listing):
    """Writes values into the text of its query, where a quote ends them."""

    def met(self, one: PropertyCondition, entity_id: str) -> bool:
        if any("'" in value for value in one.values):
            raise ValueError("unterminated string")
        return super().met(one, entity_id)


class ExactInName(_Listing):
    """Declares that it compares every condition exactly, and narrows by presence alone."""

    def met(self, one: PropertyCondition, entity_id: str) -> bool:
        return one.operator == "lacks" or one.key in self._node_metadata[entity_id]


class BringsOneProperty(MemoryBackend):
    """Returns only the property of the last condition with a node."""

    def filters_exactly(self, condition: PropertyCondition) -> bool:
        return False

    async def nodes_stream(
        self, *, entity_types: Types = None, conditions: Conditions = ()
    ) -> AsyncGenerator[list[Node]]:
        keys = {one.key for one in conditions[-1:]}
        async for nodes in super().nodes_stream(entity_types=entity_types, conditions=conditions):
            found = await self.metadata_for_nodes_batch([node.id for node in nodes], keys)
            yield [node._replace(metadata=found[node.id]) for node in nodes]


class OneTypeBesideConditions(MemoryBackend):
    """Uses only the first of the types where there are conditions."""

    async def nodes_stream(
        self, *, entity_types: Types = None, conditions: Conditions = ()
    ) -> AsyncGenerator[list[Node]]:
        types = sorted(entity_types)[:1] if entity_types and conditions else entity_types
        async for nodes in super().nodes_stream(entity_types=types, conditions=conditions):
            yield nodes


class LeavesOutTextAmongNumbers(MemoryBackend):
    """Reads no text in a property whose values are numbers elsewhere."""

    async def metadata_for_nodes_batch(
        self, ids: Sequence[str], keys: Collection[str] | None = None
    ) -> dict[str, Metadata]:
        read = await super().metadata_for_nodes_batch(ids, keys)
        return {
            one: {k: v for k, v in known.items() if k != "score" or not isinstance(v, str)}
            for one, known in read.items()
        }


class UnknownOperatorsAreUnmet(_Listing):
    """Takes an operator that it does not know as one that no entity meets."""

    def met(self, one: PropertyCondition, entity_id: str) -> bool:
        return one.operator != "unlike" and super().met(one, entity_id)


class ListsEachTwice(PlainColumns):
    """Lists each node once per index."""

    async def nodes(
        self, entity_types: Types = None, conditions: Conditions = ()
    ) -> AsyncGenerator[NodeBatch]:
        async for batch in super().nodes(entity_types, conditions):
            yield batch
            yield batch


class ListsTypesByNumber(PlainColumns):
    """Does not filter by type."""

    async def nodes(
        self, entity_types: Types = None, conditions: Conditions = ()
    ) -> AsyncGenerator[NodeBatch]:
        async for batch in super().nodes(None, conditions):
            yield batch
