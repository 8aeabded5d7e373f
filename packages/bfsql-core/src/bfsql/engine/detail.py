"""Metadata for what the filters ask in full, as far as time and room allow.

`node_types` and `predicates` choose detail, not presence: what they do not
name stays as a stub, and costs the store nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Generic, Literal, TypeVar

from bfsql.abc import GraphDbInterface
from bfsql.engine.fit import Fits, most
from bfsql.engine.select import Selection
from bfsql.engine.timing import within
from bfsql.errors import NothingFits
from bfsql.models import (
    BfsQuery,
    BfsResult,
    IntersectionQuery,
    IntersectionResult,
    Metadata,
    Subgraph,
    Triple,
)

R = TypeVar("R", BfsResult, IntersectionResult)
K = TypeVar("K", str, Triple)


async def detailed(
    db: GraphDbInterface,
    query: BfsQuery | IntersectionQuery,
    first: Callable[[int], R],
    count: int,
    *,
    least: int,
    selection: Selection,
    fits: Fits[R] | None,
) -> R:
    """As many nodes, and as much metadata, as a budget and the deadline leave room for.

    What is too large as stubs costs the store no metadata.

    Args:
        db: The graph.
        query: Its filters of detail say what is to be full.
        first: The result of stubs with so many nodes; where they are fewer than
            `count`, its facts say so.
        count: Nodes of the whole page.
        least: Fewest nodes that are worth an answer.
        selection: What of the nodes' metadata is known already.
        fits: Whether a result keeps within the budget; None for no budget.

    Raises:
        NothingFits: Not even the least number of nodes does.
    """
    keeps = fits or _anything
    whole = first(count)
    if keeps(whole):
        result = await _with_metadata(db, query, whole, selection, keeps)
        if result is not None:
            return result
    kept = most(count - 1, lambda n: keeps(first(n)))
    if kept < least:
        raise NothingFits
    return first(kept)


def due(
    query: BfsQuery | IntersectionQuery, page: Subgraph
) -> tuple[Sequence[str], Sequence[Triple]]:
    """The nodes and the edges of a page that the filters want in full."""
    if query.topology_only:
        return (), ()
    types, full_types = page.types, frozenset(query.node_types)
    full_predicates = frozenset(query.predicates)
    return (
        [i for i in page.ids if not full_types or types[i] in full_types],
        [t for t in page.triples if not full_predicates or t[1] in full_predicates],
    )


async def _with_metadata(
    db: GraphDbInterface,
    query: BfsQuery | IntersectionQuery,
    stubs: R,
    selection: Selection,
    keeps: Fits[R],
) -> R | None:
    """The result with metadata, nearest first; None when its notes alone are too much."""
    nodes, edges = due(query, stubs.page)
    detail = _Detail(stubs)
    if selection.metadata is None:
        detail.nodes = await detail.read("nodes", db.metadata_for_nodes_batch, nodes)
    else:
        detail.nodes = {i: selection.metadata.get(i, {}) for i in nodes}
    if brought := selection.brought:
        detail.nodes = {i: {**brought.get(i, {}), **m} for i, m in detail.nodes.items()}
    every = len(detail.nodes)
    if keeps(detail.first(every, 0)):
        detail.edges = await detail.read("edges", db.metadata_for_edges_batch, edges)
        whole = detail.first(every, len(detail.edges))
        if keeps(whole):
            return whole
        count = most(len(detail.edges) - 1, lambda n: keeps(detail.first(every, n)))
        if count >= 0:
            return detail.first(every, count)
    else:
        detail.unread_edges = len(edges)
    count = most(every - 1, lambda n: keeps(detail.first(n, 0)))
    return detail.first(count, 0) if count >= 0 else None


@dataclass(slots=True)
class _Detail(Generic[R]):
    """What was read for a page of stubs, to be shown as far as there is room."""

    stubs: R
    nodes: dict[str, Metadata] = field(default_factory=dict)
    edges: dict[Triple, Metadata] = field(default_factory=dict)
    unread_edges: int = 0
    """Edges that are due, and that the nodes left no room for."""
    late: tuple[Literal["nodes", "edges"], ...] = ()

    async def read(
        self,
        things: Literal["nodes", "edges"],
        ask: Callable[[Any], Awaitable[Mapping[K, Metadata]]],
        keys: Sequence[K],
    ) -> dict[K, Metadata]:
        """Metadata of all of them in one batch, or of none when it comes too late."""
        if not keys:
            return {}
        try:
            found = await within(ask(keys))
        except TimeoutError:
            self.late = (*self.late, things)
            return {}
        return {key: found.get(key, {}) for key in keys}

    def first(self, nodes: int, edges: int) -> R:
        """The result with so many of the nodes full, and so many of the edges."""
        page = replace(
            self.stubs.page,
            node_metadata=_first(self.nodes, nodes),
            edge_metadata=_first(self.edges, edges),
        )
        facts = replace(
            self.stubs.facts,
            bare_nodes=len(self.nodes) - nodes,
            bare_edges=len(self.edges) - edges + self.unread_edges,
            late=self.late,
        )
        return replace(self.stubs, page=page, facts=facts)


def _first(full: dict[K, Metadata], count: int) -> dict[K, Metadata]:
    return full if count == len(full) else dict(islice(full.items(), count))


def _anything(_: Any) -> bool:
    return True
