"""What the handlers share: the open graph, and the bounds of a request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bfsql.abc import DEFAULT_NEXT_STEPS, AdaptedGraphDb
from bfsql.call import within
from bfsql.graph import Graph
from bfsql.models import Node
from bfsql.tools.validate import require

MOST_IN_BATCH = 10_000
"""Ids or relations that one batch may name."""


@dataclass(frozen=True, slots=True)
class Api:
    """The web API over one graph."""

    graph: Graph
    max_request_bytes: int
    token: bool = False
    """Whether requests have to carry one."""

    @property
    def db(self) -> AdaptedGraphDb:
        """The graph, without what redaction hooks take out of its metadata."""
        return self.graph.shown

    async def node(self, entity_id: str) -> Node:
        """The entity that a path names.

        Raises:
            ToolError: There is none, with the closest known ids.
        """
        [node] = await require(self.db, "id", [entity_id])
        return node

    async def vocabulary(self) -> tuple[Sequence[str], Sequence[str]]:
        """Entity types and predicates, sorted."""
        types = await within(self.db.entity_types())
        predicates = await within(self.db.predicates())
        return sorted(set(types)), sorted(set(predicates))

    async def comprehensive(self) -> bool:
        """Whether the vocabulary is complete."""
        return await within(self.db.comprehensive())

    async def next_steps(self) -> str:
        """The backend's advice, or the general one."""
        return await within(self.db.next_steps()) or DEFAULT_NEXT_STEPS
