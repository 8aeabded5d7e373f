"""The registry of faulty backends, and the correct ones that they derive from."""

from __future__ import annotations

from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.errors import StoreUnavailable
from bfsql.memory import MemoryBackend
from bfsql.models import (
    Edge,
    EntityStub,
    EvidenceRecord,
    GraphRecord,
    Metadata,
    Node,
    NodeRecord,
    Omission,
    Triple,
)
from bfsql_testing.conformance import Fill, Trial


@dataclass(frozen=True)
class Wrong:
    """A backend with one mistake, which the docstring of its class states."""

    backend: type[GraphDbInterface]
    """The class; calling it with the records of a graph opens a backend."""
    rule: str
    """Id of the rule that has to catch it; other rules may catch it too."""

    @property
    def name(self) -> str:
        """Its name in the tests."""
        return self.backend.__name__


GALLERY: list[Wrong] = []

_Backend = TypeVar("_Backend", bound=type[GraphDbInterface])


def wrong(rule: str) -> Callable[[_Backend], _Backend]:
    """Register a backend in the gallery.

    Args:
        rule: Id of the rule that has to catch it.
    """

    def register(backend: _Backend) -> _Backend:
        GALLERY.append(Wrong(backend, rule))
        return backend

    return register


class Eight(GraphDbInterface):
    """Only the eight methods, so that a mistake in one of them affects the batches too.

    Args:
        records: The graph.
    """

    def __init__(self, records: Iterable[GraphRecord] = ()) -> None:
        self.right = MemoryBackend(records)

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        """As it should be."""
        return await self.right.search_entities(query, node_types)

    async def edges_from(self, entity_id: str) -> list[Edge]:
        """As it should be."""
        return await self.right.edges_from(entity_id)

    async def edges_to(self, entity_id: str) -> list[Edge]:
        """As it should be."""
        return await self.right.edges_to(entity_id)

    async def get_node(self, entity_id: str) -> Node:
        """As it should be."""
        return await self.right.get_node(entity_id)

    async def metadata_for_node(self, entity_id: str) -> Metadata:
        """As it should be."""
        return await self.right.metadata_for_node(entity_id)

    async def metadata_for_edge(self, edge: Edge) -> Metadata:
        """As it should be."""
        return await self.right.metadata_for_edge(edge)

    async def entity_types(self) -> list[str]:
        """As it should be."""
        return await self.right.entity_types()

    async def predicates(self) -> list[str]:
        """As it should be."""
        return await self.right.predicates()


class Through(Eight):
    """Sends every request through one method, as through a connection."""

    async def through(self, ask: Callable[..., Awaitable[Any]], *asked: Any) -> Any:
        """Send a request to the store."""
        return await ask(*asked)

    async def search_entities(self, query: str, node_types: list[str] | None = None) -> Any:
        """Through the connection."""
        return await self.through(self.right.search_entities, query, node_types)

    async def edges_from(self, entity_id: str) -> Any:
        """Through the connection."""
        return await self.through(self.right.edges_from, entity_id)

    async def edges_to(self, entity_id: str) -> Any:
        """Through the connection."""
        return await self.through(self.right.edges_to, entity_id)

    async def get_node(self, entity_id: str) -> Any:
        """Through the connection."""
        return await self.through(self.right.get_node, entity_id)

    async def metadata_for_node(self, entity_id: str) -> Any:
        """Through the connection."""
        return await self.through(self.right.metadata_for_node, entity_id)

    async def metadata_for_edge(self, edge: Edge) -> Any:
        """Through the connection."""
        return await self.through(self.right.metadata_for_edge, edge)

    async def entity_types(self) -> Any:
        """Through the connection."""
        return await self.through(self.right.entity_types)

    async def predicates(self) -> Any:
        """Through the connection."""
        return await self.through(self.right.predicates)


