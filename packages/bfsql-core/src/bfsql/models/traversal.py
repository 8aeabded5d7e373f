"""Traversals: the checked arguments, the result, and the facts that explain it.

A result holds its nodes and edges in columns, because an answer of 60,000 hub
neighbours is written from ids and types alone; `nodes` and `edges` create the
records of the protocol from them for programs that need objects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from bfsql.models.condition import ConditionTally, PropertyCondition
from bfsql.models.facet import Facets
from bfsql.models.path import MAX_ALONG, Path, ShownNodes
from bfsql.models.pattern import ScopedRelation, StepComparison
from bfsql.models.records import (
    Edge,
    EdgeWithMetadata,
    EntityStub,
    Metadata,
    Node,
    Omission,
    Triple,
)

MAX_HOPS = 5
"""Largest `max_hops` and `k` (`protocol.md` 2)."""


class _Filters(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    seeds: list[str] = Field(description="Canonical entity ids to start from, and patterns.")
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
    where: list[str] = Field(default=[], description="Conditions on metadata that all hold.")
    relations: tuple[ScopedRelation, ...] = Field(
        default=(), description="Conditions on the relations of nodes that all hold."
    )
    sort_by: str | None = Field(default=None, description="The order of the nodes.")
    fields: list[str] = Field(default=[], description="Metadata keys to show; empty means all.")
    facets: list[str] = Field(
        default=[], description="Properties whose values are counted over the whole answer."
    )


class _PagedQuery(_Filters):
    seed_count: int | None = Field(
        default=None, description="Number of different seeds, where one of them is a pattern."
    )
    limit: int | None = Field(default=None, ge=0, description="Shown nodes a page; None is all.")
    offset: int = Field(default=0, ge=0, description="Shown nodes to skip before the page.")


class BfsQuery(_PagedQuery):
    """The union of the seeds' neighbourhoods (`tools.md`)."""

    max_hops: int = Field(
        ge=0, le=MAX_ALONG, description="Largest distance from any seed; 0 is the seeds alone."
    )
    along: tuple[Path, ...] = Field(
        default=(), description="The only steps to follow, each a path; empty means all edges."
    )

    @model_validator(mode="after")
    def _is_near(self) -> Self:
        if self.max_hops > MAX_HOPS and not self.along:
            raise ValueError(f"max_hops is at most {MAX_HOPS} where all edges are followed")
        return self


class PathQuery(_PagedQuery):
    """What lies on the walks along a path (`protocol.md` 30)."""

    path: Path = Field(description="The steps.")
    show: int | None = Field(
        default=None, ge=0, description="The step whose nodes are shown; None is the last."
    )
    walks: bool = Field(default=True, description="Whether the walks of shown nodes are shown.")
    row_step: int | None = Field(
        default=None,
        ge=0,
        description="Where walks are shown, one a row: the step by whose nodes they are ordered.",
    )
    comparisons: tuple[StepComparison, ...] = Field(
        default=(), description="Steps whose nodes have to be the same, or different."
    )
    count_distinct: int | None = Field(
        default=None, ge=0, description="A step whose different nodes are counted."
    )
    measure: list[str] = Field(default=[], description="Numbers for each shown node.")
    having: tuple[PropertyCondition, ...] = Field(
        default=(), description="Conditions on named measures that shown nodes meet."
    )

    @property
    def shown_step(self) -> int:
        """The step whose nodes are shown; 0 is the seeds."""
        return len(self.path.steps) if self.show is None else self.show

    @property
    def ordered_step(self) -> int:
        """The step whose nodes are put in order: the shown one or that of the rows."""
        return self.shown_step if self.row_step is None else self.row_step


class IntersectionQuery(_Filters):
    """What lies within reach of every seed (`tools.md`)."""

    k: int = Field(ge=1, le=MAX_HOPS, description="Hop radius around each seed.")


