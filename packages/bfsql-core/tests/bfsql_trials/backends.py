"""Backends to watch the engine with, each a graph in memory that does one thing its own way."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from bfsql.abc import GraphDbInterface
from bfsql.memory import MemoryBackend
from bfsql.models import Edge, EntityStub, GraphRecord, Metadata, Node, Triple

BATCHES = (
    "get_nodes_batch",
    "edges_batch",
    "metadata_for_nodes_batch",
    "metadata_for_edges_batch",
)


class BareBackend(GraphDbInterface):
    """The eight methods and nothing else, as a backend of the author's own has them."""

    def __init__(self, records: Iterable[GraphRecord]) -> None:
        self._inner = MemoryBackend(records)

    async def search_entities(self, query: str) -> list[EntityStub]:  # type: ignore[override]
        return await self._inner.search_entities(query)

    async def edges_from(self, entity_id: str) -> list[Edge]:
        return await self._inner.edges_from(entity_id)

    async def edges_to(self, entity_id: str) -> list[Edge]:
        return await self._inner.edges_to(entity_id)

    async def get_node(self, entity_id: str) -> Node:
        return await self._inner.get_node(entity_id)

    async def metadata_for_node(self, entity_id: str) -> Metadata:
        return await self._inner.metadata_for_node(entity_id)

    async def metadata_for_edge(self, edge: Edge) -> Metadata:
        return await self._inner.metadata_for_edge(edge)

    async def entity_types(self) -> list[str]:
        return await self._inner.entity_types()

    async def predicates(self) -> list[str]:
        return await self._inner.predicates()


class CountingBackend(MemoryBackend):
    """Keeps count of the batches that reach the store, and of what they asked for."""

    def __init__(self, records: Iterable[GraphRecord]) -> None:
        super().__init__(records)
        self.calls: Counter[str] = Counter()
        self.asked: dict[str, set[Any]] = {method: set() for method in BATCHES}
        self.single: Counter[str] = Counter()

    @property
    def batches(self) -> int:
        """Batches so far."""
        return self.calls.total()

    async def get_nodes_batch(self, ids: Sequence[str]) -> list[Node]:
        self._count("get_nodes_batch", ids)
        return await super().get_nodes_batch(ids)

    async def edges_batch(self, ids: Sequence[str]) -> list[Triple]:
        self._count("edges_batch", ids)
        return await super().edges_batch(ids)

    async def metadata_for_nodes_batch(self, ids: Sequence[str]) -> dict[str, Metadata]:
        self._count("metadata_for_nodes_batch", ids)
        return await super().metadata_for_nodes_batch(ids)

    async def metadata_for_edges_batch(self, edges: Collection[Triple]) -> dict[Triple, Metadata]:
        self._count("metadata_for_edges_batch", edges)
        return await super().metadata_for_edges_batch(edges)

    async def get_node(self, entity_id: str) -> Node:
        self.single["get_node"] += 1
        return await super().get_node(entity_id)

    async def metadata_for_node(self, entity_id: str) -> Metadata:
        self.single["metadata_for_node"] += 1
        return await super().metadata_for_node(entity_id)

    def _count(self, method: str, keys: Iterable[Any]) -> None:
        self.calls[method] += 1
        self.asked[method].update(keys)


class LateBackend(MemoryBackend):
    """Answers some batches too late.

    Args:
        records: The graph.
        late: Method to the number of its first call, from 1, that comes too late.
        hangs: Whether a late call waits to be cancelled; otherwise it reports that
            its own statement timeout passed, as a backend does that asks
            `call.remaining()`, and no test has to wait.
    """

    def __init__(
        self, records: Iterable[GraphRecord], late: dict[str, int], *, hangs: bool = False
    ) -> None:
        super().__init__(records)
        self._late = late
        self._hangs = hangs
        self._calls: Counter[str] = Counter()
        self._cancelled: asyncio.Queue[str] = asyncio.Queue()

    async def get_nodes_batch(self, ids: Sequence[str]) -> list[Node]:
        await self._in_time("get_nodes_batch")
        return await super().get_nodes_batch(ids)

    async def edges_batch(self, ids: Sequence[str]) -> list[Triple]:
        await self._in_time("edges_batch")
        return await super().edges_batch(ids)

    async def metadata_for_nodes_batch(self, ids: Sequence[str]) -> dict[str, Metadata]:
        await self._in_time("metadata_for_nodes_batch")
        return await super().metadata_for_nodes_batch(ids)

    async def metadata_for_edges_batch(self, edges: Collection[Triple]) -> dict[Triple, Metadata]:
        await self._in_time("metadata_for_edges_batch")
        return await super().metadata_for_edges_batch(edges)

    async def _in_time(self, method: str) -> None:
        self._calls[method] += 1
        if self._calls[method] < self._late.get(method, self._calls[method] + 1):
            return
        if not self._hangs:
            raise TimeoutError
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self._cancelled.put_nowait(method)
            raise

    async def cancelled(self) -> str:
        """The method whose hanging call was cancelled."""
        async with asyncio.timeout(10):
            return await self._cancelled.get()
