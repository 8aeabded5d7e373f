"""Mistakes in edges: which exist, their direction, and their ends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from typing import Any

from bfsql.memory import MemoryBackend
from bfsql.models import Edge, EdgeDirection, EdgeRecord, GraphRecord, Node, NodeRecord, Triple
from bfsql_test_support.gallery.bases import Eight, wrong


@wrong("both-directions")
class ForgetsIncoming(Eight):
    """Follows edges in one direction only, because its author's graph is directed."""

    async def edges_to(self, entity_id: str) -> list[Edge]:
        await self.get_node(entity_id)
        return []


@wrong("both-directions")
class ForgetsOutgoing(Eight):
    """Returns the entering edges for both directions."""

    async def edges_from(self, entity_id: str) -> list[Edge]:
        return await self.edges_to(entity_id)


@wrong("own-edges")
class TurnsEdgesRound(Eight):
    """Returns the requested id as subject in both directions, so entering edges seem to leave."""

    async def edges_to(self, entity_id: str) -> list[Edge]:
        return [Edge(o, p, s) for s, p, o in await super().edges_to(entity_id)]


@wrong("every-edge")
class FiltersByRelevance(Eight):
    """Omits edges with low confidence without reporting it."""

    async def edges_from(self, entity_id: str) -> list[Edge]:
        return await self._relevant(await super().edges_from(entity_id))

    async def edges_to(self, entity_id: str) -> list[Edge]:
        return await self._relevant(await super().edges_to(entity_id))

    async def _relevant(self, edges: list[Edge]) -> list[Edge]:
        known = await self.right.metadata_for_edges_batch(edges)
        return [edge for edge in edges if _confidence(known[edge]) > 0.5]


def _confidence(metadata: Any) -> float:
    confidence = metadata.get("confidence", 1.0)
    return confidence if isinstance(confidence, int | float) else 1.0


@wrong("whole-hub")
class LimitsEdges(Eight):
    """Has a LIMIT in its query, and does not report the edges beyond it."""

    async def edges_from(self, entity_id: str) -> list[Edge]:
        return (await super().edges_from(entity_id))[:100]

    async def edges_to(self, entity_id: str) -> list[Edge]:
        return (await super().edges_to(entity_id))[:100]


@wrong("every-edge")
class OneEdgeANeighbour(Eight):
    """Keeps edges in a dictionary by neighbour: a second predicate between two nodes is lost."""

    async def edges_from(self, entity_id: str) -> list[Edge]:
        return list({e.object: e for e in await super().edges_from(entity_id)}.values())

    async def edges_to(self, entity_id: str) -> list[Edge]:
        return list({e.subject: e for e in await super().edges_to(entity_id)}.values())


@wrong("every-edge")
class DropsSelfLoops(Eight):
    """Excludes the node itself when it joins a node with its neighbours."""

    async def edges_from(self, entity_id: str) -> list[Edge]:
        return [e for e in await super().edges_from(entity_id) if e.object != entity_id]

    async def edges_to(self, entity_id: str) -> list[Edge]:
        return [e for e in await super().edges_to(entity_id) if e.subject != entity_id]


@wrong("own-edges")
class GivesRowsAsMappings(Eight):
    """Returns the driver's rows, which unpack to the names of their columns."""

    async def edges_from(self, entity_id: str) -> Any:
        return [edge._asdict() for edge in await super().edges_from(entity_id)]

    async def edges_to(self, entity_id: str) -> Any:
        return [edge._asdict() for edge in await super().edges_to(entity_id)]


@wrong("own-edges")
class YieldsEdges(Eight):
    """Implements the method as an async generator, which cannot be awaited."""

    async def edges_from(self, entity_id: str) -> AsyncIterator[Edge]:  # type: ignore[override]
        for edge in await super().edges_from(entity_id):
            yield edge


@wrong("alone-is-known")
class GivesNothingAtAll(Eight):
    """Returns None for an entity without edges."""

    async def edges_from(self, entity_id: str) -> Any:
        return await super().edges_from(entity_id) or None

    async def edges_to(self, entity_id: str) -> Any:
        return await super().edges_to(entity_id) or None


