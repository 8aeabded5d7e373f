"""Wrong about what is not there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from conformance.gallery.bases import Eight
from conformance.gallery.wrong import wrong

from bfsql.memory import MemoryBackend
from bfsql.models import Edge, Metadata, Node, Triple


@wrong("unknown-ids")
class UnknownHasNoEdges(Eight):
    """Asks the edge table alone: an unknown entity looks like one without edges."""

    async def edges_from(self, entity_id: str) -> list[Edge]:
        try:
            return await super().edges_from(entity_id)
        except KeyError:
            return []

    async def edges_to(self, entity_id: str) -> list[Edge]:
        try:
            return await super().edges_to(entity_id)
        except KeyError:
            return []


@wrong("unknown-ids")
class UnknownIsNone(Eight):
    """Returns None for an unknown entity."""

    async def get_node(self, entity_id: str) -> Any:
        try:
            return await super().get_node(entity_id)
        except KeyError:
            return None


@wrong("unknown-ids")
class UnknownIsAnyNode(Eight):
    """Makes a node of whatever it is asked for."""

    async def get_node(self, entity_id: str) -> Node:
        try:
            return await super().get_node(entity_id)
        except KeyError:
            return Node(entity_id, "unknown")


@wrong("unknown-ids")
class RaisesItsOwnError(Eight):
    """Raises an error of its driver where KeyError is due."""

    async def get_node(self, entity_id: str) -> Node:
        try:
            return await super().get_node(entity_id)
        except KeyError:
            raise ValueError(f"no row for {entity_id}") from None


@wrong("unknown-ids")
class UnknownHasEmptyMetadata(Eight):
    """Gives an empty mapping for an unknown entity."""

    async def metadata_for_node(self, entity_id: str) -> Metadata:
        try:
            return await super().metadata_for_node(entity_id)
        except KeyError:
            return {}


@wrong("unknown-ids")
class UnknownEdgeHasEmptyMetadata(Eight):
    """Gives an empty mapping for an edge that is not there."""

    async def metadata_for_edge(self, edge: Edge) -> Metadata:
        try:
            return await super().metadata_for_edge(edge)
        except KeyError:
            return {}


@wrong("unknown-in-batches")
class BatchRaisesForOne(MemoryBackend):
    """Lets one unknown id spoil the batch."""

    async def get_nodes_batch(self, ids: Sequence[str]) -> list[Node]:
        return [await self.get_node(entity_id) for entity_id in ids]


@wrong("unknown-in-batches")
class BatchGivesUnknown(MemoryBackend):
    """Gives a node for every asked id, whether it is there or not."""

    async def get_nodes_batch(self, ids: Sequence[str]) -> list[Node]:
        return [Node(i, self._types.get(i, "unknown")) for i in ids]


@wrong("unknown-in-batches")
class BatchGivesEmptyMetadata(MemoryBackend):
    """Has an entry for every asked id, empty where nothing was found."""

    async def metadata_for_nodes_batch(self, ids: Sequence[str]) -> dict[str, Metadata]:
        return {i: {} for i in ids} | await super().metadata_for_nodes_batch(ids)


@wrong("unknown-in-batches")
class EdgeBatchRaisesForOne(MemoryBackend):
    """Lets one unknown edge spoil the batch."""

    async def metadata_for_edges_batch(self, edges: Collection[Triple]) -> dict[Triple, Metadata]:
        return {edge: await self.metadata_for_edge(Edge(*edge)) for edge in edges}
