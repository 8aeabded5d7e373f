"""A graph whose metadata passes the redaction hooks, whichever way it leaves.

It stands between the cache and the six operations, so that nothing above it,
neither filter nor budget nor note nor error, sees what must not leave.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from bfsql import abc
from bfsql.abc import GraphDbInterface
from bfsql.models import Edge, EntityStub, Metadata, Node, Triple
from bfsql.plugins import Hooks

_TRIPLE = ("subject", "predicate", "object")


class RedactedGraphDb(GraphDbInterface):
    """The same graph, without what the hooks take out.

    Args:
        db: The graph, with its cache.
        hooks: At least one of them redacts.
    """

    def __init__(self, db: GraphDbInterface, hooks: Hooks) -> None:
        self._db = db
        self._hooks = hooks

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        """Candidates, with the names that may be shown."""
        return [self._stub(stub) for stub in await abc.search(self._db, query, node_types or ())]

    async def edges_from(self, entity_id: str) -> list[Edge]:
        """As the graph has them."""
        return list(await self._db.edges_from(entity_id))

    async def edges_to(self, entity_id: str) -> list[Edge]:
        """As the graph has them."""
        return list(await self._db.edges_to(entity_id))

    async def edges_batch(self, ids: Sequence[str]) -> Any:
        """As the graph has them."""
        return await self._db.edges_batch(ids)

    async def get_node(self, entity_id: str) -> Node:
        """The node, with what may leave of its metadata."""
        return self._node(await self._db.get_node(entity_id))

    async def get_nodes_batch(self, ids: Sequence[str]) -> list[Node]:
        """The nodes, with what may leave of their metadata."""
        return [self._node(node) for node in await self._db.get_nodes_batch(ids)]

    async def metadata_for_node(self, entity_id: str) -> Metadata:
        """What may leave."""
        metadata = await self._db.metadata_for_node(entity_id)
        return self._hooks.redacted("node", entity_id, metadata)

    async def metadata_for_nodes_batch(self, ids: Sequence[str]) -> dict[str, Metadata]:
        """What may leave."""
        found = await self._db.metadata_for_nodes_batch(ids)
        return {i: self._hooks.redacted("node", i, metadata) for i, metadata in found.items()}

    async def metadata_for_edge(self, edge: Edge) -> Metadata:
        """What may leave."""
        metadata = await self._db.metadata_for_edge(edge)
        return self._hooks.redacted("edge", edge, metadata)

    async def metadata_for_edges_batch(self, edges: Collection[Triple]) -> dict[Triple, Metadata]:
        """What may leave."""
        found = await self._db.metadata_for_edges_batch(edges)
        return {t: self._hooks.redacted("edge", t, metadata) for t, metadata in found.items()}

    async def provenance_for_node(self, entity_id: str, limit: int) -> dict[str, Any]:
        """The evidence, with what may leave of each item beside its triple."""
        evidence = await self._db.provenance_for_node(entity_id, limit)
        return {**evidence, "items": [self._item(item) for item in evidence.get("items", ())]}

    async def entity_types(self) -> Sequence[str]:
        """As the graph has them."""
        return await self._db.entity_types()

    async def predicates(self) -> Sequence[str]:
        """As the graph has them."""
        return await self._db.predicates()

    async def comprehensive(self) -> bool:
        """As the graph has it."""
        return await abc.comprehensive(self._db)

    async def next_steps(self) -> str:
        """As the graph has it."""
        return await abc.next_steps(self._db)

    def _node(self, node: Node) -> Node:
        return node._replace(metadata=self._hooks.redacted("node", node.id, node.metadata))

    def _stub(self, stub: EntityStub) -> EntityStub:
        if stub.name is None:
            return stub
        name = self._hooks.redacted("node", stub.id, {"name": stub.name}).get("name")
        return stub._replace(name=name if isinstance(name, str) else None)

    def _item(self, item: Metadata) -> Metadata:
        subject, predicate, object_ = (str(item.get(part, "")) for part in _TRIPLE)
        text = {key: value for key, value in item.items() if key not in _TRIPLE}
        may_leave = self._hooks.redacted("evidence", (subject, predicate, object_), text)
        return {**may_leave, **{part: item[part] for part in _TRIPLE if part in item}}
