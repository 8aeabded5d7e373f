"""Outlines of stores behind a connection, computed from ids and edges by the backend's batches.

A backend lists its nodes and edges, or a sample if they are many; types and metadata are
read by its own batch methods, so the outline agrees with the answers.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

from bfsql.abc import GraphDbInterface
from bfsql.models import Metadata, Outline, Triple, outline_of

MOST_NODES = 20_000
"""Up to this number of nodes all are read; of larger graphs, a sample of about this size."""
MOST_EDGES = 50_000
"""Up to this number of edges all are read, parallel ones counted separately; otherwise a sample."""
DESCRIBED = 10_000
"""Number of nodes and edges of a sample whose metadata is read."""

_CHUNK = 2_500
_Key = TypeVar("_Key")


async def outline_by_batches(
    db: GraphDbInterface,
    ids: Collection[str],
    edges: Collection[Triple],
    *,
    sampled: bool,
    node_counts: Mapping[str, int] | None = None,
) -> Outline:
    """The outline of a graph.

    Args:
        db: The backend.
        ids: The ids of all nodes, or of a sample.
        edges: All edges, or a sample; each may occur several times.
        sampled: Whether either of them is a sample.
        node_counts: The number of nodes by type, if the store has better counts.
    """
    types: dict[str, str] = {}
    distinct = sorted(set(edges))
    for chunk in _chunks(sorted({*ids, *(end for s, _, o in distinct for end in (s, o))})):
        types.update((node.id, node.entity_type) for node in await db.get_nodes_batch(chunk))
    known = [i for i in dict.fromkeys(ids) if i in types]
    whole = [edge for edge in distinct if edge[0] in types and edge[2] in types]
    some = DESCRIBED if sampled else None
    nodes: dict[str, Metadata] = {}
    for chunk in _chunks(_spread(known, some)):
        nodes |= await db.metadata_for_nodes_batch(chunk)
    described: dict[Triple, Metadata] = {}
    for part in _chunks(_spread(whole, some)):
        described |= await db.metadata_for_edges_batch(part)
    return await asyncio.to_thread(
        outline_of,
        node_counts or Counter(types[i] for i in known),
        Counter((types[s], p, types[o]) for s, p, o in whole),
        [(types[i], metadata) for i, metadata in nodes.items() if i in types],
        [(edge[1], metadata) for edge, metadata in described.items()],
        sampled=sampled,
    )


def _chunks(keys: Sequence[_Key]) -> list[Sequence[_Key]]:
    return [keys[start : start + _CHUNK] for start in range(0, len(keys), _CHUNK)]


def _spread(keys: Sequence[_Key], most: int | None) -> Sequence[_Key]:
    """At most `most` of the keys, evenly spread."""
    if most is None or len(keys) <= most:
        return keys
    return [keys[place * len(keys) // most] for place in range(most)]
