"""What of a traversal is in the answer, and in which order (`protocol.md` 3, 5)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from bfsql.abc import GraphDbInterface
from bfsql.engine.timing import within
from bfsql.engine.traverse import Reach
from bfsql.models import NO_METADATA, Metadata, SchemaSummary, Triple


@dataclass(slots=True)
class Selection:
    """The whole answer, before its page is cut and its detail is fetched."""

    ids: list[str]
    """Nodes: by distance from the nearest seed, then by id."""
    types: dict[str, str]
    """Type of every node in the answer, and perhaps of more."""
    triples: list[Triple]
    """Edges: by subject, predicate, object."""
    brought: dict[str, Metadata]
    """What came along with the nodes; their metadata is laid over it."""
    metadata: Mapping[str, Metadata] | None
    """Metadata of all nodes reached, where `min_mentions` had to read it."""

    def summary(self) -> SchemaSummary:
        """The vocabulary of the whole answer."""
        types = self.types
        return SchemaSummary(
            sorted({types[i] for i in self.ids}),
            sorted({predicate for _, predicate, _ in self.triples}),
        )


async def select(
    db: GraphDbInterface,
    reach: Reach,
    *,
    exclude_types: Collection[str] = (),
    min_mentions: int = 1,
    among: Collection[str] | None = None,
) -> Selection:
    """Remove what the two removing filters name, and put the rest in order.

    Args:
        db: The graph; asked for metadata only where `min_mentions` needs it.
        reach: What the traversal came to.
        exclude_types: Types to remove.
        min_mentions: Remove nodes whose `total_mentions` is a number below this.
        among: Nodes that may be in the answer at all; None for every one reached.

    Raises:
        TimeoutError: The deadline passed while the mentions were read.
    """
    ids = [i for ring in reach.rings for i in ring if among is None or i in among]
    types = {entity_id: node.entity_type for entity_id, node in reach.nodes.items()}
    brought = {i: node.metadata for i, node in reach.nodes.items() if node.metadata}
    if exclude_types:
        excluded = frozenset(exclude_types)
        ids = [i for i in ids if types[i] not in excluded]
    metadata = None
    if min_mentions > 1 and ids:
        if not all("total_mentions" in brought.get(i, NO_METADATA) for i in ids):
            metadata = await within(db.metadata_for_nodes_batch(ids))
        read = metadata or {}
        ids = [
            i
            for i in ids
            if _mentions({**brought.get(i, {}), **read.get(i, {})}, min_mentions) >= min_mentions
        ]
    return Selection(ids, types, _between(reach, ids), brought, metadata)


def _mentions(metadata: Metadata, otherwise: int) -> float | Decimal:
    value = metadata.get("total_mentions")
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return value if value == value else otherwise  # noqa: PLR0124 - NaN is no number
    return otherwise  # "a value that is no number counts as absent"


def _between(reach: Reach, ids: Sequence[str]) -> list[Triple]:
    if len(ids) == len(reach.nodes):
        return sorted(reach.edges)
    kept = frozenset(ids)
    return sorted(t for t in reach.edges if t[0] in kept and t[2] in kept)
