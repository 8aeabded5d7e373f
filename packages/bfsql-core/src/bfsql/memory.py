"""MemoryBackend: a graph in dictionaries, and the reference for every other backend.

It computes answers in the plainest way. For the same records every other backend has to
return the same bytes.
"""

from __future__ import annotations

import copy
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Collection, Iterable, Sequence
from typing import Any

from bfsql.abc import GraphDbInterface
from bfsql.models import (
    Edge,
    EdgeDirection,
    EdgeRecord,
    EntityStub,
    EvidenceRecord,
    GraphRecord,
    Metadata,
    Node,
    NodeRecord,
    Outline,
    PropertyCondition,
    Triple,
    evidence_items,
    merge_node_records,
    outline_of,
    with_evidence,
)
from bfsql.models.matching import Labels, aliases_of, best_matches, name_of
from bfsql.models.parts import only
from bfsql.models.valid_time import NO_TIME_KEYS, TimeKeys

SEARCH_LIMIT = 20
"""Candidates of a search (`backend-contract.md`)."""


class MemoryBackend(GraphDbInterface):
    """A graph held in memory.

    Args:
        records: Nodes, edges and evidence in any order; several records of one
            item are merged by the rules of `bfsql.models.merge`.
        time_keys: The properties that say when facts hold.
    """

    def __init__(
        self, records: Iterable[GraphRecord] = (), time_keys: TimeKeys = NO_TIME_KEYS
    ) -> None:
        self.time_keys = time_keys
        nodes: dict[str, list[NodeRecord]] = defaultdict(list)
        edges: dict[Triple, list[dict[str, Any]]] = defaultdict(list)
        evidence: dict[Triple, list[dict[str, Any]]] = defaultdict(list)
        for record in records:
            match record:
                case NodeRecord(id=entity_id):
                    nodes[entity_id].append(record)
                case EdgeRecord(subject, predicate, obj, metadata):
                    edges[subject, predicate, obj].append(metadata)
                case EvidenceRecord(subject, predicate, obj, item):
                    evidence[subject, predicate, obj].append(item)
        merged = {i: merge_node_records(described) for i, described in nodes.items()}
        self._types = {i: entity_type for i, (entity_type, _) in merged.items()}
        self._node_metadata = {i: metadata for i, (_, metadata) in merged.items()}
        self._edge_metadata = {
            triple: with_evidence(time_keys.merge(triple[1])(described), evidence.get(triple, ()))
            for triple, described in edges.items()
        }
        self._labels: dict[str, Labels] = {}
        self._leaving: dict[str, list[Triple]] = defaultdict(list)
        self._entering: dict[str, list[Triple]] = defaultdict(list)
        for triple in self._edge_metadata:
            self._leaving[triple[0]].append(triple)
            self._entering[triple[2]].append(triple)

    # --- the eight ----------------------------------------------------------

    async def search_entities(
        self, query: str, node_types: list[str] | None = None, without: Sequence[str] = ()
    ) -> list[EntityStub]:
        """Search ids, names and synonyms, by `best_matches`."""
        types, absent = set(node_types or ()), set(without)
        among = (i for i, kind in self._types.items() if not types or kind in types)
        labels = {i: self._labels_of(i) for i in among if i not in absent}
        ranked = best_matches(query, labels)[: SEARCH_LIMIT + len(without)]
        return [EntityStub(i, self._types[i], name_of(self._node_metadata[i])) for i in ranked]

    def _labels_of(self, entity_id: str) -> Labels:
        """The names of an entity, which are folded once."""
        if entity_id not in self._labels:
            metadata = self._node_metadata[entity_id]
            self._labels[entity_id] = Labels(entity_id, name_of(metadata), aliases_of(metadata))
        return self._labels[entity_id]

    async def edges_from(self, entity_id: str) -> list[Edge]:
        """All edges that leave the entity."""
        self._require(entity_id)
        return [Edge(*triple) for triple in self._leaving.get(entity_id, ())]

    async def edges_to(self, entity_id: str) -> list[Edge]:
        """All edges that enter the entity."""
        self._require(entity_id)
        return [Edge(*triple) for triple in self._entering.get(entity_id, ())]

    async def get_node(self, entity_id: str) -> Node:
        """Id and type."""
        self._require(entity_id)
        return Node(entity_id, self._types[entity_id])

    async def metadata_for_node(self, entity_id: str) -> Metadata:
        """All the metadata in the records of the entity."""
        self._require(entity_id)
        return copy.deepcopy(self._node_metadata[entity_id])

    async def metadata_for_edge(self, edge: Edge) -> Metadata:
        """All the metadata in the records of the edge, evidence under `provenance`."""
        return copy.deepcopy(self._edge_metadata[edge.subject, edge.predicate, edge.object])

    async def entity_types(self) -> list[str]:
        """The types that occur, sorted."""
        return sorted(set(self._types.values()))

    async def predicates(self) -> list[str]:
        """The predicates that occur, sorted."""
        return sorted({predicate for _, predicate, _ in self._edge_metadata})

    # --- batches ------------------------------------------------------------

    async def get_nodes_batch(self, ids: Sequence[str]) -> list[Node]:
        """The nodes that exist."""
        types = self._types
        return [Node(i, types[i]) for i in ids if i in types]

    async def nodes_stream(
        self,
        *,
        entity_types: Collection[str] | None = None,
        conditions: Sequence[PropertyCondition] = (),
    ) -> AsyncGenerator[list[Node]]:
        """The nodes of some types that meet the conditions."""
        yield [
            Node(i, entity_type)
            for i, entity_type in self._types.items()
            if (entity_types is None or entity_type in entity_types)
            and all(one.holds(self._node_metadata[i]) for one in conditions)
        ]

    async def keys(self) -> set[str]:
        """The keys of all nodes."""
        return {key for metadata in self._node_metadata.values() for key in metadata}

    def filters_exactly(self, condition: PropertyCondition) -> bool:
        """True: every condition is compared."""
        return True

    async def edges_batch(
        self,
        ids: Sequence[str],
        *,
        predicates: Collection[str] | None = None,
        direction: EdgeDirection | None = None,
    ) -> list[Triple]:
        """Every edge with a requested node at either end, or a part of these edges."""
        asked = [i for i in ids if i in self._types]
        ring: list[Triple] = []
        if direction != "in":
            ring += [triple for i in asked for triple in self._leaving.get(i, ())]
        if direction != "out":
            ring += [triple for i in asked for triple in self._entering.get(i, ())]
        return ring if predicates is None else [edge for edge in ring if edge[1] in predicates]

    async def metadata_for_nodes_batch(
        self, ids: Sequence[str], keys: Collection[str] | None = None
    ) -> dict[str, Metadata]:
        """Metadata by id."""
        known = self._node_metadata
        return copy.deepcopy(only({i: known[i] for i in ids if i in known}, keys))

    async def metadata_for_edges_batch(
        self, edges: Collection[Triple], keys: Collection[str] | None = None
    ) -> dict[Triple, Metadata]:
        """Metadata by triple."""
        known = self._edge_metadata
        return copy.deepcopy(only({edge: known[edge] for edge in edges if edge in known}, keys))

    async def provenance_for_node(self, entity_id: str, limit: int) -> dict[str, Any]:
        """The evidence of the edges that touch the entity, and that from it as a document."""
        touching = {*self._leaving.get(entity_id, ()), *self._entering.get(entity_id, ())}
        items = [
            item
            for triple in sorted(self._edge_metadata)
            for item in evidence_items(triple, self._edge_metadata[triple])
            if triple in touching or item["document_id"] == entity_id
        ]
        return {"total": len(items), "items": items[:limit]}

    async def outline(self) -> Outline:
        """An outline of the graph, counted over all of it."""
        types = self._types
        whole = [edge for edge in self._edge_metadata if edge[0] in types and edge[2] in types]
        relations = [(types[s], p, types[o]) for s, p, o in whole]
        counts = Counter(relations)
        dated = zip(relations, map(self._edge_metadata.__getitem__, whole), strict=True)
        return outline_of(
            Counter(types.values()),
            counts,
            ((types[i], metadata) for i, metadata in self._node_metadata.items()),
            ((edge[1], self._edge_metadata[edge]) for edge in whole),
            ended=self.time_keys.ended(dated, counts),
        )

    def _require(self, entity_id: str) -> None:
        if entity_id not in self._types:
            raise KeyError(entity_id)
