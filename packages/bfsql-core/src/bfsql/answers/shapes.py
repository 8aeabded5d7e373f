"""The exact shapes of answers, for clients and tests (`tools.md`).

These models are the only description of answers. Nothing is coerced, and a field that the
protocol does not have is an error, so reading an answer with them proves its form:

    answer = await graph.bfs_query(seeds=["film:1"], max_hops=1)
    subgraph = shapes.ANSWERS["bfs_query"].validate_json(answer.text)

A server publishes coarse schemas, made from them by `coarse`: clients check every answer against
these, and detailed ones cost them 0.7 s per megabyte. The web API describes its answers with the
models.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter

from bfsql.models import MAX_ALONG, MAX_HOPS
from bfsql.models.facet import TIES
from bfsql.models.matching import MatchClass

Notes = Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)]
"""Sentences on what is missing; absent when there is nothing to say (`protocol.md` 11)."""

Count = Annotated[int, Field(ge=0)]
MeasureValue: TypeAlias = int | float | str | None
"""A number; text where a property has none; null where there is no value."""
NodeName = Annotated[list[str | None], Field(min_length=2, max_length=2)]
"""The id of a node, and its name or null."""
TopNodes = Annotated[
    list[Annotated[list[MeasureValue], Field(min_length=3, max_length=3)]], Field(min_length=1)
]
"""What `top` found: value, id, and name or null; the best first."""
Depth = Annotated[int, Field(ge=1, le=MAX_HOPS)]
OPTIONAL_LIST: Any = Field(default=[], validate_default=False)
_NOT_STATED: Any = Field(default=None, validate_default=False)
OPTIONAL_MAP: Any = Field(default={}, validate_default=False)
_COMPLETE: Any = Field(
    default=None,
    validate_default=False,
    description="True if what is not in the answer is not in the graph; or absent.",
)
_NODES: Any = Field(description="Full {id, entity_type, metadata} or stub {id, entity_type}.")
_JSON_TYPES: dict[Any, str] = {str: "string", bool: "boolean", int: "integer", list: "array"}


class StrictModel(BaseModel):
    """Part of an answer; unknown fields and values of other types are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class AnswerNode(StrictModel):
    """A node: a "lightweight stub" of two fields, or also its metadata, which may be empty."""

    id: str
    entity_type: str
    metadata: dict[str, JsonValue] = OPTIONAL_MAP
    """Only of a type that the call asked for in full."""
    undecided: Literal[True] = _NOT_STATED
    """Only where edges that the store left out could change a condition on relations."""
    degree: Count = 0
    """Only where nodes are sorted by it: edges of the whole answer that touch the node."""


class ViaNode(AnswerNode):
    """A node that only connects the common nodes of an intersection to its seeds."""

    via: Literal[True]


class BestNodes(StrictModel):
    """What `argmax` or `argmin` found."""

    value: MeasureValue
    nodes: Annotated[list[NodeName], Field(min_length=1, max_length=TIES)]
    """The nodes that have the value, by id."""
    count: Annotated[int, Field(ge=1)]
    """Number of all nodes that have it."""


class ShownNode(AnswerNode):
    """A node that the page of a path counts."""

    paths: Count
    distinct: Count = 0
    """Only with `count_distinct`."""
    measure: MeasureValue | BestNodes | TopNodes | list[MeasureValue | BestNodes | TopNodes] = None
    """Only with `measure`: the number, or a list where several are requested."""


class StubEdge(StrictModel):
    """An edge without detail: the bare triple."""

    subject: str
    predicate: str
    object: str


class FullEdge(StubEdge):
    """An edge whose predicate the call asked for in full; its metadata may be empty."""

    metadata: dict[str, JsonValue]


class WalkRow(StrictModel):
    """One walk along a path."""

    nodes: Annotated[list[str], Field(min_length=2)]
    """Ids, from the seed on."""
    edges: Annotated[list[str], Field(min_length=1)] = OPTIONAL_LIST
    """Predicates, with > or < in front where a step allows both directions; absent where each step
    names one predicate and one direction."""
    values: Annotated[dict[str, JsonValue], Field(min_length=1)] = OPTIONAL_MAP
    """What `fields` computes of the nodes of its steps."""


