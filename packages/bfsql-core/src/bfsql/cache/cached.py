"""CachedGraphDb: any backend, each question asked once.

Chapter 8: "Because the cache is transparent -- CachedGraphDb implements
GraphDbInterface -- backends do not implement caching themselves."
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, TypeVar

from bfsql import abc
from bfsql.abc import GraphDbInterface
from bfsql.cache.asked import Asked, Terms
from bfsql.cache.copies import copied
from bfsql.cache.store import ABSENT, Entry, Generations
from bfsql.models import Edge, EntityStub, Metadata, Node, Triple

MAX_RECORDS = 500_000
"""Records held by default: nodes, edges and pieces of metadata."""

K = TypeVar("K")


class CachedGraphDb(GraphDbInterface):
    """A backend behind a cache of its answers.

    Each distinct question reaches the backend at most once while its answer is
    held; callers that ask the same at the same time share one flight. Failures
    are not kept, and unknown ids for a few seconds only.

    Args:
        backend: The backend to ask.
        maxsize: Records to hold at the most; a hub is one key and 60,000 of
            them. An answer larger than half of it is passed on and not held.
        ttl: Seconds for which an answer is good; None for as long as the cache lives.
        clock: Seconds, never going back; for tests.
    """

    def __init__(
        self,
        backend: GraphDbInterface,
        maxsize: int = MAX_RECORDS,
        *,
        ttl: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._backend = backend
        terms = Terms(math.inf if ttl is None else ttl, clock)
        bound = Generations(maxsize)
        self._search: Asked[Any] = Asked(bound, terms, keep=tuple, weigh=_length)
        self._leaving: Asked[str] = Asked(bound, terms, keep=tuple, weigh=_length)
        self._entering: Asked[str] = Asked(bound, terms, keep=tuple, weigh=_length)
        self._rings: Asked[str] = Asked(bound, terms, weigh=_length)
        self._nodes: Asked[str] = Asked(bound, terms, keep=_own_node)
        self._node_metadata: Asked[str] = Asked(bound, terms, keep=copied, weigh=_passages)
        self._edge_metadata: Asked[Triple] = Asked(bound, terms, keep=copied, weigh=_passages)
        self._provenance: Asked[Any] = Asked(bound, terms, keep=copied)
        # Small, and asked for by every session: never let go for want of room.
        self._schema: Asked[str] = Asked(Generations(1_000_000), terms)

    # --- the eight ----------------------------------------------------------

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        """Candidates; the backend is given the types where its signature takes them."""
        types = tuple(node_types or ())
        ask = lambda: abc.search(self._backend, query, types)
        return list(await self._search.one((query, types), ask))

    async def edges_from(self, entity_id: str) -> list[Edge]:
        """All edges that leave the entity."""
        ask = lambda: _listed(self._backend.edges_from(entity_id))
        return list(await self._leaving.one(entity_id, ask))

    async def edges_to(self, entity_id: str) -> list[Edge]:
        """All edges that enter the entity."""
        ask = lambda: _listed(self._backend.edges_to(entity_id))
        return list(await self._entering.one(entity_id, ask))

    async def get_node(self, entity_id: str) -> Node:
        """Id and type."""
        node = await self._nodes.one(entity_id, lambda: self._backend.get_node(entity_id))
        return _own_node(node)

    async def metadata_for_node(self, entity_id: str) -> Metadata:
        """Everything the store knows of the entity, in a mapping of the caller's own."""
        ask = lambda: self._backend.metadata_for_node(entity_id)
        return _own(await self._node_metadata.one(entity_id, ask))

    async def metadata_for_edge(self, edge: Edge) -> Metadata:
        """Everything the store knows of the edge, in a mapping of the caller's own."""
        ask = lambda: self._backend.metadata_for_edge(edge)
        return _own(await self._edge_metadata.one(_triple(edge), ask))

    async def entity_types(self) -> list[str]:
        """The types, asked once."""
        ask = lambda: _listed(self._backend.entity_types())
        return list(await self._schema.one("entity_types", ask))

    async def predicates(self) -> list[str]:
        """The predicates, asked once."""
        ask = lambda: _listed(self._backend.predicates())
        return list(await self._schema.one("predicates", ask))

    # --- in one go ----------------------------------------------------------

    async def get_nodes_batch(self, ids: Sequence[str]) -> list[Node]:
        """The nodes that exist; those not held are asked for in one batch."""
        if not self._overrides("get_nodes_batch"):
            return list(await super().get_nodes_batch(ids))
        entries = await self._nodes.entries(ids, self._fetch_nodes)
        return [_own_node(e.value) for e in entries.values() if e.value is not ABSENT]

    async def edges_batch(self, ids: Sequence[str]) -> list[Triple]:
        """A ring; what is not held is asked for in one batch."""
        if not self._overrides("edges_batch"):
            return list(await super().edges_batch(ids))
        entries = await self._rings.entries(ids, self._fetch_ring)
        return [triple for entry in entries.values() for triple in entry.value]

    async def metadata_for_nodes_batch(self, ids: Sequence[str]) -> dict[str, Metadata]:
        """Metadata by id; what is not held is asked for in one batch."""
        if not self._overrides("metadata_for_nodes_batch"):
            return await super().metadata_for_nodes_batch(ids)

        async def fetch(missing: list[str]) -> dict[str, Any]:
            return _or_absent(missing, await self._backend.metadata_for_nodes_batch(missing))

        return _present(await self._node_metadata.entries(ids, fetch))

    async def metadata_for_edges_batch(self, edges: Collection[Triple]) -> dict[Triple, Metadata]:
        """Metadata by triple; what is not held is asked for in one batch."""
        if not self._overrides("metadata_for_edges_batch"):
            return await super().metadata_for_edges_batch(edges)

        async def fetch(missing: list[Triple]) -> dict[Triple, Any]:
            found = await self._backend.metadata_for_edges_batch(missing)
            return _or_absent(missing, {_triple(edge): known for edge, known in found.items()})

        return _present(await self._edge_metadata.entries(map(_triple, edges), fetch))

    async def provenance_for_node(self, entity_id: str, limit: int) -> dict[str, Any]:
        """Evidence, in a mapping of the caller's own."""
        if self._overrides("provenance_for_node"):
            ask = lambda: self._backend.provenance_for_node(entity_id, limit)
        else:  # over the cache, like every default
            ask = lambda: GraphDbInterface.provenance_for_node(self, entity_id, limit)
        return dict(_own(await self._provenance.one((entity_id, limit), ask)))

    async def comprehensive(self) -> bool:
        """Whether the two lists are complete, asked once."""
        ask = lambda: abc.comprehensive(self._backend)
        return bool(await self._schema.one("comprehensive", ask))

    async def next_steps(self) -> str:
        """The backend's advice, asked once."""
        ask = lambda: abc.next_steps(self._backend)
        return str(await self._schema.one("next_steps", ask))

    async def release(self) -> None:
        """End the calls under way, and leave the backend open."""
        for asked in [value for value in vars(self).values() if isinstance(value, Asked)]:
            await asked.give_up()

    async def close(self) -> None:
        """End the calls under way, then close the backend."""
        await self.release()
        await self._backend.close()

    # --- batches of the backend's own -------------------------------------------

    def _overrides(self, method: str) -> bool:
        """Whether the backend has its own way; a default runs over this cache instead."""
        return getattr(type(self._backend), method) is not getattr(GraphDbInterface, method)

    async def _fetch_nodes(self, missing: list[str]) -> dict[str, Any]:
        found = {node.id: node for node in await self._backend.get_nodes_batch(missing)}
        if len(found) == len(missing):
            return found
        if found.keys() <= set(missing):
            return _or_absent(missing, found)
        return found  # some came in their canonical spelling; whose they are is not told

    async def _fetch_ring(self, missing: list[str]) -> dict[str, Any]:
        ring = list(map(tuple, await self._backend.edges_batch(missing)))
        if len(missing) == 1:
            return {missing[0]: ring}
        by_end: dict[str, list[Any]] = {entity_id: [] for entity_id in missing}
        lookup = by_end.get
        for triple in ring:
            leaving, entering = lookup(triple[0]), lookup(triple[2])
            if leaving is not None:
                leaving.append(triple)
            if entering is not None and entering is not leaving:
                entering.append(triple)
        return by_end


async def _listed(answer: Any) -> tuple[Any, ...]:
    return tuple(await answer)


def _triple(edge: Triple) -> Triple:
    """The edge as a plain tuple, which is what keys are made of."""
    subject, predicate, object_ = edge
    return subject, predicate, object_


def _or_absent(keys: Iterable[K], found: dict[K, Any]) -> dict[K, Any]:
    return {key: found.get(key, ABSENT) for key in keys}


def _present(entries: dict[K, Entry]) -> dict[K, Metadata]:
    return {key: _own(e.value) for key, e in entries.items() if e.value is not ABSENT}


def _own(metadata: Metadata) -> Metadata:
    fresh: dict[str, Any] = copied(metadata)
    return fresh


def _own_node(node: Node) -> Node:
    return Node(node.id, node.entity_type, copied(node.metadata)) if node.metadata else node


def _length(records: Sequence[Any]) -> int:
    return 1 + len(records)


def _passages(metadata: Metadata) -> int:
    """Records in metadata: itself, and its evidence, which is what can be long."""
    provenance = metadata.get("provenance")
    return 1 + (len(provenance) if isinstance(provenance, list) else 0)
