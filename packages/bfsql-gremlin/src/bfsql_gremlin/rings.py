"""The edges around nodes in batches, with the types of both ends: one request a chunk of ids."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import aclosing
from typing import Any

from bfsql.errors import StoreError
from bfsql.models.parts import TypedTriple
from bfsql.models.records import EdgeDirection
from bfsql_gremlin import queries
from bfsql_gremlin.connection import Client, place
from bfsql_gremlin.queries import GraphSchema


async def ring_batches(
    client: Client,
    schema: GraphSchema,
    ids: Sequence[str],
    labels: Collection[str] | None = None,
    direction: EdgeDirection | None = None,
    *,
    batch: int = 10_000,
) -> AsyncGenerator[list[TypedTriple]]:
    """Every edge with a requested node at either end; an edge may come twice.

    Args:
        client: The servers.
        schema: The schema of the graph.
        ids: Ids, for one request.
        labels: Restricts the edges to these; None for all.
        direction: Only edges that leave or that enter the requested nodes; None for both.
        batch: Fewest edges of a batch, except for the last one.

    Raises:
        StoreError: The answer is incomplete.
    """
    traversal = queries.ring(schema, ids, labels, direction)
    if traversal is None or (labels is not None and not labels):
        return
    ring = _Ring(schema, frozenset(ids))
    async with aclosing(client.stream(traversal)) as parts:
        async for rows in parts:
            for row in rows:
                ring.add(row)
            if len(ring.edges) >= batch:
                yield ring.edges
                ring.edges = []
    if ring.waiting:
        raise StoreError(
            f"{place(client.settings)} left {len(ring.waiting)} far ends of edges out of its "
            "answer, so the edges are not used. A member of the cluster may lag behind: try again, "
            "and check that reads are by quorum."
        )
    if ring.edges:
        yield ring.edges


class _Ring:
    """Puts vertices with their edges and far ends together, in whatever order they come."""

    def __init__(self, schema: GraphSchema, requested: frozenset[str]) -> None:
        self.edges: list[TypedTriple] = []
        self.waiting: dict[Any, list[tuple[str, str, str, bool]]] = {}
        """Node, its type, predicate and whether the edge leaves it, by an own id that is not known.
        """
        self._far: dict[Any, tuple[str, str]] = {}
        self._schema = schema
        self._requested = requested

    def add(self, row: Sequence[Any]) -> None:
        """Add a row of `queries.ring`."""
        own, kind = row[0], str(row[1])
        if len(row) < 4 or not isinstance(row[2], dict):  # the row of an end has at most three
            far = self._far[own] = (self._schema.entity_id(own, row[2:]), kind)
            self.edges += [_edge(far, *one) for one in self.waiting.pop(own, ())]
            return
        node = self._schema.entity_id(own, row[4:])
        if node not in self._requested:
            return
        for adjacent, leaves in ((row[2], True), (row[3], False)):
            for predicate, others in adjacent.items():
                for other in others:
                    known = self._far.get(other)
                    if known is None:
                        waiting = self.waiting.setdefault(other, [])
                        waiting.append((node, kind, predicate, leaves))
                    else:
                        self.edges.append(_edge(known, node, kind, predicate, leaves))


def _edge(
    far: tuple[str, str],
    node: str,
    node_type: str,
    predicate: str,
    leaves: bool,  # noqa: FBT001 - a column of a row
) -> TypedTriple:
    other, other_type = far
    if leaves:
        return node, predicate, other, node_type, other_type
    return other, predicate, node, other_type, node_type
