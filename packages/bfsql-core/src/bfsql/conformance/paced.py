"""A backend that is asked no more than so often a second."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from typing import Any, TypeVar

from bfsql import abc
from bfsql.abc import GraphDbInterface
from bfsql.models import Edge, EntityStub, Metadata, Node, Triple

_Answer = TypeVar("_Answer")


class Paced(GraphDbInterface):
    """A backend behind a gate that opens at even intervals.

    Args:
        backend: The one to ask.
        rate: Requests a second at the most; 0 is no bound.
    """

    def __init__(self, backend: GraphDbInterface, rate: float) -> None:
        self._backend = backend
        self._interval = 1 / rate if rate else 0.0
        self._next = 0.0
        self.requests = 0

    # --- the eight ----------------------------------------------------------

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> Iterable[EntityStub]:
        """Candidates; the types go along where the backend's signature takes them."""
        ask = self._backend.search_entities
        if not node_types:
            return await self._in_turn(ask, query)
        if "node_types" in inspect.signature(ask).parameters:
            return await self._in_turn(lambda text: ask(text, node_types=node_types), query)
        return await self._in_turn(lambda text: abc.search(self._backend, text, node_types), query)

    async def edges_from(self, entity_id: str) -> Iterable[Edge]:
        """All edges that leave the entity."""
        return await self._in_turn(self._backend.edges_from, entity_id)

    async def edges_to(self, entity_id: str) -> Iterable[Edge]:
        """All edges that enter the entity."""
        return await self._in_turn(self._backend.edges_to, entity_id)

    async def get_node(self, entity_id: str) -> Node:
        """Id and type."""
        return await self._in_turn(self._backend.get_node, entity_id)

    async def metadata_for_node(self, entity_id: str) -> Metadata:
        """Everything the store knows of the entity."""
        return await self._in_turn(self._backend.metadata_for_node, entity_id)

    async def metadata_for_edge(self, edge: Edge) -> Metadata:
        """Everything the store knows of the edge."""
        return await self._in_turn(self._backend.metadata_for_edge, edge)

    async def entity_types(self) -> Sequence[str]:
        """The types."""
        return await self._in_turn(lambda _: self._backend.entity_types(), None)

    async def predicates(self) -> Sequence[str]:
        """The predicates."""
        return await self._in_turn(lambda _: self._backend.predicates(), None)

    # --- in one go: one request where the backend has a way, else one for each ---

    async def get_nodes_batch(self, ids: Sequence[str]) -> Iterable[Node]:
        """The nodes that exist."""
        if self._lacks("get_nodes_batch"):
            return await super().get_nodes_batch(ids)
        return await self._in_turn(self._backend.get_nodes_batch, ids)

    async def edges_batch(self, ids: Sequence[str]) -> Iterable[Triple]:
        """A ring."""
        if self._lacks("edges_batch"):
            return await super().edges_batch(ids)
        return await self._in_turn(self._backend.edges_batch, ids)

    async def metadata_for_nodes_batch(self, ids: Sequence[str]) -> dict[str, Metadata]:
        """Metadata by id."""
        if self._lacks("metadata_for_nodes_batch"):
            return await super().metadata_for_nodes_batch(ids)
        return await self._in_turn(self._backend.metadata_for_nodes_batch, ids)

    async def metadata_for_edges_batch(self, edges: Collection[Triple]) -> dict[Triple, Metadata]:
        """Metadata by triple."""
        if self._lacks("metadata_for_edges_batch"):
            return await super().metadata_for_edges_batch(edges)
        return await self._in_turn(self._backend.metadata_for_edges_batch, edges)

    async def provenance_for_node(self, entity_id: str, limit: int) -> dict[str, Any]:
        """The evidence that touches an entity."""
        if self._lacks("provenance_for_node"):
            return await super().provenance_for_node(entity_id, limit)
        ask = self._backend.provenance_for_node
        return await self._in_turn(lambda i: ask(i, limit), entity_id)

    async def comprehensive(self) -> bool:
        """Whether the lists of the schema are complete."""
        return await self._in_turn(abc.comprehensive, self._backend)

    async def next_steps(self) -> str:
        """The backend's advice."""
        return await self._in_turn(abc.next_steps, self._backend)

    def _lacks(self, method: str) -> bool:
        return getattr(type(self._backend), method) is getattr(GraphDbInterface, method)

    async def _in_turn(self, ask: Callable[[Any], Awaitable[_Answer]], key: Any) -> _Answer:
        """Wait for the gate, then ask."""
        now = time.monotonic()
        turn = max(now, self._next)
        self._next = turn + self._interval
        self.requests += 1
        if turn > now:
            await asyncio.sleep(turn - now)
        return await ask(key)
