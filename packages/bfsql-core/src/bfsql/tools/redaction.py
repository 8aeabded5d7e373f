"""Redaction: a graph whose entire metadata passes the redaction hooks.

It is placed between the cache and the six operations, so that no filter, budget,
note or error sees data that must not leave.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from bfsql.abc import BatchGraphDb, GraphDbInterface, NormalizedBackend
from bfsql.integers import ForwardingIntegerGraph, IntArray, IntegerGraph, NodeBatch, NumberedRings
from bfsql.models import NO_METADATA, Edge, EntityStub, Metadata, Node, Outline, Property, Triple
from bfsql.models.condition import PropertyCondition
from bfsql.models.parts import only
from bfsql.plugins import Hooks


class RedactedIntegerGraph(ForwardingIntegerGraph):
    """Columns without properties: conditions are compared with redacted records."""

    def nodes(
        self,
        entity_types: Collection[str] | None = None,
        conditions: Sequence[PropertyCondition] = (),  # may be about what hooks remove
    ) -> AsyncGenerator[NodeBatch]:
        """The nodes of some types, whatever their properties."""
        return super().nodes(entity_types)

    async def property_values(self, handles: IntArray, key: str) -> None:
        """None: values are read with their records, which the hooks redact."""

    def coded(self, keys: Collection[str]) -> None:
        """None, as above."""


class RedactedGraphDb(NormalizedBackend):
    """A graph without the data that the hooks remove."""

    redacts = True
    metadata_for_node = BatchGraphDb.metadata_for_node
    metadata_for_edge = BatchGraphDb.metadata_for_edge

    def __init__(self, db: GraphDbInterface, hooks: Hooks) -> None:
        super().__init__(db)
        self._hooks = hooks

    def columns(self) -> IntegerGraph | None:
        """The graph in integers; None if it brings metadata along, which no hook has seen."""
        columns = super().columns()
        if columns is None or not columns.is_own:
            return None
        return RedactedIntegerGraph(columns)

    def numbered(self, keys: Collection[str] = ()) -> NumberedRings | None:
        """The rings that a cache holds, but none with metadata, which no hook has seen."""
        return None if keys else super().numbered()

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        """Candidates with the names that the redaction of their whole records leaves."""
        found = await super().search_entities(query, node_types)
        named = [stub.id for stub in found if stub.name is not None]
        records = await self._inner.metadata_for_nodes_batch(named) if named else {}
        return [self._stub(stub, records.get(stub.id, NO_METADATA)) for stub in found]

    async def get_node(self, entity_id: str) -> Node:
        """The node with redacted metadata."""
        [node] = await self._nodes([await self._inner.get_node(entity_id)])
        return node

    async def get_nodes_batch(self, ids: Sequence[str]) -> list[Node]:
        """The nodes with redacted metadata."""
        return await self._nodes(list(await self._inner.get_nodes_batch(ids)))

    async def nodes_stream(
        self,
        *,
        entity_types: Collection[str] | None = None,
        conditions: Sequence[PropertyCondition] = (),  # may be about what hooks remove
    ) -> AsyncGenerator[Sequence[Node]]:
        """The entities of some types, without their metadata: conditions see redacted records."""
        async with aclosing(self._inner.nodes_stream(entity_types=entity_types)) as batches:
            async for nodes in batches:
                yield [node._replace(metadata=NO_METADATA) for node in nodes]

    async def keys(self) -> None:
        """None: keys may be among what hooks remove."""

    def knows_operator(self, operator: str) -> bool:
        """False: conditions may be about what hooks remove, so that the store is given none."""
        return False

    async def metadata_for_nodes_batch(
        self, ids: Sequence[str], keys: Collection[str] | None = None
    ) -> dict[str, Metadata]:
        """The redacted metadata of nodes, read whole since a hook may judge one key by another."""
        found = await self._inner.metadata_for_nodes_batch(ids)
        redacted = {i: self._hooks.redacted("node", i, metadata) for i, metadata in found.items()}
        return only(redacted, keys)

    async def metadata_for_edges_batch(
        self, edges: Collection[Triple], keys: Collection[str] | None = None
    ) -> dict[Triple, Metadata]:
        """The redacted metadata of edges, read whole since a hook may judge one key by another."""
        found = await self._inner.metadata_for_edges_batch(edges)
        redacted = {t: self._hooks.redacted("edge", t, metadata) for t, metadata in found.items()}
        return only(redacted, keys)

    async def provenance_for_node(self, entity_id: str, limit: int) -> dict[str, Any]:
        """The evidence of a node, with each item redacted except for its triple."""
        if self._hooks.hides("provenance"):
            return {"total": 0, "items": []}
        evidence = await self._inner.provenance_for_node(entity_id, limit)
        return {**evidence, "items": list(map(self.evidence_item, evidence.get("items", ())))}

    async def outline(self) -> Outline | None:
        """The outline with properties that no hook may change, and without columns."""
        outline = await self._inner.outline()
        return outline and replace(
            outline.without_ends,
            node_properties=self._properties(outline.node_properties),
            edge_properties=self._properties(outline.edge_properties),
            tables=[],
        )

    def _properties(self, known: Mapping[str, Sequence[Property]]) -> dict[str, list[Property]]:
        keeps = self._hooks.keeps
        kept = {of: [one for one in some if keeps(one.name)] for of, some in known.items()}
        return {of: some for of, some in kept.items() if some}

    async def _nodes(self, nodes: list[Node]) -> list[Node]:
        """The nodes, with the metadata that came with them redacted.

        Hooks decide over the whole record, since a hook may judge one key by another.
        """
        brought = [node.id for node in nodes if node.metadata]
        if not brought:
            return nodes
        records = await self._inner.metadata_for_nodes_batch(brought)
        return [self._node(node, records.get(node.id, NO_METADATA)) for node in nodes]

    def _node(self, node: Node, record: Metadata) -> Node:
        whole = {**node.metadata, **record}
        redacted = self._hooks.redacted("node", node.id, whole) if node.metadata else {}
        kept = {key: value for key, value in redacted.items() if key in node.metadata}
        return node._replace(metadata=kept)

    def _stub(self, stub: EntityStub, record: Metadata) -> EntityStub:
        if stub.name is None:
            return stub
        whole = record if "name" in record else {**record, "name": stub.name}
        name = self._hooks.redacted("node", stub.id, whole).get("name")
        return stub._replace(name=name if isinstance(name, str) else None)

    def evidence_item(self, item: Metadata) -> dict[str, Any]:
        """An item of evidence, redacted except for its triple."""
        subject, predicate, object_ = (str(item.get(part, "")) for part in Edge._fields)
        text = {key: value for key, value in item.items() if key not in Edge._fields}
        may_leave = self._hooks.redacted("evidence", (subject, predicate, object_), text)
        known = {part: item[part] for part in Edge._fields if part in item}
        return {**known, **may_leave, **known}  # in the order of an item as it is
