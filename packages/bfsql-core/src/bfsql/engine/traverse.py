"""Breadth first, ring by ring: topology only (`protocol.md` 1, 8, 10).

One ring is one batch. What comes back are tuples; the types of all nodes are
read in one further batch at the end, because an end that the store has no node
for has no edges either, so the traversal does not go on from it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.call import MAX_NODES
from bfsql.errors import FirstRingUnfinished, TypesUnread
from bfsql.models import Node, Triple

RING_SHARE = 0.7
"""Part of the remaining time that a ring may take: the types are read after it."""


@dataclass(frozen=True, slots=True)
class Reach:
    """What a traversal reached; only `engine` reads its columns."""

    seeds: Sequence[str]
    """Where it started."""
    hops: int
    """Rings that were asked for."""
    depth: int
    """Rings that it is exact for."""
    stopped_by: Literal["deadline", "nodes"] | None
    """The bound that was met, if one was."""
    rings: Sequence[Sequence[str]]
    """Ids by distance from the nearest seed, each ring sorted."""
    nodes: Mapping[str, Node]
    """The record of every one of them."""
    edges: Collection[Triple]
    """Every edge that touches an expanded node and has nodes at both ends, each once."""
    dangling: Mapping[str, Collection[Triple]]
    """Edges left out, by the end that the store has no node for."""


async def traverse(
    db: GraphDbInterface, seeds: Sequence[str], hops: int, max_nodes: int = MAX_NODES
) -> Reach:
    """Expand from all seeds at once, in both directions.

    Args:
        db: The graph.
        seeds: Ids that exist, without duplicates.
        hops: Rings to expand, 1 to 5.
        max_nodes: Stop after the ring that passes this number.

    Raises:
        FirstRingUnfinished: The deadline passed before the first ring was read.
        TypesUnread: It passed before the types were read.
    """
    rings, seen, edges = [sorted(seeds)], set(seeds), set[Triple]()
    stopped_by: Literal["deadline", "nodes"] | None = None
    depth = 0
    while depth < hops and rings[-1]:
        try:
            ring = list(map(tuple, await call.within(db.edges_batch(rings[-1]), RING_SHARE)))
        except TimeoutError as late:
            if depth == 0:
                raise FirstRingUnfinished(seeds, call.seconds(), _known_degree()) from late
            stopped_by = "deadline"
            break
        depth += 1
        edges.update(ring)  # type: ignore[arg-type]  # rows of three, of any type
        found = {triple[0] for triple in ring}
        found.update(triple[2] for triple in ring)
        found -= seen
        seen |= found
        rings.append(sorted(found))
        if len(seen) > max_nodes and depth < hops and found:
            stopped_by = "nodes"
            break
    nodes = await _nodes(db, [entity_id for ring in rings for entity_id in ring])
    dangling: dict[str, set[Triple]] = {}
    if unknown := seen - nodes.keys():
        rings = [[i for i in ring if i not in unknown] for ring in rings]
        dangling = _dangling(edges, unknown)
        edges = edges.difference(*dangling.values())
    finished = depth if stopped_by else hops
    return Reach(seeds, hops, finished, stopped_by, rings, nodes, edges, dangling)


async def known_seeds(
    db: GraphDbInterface, seeds: Sequence[str]
) -> tuple[list[str], tuple[str, ...]]:
    """The seeds that exist, in the order given and without duplicates; and those that do not."""
    asked = list(dict.fromkeys(seeds))
    if not asked:
        return [], ()
    nodes = {node.id for node in await call.within(db.get_nodes_batch(asked))}
    return [s for s in asked if s in nodes], tuple(s for s in asked if s not in nodes)


async def _nodes(db: GraphDbInterface, ids: list[str]) -> dict[str, Node]:
    if not ids:
        return {}
    try:
        return {node.id: node for node in await call.within(db.get_nodes_batch(ids))}
    except TimeoutError as late:
        raise TypesUnread(len(ids), call.seconds()) from late


def _dangling(edges: Collection[Triple], unknown: set[str]) -> dict[str, set[Triple]]:
    """The edges that touch an end without a node, by that end."""
    dangling: dict[str, set[Triple]] = {}
    for triple in edges:
        if triple[0] in unknown or triple[2] in unknown:
            end = triple[2] if triple[2] in unknown else triple[0]
            dangling.setdefault(end, set()).add(triple)
    return dangling


def _known_degree() -> int | None:
    """The largest number of edges that the backend gave for a node, for the error."""
    under_way = call.current()
    counts = [o.at_least for o in under_way.omissions if o.at_least] if under_way else []
    return max(counts, default=None)
