"""In-memory backends for observing the engine, each of which differs in one respect."""

import asyncio
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from bfsql.abc import GraphDbInterface
from bfsql.memory import MemoryBackend
from bfsql.models import Edge, EntityStub, GraphRecord, Metadata, Node, Triple

BATCHES = ("get_nodes_batch", "edges_batch", "metadata_for_nodes_batch", "metadata_for_edges_batch")


class BareBackend(GraphDbInterface):
    """Only the eight required methods, like the author's own backends."""

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


class ObservedBackend(MemoryBackend):
    """Says before each batch which one it is and what it requests."""

    async def before(self, method: str, keys: Iterable[Any]) -> None:
        """Called before a batch."""
        raise NotImplementedError

    async def get_nodes_batch(self, ids: Sequence[str]) -> list[Node]:
        await self.before("get_nodes_batch", ids)
        return await super().get_nodes_batch(ids)

    async def edges_batch(self, ids: Sequence[str]) -> list[Triple]:
        await self.before("edges_batch", ids)
        return await super().edges_batch(ids)

    async def metadata_for_nodes_batch(self, ids: Sequence[str]) -> Mapping[str, Metadata]:
        await self.before("metadata_for_nodes_batch", ids)
        return await super().metadata_for_nodes_batch(ids)

    async def metadata_for_edges_batch(
        self, edges: Collection[Triple]
    ) -> Mapping[Triple, Metadata]:
        await self.before("metadata_for_edges_batch", edges)
        return await super().metadata_for_edges_batch(edges)


class CountingBackend(ObservedBackend):
    """Counts the batches that reach the store, and records what they request."""

    def __init__(self, records: Iterable[GraphRecord]) -> None:
        super().__init__(records)
        self.calls: Counter[str] = Counter()
        self.asked: dict[str, set[Any]] = {method: set() for method in BATCHES}
        self.single: Counter[str] = Counter()

    @property
    def batches(self) -> int:
        """Number of batches so far."""
        return self.calls.total()

    async def before(self, method: str, keys: Iterable[Any]) -> None:
        self.calls[method] += 1
        self.asked[method].update(keys)

    async def get_node(self, entity_id: str) -> Node:
        self.single["get_node"] += 1
        return await super().get_node(entity_id)

    async def metadata_for_node(self, entity_id: str) -> Metadata:
        self.single["metadata_for_node"] += 1
        return await super().metadata_for_node(entity_id)


class LateBackend(ObservedBackend):
    """Answers some batches too late.

    Args:
        late: For each method, the number of its first call that is too late, from 1.
        hangs: Whether a late call waits until it is cancelled. Otherwise it raises TimeoutError
            at once, as if a statement timeout set from `call.remaining()` had expired, so that
            no test has to wait.
    """

    def __init__(
        self, records: Iterable[GraphRecord], late: dict[str, int], *, hangs: bool = False
    ) -> None:
        super().__init__(records)
        self._late = late
        self._hangs = hangs
        self._calls: Counter[str] = Counter()
        self._cancelled: asyncio.Queue[str] = asyncio.Queue()

    async def before(self, method: str, keys: Iterable[Any]) -> None:
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
        """Wait for the cancellation of a hanging call; return its method."""
        async with asyncio.timeout(10):
            return await self._cancelled.get()