# --- results ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SchemaSummary:
    """The vocabulary of one answer, regardless of its filters and its page."""

    entity_types_found: list[str]
    """Types of the nodes in the whole answer, sorted."""
    predicates_found: list[str]
    """Predicates of the edges in the whole answer, sorted."""
    node_counts: dict[str, int] = field(default_factory=dict)
    """Nodes of each type in the whole answer, seeds included."""
    edge_counts: dict[str, int] = field(default_factory=dict)
    """Edges of each predicate in the whole answer."""


@dataclass(frozen=True, slots=True)
class SchemaDescription:
    """The answer of `describe_schema`."""

    graph_description: str
    comprehensive: bool
    entity_types: list[str]
    predicates: list[str]
    next_steps: str
    tool_usage_notes: str


@dataclass(frozen=True, slots=True)
class SortKeySummary:
    """The sort key of an answer."""

    key: str
    """A property or a number."""
    had: int
    """Number of nodes that have it."""
    mixed: bool
    """Whether it is a number in some nodes and text in others."""
    unordered: str | None = None
    """A text that looks like a date or a number, if most values are such texts."""
    known: tuple[str, ...] = ()
    """Properties of a name like the key, where no node has it."""

    def joined(self, other: SortKeySummary) -> SortKeySummary:
        """The combined facts of two parts of an answer."""
        return SortKeySummary(
            self.key,
            self.had + other.had,
            self.mixed or other.mixed,
            self.unordered or other.unordered,
            self.known or other.known,
        )


@dataclass(frozen=True, slots=True)
class MeasureSummary:
    """The property of a measure."""

    text: str
    """The measure."""
    had: int
    """Number of nodes or edges of its step that have the property."""
    texts: int
    """Number of values left out because they are text and others are numbers."""
    unordered: str | None = None
    """A text that looks like a date or a number, if `min` or `max` compares such texts."""
    known: tuple[str, ...] = ()
    """Properties that there are, where nothing has this one."""
    by_text: bool = False
    """Whether it names nodes by the order of text."""
    cut: int = 0
    """Number of shown nodes for which it leaves out nodes with the last of its values."""


@dataclass(frozen=True, slots=True)
class AnswerGaps:
    """Omissions of an answer, with reasons; `bfsql.answers` turns them into sentences."""

    asked_depth: int | None = None
    """`max_hops` or `k` as requested, if the answer stopped before it."""
    finished_depth: int | None = None
    """The depth for which the answer is exact, if that is less."""
    stopped_by: Literal["deadline", "nodes", "edges", "memory"] | None = None
    """Which bound stopped the traversal."""
    farthest: int | None = None
    """With `along`: the largest distance of a node from the nearest seed."""
    outermost: int = 0
    """With `along`: number of nodes at the largest requested distance, which may lead further."""
    dangling_ids: int = 0
    """Number of edge ends for which the store has no node."""
    dangling_edges: int = 0
    """Number of edges left out because of them."""
    unknown_seeds: tuple[str, ...] = ()
    """Seeds that the store does not have; the tools refuse them beforehand."""
    removed_seeds: tuple[str, ...] = ()
    """Seeds that an excluding filter removed."""
    past_the_end: bool = False
    """Whether the offset is not below `node_count`."""
    edges_to_earlier: int = 0
    """Number of edges between this page and the ones before it."""
    cut_nodes: int = 0
    """Number of nodes cut from the end of the page by the budget."""
    tied: int = 0
    """Number of nodes, or walks, directly behind the page that have the last one's sort key."""
    lost: tuple[int, int] | None = None
    """Number of nodes that walks reach at the shown step, or at the start of rows, and that are on
    no complete walk; and of all that they reach there."""
    cut_types: dict[str, int] = field(default_factory=dict)
    """The cut nodes by type, for an answer without pages."""
    bare_nodes: int = 0
    """Number of nodes whose metadata was requested and did not fit the budget."""
    bare_edges: int = 0
    """Number of edges whose metadata was requested and did not fit the budget."""
    late: tuple[Literal["nodes", "edges"], ...] = ()
    """Items that became stubs because the deadline passed before their metadata was read."""
    omissions: tuple[Omission, ...] = ()
    """Omissions that the backend reported."""
    conditions: tuple[ConditionTally, ...] = ()
    """The findings of the conditions of `where`."""
    below: tuple[int, int] | None = None
    """Number of shown nodes whose measures do not meet a condition, and of all of them."""
    valueless: tuple[tuple[str, int], ...] = ()
    """Comparisons of steps, with the numbers of pairs for which their expression has no value."""
    absent_fields: tuple[str, ...] = ()
    """Keys of `fields` that nothing on the page has."""
    stripped_fields: tuple[str, ...] = ()
    """Keys of `fields` that nothing on the page has because traversals leave them out of edges."""
    edge_properties: tuple[str, ...] = ()
    """Properties of edges of the page, if `fields` names none of them."""
    order: SortKeySummary | None = None
    """How the nodes are sorted, if `sort_by` is used."""
    measures: tuple[MeasureSummary, ...] = ()
    """The properties of measures."""


