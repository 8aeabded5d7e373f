"""Outlines of stores behind a connection, computed from ids and edges by the backend's batches.

A backend lists its nodes and edges, or a sample if they are many; types and metadata are
read by its own batch methods, so the outline agrees with the answers. Of a larger graph the store
itself counts nodes and relations, as long as that takes no more than a given time.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Collection, Mapping, Sequence
from typing import TypeVar

from bfsql import call
from bfsql.abc import GraphDbInterface, chunks
from bfsql.models import Metadata, Outline, Triple, outline_of

MOST_NODES = 20_000
"""Up to this number of nodes all are read; of larger graphs, a sample of about this size."""
MOST_EDGES = 50_000
"""Up to this number of edges all are read, parallel ones counted separately; otherwise a sample."""

_Value = TypeVar("_Value")
_Counts = TypeVar("_Counts")


async def counted_in_time(counting: Awaitable[_Counts], seconds: float) -> _Counts | None:
    """The counts of a whole graph; None if they take too long, so that a sample has to do.

    Args:
        counting: Counts in the store. It is cancelled if it takes too long.
        seconds: How long it may take, at most half of the remaining time of the call.
    """
    try:
        async with asyncio.timeout(call.seconds_left(seconds, share=0.5)):
            return await counting
    except TimeoutError:
        return None


def evenly_spaced(values: Sequence[_Value], most: int | None) -> list[_Value]:
    """At most `most` of the values, evenly spaced; all if it is None."""
    if most is None or len(values) <= most:
        return list(values)
    return [values[position * len(values) // most] for position in range(most)]


async def outline_by_batches(
    db: GraphDbInterface,
    ids: Collection[str],
    edges: Collection[Triple],
    *,
    sampled: bool,
    node_counts: Mapping[str, int] | None = None,
    edge_counts: Mapping[tuple[str, str, str], int] | None = None,
) -> Outline:
    """The outline of a graph.

    Args:
        db: The backend.
        ids: The ids of all nodes, or of a sample.
        edges: All edges, or a sample; each may occur several times.
        sampled: Whether either of them is a sample.
        node_counts: The number of nodes by type, if the store counted all of them.
        edge_counts: The number of edges by relation, as for `outline_of`, if the store counted all
            of them.
    """
    distinct = sorted(set(edges))
    types = await _types(db, ids, distinct)
    known = [i for i in dict.fromkeys(ids) if i in types]
    whole = [edge for edge in distinct if edge[0] in types and edge[2] in types]
    some = 10_000 if sampled else None
    nodes: dict[str, Metadata] = {}
    for chunk in chunks(evenly_spaced(known, some)):
        with call.borrowed():
            nodes |= await db.metadata_for_nodes_batch(chunk)
    described: dict[Triple, Metadata] = {}
    for part in chunks(evenly_spaced(whole, some)):
        with call.borrowed():
            described |= await db.metadata_for_edges_batch(part)
    of_nodes = Counter() if sampled else Counter(types[i] for i in known)
    of_edges = Counter((types[s], p, types[o]) for s, p, o in whole)
    return await asyncio.to_thread(
        outline_of,
        of_nodes if node_counts is None else node_counts,
        of_edges if edge_counts is None else edge_counts,
        [(types[i], metadata) for i, metadata in nodes.items() if i in types],
        [(edge[1], metadata) for edge, metadata in described.items()],
        sampled=sampled and edge_counts is None,
    )


async def _types(
    db: GraphDbInterface, ids: Collection[str], edges: Collection[Triple]
) -> dict[str, str]:
    """The type of each node among some ids and the ends of some edges."""
    types: dict[str, str] = {}
    ends = (end for s, _, o in edges for end in (s, o))
    for chunk in chunks(sorted({*ids, *ends})):
        types.update((node.id, node.entity_type) for node in await db.get_nodes_batch(chunk))
    return types
