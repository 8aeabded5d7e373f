"""What of a traversal is in the answer, and in which order (`protocol.md` 3, 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.engine.traverse import Reach
from bfsql.models import (
    NO_METADATA,
    BfsQuery,
    Facts,
    IntersectionQuery,
    Metadata,
    SchemaSummary,
    Triple,
)


@dataclass(frozen=True, slots=True)
class Selection:
    """The whole answer, before its page is cut and its detail is read; `engine` reads it."""

    ids: Sequence[str]
    """Nodes: by distance from the nearest seed, then by id."""
    types: dict[str, str]
    """Type of every node in the answer, and perhaps of more."""
    triples: Sequence[Triple]
    """Edges: by subject, predicate, object."""
    summary: SchemaSummary
    """The vocabulary of the whole answer."""
    brought: Mapping[str, Metadata]
    """What came along with the nodes; their metadata is laid over it."""
    metadata: Mapping[str, Metadata] | None
    """Metadata of all nodes reached, where `min_mentions` had to read it."""
    facts: Facts
    """What the traversal and the removing filters left out."""


async def select(
    db: GraphDbInterface, query: BfsQuery | IntersectionQuery, reach: Reach
) -> Selection:
    """Remove what the two removing filters name, and put the rest in order.

    Args:
        db: The graph; asked for metadata only where `min_mentions` needs it.
        query: Its `exclude_node_types` and `min_mentions`.
        reach: What the traversal reached.

    Raises:
        TimeoutError: The deadline passed while the mentions were read.
    """
    ids = [i for ring in reach.rings for i in ring]
    types = {entity_id: node.entity_type for entity_id, node in reach.nodes.items()}
    brought = {i: node.metadata for i, node in reach.nodes.items() if node.metadata}
    if query.exclude_node_types:
        excluded = frozenset(query.exclude_node_types)
        ids = [i for i in ids if types[i] not in excluded]
    metadata, least = None, query.min_mentions
    if least > 1 and ids:
        if not all("total_mentions" in brought.get(i, NO_METADATA) for i in ids):
            metadata = await call.within(db.metadata_for_nodes_batch(ids))
        read = metadata or {}
        ids = [
            i for i in ids if _mentions({**brought.get(i, {}), **read.get(i, {})}, least) >= least
        ]
    triples = _between(reach, ids)
    summary = SchemaSummary(
        sorted({types[i] for i in ids}), sorted({predicate for _, predicate, _ in triples})
    )
    return Selection(ids, types, triples, summary, brought, metadata, _facts(reach, ids))


def _mentions(metadata: Metadata, otherwise: int) -> float | Decimal:
    value = metadata.get("total_mentions")
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return value if value == value else otherwise  # noqa: PLR0124 - NaN is no number
    return otherwise  # "a value that is no number counts as absent"


def _between(reach: Reach, ids: Sequence[str]) -> list[Triple]:
    """The edges whose two ends are among the ids, sorted."""
    if len(ids) == len(reach.nodes):
        return sorted(reach.edges)
    kept = frozenset(ids)
    return sorted(t for t in reach.edges if t[0] in kept and t[2] in kept)


def _facts(reach: Reach, ids: Sequence[str]) -> Facts:
    present, stopped = frozenset(ids), reach.depth < reach.hops
    return Facts(
        asked_depth=reach.hops if stopped else None,
        finished_depth=reach.depth if stopped else None,
        stopped_by=reach.stopped_by,
        dangling_ids=len(reach.dangling),
        dangling_edges=sum(map(len, reach.dangling.values())),
        removed_seeds=tuple(s for s in reach.seeds if s not in present),
    )
