"""CachedGraphDb: any backend behind a cache of its answers.

It is a backend itself, so that no backend caches and no caller knows of it.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from functools import wraps
from operator import itemgetter
from typing import Any, Concatenate, ParamSpec, TypeVar, Unpack

from bfsql.abc import ForwardingBackend, GraphDbInterface, NormalizedBackend, accepts
from bfsql.abc.delegating import edges_up_to
from bfsql.cache.rings import HeldRings
from bfsql.cache.singleflight import CachedMethod, CachedParts, CachePolicy
from bfsql.cache.store import (
    FOREVER,
    CacheBudget,
    HeldAnswers,
    lengths,
    node_pages,
    own_node,
    pages,
    restored,
    snapshots,
)
from bfsql.integers import ForwardingIntegerGraph, IntegerGraph
from bfsql.models import (
    NO_METADATA,
    Edge,
    EdgeFilter,
    EntityStub,
    Metadata,
    Node,
    Outline,
    PropertyCondition,
    Triple,
)
from bfsql.models.parts import only
from bfsql.models.records import edge_label
from bfsql.observer import NO_OBSERVERS, Observers

K = TypeVar("K", str, Triple)
_Value = TypeVar("_Value")
_P = ParamSpec("_P")

MAX_RECORDS = 500_000
"""Records held by default: nodes, edges and pieces of metadata."""


class CachedGraphDb(NormalizedBackend):
    """A backend behind a cache of its answers.

    Each distinct call reaches the backend at most once while its answer is held;
    concurrent equal calls share one call to the backend. Failures are not cached,
    and unknown ids only for a few seconds.

    Args:
        backend: The backend to call.
        maxsize: Maximum number of records to hold; a hub is one key and 60,000 records.
            An answer larger than half of `maxsize` is passed on without being held.
        ttl: Seconds for which an answer is valid; None for the lifetime of the cache.
        max_nodes: Maximum number of ends of a ring that is read at once; None for no bound.
        max_edges: Maximum number of edges of such a ring; None for no bound.
        clock: A monotonic clock in seconds; replaced in tests.
        observers: The observers of the graph.
    """

    def __init__(
        self,
        backend: GraphDbInterface,
        maxsize: int = MAX_RECORDS,
        *,
        ttl: float | None = None,
        max_nodes: int | None = None,
        max_edges: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        observers: Observers = NO_OBSERVERS,
    ) -> None:
        super().__init__(backend)
        self._observers = observers
        lifetime = FOREVER if ttl is None else ttl
        policy = CachePolicy(CacheBudget(maxsize), lifetime, clock, observers)
        brief: dict[str, Any] = {"ids": False, "is_brief": _holds_nothing}
        self._search: CachedMethod[Any] = CachedMethod(
            "search_entities", policy, weigh=lengths, **brief
        )
        self._leaving: CachedMethod[str] = CachedMethod("edges_from", policy, weigh=lengths)
        self._entering: CachedMethod[str] = CachedMethod("edges_to", policy, weigh=lengths)
        self._policy, self._bounds = policy, {"max_nodes": max_nodes, "max_edges": max_edges}
        self._rings = self._no_rings()
        self.answers = HeldAnswers(policy.budget, policy.ttl, policy.clock)
        self._nodes: CachedMethod[str] = CachedMethod("get_nodes_batch", policy, weigh=node_pages)
        detail: dict[str, Any] = {"keep": snapshots, "give": restored, "weigh": pages}
        nodes, edges = "metadata_for_nodes_batch", "metadata_for_edges_batch"
        self._by_key = frozenset(
            batch for batch in (nodes, edges) if accepts(backend, batch, "keys")
        )
        self._node_metadata: CachedParts[str] = CachedParts(nodes, policy, **detail)
        self._edge_metadata: CachedParts[Triple] = CachedParts(
            edges, policy, **detail, id_of=edge_label
        )
        self._provenance: CachedMethod[Any] = CachedMethod(
            "provenance_for_node", policy, **detail, id_of=itemgetter(0)
        )
        # Small and used by every session, so it has its own budget and is never evicted.
        schema = CachePolicy(CacheBudget(1_000), lifetime, clock, observers)
        self._schema: CachedMethod[str] = CachedMethod("", schema, **brief)

    # --- the eight ----------------------------------------------------------

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        """Candidates; a search without matches is cached only for a few seconds."""
        key = (query, tuple(node_types or ()))

        async def fetch(_: list[Any]) -> dict[Any, tuple[EntityStub, ...]]:
            found = tuple(await self._inner.search_entities(query, list(key[1])))
            return {key: found} if found else {}

        return list((await self._search.many([key], fetch)).get(key, ()))

    async def edges_from(self, entity_id: str) -> list[Edge]:
        """All edges that leave the entity."""
        ask = lambda: _tuple(self._inner.edges_from(entity_id))
        return list(await self._leaving.one(entity_id, ask))

    async def edges_to(self, entity_id: str) -> list[Edge]:
        """All edges that enter the entity."""
        ask = lambda: _tuple(self._inner.edges_to(entity_id))
        return list(await self._entering.one(entity_id, ask))

    async def get_node(self, entity_id: str) -> Node:
        """Id and type."""

        async def ask() -> Node:
            return own_node(await self._inner.get_node(entity_id))

        node: Node = await self._nodes.one(entity_id, ask, "get_node")
        return own_node(node)

    async def metadata_for_node(self, entity_id: str) -> Metadata:
        """Everything the store knows of the entity, in a new mapping."""
        ask = lambda: self._inner.metadata_for_node(entity_id)
        metadata: Metadata = await self._node_metadata.whole.one(
            entity_id, ask, "metadata_for_node"
        )
        return metadata

    async def metadata_for_edge(self, edge: Edge) -> Metadata:
        """Everything the store knows of the edge, in a new mapping."""
        ask = lambda: self._inner.metadata_for_edge(edge)
        triple = (edge[0], edge[1], edge[2])
        metadata: Metadata = await self._edge_metadata.whole.one(triple, ask, "metadata_for_edge")
        return metadata

    async def entity_types(self) -> list[str]:
        """The types, requested once."""
        ask = lambda: _tuple(self._inner.entity_types())
        return list(await self._schema.one("entity_types", ask))

    async def predicates(self) -> list[str]:
        """The predicates, requested once."""
        ask = lambda: _tuple(self._inner.predicates())
        return list(await self._schema.one("predicates", ask))

    # --- batches ------------------------------------------------------------

    async def get_nodes_batch(self, ids: Sequence[str]) -> list[Node]:
        """The nodes that exist; those not in the cache are requested in one batch."""
        if "get_nodes_batch" not in self._own:
            return list(await super().get_nodes_batch(ids))
        nodes = await self._nodes.many(ids, self._fetch_nodes)
        return [own_node(node) if node.metadata else node for node in nodes.values()]

    async def edges_batch(self, ids: Sequence[str], **part: Unpack[EdgeFilter]) -> list[Triple]:
        """A ring or a part of it; edges not in the cache are requested in one batch."""
        rings = self.numbered()
        if rings is None:
            return list(await super().edges_batch(ids, **part))
        return await rings.triples(ids, **part)

    async def edges_stream(
        self, ids: Sequence[str], **part: Unpack[EdgeFilter]
    ) -> AsyncGenerator[Sequence[Triple]]:
        """A ring or a part of it, held as a whole."""
        yield await self.edges_batch(ids, **part)

    def nodes_stream(
        self,
        *,
        entity_types: Collection[str] | None = None,
        conditions: Sequence[PropertyCondition] = (),
    ) -> AsyncGenerator[Sequence[Node]]:
        """The entities of some types, from the store itself."""
        stream = super().nodes_stream(entity_types=entity_types, conditions=conditions)
        if not self._observers.watch_store or not self.lists_entities():
            return stream
        return self._observers.store_stream("nodes_stream", stream)

    def columns(self) -> IntegerGraph | None:
        """The graph in integers, together with the results of earlier calls."""
        columns = super().columns()
        if columns is None:
            return None
        if (
            self._observers.watch_store
            and type(columns).node_metadata is IntegerGraph.node_metadata
        ):
            columns = ObservedIntegerGraph(columns, self._observers)
        columns.answer_cache = self.answers
        return columns

    async def few_edges(self, ids: Sequence[str], most: int) -> set[Triple] | None:
        """The ring of a few nodes, from the store itself."""
        ring = edges_up_to(most, ForwardingBackend.edges_stream(self, ids))
        return await self._observers.store_call("edges_stream", ring)

    def numbered(self) -> HeldRings | None:
        """The rings that are held; None if the backend returns edges one node at a time."""
        if self._own.isdisjoint({"edges_batch", "edges_stream"}):
            return None
        if len(self._rings.numbering) > self._policy.budget.maxsize:
            self._rings.cache.drop()
            self._rings = self._no_rings()
        return self._rings

    def _no_rings(self) -> HeldRings:
        typed = "edges_stream" in self._own
        return HeldRings(self._inner, self._policy, **self._bounds, typed=typed)

    async def metadata_for_nodes_batch(
        self, ids: Sequence[str], keys: Collection[str] | None = None
    ) -> Mapping[str, Metadata]:
        """Metadata by id; records not in the cache are requested in one batch."""
        if "metadata_for_nodes_batch" not in self._own:
            return await super().metadata_for_nodes_batch(ids, keys)
        ask = self._inner.metadata_for_nodes_batch
        return await self._metadata(self._node_metadata, ids, keys, ask)

    async def metadata_for_edges_batch(
        self, edges: Collection[Triple], keys: Collection[str] | None = None
    ) -> Mapping[Triple, Metadata]:
        """Metadata by triple; records not in the cache are requested in one batch."""
        if "metadata_for_edges_batch" not in self._own:
            return await super().metadata_for_edges_batch(edges, keys)

        async def ask(
            missing: Sequence[Triple], keys: Collection[str] | None
        ) -> dict[Triple, Metadata]:
            found = await self._inner.metadata_for_edges_batch(missing, keys)
            return {(s, p, o): metadata for (s, p, o), metadata in found.items()}

        asked = [(s, p, o) for s, p, o in edges]
        return await self._metadata(self._edge_metadata, asked, keys, ask)

    async def provenance_for_node(self, entity_id: str, limit: int) -> dict[str, Any]:
        """Evidence, in a new mapping."""
        ask = lambda: NormalizedBackend.provenance_for_node(self, entity_id, limit)
        return dict(await self._provenance.one((entity_id, limit), ask))

    async def comprehensive(self) -> bool:
        """Whether the two lists are complete, requested once."""
        return bool(await self._schema.one("comprehensive", super().comprehensive))

    async def next_steps(self) -> str:
        """The backend's advice, requested once."""
        return str(await self._schema.one("next_steps", super().next_steps))

    async def outline(self) -> Outline | None:
        """An outline of the graph, requested once."""
        outline: Outline | None = await self._schema.one("outline", super().outline)
        return outline

    def forget_schema(self) -> None:
        """Request the lists, the outline and the advice again when they are next needed."""
        self._schema.forget()

    async def release(self) -> None:
        """End the calls under way and leave the backend open."""
        for part in list(vars(self).values()):
            if isinstance(part, CachedMethod | CachedParts):
                await part.close()
        await self._rings.cache.close()

    async def close(self) -> None:
        """End the calls under way, then close the backend."""
        try:
            await self.release()
        finally:
            await super().close()

    # --- batches of the backend's own -------------------------------------------

    async def _fetch_nodes(self, missing: list[str]) -> dict[str, Node]:
        found = await self._inner.get_nodes_batch(missing)
        return {n.id: n if n.metadata is NO_METADATA else own_node(n) for n in found}

    async def _metadata(
        self,
        cache: CachedParts[K],
        records: Sequence[K],
        keys: Collection[str] | None,
        ask: Callable[[Sequence[K], Collection[str] | None], Awaitable[Mapping[K, Metadata]]],
    ) -> dict[K, Metadata]:
        """Metadata from a cache, and by one batch for records that it does not hold.

        Some keys are taken from whole records, or read alone if the backend can do so.
        """

        async def fetch(missing: list[K]) -> dict[K, Metadata]:
            return dict(await ask(missing, None))

        if keys is None or cache.method not in self._by_key:
            return only(await cache.whole.many(records, fetch), keys)
        wanted = frozenset(keys)

        async def fetch_part(missing: list[K]) -> dict[K, Metadata]:
            return only(await ask(missing, wanted), wanted)

        held, read = await cache.part(records, wanted, fetch_part)
        return only(held, wanted) | read


