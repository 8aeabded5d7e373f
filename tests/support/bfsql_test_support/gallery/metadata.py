"""Mistakes in metadata and evidence: missing, misplaced or shared values."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from statistics import fmean
from typing import Any

from bfsql.memory import MemoryBackend
from bfsql.models import (
    Edge,
    EdgeRecord,
    EvidenceRecord,
    GraphRecord,
    Metadata,
    NodeRecord,
    Triple,
)
from bfsql_test_support.gallery.bases import Eight, Keeps, wrong


@wrong("edge-evidence")
class ForgetsEvidence(MemoryBackend):
    """Reads the edge table, but not the evidence table."""

    def __init__(self, records: Iterable[GraphRecord] = ()) -> None:
        super().__init__(r for r in records if not isinstance(r, EvidenceRecord))


@wrong("edge-evidence")
class PutsEvidenceElsewhere(Eight):
    """Returns evidence under a key of its own, where core does not strip it."""

    async def metadata_for_edge(self, edge: Edge) -> Metadata:
        metadata = dict(await super().metadata_for_edge(edge))
        if "provenance" in metadata:
            metadata["evidence"] = metadata.pop("provenance")
        return metadata


@wrong("evidence-counted")
class CountsWhatItGives(MemoryBackend):
    """Reports the number of returned items as the total."""

    async def provenance_for_node(self, entity_id: str, limit: int) -> dict[str, Any]:
        given = await super().provenance_for_node(entity_id, limit)
        return {**given, "total": len(given["items"])}


@wrong("evidence-counted")
class GivesAllEvidence(MemoryBackend):
    """Ignores the limit."""

    async def provenance_for_node(self, entity_id: str, limit: int) -> dict[str, Any]:
        return await super().provenance_for_node(entity_id, 1_000_000)


@wrong("edge-metadata-batch")
class BatchWithoutEvidence(MemoryBackend):
    """Returns evidence for a single edge, but not in the batch."""

    async def metadata_for_edges_batch(self, edges: Collection[Triple]) -> dict[Triple, Metadata]:
        found = await super().metadata_for_edges_batch(edges)
        return {e: {k: v for k, v in m.items() if k != "provenance"} for e, m in found.items()}


@wrong("node-metadata-batch")
class BatchInBrief(MemoryBackend):
    """Returns only the name in the batch for nodes."""

    async def metadata_for_nodes_batch(self, ids: Sequence[str]) -> dict[str, Metadata]:
        found = await super().metadata_for_nodes_batch(ids)
        return {i: {k: m[k] for k in m if k == "name"} for i, m in found.items()}


@wrong("node-metadata-batch")
class BatchOfPairs(MemoryBackend):
    """Returns its batch as pairs instead of a mapping."""

    async def metadata_for_nodes_batch(self, ids: Sequence[str]) -> Any:
        return list((await super().metadata_for_nodes_batch(ids)).items())


@wrong("node-metadata-keys")
class GivesTheFirstKey(MemoryBackend):
    """Selects one column, however many keys are requested."""

    async def metadata_for_nodes_batch(
        self, ids: Sequence[str], keys: Collection[str] | None = None
    ) -> dict[str, Metadata]:
        first = None if keys is None else sorted(keys)[:1]
        return await super().metadata_for_nodes_batch(ids, first)


@wrong("edge-metadata-keys")
class KeysAsText(MemoryBackend):
    """Returns the values of single keys as text."""

    async def metadata_for_edges_batch(
        self, edges: Collection[Triple], keys: Collection[str] | None = None
    ) -> dict[Triple, Metadata]:
        found = await super().metadata_for_edges_batch(edges, keys)
        if keys is None:
            return found
        return {edge: {k: str(v) for k, v in m.items()} for edge, m in found.items()}


@wrong("whole-hub")
class CutsLargeBatches(MemoryBackend):
    """Puts at most 999 values into a query, and ignores the others."""

    async def get_nodes_batch(self, ids: Sequence[str]) -> Any:
        return await super().get_nodes_batch(ids[:999])

    async def edges_batch(self, ids: Sequence[str]) -> list[Triple]:
        return await super().edges_batch(ids[:999])


@wrong("unknown-in-batches")
class FailsOnNothing(MemoryBackend):
    """Fails on an empty list of ids, as its query syntax does."""

    async def get_nodes_batch(self, ids: Sequence[str]) -> Any:
        if not ids:
            raise ValueError("syntax error near ')'")
        return await super().get_nodes_batch(ids)


@wrong("every-value")
class SavesSpace(Eight):
    """Omits long values in order to save tokens, which is core's task."""

    async def metadata_for_node(self, entity_id: str) -> Metadata:
        metadata = await super().metadata_for_node(entity_id)
        return {k: v for k, v in metadata.items() if len(str(v)) < 60}


