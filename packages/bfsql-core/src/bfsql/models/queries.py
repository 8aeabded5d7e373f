"""What is asked: the arguments of the two traversals, checked."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

MAX_HOPS = 5
"""Largest `max_hops` and `k` (Appendix A: "Hop radius (1--5)")."""


class _Filters(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    seeds: list[str] = Field(description="Canonical entity ids to start from.")
    node_types: list[str] = Field(
        default=[], description="Types that get full metadata; empty means all."
    )
    predicates: list[str] = Field(
        default=[], description="Predicates that get full metadata; empty means all."
    )
    topology_only: bool = Field(
        default=False, description="Every node and edge a stub; overrides the two filters."
    )
    exclude_node_types: list[str] = Field(
        default=[], description="Types to remove, with every edge that touches them."
    )
    min_mentions: int = Field(
        default=1, ge=1, description="Remove nodes whose `total_mentions` is below this."
    )


class BfsQuery(_Filters):
    """The union of the seeds' neighbourhoods (Appendix A, `bfs_query`)."""

    max_hops: int = Field(ge=1, le=MAX_HOPS, description="Largest distance from any seed.")
    limit: int | None = Field(default=None, ge=1, description="Nodes a page; None is all.")
    offset: int = Field(default=0, ge=0, description="Nodes to skip before the page.")


class IntersectionQuery(_Filters):
    """What lies within reach of every seed (Appendix A, `intersect_subgraphs`)."""

    k: int = Field(ge=1, le=MAX_HOPS, description="Hop radius around each seed.")