def _holds_nothing(answer: Any) -> bool:
    """Whether an answer is an empty list, or the outline of an empty graph."""
    if isinstance(answer, Outline):
        return not answer.node_counts and not answer.relations
    return bool(answer == ())


async def _tuple(answer: Any) -> tuple[Any, ...]:
    return tuple(await answer)


def _observed(
    method: Callable[Concatenate[Any, _P], _Value], observe: Callable[[Observers, str, _Value], Any]
) -> Callable[Concatenate[Any, _P], _Value]:
    """The method, of whose calls the observers are notified."""
    name = f"columns.{method.__name__}"

    @wraps(method)
    def observed(self: ObservedIntegerGraph, /, *args: _P.args, **named: _P.kwargs) -> _Value:
        answer: _Value = observe(self.observers, name, method(self, *args, **named))
        return answer

    return observed


class ObservedIntegerGraph(ForwardingIntegerGraph):
    """The same graph in integers; observers are notified of every call to the store.

    The time reported for a stream covers all batches.

    Args:
        inner: The store's own columns.
        observers: The observers of the graph.
    """

    def __init__(self, inner: IntegerGraph, observers: Observers) -> None:
        super().__init__(inner)
        self.observers = observers

    find = _observed(ForwardingIntegerGraph.find, Observers.store_call)
    ids = _observed(ForwardingIntegerGraph.ids, Observers.store_call)
    types = _observed(ForwardingIntegerGraph.types, Observers.store_call)
    rings = _observed(ForwardingIntegerGraph.rings, Observers.store_stream)
    nodes = _observed(ForwardingIntegerGraph.nodes, Observers.store_stream)
