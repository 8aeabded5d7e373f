"""CachedGraphDb: any backend behind a cache of its answers.

It is a backend itself, so that no backend caches and no caller knows of it.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from functools import wraps
from operator import attrgetter, itemgetter
from typing import Any, TypeVar, Unpack, cast

from bfsql.abc import GraphDbInterface, NormalizedBackend
from bfsql.abc.delegating import edges_up_to
from bfsql.cache.rings import HeldRings
from bfsql.cache.singleflight import CachedMethod, CachedParts
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
from bfsql.integers import ForwardingIntegerGraph, IntegerGraph, Numbering
from bfsql.models import NO_METADATA, EdgeFilter, Metadata, Node, Outline, Triple
from bfsql.models.parts import only
from bfsql.models.records import edge_label
from bfsql.observer import NO_OBSERVERS, Observers

K = TypeVar("K", str, Triple)
_Method = TypeVar("_Method", bound=Callable[..., Any])

MAX_RECORDS = 500_000
"""Records held by default: nodes, edges and pieces of metadata."""


def _cached_method(
    method: _Method,
    place: str,
    *,
    key: Callable[..., Any] | None = None,
    keep: Callable[[Any], Any] | None = None,
    give: Callable[[Any], Any] | None = None,
) -> _Method:
    """A method of which each distinct request is made once.

    Args:
        method: The method without the cache.
        place: The attribute that holds its answers.
        key: Returns the key of an answer, given the arguments; None if it is the only argument,
            or without any the name of the method.
        keep: Converts an answer to what is held; None if it is held as it is.
        give: Converts what is held to an answer that a caller may change; None if it may.
    """
    name, cache_at = method.__name__, attrgetter(place)

    @wraps(method, updated=())
    async def answer(self: CachedGraphDb, /, *args: Any, **named: Any) -> Any:
        cache: CachedMethod[Any] = cache_at(self)
        if key is not None:
            asked = key(*args, **named)
        else:
            asked = args[0] if args else next(iter(named.values()), name)

        async def fetch(_: list[Any]) -> dict[Any, Any]:
            try:
                value = await method(self, *args, **named)
            except cache.absence:
                return {}
            return {asked: value if keep is None else keep(value)}

        found = await cache.many([asked], fetch, name)
        if asked not in found:
            raise KeyError(asked)
        return found[asked] if give is None else give(found[asked])

    return cast("_Method", answer)


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
        budget = CacheBudget(maxsize, lifetime, clock, observers)
        brief: dict[str, Any] = {"ids": False, "is_brief": _holds_nothing}
        detail: dict[str, Any] = {"keep": snapshots, "give": restored, "weigh": pages}
        self._budget, self._bounds = budget, {"max_nodes": max_nodes, "max_edges": max_edges}
        self._search: CachedMethod[Any] = CachedMethod(budget, weigh=lengths, **brief)
        self._leaving: CachedMethod[str] = CachedMethod(budget, weigh=lengths)
        self._entering: CachedMethod[str] = CachedMethod(budget, weigh=lengths)
        self._numbering, self._rings = Numbering(), dict[tuple[str, ...], HeldRings]()
        self.answers = HeldAnswers(budget)
        self._nodes: CachedMethod[str] = CachedMethod(budget, weigh=node_pages)
        self._node_metadata: CachedParts[str] = CachedParts(budget, **detail)
        self._edge_metadata: CachedParts[Triple] = CachedParts(budget, **detail, id_of=edge_label)
        self._provenance: CachedMethod[Any] = CachedMethod(budget, **detail, id_of=itemgetter(0))
        # Small and used by every session, so it has its own budget and is never evicted.
        schema = CacheBudget(1_000, lifetime, clock, observers)
        self._schema: CachedMethod[str] = CachedMethod(schema, **brief)

    search_entities = _cached_method(
        NormalizedBackend.search_entities,
        "_search",
        key=lambda query, node_types=None, without=(): (query, tuple(node_types or ()), *without),
        keep=tuple,
        give=list,
    )
    edges_from = _cached_method(NormalizedBackend.edges_from, "_leaving", keep=tuple, give=list)
    edges_to = _cached_method(NormalizedBackend.edges_to, "_entering", keep=tuple, give=list)
    get_node = _cached_method(NormalizedBackend.get_node, "_nodes", keep=own_node, give=own_node)
    metadata_for_node = _cached_method(NormalizedBackend.metadata_for_node, "_node_metadata.whole")
    metadata_for_edge = _cached_method(
        NormalizedBackend.metadata_for_edge,
        "_edge_metadata.whole",
        key=lambda edge: tuple(edge[:3]),
    )
    provenance_for_node = _cached_method(
        NormalizedBackend.provenance_for_node,
        "_provenance",
        key=lambda entity_id, limit: (entity_id, limit),
        give=dict,
    )
    entity_types = _cached_method(NormalizedBackend.entity_types, "_schema", keep=tuple, give=list)
    predicates = _cached_method(NormalizedBackend.predicates, "_schema", keep=tuple, give=list)
    comprehensive = _cached_method(NormalizedBackend.comprehensive, "_schema", keep=bool)
    keys = _cached_method(NormalizedBackend.keys, "_schema")
    has_nodes_with = _cached_method(
        NormalizedBackend.has_nodes_with, "_schema", key=lambda keys: " ".join(sorted(keys))
    )
    next_steps = _cached_method(NormalizedBackend.next_steps, "_schema", keep=str)
    outline = _cached_method(NormalizedBackend.outline, "_schema")

    async def get_nodes_batch(self, ids: Sequence[str]) -> list[Node]:
        """The nodes that exist; those not in the cache are requested in one batch."""
        if "get_nodes_batch" not in self._abilities.methods:
            return list(await super().get_nodes_batch(ids))

        async def fetch(missing: list[str]) -> dict[str, Node]:
            found = await self._ask("get_nodes_batch", missing)
            return {n.id: n if n.metadata is NO_METADATA else own_node(n) for n in found}

        nodes = await self._nodes.many(ids, fetch, "get_nodes_batch")
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

    def nodes_stream(self, **part: Any) -> AsyncGenerator[Sequence[Node]]:
        """The entities of some types, from the store itself."""
        stream = super().nodes_stream(**part)
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
        ring = edges_up_to(most, super().edges_stream(ids))
        return await self._observers.store_call("edges_stream", ring)

    def numbered(self, keys: Collection[str] = ()) -> HeldRings | None:
        """The rings that are held; None if the backend returns edges one node at a time."""
        if self._abilities.methods.isdisjoint({"edges_batch", "edges_stream"}):
            return None
        numbers = len(self._numbering) + sum(rings.size for rings in self._rings.values())
        if numbers > self._budget.maxsize:
            for rings in self._rings.values():
                rings.cache.drop()
            self._numbering, self._rings = Numbering(), {}
        own, typed = tuple(sorted(keys)), "edges_stream" in self._abilities.methods
        if own not in self._rings:
            self._rings[own] = HeldRings(
                self._inner, self._budget, self._numbering, own, **self._bounds, typed=typed
            )
        return self._rings[own]

    async def metadata_for_nodes_batch(
        self, ids: Sequence[str], keys: Collection[str] | None = None
    ) -> Mapping[str, Metadata]:
        """Metadata by id; records not in the cache are requested in one batch."""
        return await self._metadata("metadata_for_nodes_batch", self._node_metadata, ids, keys)

    async def metadata_for_edges_batch(
        self, edges: Collection[Triple], keys: Collection[str] | None = None
    ) -> Mapping[Triple, Metadata]:
        """Metadata by triple; records not in the cache are requested in one batch."""
        asked = [(s, p, o) for s, p, o in edges]
        return await self._metadata("metadata_for_edges_batch", self._edge_metadata, asked, keys)

    async def _metadata(
        self, batch: str, cache: CachedParts[K], records: Sequence[K], keys: Collection[str] | None
    ) -> dict[K, Metadata]:
        """Metadata from a cache, and by one batch for records that it does not hold.

        Some keys are taken from whole records, or read alone if the backend can do so.
        """
        if batch not in self._abilities.methods:
            return dict(await getattr(super(), batch)(records, keys))
        wanted = None if keys is None else frozenset(keys)
        part = None if batch in self._abilities.whole_only else wanted

        async def fetch(missing: list[K]) -> dict[K, Metadata]:
            return dict(await self._ask(batch, missing, part))

        if part is None:
            return only(await cache.whole.many(records, fetch, batch), wanted)
        held, rest = await cache.part(records, part, fetch, batch)
        return only(held, wanted) | rest

    def forget_schema(self) -> None:
        """Request the lists, the outline and the advice again when they are next needed."""
        self._schema.forget()

    async def release(self) -> None:
        """End the calls under way and leave the backend open."""
        for part in list(vars(self).values()):
            if isinstance(part, CachedMethod | CachedParts):
                await part.close()
        for rings in self._rings.values():
            await rings.cache.close()

    async def close(self) -> None:
        """End the calls under way, then close the backend."""
        try:
            await self.release()
        finally:
            await super().close()


def _holds_nothing(answer: Any) -> bool:
    """Whether an answer is an empty list, or the outline of an empty graph."""
    if isinstance(answer, Outline):
        return not answer.node_counts and not answer.relations
    return bool(answer == ())


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

    def _answer(self, method: str, answer: Any) -> Any:
        name = f"columns.{method}"
        if method in {"find", "ids", "types"}:
            return self.observers.store_call(name, answer)
        if method in {"rings", "nodes"}:
            return self.observers.store_stream(name, answer)
        return answer
