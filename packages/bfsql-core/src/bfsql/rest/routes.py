"""All routes of the web API in one table, and the shapes of their answers.

The router, the check of parameters and the OpenAPI document are made from the table.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from bfsql.answers import shapes
from bfsql.answers.shapes import StrictModel
from bfsql.models.matching import MatchClass
from bfsql.models.outline import Kind
from bfsql.models.records import Direction
from bfsql.rest import handlers, openapi
from bfsql.rest.parameters import (
    ClaimText,
    EntityBatch,
    EntityQuery,
    EvidenceQuery,
    MetadataBatch,
    PageQuery,
    RelationQuery,
    RingBatch,
    SearchQuery,
    Triple,
    optional,
)
from bfsql.rest.request import ApiRoute
from bfsql.tools.verify import Verdict

_Type = Annotated[str, Field(alias="@type", description="The entity type.")]
_NEXT = optional(
    "The next page, relative to this one; absent on the last.",
    json_schema_extra={"format": "uri-reference"},
)


class Omission(StrictModel):
    """What the store has but this answer does not contain."""

    id: str = Field(description="The entity, the text searched for, or the record.")
    direction: Direction = Field(
        description="Edges that leave, enter or both; hits of a search; the metadata of a "
        "record that could not be redacted; or a value that is too large, whose key is the reason."
    )
    at_least: int = optional("The minimum number of missing edges, or the bytes of the value.")
    reason: str = optional()
    lasting: Literal[True] = optional("Whether no request can show it.")


class _Document(StrictModel):
    omissions: list[Omission] = optional("What is missing; absent if nothing is.")


class _JsonLd(_Document):
    context: list[Any] = Field(
        alias="@context",
        description="The JSON-LD context: its address, then the part for this document only.",
    )


class EntityInBatch(BaseModel):
    """An entity, with its metadata beside id and @type.

    A metadata key that is id or omissions, or begins with @ or metadata., is prefixed with
    metadata.
    """

    model_config = ConfigDict(extra="allow", defer_build=True)

    id: str
    type: _Type


class Entity(EntityInBatch, _JsonLd):
    """An entity as a document of its own."""

    model_config = ConfigDict(extra="allow")


class EntityStub(StrictModel):
    """An entity of a list."""

    id: str
    type: _Type


class Hit(EntityStub):
    """An entity that a search found."""

    name: str = optional()
    match: MatchClass = Field(description="How the text matches.")
    score: float = optional("Vector similarity, 0 to 1.")
    context: list[str] = optional("What distinguishes it from other hits of its name and type.")


class RelationInBatch(shapes.FullEdge):
    """An edge with its metadata: everything known besides its identity."""


class RelationWithMetadata(RelationInBatch, _JsonLd):
    """An edge with its metadata, as a document of its own."""


class Relations(_JsonLd):
    """A page of an entity's relations."""

    id: str
    relations: list[shapes.StubEdge] = Field(description="Sorted.")
    next: str = _NEXT


class Evidence(shapes.EvidenceItem):
    """A passage behind an edge; unknown fields are absent."""

    model_config = ConfigDict(extra="allow")


class Passages(_Document):
    """The evidence that touches an entity."""

    model_config = ConfigDict(extra="allow")

    total: int | None = Field(description="Null if not all edges were examined.")
    items: list[Evidence]
    edges_read: int = optional()


class Batches(StrictModel):
    """Where batches are accepted, and how large they may be."""

    entities: str
    relations: str
    limit: int
    max_bytes: int
    parts: Literal[True] = Field(
        description="Rings can be limited to predicates and a direction, metadata to keys."
    )


class Schema(_Document):
    """What the graph contains."""

    description: str
    comprehensive: bool = Field(description="Whether the two lists are complete.")
    entity_types: list[str]
    predicates: list[str]
    node_counts: dict[str, int] = optional(
        "Number of nodes by type; absent if they are not counted."
    )
    next_steps: str
    batch: Batches
    outline: str = Field(description="Route of the outline, which describes the graph in counts.")
    entities: str = optional(
        "Route that lists entities by type and conditions; absent if the store cannot."
    )