class SchemaSummary(StrictModel):
    """The vocabulary of the whole answer, whatever its filters and its page."""

    entity_types_found: list[str]
    predicates_found: list[str]
    node_counts: dict[str, Count]
    edge_counts: dict[str, Count]


class Facet(StrictModel):
    """The values of a property over the whole answer."""

    count: Count
    """Nodes or edges that have the property."""
    missing: Count
    """Those that do not."""
    distinct: Count
    """Different values."""
    numbers: Count = 0
    """Values that are numbers, where others are text."""
    min: MeasureValue = None
    max: MeasureValue = None
    mean: MeasureValue = None
    sum: MeasureValue = None
    """Absent where no value is a number; rounded where no JSON number has all digits."""
    p10: MeasureValue = None
    p25: MeasureValue = None
    p50: MeasureValue = None
    p75: MeasureValue = None
    p90: MeasureValue = None
    """Percentiles of the numbers; only where not all values are listed."""
    values: list[Annotated[list[str | int | float], Field(min_length=2, max_length=3)]]
    """The most common values, each with its number and, where all are listed, its share."""
    other_values: Count = 0
    """Different values that are not listed; absent if there are none."""


class _Subgraph(StrictModel):
    at: str = _NOT_STATED
    """Only with `at`: the time, and how many edges have no dates."""
    seeds: Annotated[list[str], Field(min_length=1)]
    node_count: Count
    edge_count: Count
    complete: Literal[True] = _COMPLETE
    notes: Notes = Field(
        default=[], validate_default=False, description="What is missing, and how to get it."
    )
    facets: Annotated[dict[str, Facet], Field(min_length=1)] = Field(
        default={},
        validate_default=False,
        description="Counts, min, max, mean, sum and values of the whole answer.",
    )
    schema_summary: SchemaSummary
    nodes: list[AnswerNode] = _NODES
    edges: list[StubEdge | FullEdge] = Field(
        description="{subject, predicate, object}, and metadata where it is full."
    )


class BfsAnswer(_Subgraph):
    """What `bfs_query` gives."""

    seed_count: Count = 0
    """Only where a seed is a pattern: the number of different seeds."""
    max_hops: Annotated[int, Field(ge=0, le=MAX_ALONG)]
    """0 for sets of entities alone; at most 5 without `along`, and 8 with a path."""
    along: Annotated[list[str], Field(min_length=1)] = OPTIONAL_LIST
    """The only steps that were followed."""
    shown_count: Count = 0
    """Only with a path."""
    walk_count: Count = 0
    """Only with `show: "walks"`."""
    measure: Annotated[list[str], Field(min_length=1)] = OPTIONAL_LIST
    """The texts of the measures, in the order of each node's."""
    walks: list[WalkRow] = Field(
        default=[], validate_default=False, description="With show=walks: rows {nodes, edges}."
    )
    nodes: list[AnswerNode | ShownNode] = _NODES


class IntersectionAnswer(_Subgraph):
    """What `intersect_subgraphs` gives."""

    seeds: Annotated[list[str], Field(min_length=2)]
    k: Depth
    common_count: Count = 0
    """Only with `connect`."""
    nodes: list[AnswerNode | ViaNode] = _NODES


class SearchHit(StrictModel):
    """A candidate; without a name where the store has none, and always with a score."""

    id: str
    entity_type: str
    name: str = ""
    score: Annotated[float, Field(ge=0, le=1)] | None
    """Vector similarity; null where text was matched."""
    match: MatchClass
    """How the text matches; hits come in this order."""
    context: Annotated[list[str], Field(min_length=1, max_length=3)] = OPTIONAL_LIST
    """What tells a hit from those of the same name and type."""


Hits = Annotated[list[SearchHit], Field(max_length=20)]


class SearchAnswer(StrictModel):
    """What `search_entities` gives as structured content; its text is `result` alone."""

    result: Hits = Field(description="{id, entity_type, name, score, match, context}, best first.")
    notes: Notes = OPTIONAL_LIST


