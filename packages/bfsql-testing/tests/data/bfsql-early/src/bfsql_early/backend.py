"""EarlyBackend: the eight questions of the contract, answered by the store."""

from __future__ import annotations

import copy
from typing import Any, Self

from bfsql.abc import GraphDbInterface
from bfsql.models import Edge, EntityStub, Metadata, Node
from bfsql_early import queries
from bfsql_early.settings import EarlySettings


class EarlyBackend(GraphDbInterface):
    """A graph, read only. Core caches, filters, sorts and pages; nothing of that is done here.

    Where the store can answer for many ids in one round trip, override `edges_batch`,
    `get_nodes_batch`, `metadata_for_nodes_batch` and `metadata_for_edges_batch`. Where it reads a
    large ring by a cursor, or knows the types of both ends of an edge, override `edges_stream`;
    where it keeps its graph in integers, `columns`. Where it has connections to give back,
    override `close`.

    Args:
        store: What the questions are put to.
    """

    def __init__(self, store: queries.Store) -> None:
        self._store = store

    @classmethod
    async def create(cls, **settings: Any) -> Self:
        """Open a graph.

        Args:
            **settings: The fields of `EarlySettings`.

        Raises:
            StoreError: There is no graph, or it cannot be read.
        """
        return await cls.open(EarlySettings(**settings))

    @classmethod
    async def open(cls, settings: EarlySettings) -> Self:
        """The same from settings that are checked already."""
        return cls(queries.read(settings.path.expanduser()))

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        """At most 20 candidates, most likely first."""
        types, nodes = self._store.types, self._store.nodes
        found = queries.matching(self._store, query, node_types or ())
        return [EntityStub(i, types[i], queries.name_of(nodes[i])) for i in found]

    async def edges_from(self, entity_id: str) -> list[Edge]:
        """All edges that leave the entity."""
        self._known(entity_id)
        return [Edge(*triple) for triple in self._store.leaving.get(entity_id, ())]

    async def edges_to(self, entity_id: str) -> list[Edge]:
        """All edges that enter the entity."""
        self._known(entity_id)
        return [Edge(*triple) for triple in self._store.entering.get(entity_id, ())]

    async def get_node(self, entity_id: str) -> Node:
        """Id and type."""
        self._known(entity_id)
        return Node(entity_id, self._store.types[entity_id])

    async def metadata_for_node(self, entity_id: str) -> Metadata:
        """Everything the store knows of the entity; a copy, for the caller may change it."""
        self._known(entity_id)
        return copy.deepcopy(self._store.nodes[entity_id])

    async def metadata_for_edge(self, edge: Edge) -> Metadata:
        """Everything the store knows of the edge, evidence under `provenance`."""
        return copy.deepcopy(self._store.edges[edge.subject, edge.predicate, edge.object])

    async def entity_types(self) -> list[str]:
        """The types that occur, sorted."""
        return sorted(set(self._store.types.values()))

    async def predicates(self) -> list[str]:
        """The predicates that occur, sorted."""
        return sorted({predicate for _, predicate, _ in self._store.edges})

    def _known(self, entity_id: str) -> None:
        if entity_id not in self._store.types:
            raise KeyError(entity_id)