class Relation(StrictModel):
    """Edges of one predicate from nodes of one type to nodes of one type."""

    subject_type: str
    predicate: str
    object_type: str
    edges: int = optional("Number of edges; absent if the relations come from a sample.")
    ended: int = optional("Number of edges with an end; absent if that is not known.")


class Property(StrictModel):
    """A key of metadata."""

    name: str
    kind: Kind
    minimum: float | str = optional("Of numbers and ISO dates.")
    maximum: float | str = optional("Likewise.")
    values: list[str] = Field(description="The most frequent values where they repeat.")
    further_values: int = Field(description="Number of further values that were read.")


class Outline(_Document):
    """What the graph consists of, in counts; only `counting` while that is unknown."""

    counting: bool = Field(description="Whether the graph is still being counted.")
    relations_from: Literal["all", "sample"] = optional(
        "Whether the relations are those of the whole graph or of a sample."
    )
    node_counts: dict[str, int] = optional("Nodes by type; empty if they are not counted.")
    relations: list[Relation] = optional("The most frequent first.")
    relations_left_out: int = optional("Relations beyond the thousand most frequent.")
    node_properties: dict[str, list[Property]] = optional("Properties of nodes by type.")
    edge_properties: dict[str, list[Property]] = optional("Properties of edges by predicate.")
    tables: list[list[str]] = optional(
        "How a load read tables by their keys: table or column, rows, read as, why."
    )


def _answer(name: str, base: type[_Document], **fields: Any) -> type[_Document]:
    """A model with a few fields."""
    definitions: dict[str, Any] = {field: (of, ...) for field, of in fields.items()}
    return create_model(name, __base__=base, **definitions)


Entities = _answer("Entities", _Document, results=list[EntityInBatch])
Hits = _answer("Hits", _JsonLd, results=list[Hit])


class EntityList(_JsonLd):
    """A page of the entities of some types that meet conditions."""

    count: int = Field(description="Number of all of them.")
    results: list[EntityStub] = Field(description="In the order of their ids.")
    notes: list[str] = optional("What is missing, and how names were interpreted.")
    next: str = _NEXT


Ring = _answer("Ring", _Document, relations=list[Triple])
RelationsWithMetadata = _answer("RelationsWithMetadata", _Document, results=list[RelationInBatch])
Context = _answer("Context", _Document, context=Annotated[dict[str, Any], Field(alias="@context")])

Verdicts = _answer("Verdicts", _Document, verdicts=list[Verdict])

_get, _post = partial(ApiRoute, "GET"), partial(ApiRoute, "POST")
_one = partial(ApiRoute, "GET", exact=True)

ROUTES = (
    _get("/schema", handlers.schema, "The schema", Schema),
    _get("/outline", handlers.outline, "The outline", Outline),
    _get("/context", handlers.json_ld_context, "The context", Context),
    _get("/entities", handlers.search, "A search", Hits | EntityList, SearchQuery),
    _post("/entities/batch", handlers.entity_batch, "A batch of entities", Entities, EntityBatch),
    _one("/entities/{id}", handlers.entity, "An entity", Entity, EntityQuery),
    _one("/entities/{id}/relations", handlers.relations, "Relations", Relations, PageQuery),
    _one("/entities/{id}/provenance", handlers.provenance, "Provenance", Passages, EvidenceQuery),
    _one("/relations", handlers.relation, "A relation", RelationWithMetadata, RelationQuery),
    _post(
        "/relations/batch",
        handlers.relation_batch,
        "A batch of relations",
        Ring | RelationsWithMetadata,
        RingBatch | MetadataBatch,
        choice="A batch of relations needs either ids, for every relation that touches one of them "
        "(with predicates and direction for a part of these), or relations, for their metadata "
        "(with keys for a part of it).",
    ),
    _post("/verify", handlers.verify, "A check of claims", Verdicts, ClaimText),
    _post("/tools/{name}", handlers.tool, "A tool's path", takes=None),
    _get("/openapi.json", openapi.document, "The description", dict[str, Any]),
    _get("/docs", openapi.page, "The description", str),
)
