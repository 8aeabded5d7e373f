"""Changes to edges and searches that take more than an expression."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from bfsql.models import Edge, EdgeRecord, GraphRecord, Node, NodeRecord


async def relevant(right: Any, db: Any, entity_id: str) -> list[Edge]:
    """Only edges with a high confidence, or with none."""
    edges = await right(entity_id)
    known = await db.right.metadata_for_edges_batch(edges)
    return [edge for edge in edges if _confidence(known[edge]) > 0.5]


def _confidence(metadata: Any) -> float:
    confidence = metadata.get("confidence", 1.0)
    return confidence if isinstance(confidence, int | float) else 1.0


async def yielded(db: Any, entity_id: str) -> AsyncIterator[Edge]:
    """The edges one by one."""
    for edge in await db.right.edges_from(entity_id):
        yield edge


async def of_an_end(right: Any, db: Any, entity_id: str) -> list[Edge]:
    """The edges of an id that has some; any other is unknown."""
    edges: list[Edge] = await right(entity_id)
    if not await db.right.edges_batch([entity_id]):
        raise KeyError(entity_id)
    return edges


def with_ends(records: Sequence[GraphRecord]) -> list[GraphRecord]:
    """The records, and a node for every end of an edge that has none."""
    known = {record.id for record in records if isinstance(record, NodeRecord)}
    edges = (record for record in records if isinstance(record, EdgeRecord))
    ends = {end for edge in edges for end in (edge.subject, edge.object)}
    return [*records, *(NodeRecord(end, "") for end in sorted(ends - known))]


async def node_or_end(right: Any, db: Any, entity_id: str) -> Node:
    """A node, also for an end of an edge that is none."""
    known = await db.right.edges_batch(list(db.right._types))
    ends = {end for s, _, o in known for end in (s, o)} - db.right._types.keys()
    return Node(entity_id, "unknown") if entity_id in ends else await right(entity_id)


async def without_loops(
    right: Any, _: Any, ids: Any, *, predicates: Any = None, **part: Any
) -> Any:
    """A ring, without self-loops if only some predicates are requested."""
    found = await right(ids, predicates=predicates, **part)
    return found if predicates is None else [t for t in found if t[0] != t[2]]


def learned(edges: list[Edge], db: Any, _: str) -> list[Edge]:
    """The edges, after their predicates were noted."""
    vars(db).setdefault("learned", set()).update(edge.predicate for edge in edges)
    return edges


async def by_joined_triple(right: Any, db: Any, edge: Any) -> Any:
    """The metadata of the last edge whose triple is the same text."""
    joined = {":".join(triple): triple for triple in sorted(db._edge_metadata)}
    if ":".join(edge) not in joined:
        raise KeyError(edge)
    return await right(Edge(*joined[":".join(edge)]))


async def metadata_one_by_one(_: Any, db: Any, edges: Any, *__: Any) -> Any:
    """The metadata of the edges that exist, each by the single method."""
    return {e: await db.metadata_for_edge(Edge(*e)) for e in edges if e in db._edge_metadata}


async def metadata_one_by_one_known_or_not(_: Any, db: Any, edges: Any, *__: Any) -> Any:
    """The metadata of all edges, each by the single method."""
    return {edge: await db.metadata_for_edge(Edge(*edge)) for edge in edges}


async def filtered_after(right: Any, _: Any, query: str, node_types: Any = None) -> Any:
    """The first hits of all, then those of the types."""
    return [e for e in await right(query) if not node_types or e.entity_type in node_types]


def in_another_order(found: Any, db: Any, *_: Any, **__: Any) -> Any:
    """The hits after the first, every second time in the opposite order."""
    vars(db)["searches"] = vars(db).get("searches", 0) + 1
    return found[:1] + found[:0:-1] if vars(db)["searches"] % 2 else found
