"""Mistakes in types, and in the lists of types and predicates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bfsql.memory import MemoryBackend
from bfsql.models import Edge, Node
from bfsql_test_support.gallery.bases import Eight, wrong


@wrong("own-identity")
class GivesEveryLabel(Eight):
    """Returns a list of labels as the type."""

    async def get_node(self, entity_id: str) -> Any:
        node = await super().get_node(entity_id)
        return node._replace(entity_type=[node.entity_type])


@wrong("every-node")
class LastTypeWins(MemoryBackend):
    """Returns the last type of a node instead of the first."""

    async def get_node(self, entity_id: str) -> Node:
        node = await super().get_node(entity_id)
        others = self._node_metadata[entity_id].get("other_types") or [node.entity_type]
        return node._replace(entity_type=others[-1])

    async def get_nodes_batch(self, ids: Sequence[str]) -> list[Node]:
        return [await self.get_node(i) for i in ids if i in self._types]


@wrong("schema-lists")
class ListsOtherTypesToo(Eight):
    """Lists types that occur only in `other_types`, or that no node has any longer."""

    async def entity_types(self) -> list[str]:
        return sorted([*await super().entity_types(), "Retired"])


@wrong("types-match")
class ListsSomeTypes(Eight):
    """Has a LIMIT on its list of types."""

    async def entity_types(self) -> list[str]:
        return (await super().entity_types())[:1]


@wrong("predicates-match")
class ListsSomePredicates(Eight):
    """Has a LIMIT on its list of predicates."""

    async def predicates(self) -> list[str]:
        return (await super().predicates())[:1]


@wrong("schema-lists")
class SpellsPredicatesTwice(Eight):
    """Lists predicates in lower case, but returns edges as stored."""

    async def predicates(self) -> list[str]:
        return sorted({predicate.lower() for predicate in await super().predicates()})


@wrong("schema-lists")
class ListsPredicatesOfNoEdge(Eight):
    """Lists the predicates that its schema allows, not those that occur."""

    async def predicates(self) -> list[str]:
        return sorted([*await super().predicates(), "reserved"])


@wrong("types-sorted")
class ListsTypesAsTheyCome(Eight):
    """Lists types in the order of its table."""

    async def entity_types(self) -> list[str]:
        return (await super().entity_types())[::-1]


@wrong("predicates-sorted")
class ListsPredicatesAsTheyCome(Eight):
    """Lists predicates in the order of its table."""

    async def predicates(self) -> list[str]:
        return (await super().predicates())[::-1]


@wrong("hostile-ids")
class SortsByTheLocale(Eight):
    """Sorts like a dictionary, ignoring case."""

    async def predicates(self) -> list[str]:
        return sorted(await super().predicates(), key=str.casefold)


@wrong("types-sorted")
class ListsTypesTwice(Eight):
    """Lists a type once for every node that has it."""

    async def entity_types(self) -> list[str]:
        return sorted(self.right._types.values())


@wrong("predicates-sorted")
class ListsInAnyOrder(Eight):
    """Returns a set instead of a sorted list."""

    async def predicates(self) -> Any:
        return frozenset(await super().predicates())


@wrong("predicates-match")
class LearnsPredicates(Eight):
    """Lists the predicates that it has read so far, so that the list grows during a session."""

    def __init__(self, records: Any = ()) -> None:
        super().__init__(records)
        self._met: set[str] = set()

    async def edges_from(self, entity_id: str) -> list[Edge]:
        edges = await super().edges_from(entity_id)
        self._met.update(edge.predicate for edge in edges)
        return edges

    async def predicates(self) -> list[str]:
        return sorted(self._met)


@wrong("bfs-bytes")
class BringsOtherDetail(Eight):
    """Returns nodes with metadata that contradicts `metadata_for_node`."""

    async def get_node(self, entity_id: str) -> Node:
        return (await super().get_node(entity_id))._replace(metadata={"name": entity_id, "row": 7})


@wrong("nodes-batch")
class TypesByAnotherColumn(MemoryBackend):
    """Reads the type from different columns in the batch and in the single method."""

    async def get_nodes_batch(self, ids: Sequence[str]) -> list[Node]:
        found = await super().get_nodes_batch(ids)
        return [node._replace(entity_type=node.entity_type.upper()) for node in found]


@wrong("ends-exist")
class HidesFromOneQuestion(MemoryBackend):
    """Hides merged entities in `get_node`, but not in the batch."""

    async def get_node(self, entity_id: str) -> Node:
        node = await super().get_node(entity_id)
        if node.entity_type == "Gene":
            raise KeyError(entity_id)
        return node
