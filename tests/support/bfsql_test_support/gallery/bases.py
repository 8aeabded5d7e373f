"""The registry of faulty backends, and the correct ones that they derive from."""

from __future__ import annotations

from collections.abc import (
    AsyncGenerator,
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
from functools import partial, wraps
from inspect import isawaitable, signature
from types import ModuleType
from typing import Any, NamedTuple

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.errors import StoreUnavailable
from bfsql.memory import MemoryBackend
from bfsql.models import (
    Edge,
    EntityStub,
    EvidenceRecord,
    GraphRecord,
    Node,
    NodeRecord,
    Omission,
    PropertyCondition,
    Triple,
)
from bfsql.models.merge import fold
from bfsql_test_support.backends.columns import ColumnsOverMemory, PlainColumns
from bfsql_testing.conformance import Fill, Trial


@dataclass(frozen=True)
class Wrong:
    """A backend with one mistake."""

    backend: type[GraphDbInterface]
    """The class; calling it with the records of a graph opens a backend."""
    rule: str
    """Id of the rule that has to catch it; other rules may catch it too."""
    mistake: str
    """What is wrong with it, in a sentence."""


def classes_of(*modules: ModuleType) -> dict[str, type]:
    """The classes of modules whose docstrings are rules and mistakes."""
    classes = (one for module in modules for one in vars(module).values() if isinstance(one, type))
    return {doc: one for one in classes if ": " in (doc := (one.__doc__ or "").partition("\n")[0])}


class Change(NamedTuple):
    """A change to a method of a right backend."""

    of: Callable[[Any], Any]
    """Takes the right method and returns the wrong one, under the right one's signature."""


def around(ask: Callable[..., Any]) -> Change:
    """A change that calls the right method itself, or does not.

    Args:
        ask: Takes the right method, the backend and the method's arguments; may be a coroutine.
    """

    def of(right: Any) -> Any:
        @wraps(right)
        async def method(db: Any, *args: Any, **named: Any) -> Any:
            answer = ask(partial(right, db), db, *args, **named)
            return await answer if isawaitable(answer) else answer

        return method

    return Change(of)


def after(change: Callable[..., Any]) -> Change:
    """A change of the right answer.

    Args:
        change: Takes it, the backend and the arguments that are not keywords alone.
    """

    def of(right: Any) -> Any:
        parameters = signature(right)

        @wraps(right)
        async def method(db: Any, *args: Any, **named: Any) -> Any:
            answer = await right(db, *args, **named)
            return change(answer, *parameters.bind(db, *args, **named).args)

        return method

    return Change(of)


def streaming(ask: Callable[..., Any]) -> Change:
    """A change of a stream.

    Args:
        ask: Takes the right method, the backend and the arguments; gives other batches.
    """

    def of(right: Any) -> Any:
        @wraps(right)
        async def method(db: Any, *args: Any, **named: Any) -> AsyncGenerator[Any]:
            async for batch in ask(partial(right, db), db, *args, **named):
                yield batch

        return method

    return Change(of)


def batches(change: Callable[..., Any]) -> Change:
    """A change of each batch of a stream.

    Args:
        change: Takes the batch, the backend and the arguments that are not keywords.
    """

    async def ask(right: Any, db: Any, *args: Any, **named: Any) -> AsyncGenerator[Any]:
        async for batch in right(*args, **named):
            yield change(batch, db, *args)

    return streaming(ask)


def meets(change: Callable[..., Any]) -> Any:
    """A change of whether an entity of `Listing` meets a condition.

    Args:
        change: Takes the condition, the metadata of the entity, and whether it meets it.
    """

    def met(db: Any, one: PropertyCondition, entity_id: str) -> Any:
        known = db._node_metadata[entity_id]
        return change(one, known, one.holds(known))

    return met


def unknown(answer: Callable[..., Any]) -> Change:
    """A change of what becomes of an unknown id or edge: an answer, or another error."""

    async def ask(right: Any, _: Any, key: Any) -> Any:
        try:
            return await right(key)
        except KeyError:
            return answer(key)

    return around(ask)


def loading(change: Callable[[list[GraphRecord]], list[GraphRecord]]) -> Change:
    """A change of the records with which a backend is made."""

    def of(right: Any) -> Any:
        def method(db: Any, records: Iterable[GraphRecord] = ()) -> None:
            right(db, change(list(records)))

        return method

    return Change(of)


def failing(error: Exception) -> Any:
    """Raise an error where an expression is expected."""
    raise error


class Eight(GraphDbInterface):
    """Only the eight methods, so that a mistake in one of them affects the batches too.

    Every request goes through one method, as through a connection.

    Args:
        records: The graph.
    """

    def __init__(self, records: Iterable[GraphRecord] = ()) -> None:
        self.right = MemoryBackend(records)

    async def through(self, ask: Callable[..., Awaitable[Any]], *asked: Any) -> Any:
        """Send a request to the store."""
        return await ask(*asked)

    async def search_entities(self, query: str, node_types: list[str] | None = None) -> Any:
        """As it should be."""
        return await self.through(self.right.search_entities, query, node_types)

    async def edges_from(self, entity_id: str) -> Any:
        """As it should be."""
        return await self.through(self.right.edges_from, entity_id)

    async def edges_to(self, entity_id: str) -> Any:
        """As it should be."""
        return await self.through(self.right.edges_to, entity_id)

    async def get_node(self, entity_id: str) -> Any:
        """As it should be."""
        return await self.through(self.right.get_node, entity_id)

    async def metadata_for_node(self, entity_id: str) -> Any:
        """As it should be."""
        return await self.through(self.right.metadata_for_node, entity_id)

    async def metadata_for_edge(self, edge: Edge) -> Any:
        """As it should be."""
        return await self.through(self.right.metadata_for_edge, edge)

    async def entity_types(self) -> Any:
        """As it should be."""
        return await self.through(self.right.entity_types)

    async def predicates(self) -> Any:
        """As it should be."""
        return await self.through(self.right.predicates)


def wrong(base: type, *, edges: Change | None = None, **changes: Any) -> type:
    """A wrong backend.

    Args:
        base: The right backend, or right columns.
        edges: A change of both `edges_from` and `edges_to`.
        **changes: By the name of a method: its change, or what takes its place.
    """
    if edges is not None:
        changes |= {"edges_from": edges, "edges_to": edges}
    body = {
        method: change.of(getattr(base, method)) if isinstance(change, Change) else change
        for method, change in changes.items()
    }
    kind = type("Wrong", (base,), body)
    columns = issubclass(base, PlainColumns)
    return type("WrongColumns", (ColumnsOverMemory,), {"kind": kind}) if columns else kind


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


def everywhere(kind: type, change: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """A way to store values: scalars of a type are changed, at any depth."""

    def storable(db: Any, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: storable(db, inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [storable(db, inner) for inner in value]
        exact = kind is int and isinstance(value, bool)
        return change(value) if isinstance(value, kind) and not exact else value

    return storable


class Listing(MemoryBackend):
    """The reference, which lists the entities that it takes as meeting each condition."""

    async def nodes_stream(
        self,
        *,
        entity_types: Collection[str] | None = None,
        conditions: Sequence[PropertyCondition] = (),
    ) -> AsyncGenerator[list[Node]]:
        async for nodes in super().nodes_stream(entity_types=entity_types):
            yield [node for node in nodes if all(self.met(one, node.id) for one in conditions)]

    def met(self, one: PropertyCondition, entity_id: str) -> bool:
        """Whether the store takes an entity as meeting a condition."""
        return one.holds(self._node_metadata[entity_id])


class Searches(Eight):
    """Gives all entities that match by part of the name or by id, best first."""

    def matches(self, query: str) -> list[EntityStub]:
        """All matches."""
        known, types = self.right._node_metadata, self.right._types
        found = [
            EntityStub(i, types[i], _name(metadata))
            for i, metadata in known.items()
            if fold(query) in fold(_name(metadata)) or query == i
        ]
        return sorted(found, key=lambda e: (e.id != query, e.name != query, e.name or "", e.id))


def _name(metadata: Any) -> str:
    name = metadata.get("name")
    return name if isinstance(name, str) else ""


class Store(Eight):
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