class Keeps(MemoryBackend):
    """A store that may change what it is given, like column types and drivers do."""

    def __init__(self, records: Iterable[GraphRecord] = ()) -> None:
        super().__init__([self._record(record) for record in records])

    def kept_id(self, text: str) -> str:
        """The id as the store keeps it."""
        return text

    def storable(self, value: Any) -> Any:
        """A metadata value as the store keeps it."""
        return value

    def kept_all(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """The metadata of a node or edge as the store keeps it."""
        return {key: self.storable(value) for key, value in metadata.items()}

    def _record(self, record: GraphRecord) -> GraphRecord:
        if isinstance(record, NodeRecord):
            kept_id, metadata = self.kept_id(record.id), self.kept_all(record.metadata)
            return replace(record, id=kept_id, metadata=metadata)
        ends: dict[str, Any] = {
            "subject": self.kept_id(record.subject),
            "object": self.kept_id(record.object),
        }
        if isinstance(record, EvidenceRecord):
            return replace(record, **ends)
        return replace(record, **ends, metadata=self.kept_all(record.metadata))


def everywhere(change: Callable[[Any], Any], value: Any) -> Any:
    """The value with every scalar in it changed, at any depth."""
    if isinstance(value, dict):
        return {key: everywhere(change, inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [everywhere(change, inner) for inner in value]
    return change(value)


class Store(Through):
    """An observable store that can become unreachable, be read-only or have a limit."""

    writable = True
    """Whether it was opened with write permission."""
    limit: int | None = None
    """Maximum number of edges that it returns for a ring; it reports the omission of others."""

    def __init__(self, records: Iterable[GraphRecord] = ()) -> None:
        super().__init__(records)
        self.sent: list[str] = []
        self.there = True

    def query(self, name: str, *_values: Any) -> str:
        """The query text for a request; values are sent as parameters."""
        return f"{name} $1"

    async def through(self, ask: Callable[..., Awaitable[Any]], *asked: Any) -> Any:
        """Make one round trip."""
        if not self.there:
            raise StoreUnavailable("The store does not answer. Try again later.")
        self.sent.append(self.query(ask.__name__, *asked))
        return await super().through(ask, *asked)

    async def get_nodes_batch(self, ids: Sequence[str]) -> Any:
        """In one round trip."""
        return await self.through(self.right.get_nodes_batch, ids)

    async def edges_batch(self, ids: Sequence[str]) -> Any:
        """In one round trip, up to the limit."""
        ring = await self.through(self.right.edges_batch, ids)
        if self.limit is None or len(ring) <= self.limit:
            return ring
        self.leave_out(ids, len(ring) - self.limit)
        return ring[: self.limit]

    def leave_out(self, ids: Sequence[str], number: int) -> None:
        """Report what the limit cut off."""
        call.omitted(*(Omission(i, at_least=number, reason="the row limit") for i in ids))

    async def metadata_for_nodes_batch(self, ids: Sequence[str]) -> Any:
        """In one round trip."""
        return await self.through(self.right.metadata_for_nodes_batch, ids)

    async def metadata_for_edges_batch(self, edges: Collection[Triple]) -> Any:
        """In one round trip."""
        return await self.through(self.right.metadata_for_edges_batch, edges)

    @asynccontextmanager
    async def gone(self) -> AsyncIterator[None]:
        """A context in which the store cannot be reached."""
        self.there = False
        yield
        self.there = True


def trial(backend: Any, **told: Any) -> Trial:
    """The argument for the rules.

    Args:
        backend: A class that is called with the records of a graph.
        **told: Further fields of `Trial`.
    """
    watched = issubclass(backend, Store)
    return Trial(
        fill=_fill(backend),
        queries=lambda db: db.sent if isinstance(db, Store) else None,
        round_trips=lambda db: len(db.sent) if isinstance(db, Store) else None,
        gone=lambda db: db.gone() if isinstance(db, Store) else None,
        read_only=_fill(backend, writable=False) if watched else None,
        omitting=_fill(backend, limit=100) if watched else None,
        **told,
    )


def _fill(backend: Any, **facts: Any) -> Fill:
    @asynccontextmanager
    async def filled(records: Sequence[GraphRecord]) -> AsyncIterator[GraphDbInterface]:
        db = backend(records)
        vars(db).update(facts)
        yield db
        await db.close()

    return filled