@dataclass(frozen=True, slots=True)
class Subgraph:
    """One page, in columns and in the order of the answer."""

    ids: Sequence[str]
    """Node ids: by distance from the nearest seed, then by id."""
    types: dict[str, str]
    """Type of every node; may include nodes that are not on the page."""
    triples: Sequence[Triple]
    """Edges whose two ends are both on the page, sorted."""
    node_metadata: dict[str, Metadata] = field(default_factory=dict)
    """Metadata of the nodes with detail; the others are stubs."""
    edge_metadata: dict[Triple, Metadata] = field(default_factory=dict)
    """Metadata of the edges with detail; the others are stubs."""
    degrees: Mapping[str, int] = field(default_factory=dict)
    """By id of the nodes that the page counts: edges of the whole answer that touch the node, if
    nodes are sorted by it."""

    @property
    def nodes(self) -> list[Node | EntityStub]:
        """The nodes as records: `Node` with detail, `EntityStub` otherwise."""
        types, full = self.types, self.node_metadata
        return [
            Node(i, types[i], full[i]) if i in full else EntityStub(i, types[i]) for i in self.ids
        ]

    @property
    def edges(self) -> list[EdgeWithMetadata | Edge]:
        """The edges as records: `EdgeWithMetadata` with detail, `Edge` otherwise."""
        full = self.edge_metadata
        return [EdgeWithMetadata(*t, full[t]) if t in full else Edge(*t) for t in self.triples]


@dataclass(frozen=True, slots=True)
class _Result:
    seeds: list[str]
    node_count: int
    """Nodes of the whole answer, before the page."""
    edge_count: int
    """Triples of the whole answer, before the page."""
    schema_summary: SchemaSummary
    page: Subgraph
    facts: AnswerGaps

    @property
    def nodes(self) -> list[Node | EntityStub]:
        """The nodes of the page."""
        return self.page.nodes

    @property
    def edges(self) -> list[EdgeWithMetadata | Edge]:
        """The edges of the page."""
        return self.page.edges


@dataclass(frozen=True, slots=True)
class BfsResult(_Result):
    """The union of the seeds' neighbourhoods (`tools.md`)."""

    max_hops: int
    offset: int = 0
    limit: int | None = None
    shown: ShownNodes | None = None
    """What the page of a path counts; None without a path."""
    seed_count: int | None = None
    """Number of different seeds; None if all of them are ids."""
    along: Sequence[str] = ()
    """The only steps that were followed; empty if all edges were."""
    facets: Facets = field(default_factory=dict)
    """The facets of the whole answer; empty where none was requested, and with an offset."""


@dataclass(frozen=True, slots=True)
class IntersectionResult(_Result):
    """What lies within reach of every seed (`tools.md`)."""

    k: int
    common_count: int | None = None
    """Number of leading nodes that are within reach of every seed; the others connect them."""
    facets: Facets = field(default_factory=dict)
    """The facets of the whole answer; empty where none was requested."""
