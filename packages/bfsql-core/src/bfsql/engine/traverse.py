"""Breadth first, ring by ring: topology only, in integers (`protocol.md` 1, 8, 10).

A ring comes in batches, and the bounds of the call are looked at after each. The
types of all nodes are read at the end, because an end that the store has no node for
has no edges either, so the traversal does not go on from it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple, TypeVar

import numpy as np

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.call import MAX_EDGES, MAX_EDGES_IN_COLUMNS, MAX_NODES, MAX_NODES_IN_COLUMNS
from bfsql.columns import NO_NODE, Columns, Found, Handles, IntArray, Ring
from bfsql.engine.arrays import at, concatenated, distinct, distinct_numbers, where
from bfsql.errors import BoundMet, FirstRingTooLarge, FirstRingUnfinished, TypesUnread

T = TypeVar("T")

RING_SHARE = 0.7
"""Part of the remaining time that a ring may take: the types are read after it."""
LARGE = 20_000
"""Edges or nodes that are worked on in a thread, which takes longer than some milliseconds."""


class Bounds(NamedTuple):
    """What a traversal may hold."""

    nodes: int
    edges: int

    @classmethod
    def of(cls, db: GraphDbInterface, nodes: int | None, edges: int | None) -> Bounds:
        """The bounds as given, or else the default ones, which depend on the store."""
        own = db.columns() is not None
        return cls(
            nodes or (MAX_NODES_IN_COLUMNS if own else MAX_NODES),
            edges or (MAX_EDGES_IN_COLUMNS if own else MAX_EDGES),
        )


@dataclass(frozen=True, slots=True)
class Reach:
    """What a traversal reached."""

    columns: Columns
    """What the numbers mean."""
    seeds: Sequence[str]
    """Where it started."""
    handles: IntArray
    """The handles of the seeds, in the same order."""
    hops: int
    """Rings that were asked for."""
    depth: int
    """Rings that it is exact for."""
    stopped_by: Literal["deadline", "nodes", "edges"] | None
    """The bound that was met, if one was."""
    nodes: IntArray
    """Handles: by distance from the nearest seed, then by id."""
    distances: IntArray
    """Distance of each."""
    types: IntArray
    """Number of the type of each."""
    edges: Ring
    """Every edge that touches an expanded node and has nodes at both ends, each once."""
    dangling: Ring
    """Edges left out, since the store has no node for one end."""
    missing: Handles
    """These ends."""


async def traverse(columns: Columns, seeds: Sequence[Found], hops: int, bounds: Bounds) -> Reach:
    """Expand from all seeds at once, in both directions.

    Args:
        columns: The graph.
        seeds: Nodes, each once.
        hops: Rings to expand, 1 to 5.
        bounds: A ring that passes one of them is not finished.

    Raises:
        FirstRingUnfinished: The deadline passed before the first ring was read.
        FirstRingTooLarge: It passes one of the bounds.
        TypesUnread: The deadline passed before the types were read.
    """
    stopped_by: Literal["deadline", "nodes", "edges"] | None = None
    ids, handles = [seed.id for seed in seeds], np.array([s.handle for s in seeds], np.int32)
    rings = [await columns.ordered(handles)]
    edges: list[Ring] = []
    seen, expanded = Handles(columns.size, rings[0]), Handles(columns.size)
    room = Bounds(max(0, bounds.nodes - len(seeds)), bounds.edges)
    while len(rings) <= hops and len(rings[-1]):
        try:
            ring, found = await _expanded(columns, rings[-1], seen, expanded, room)
        except TimeoutError as late:
            if not edges:
                raise FirstRingUnfinished(ids, call.seconds(), _known_degree()) from late
            stopped_by = "deadline"
            break
        except BoundMet as met:
            if not edges:
                most = bounds.nodes if met.bound == "nodes" else bounds.edges
                raise FirstRingTooLarge(ids, met.bound, most) from None
            stopped_by = met.bound
            break
        expanded.cover(columns.size)
        expanded.add(rings[-1])
        edges.append(ring)
        rings.append(await columns.ordered(found))
        room = Bounds(room.nodes - len(found), room.edges - len(ring.subjects))
    nodes = np.concatenate(rings)
    distances = np.repeat(np.arange(len(rings), dtype=np.int32), list(map(len, rings)))
    types = await _types(columns, nodes)
    real = types != NO_NODE
    missing = Handles(columns.size, nodes[~real])
    kept, dangling = await off_loop(
        sum(len(ring.subjects) for ring in edges),
        lambda: _apart(concatenated(edges), missing),
    )
    return Reach(
        columns,
        ids,
        handles,
        hops,
        len(rings) - 1 if stopped_by else hops,
        stopped_by,
        nodes[real],
        distances[real],
        types[real],
        kept,
        dangling,
        missing,
    )


async def _expanded(
    columns: Columns, frontier: IntArray, seen: Handles, expanded: Handles, room: Bounds
) -> tuple[Ring, IntArray]:
    """The edges of a ring that no ring before it had, and the nodes that it is the first to reach.

    Raises:
        TimeoutError: The time for a ring is up.
        BoundMet: The ring passes a bound.
    """
    edges: list[Ring] = []
    reached: list[IntArray] = []
    count = nodes = 0
    left = call.remaining()
    async with (
        asyncio.timeout(None if left is None else left * RING_SHARE),
        aclosing(columns.rings(frontier)) as batches,
    ):
        async for batch in batches:
            work = partial(_fresh, batch, seen, expanded, columns.size)
            ring, found = await off_loop(len(batch.subjects), work)
            edges.append(ring)
            reached.append(found)
            count, nodes = count + len(ring.subjects), nodes + len(found)
            if count > room.edges and columns.repeats:
                edges = [distinct(concatenated(edges), columns.size)]
                count = len(edges[0].subjects)
            if count > room.edges:
                raise BoundMet("edges", room.edges)
            if nodes > room.nodes:
                raise BoundMet("nodes", room.nodes)
        whole = concatenated(edges)
        if columns.repeats:
            whole = await off_loop(count, lambda: distinct(whole, columns.size))
    return whole, np.concatenate([np.empty(0, np.int32), *reached])


def _fresh(batch: Ring, seen: Handles, expanded: Handles, size: int) -> tuple[Ring, IntArray]:
    """The edges that were in no ring before, and the nodes that were in none; marks them as seen.

    An edge whose other end was expanded before was in the ring of that end.
    """
    seen.cover(size)
    if expanded:
        expanded.cover(size)
        batch = where(batch, ~(expanded.has(batch.subjects) | expanded.has(batch.objects)))
    ends = np.concatenate([batch.subjects, batch.objects])
    found = distinct_numbers(ends[~seen.has(ends)])
    seen.add(found)
    return batch, found


async def _types(columns: Columns, nodes: IntArray) -> IntArray:
    if not len(nodes):
        return nodes
    try:
        return await call.within(columns.types(nodes))
    except TimeoutError as late:
        raise TypesUnread(len(nodes), call.seconds()) from late


def _apart(edges: Ring, missing: Handles) -> tuple[Ring, Ring]:
    """The edges with nodes at both ends, and those without."""
    if not missing:
        return edges, at(edges, np.empty(0, np.intp))
    apart = missing.has(edges.subjects) | missing.has(edges.objects)
    return where(edges, ~apart), where(edges, apart)


async def off_loop(size: int, work: Callable[[], T]) -> T:
    """Do work on arrays: in a thread where they are large, so that the event loop goes on.

    Args:
        size: Nodes and edges that are worked on.
        work: Stops by itself after a part of a second.
    """
    return await asyncio.to_thread(work) if size > LARGE else work()


def _known_degree() -> int | None:
    """The largest number of edges that the backend gave for a node, for the error."""
    under_way = call.current()
    counts = [o.at_least for o in under_way.omissions if o.at_least] if under_way else []
    return max(counts, default=None)