@wrong("alone-is-known")
class IsolatedAreUnknown(Eight):
    """Looks entities up among the ends of edges: one without edges is unknown to it."""

    async def edges_from(self, entity_id: str) -> list[Edge]:
        return await self._any(entity_id, await super().edges_from(entity_id))

    async def edges_to(self, entity_id: str) -> list[Edge]:
        return await self._any(entity_id, await super().edges_to(entity_id))

    async def _any(self, entity_id: str, edges: list[Edge]) -> list[Edge]:
        if not await self.right.edges_batch([entity_id]):
            raise KeyError(entity_id)
        return edges


@wrong("dangling-ends")
class MakesNodesOfDanglingEnds(MemoryBackend):
    """Lets its library create a node for every end of an edge, described or not."""

    def __init__(self, records: Iterable[GraphRecord] = ()) -> None:
        given = list(records)
        known = {record.id for record in given if isinstance(record, NodeRecord)}
        edges = (record for record in given if isinstance(record, EdgeRecord))
        ends = {end for edge in edges for end in (edge.subject, edge.object)}
        super().__init__([*given, *(NodeRecord(end, "") for end in sorted(ends - known))])


@wrong("intersect-bytes")
class EndsAreNotNodes(Eight):
    """Finds ends of edges as nodes that it hides elsewhere."""

    async def get_node(self, entity_id: str) -> Node:
        if entity_id not in await self._ends():
            return await super().get_node(entity_id)
        return Node(entity_id, "unknown")

    async def _ends(self) -> set[str]:
        known = await self.right.edges_batch(list(self.right._types))
        return {end for s, _, o in known for end in (s, o)} - self.right._types.keys()


@wrong("edges-batch")
class RingInOneDirection(MemoryBackend):
    """Reads a ring in one direction only, whereas the single methods cover both."""

    async def edges_batch(self, ids: Sequence[str]) -> list[Triple]:
        return [t for t in await super().edges_batch(ids) if t[0] in set(ids)]


@wrong("edges-batch")
class RingWithinTheAsked(MemoryBackend):
    """Requires both ends of the edges in a ring to be among the requested ids."""

    async def edges_batch(self, ids: Sequence[str]) -> list[Triple]:
        asked = set(ids)
        return [t for t in await super().edges_batch(ids) if asked.issuperset((t[0], t[2]))]


@wrong("dangling-ends")
class RingOfNoNode(MemoryBackend):
    """Returns edges for an id that is not a node but occurs in its edge table."""

    async def edges_batch(self, ids: Sequence[str]) -> list[Triple]:
        asked = set(ids)
        return [t for t in self._edge_metadata if not asked.isdisjoint((t[0], t[2]))]


@wrong("edges-part")
class PartsWithoutDirection(MemoryBackend):
    """Filters by predicate, but ignores the requested direction."""

    async def edges_batch(
        self,
        ids: Sequence[str],
        *,
        predicates: Collection[str] | None = None,
        direction: EdgeDirection | None = None,
    ) -> list[Triple]:
        return await super().edges_batch(ids, predicates=predicates)


@wrong("asking-bytes")
class PartsWithoutLoops(MemoryBackend):
    """Joins nodes with other nodes when it filters by predicate, which loses self-loops."""

    async def edges_batch(
        self,
        ids: Sequence[str],
        *,
        predicates: Collection[str] | None = None,
        direction: EdgeDirection | None = None,
    ) -> list[Triple]:
        found = await super().edges_batch(ids, predicates=predicates, direction=direction)
        return found if predicates is None else [t for t in found if t[0] != t[2]]


@wrong("edges-part")
class PartsTheOtherWay(MemoryBackend):
    """Confuses the edges that leave the requested nodes with those that enter them."""

    async def edges_batch(
        self,
        ids: Sequence[str],
        *,
        predicates: Collection[str] | None = None,
        direction: EdgeDirection | None = None,
    ) -> list[Triple]:
        other: dict[Any, EdgeDirection] = {"in": "out", "out": "in"}
        return await super().edges_batch(ids, predicates=predicates, direction=other.get(direction))


@wrong("edges-part")
class NoPredicatesAreAll(MemoryBackend):
    """Treats an empty list of predicates as no filter."""

    async def edges_batch(
        self,
        ids: Sequence[str],
        *,
        predicates: Collection[str] | None = None,
        direction: EdgeDirection | None = None,
    ) -> list[Triple]:
        return await super().edges_batch(ids, predicates=predicates or None, direction=direction)