@wrong("entities-bytes")
class RepeatsTheIdentity(Eight):
    """Returns all columns of the row, including the id and the type."""

    async def metadata_for_node(self, entity_id: str) -> Metadata:
        metadata = await super().metadata_for_node(entity_id)
        return {**metadata, "id": entity_id, "entity_type": self.right._types[entity_id]}


@wrong("every-value")
class EdgesHaveNoDetail(Eight):
    """Returns no metadata for edges."""

    async def metadata_for_edge(self, edge: Edge) -> Metadata:
        await super().metadata_for_edge(edge)
        return {}


@wrong("every-value")
class LastRecordWins(MemoryBackend):
    """Replaces the record of an edge with a later one instead of merging them."""

    def __init__(self, records: Iterable[GraphRecord] = ()) -> None:
        given = list(records)
        edges = {(e.subject, e.predicate, e.object): e for e in given if isinstance(e, EdgeRecord)}
        super().__init__([r for r in given if not isinstance(r, EdgeRecord)] + [*edges.values()])


@wrong("every-value")
class AveragesConfidence(Eight):
    """Returns the mean of an edge's confidences instead of the maximum."""

    async def metadata_for_edge(self, edge: Edge) -> Metadata:
        metadata = dict(await super().metadata_for_edge(edge))
        if "confidences" in metadata:
            metadata["confidence"] = fmean(metadata["confidences"])
        return metadata


@wrong("every-value")
class FirstDescriptionWins(MemoryBackend):
    """Ignores further records of a node, and so their names and types."""

    def __init__(self, records: Iterable[GraphRecord] = ()) -> None:
        given = list(records)
        nodes = {r.id: r for r in reversed(given) if isinstance(r, NodeRecord)}
        super().__init__([*nodes.values(), *(r for r in given if not isinstance(r, NodeRecord))])


@wrong("fresh-answers")
class LendsItsOwn(MemoryBackend):
    """Returns its own mapping, which a caller can modify."""

    async def metadata_for_node(self, entity_id: str) -> Metadata:
        self._require(entity_id)
        return self._node_metadata[entity_id]

    async def metadata_for_edge(self, edge: Edge) -> Metadata:
        return self._edge_metadata[edge.subject, edge.predicate, edge.object]


@wrong("fresh-answers")
class LendsItsLists(MemoryBackend):
    """Returns a shallow copy of its own mapping."""

    async def metadata_for_node(self, entity_id: str) -> Metadata:
        self._require(entity_id)
        return dict(self._node_metadata[entity_id])


@wrong("fresh-answers")
class LendsItsEdges(Eight):
    """Returns its own list of edges, which a caller can modify."""

    def __init__(self, records: Iterable[GraphRecord] = ()) -> None:
        super().__init__(records)
        self._kept: dict[str, list[Edge]] = {}

    async def edges_from(self, entity_id: str) -> list[Edge]:
        return self._kept.setdefault(entity_id, await super().edges_from(entity_id))


@wrong("cached-as-direct")
class EmptiesWhatItIsGiven(MemoryBackend):
    """Clears the caller's list of ids."""

    async def get_nodes_batch(self, ids: Sequence[str]) -> Any:
        found = await super().get_nodes_batch(ids)
        if isinstance(ids, list):
            ids.clear()
        return found


@wrong("every-value")
class KeepsNamesInAscii(Keeps):
    """Drops non-ASCII characters from its values."""

    def storable(self, value: Any) -> Any:
        return value.encode("ascii", "ignore").decode() if isinstance(value, str) else value


@wrong("entity-bytes")
class ForgetsWhatDocumentsSupply(MemoryBackend):
    """Returns the evidence of a node's edges, but not what the node supplied as a document."""

    async def provenance_for_node(self, entity_id: str, limit: int) -> dict[str, Any]:
        every = await super().provenance_for_node(entity_id, 1_000_000)
        own = [i for i in every["items"] if entity_id in (i["subject"], i["object"])]
        return {"total": len(own), "items": own[:limit]}


@wrong("drawn-graphs")
class LosesEarlyEvidence(MemoryBackend):
    """Drops evidence that comes before its edge while loading."""

    def __init__(self, records: Iterable[GraphRecord] = ()) -> None:
        super().__init__(_in_order(records))


def _in_order(records: Iterable[GraphRecord]) -> Iterator[GraphRecord]:
    there: set[Triple] = set()
    for record in records:
        triple = None if isinstance(record, NodeRecord) else _triple(record)
        if isinstance(record, EdgeRecord):
            there.add(_triple(record))
        if triple is None or triple in there:
            yield record


def _triple(record: EdgeRecord | EvidenceRecord) -> Triple:
    return record.subject, record.predicate, record.object
