"""Breadth first, ring by ring: topology only (`protocol.md` 1, 8, 10).

One ring is one batch. What comes back are tuples; the types of all nodes are
read in one further batch at the end, because an end that the store has no node
for gives no edges when it is asked, and so leads nowhere in the meantime.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.engine.timing import TRAVERSAL_SHARE, seconds, within
from bfsql.errors import FirstRingUnfinished, TypesUnread
from bfsql.models import Node, Triple
from bfsql.settings.server import MAX_NODES


@dataclass(slots=True)
class Reach:
    """What a traversal came to."""

    rings: list[list[str]]
    """Ids by distance from the nearest seed, each ring sorted."""
    nodes: dict[str, Node]
    """The record of every one of them."""
    edges: set[Triple]
    """Every edge that touches an expanded node and has nodes at both ends."""
    depth: int
    """The depth that this is exact for."""
    stopped_by: Literal["deadline", "nodes"] | None
    """The bound that was met, if one was."""
    dangling: dict[str, set[Triple]]
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
            ring = list(map(tuple, await within(db.edges_batch(rings[-1]), TRAVERSAL_SHARE)))
        except TimeoutError as late:
            if depth == 0:
                raise FirstRingUnfinished(seeds, seconds(), _known_degree()) from late
            stopped_by = "deadline"
            break
        depth += 1
        edges.update(ring)  # type: ignore[arg-type]  # rows of three, whatever the driver calls them
        found = {triple[0] for triple in ring}
        found.update(triple[2] for triple in ring)
        found -= seen
        seen |= found
        rings.append(sorted(found))
        if len(seen) > max_nodes and depth < hops and found:
            stopped_by = "nodes"
            break
    nodes = await _nodes(db, [entity_id for ring in rings for entity_id in ring])
    reach = Reach(rings, nodes, edges, depth if stopped_by else hops, stopped_by, {})
    if unknown := seen - nodes.keys():
        _drop_dangling(reach, unknown)
    return reach


async def _nodes(db: GraphDbInterface, ids: list[str]) -> dict[str, Node]:
    if not ids:
        return {}
    try:
        return {node.id: node for node in await within(db.get_nodes_batch(ids))}
    except TimeoutError as late:
        raise TypesUnread(len(ids), seconds()) from late


def _drop_dangling(reach: Reach, unknown: set[str]) -> None:
    """Take out the ends that are no nodes, and the edges that touch them."""
    reach.rings = [[i for i in ring if i not in unknown] for ring in reach.rings]
    for triple in [t for t in reach.edges if t[0] in unknown or t[2] in unknown]:
        reach.edges.discard(triple)
        end = triple[2] if triple[2] in unknown else triple[0]
        reach.dangling.setdefault(end, set()).add(triple)


def _known_degree() -> int | None:
    under_way = call.current()
    counts = [o.at_least for o in under_way.omissions if o.at_least] if under_way else []
    return max(counts, default=None)