class EvidenceItem(StubEdge):
    """A passage behind an edge; fields that the store does not know are left out."""

    document_id: str = ""
    section: str = ""
    text_span: str = ""
    confidence: float = 0.0


class Provenance(StrictModel):
    """The evidence of an entity (`protocol.md` 16)."""

    total: Count | None
    """Null if not all edges were examined."""
    items: Annotated[list[EvidenceItem], Field(max_length=20)]


class EntityRecord(StrictModel):
    """A flat record: metadata stands beside the identity, so further keys are allowed."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, JsonValue]

    id: str
    entity_type: str


class EntityAnswer(EntityRecord):
    """What `describe_entity` gives: the record, and the evidence that touches the entity."""

    notes: Notes = OPTIONAL_LIST
    edges: Annotated[dict[str, Annotated[int, Field(ge=1)]], Field(min_length=1)] = Field(
        default={}, validate_default=False, description="Counts by predicate and direction."
    )
    """Keys are steps of a path: `-inhibits->` to 3."""
    provenance: Provenance = Field(
        default_factory=lambda: Provenance(total=0, items=[]),
        description="{total, items}: evidence.",
    )


class EntitiesAnswer(StrictModel):
    """What `describe_entities` gives as structured content; its text is `result` alone."""

    result: list[EntityRecord] = Field(
        description="Flat records: id, entity_type, metadata fields."
    )
    notes: Notes = OPTIONAL_LIST


class SchemaAnswer(StrictModel):
    """What `describe_schema` gives."""

    graph_description: str
    comprehensive: bool
    """Whether the lists of types and predicates are complete."""
    relations_from: Literal["all", "sample"] = _NOT_STATED
    """Whether the relations are those of the whole graph; absent if they are not known."""
    notes: Notes = OPTIONAL_LIST
    entity_types: list[str]
    predicates: list[str]
    node_counts: Annotated[dict[str, Count], Field(min_length=1)] = OPTIONAL_MAP
    """Number of nodes by type; absent if they are not counted."""
    relations: Annotated[list[str], Field(min_length=1)] = OPTIONAL_LIST
    """`Trial -studies-> Disease (2087)`, the most frequent first; of a sample without counts."""
    properties: Annotated[dict[str, list[str]], Field(min_length=1)] = OPTIONAL_MAP
    """A type or predicate to texts as `phase: 1 | 2 | 3`."""
    next_steps: str
    tool_usage_notes: str


class NeighbourhoodSchema(StrictModel):
    """What `describe_schema` gives with `seeds`: the edges that touch them."""

    at: str = _NOT_STATED
    seeds: Annotated[list[str], Field(min_length=1)]
    node_count: Count
    edge_count: Count
    notes: Notes = OPTIONAL_LIST
    entity_types: list[str]
    predicates: list[str]
    node_counts: dict[str, Count]
    relations: list[str]


ANSWERS: dict[str, TypeAdapter[Any]] = {
    "describe_schema": TypeAdapter(SchemaAnswer | NeighbourhoodSchema),
    "search_entities": TypeAdapter(Hits),
    "bfs_query": TypeAdapter(BfsAnswer),
    "describe_entity": TypeAdapter(EntityAnswer),
    "describe_entities": TypeAdapter(list[EntityRecord]),
    "intersect_subgraphs": TypeAdapter(IntersectionAnswer),
}
"""Tool to the shape of its first text block."""


def coarse(answer: type[BaseModel], without: str = "") -> dict[str, Any]:
    """The JSON type of each field of an answer; words describe what lists and objects contain.

    The field `without` is not published, nor is `at`, which most graphs do not take.
    """
    return {
        name: _json_type(field.annotation)
        | ({"description": field.description} if field.description else {})
        for name, field in answer.model_fields.items()
        if name not in (without, "at")
    }


def _json_type(annotation: Any) -> dict[str, Any]:
    kind, of = get_origin(annotation) or annotation, get_args(annotation)
    if kind is Literal:
        return {"enum": list(of)}
    texts = kind is list and str in (of[0], *get_args(of[0]))
    return {"type": _JSON_TYPES.get(kind, "object")} | (
        {"items": {"type": "string"}} if texts else {}
    )
