"""A backend with only the eight basic methods: each node and each edge is read by a single call.

Comparing with it shows the gain from batches: the default batch methods run sixteen
single calls concurrently.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from bfsql.abc import GraphDbInterface
from bfsql.models import Edge, EntityStub, Node


class PerNode(GraphDbInterface):
    """The eight basic methods of another backend, without its batch methods.

    Args:
        backend: Open; the caller closes it.
    """

    def __init__(self, backend: GraphDbInterface) -> None:
        self._backend = backend

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> Iterable[EntityStub]:
        return await self._backend.search_entities(query, node_types)

    async def edges_from(self, entity_id: str) -> Iterable[Edge]:
        return await self._backend.edges_from(entity_id)

    async def edges_to(self, entity_id: str) -> Iterable[Edge]:
        return await self._backend.edges_to(entity_id)

    async def get_node(self, entity_id: str) -> Node:
        return await self._backend.get_node(entity_id)

    async def metadata_for_node(self, entity_id: str) -> dict[str, Any]:
        return dict(await self._backend.metadata_for_node(entity_id))

    async def metadata_for_edge(self, edge: Edge) -> dict[str, Any]:
        return dict(await self._backend.metadata_for_edge(edge))

    async def entity_types(self) -> Sequence[str]:
        return await self._backend.entity_types()

    async def predicates(self) -> Sequence[str]:
        return await self._backend.predicates()
