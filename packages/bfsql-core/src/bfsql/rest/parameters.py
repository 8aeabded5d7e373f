"""The parameters of the web API as models, which check them and describe them in OpenAPI.

A value of a query is one text, or a list of texts if its name is repeated. A value of a body is
JSON. Nothing is converted but the texts of a query.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic.json_schema import GenerateJsonSchema, SkipJsonSchema
from pydantic_core import core_schema

from bfsql.answers.shapes import StrictModel
from bfsql.models import EdgeDirection

MAX_BATCH = 10_000
"""Most values of a list in a body."""

DIRECTIONS: dict[str, EdgeDirection | None] = {"out": "out", "in": "in", "both": None}

_DIGITS = re.compile(r"[0-9]{1,9}")

JsonSchema: TypeAlias = dict[str, Any]


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _as_number(value: Any) -> Any:
    return int(value) if isinstance(value, str) and _DIGITS.fullmatch(value) else value


def optional(description: str | None = None, **about: Any) -> Any:
    """A field that may be absent."""
    return Field(default=None, description=description, **about)


Triple = Annotated[
    list[str], Field(min_length=3, max_length=3, description="[subject, predicate, object]")
]
_Direction = Literal["out", "in", "both"]
_EACH_ONCE = AfterValidator(lambda values: list(dict.fromkeys(values)))
_Ids = Annotated[list[str], Field(max_length=MAX_BATCH), _EACH_ONCE]
_Names = Annotated[list[str], _EACH_ONCE] | SkipJsonSchema[None]
_TextList = Annotated[list[str], BeforeValidator(_as_list)]
_WHOLE = BeforeValidator(_as_number)

_KEYS = "Metadata keys to return, repeated; all if none is given."
_MAXIMUM = "The maximum number."


class SearchQuery(StrictModel):
    """Parameters of a search, or of a list of entities."""

    q: str | SkipJsonSchema[None] = optional(
        "A name, an alias, a part of a name, or an id; without it, entities are listed."
    )
    types: _TextList = Field(
        default_factory=list,
        description="Entity types to keep: repeated, or one text separated by commas.",
    )
    type: _TextList = Field(
        default_factory=list, description="Of a list: types of the entities, repeated."
    )
    where: _TextList = Field(
        default_factory=list,
        description="Of a list: conditions that all hold, such as year>=2010, repeated.",
    )
    after: str | SkipJsonSchema[None] = optional(
        "Of a list: the id after which the page begins, which need not exist; lists are in the "
        "order of ids, by code point. `next` of the previous page has it."
    )
    limit: Annotated[int, Field(ge=1, le=10_000), _WHOLE] = Field(20, description=_MAXIMUM)


class PageQuery(StrictModel):
    """Parameters of a page of relations."""

    direction: Annotated[_Direction, BeforeValidator(lambda text: text or "both")] = Field(
        "both", description="Relations that leave the entity, enter it, or both."
    )
    predicates: _TextList = Field(
        default_factory=list, description="Predicates to keep, repeated; all if none is given."
    )
    limit: Annotated[int, Field(ge=1, le=10_000), _WHOLE] = Field(1_000, description=_MAXIMUM)
    cursor: str | SkipJsonSchema[None] = optional("From `next` of the previous page; opaque.")


class EvidenceQuery(StrictModel):
    """Parameters of evidence."""

    limit: Annotated[int, Field(ge=1, le=1_000), _WHOLE] = Field(20, description=_MAXIMUM)


class EntityQuery(StrictModel):
    """The metadata of an entity to return."""

    keys: _TextList = Field(default_factory=list, description=_KEYS)


class RelationQuery(StrictModel):
    """The three parts of a relation."""

    subject: str = Field(description="Exact.")
    predicate: str = Field(description="Exact.")
    object: str = Field(description="Exact.")
    keys: _TextList = Field(default_factory=list, description=_KEYS)


class EntityBatch(StrictModel):
    """Entities by their ids."""

    ids: _Ids
    metadata: bool = False
    keys: _Names = optional("Metadata keys to return; all if absent.")


class RingBatch(StrictModel):
    """The ring around ids, or a part of it."""

    ids: _Ids
    predicates: _Names = optional("Predicates to keep; all if absent.")
    direction: _Direction = Field(
        "both", description="Relations that leave the ids, enter them, or both."
    )


class MetadataBatch(StrictModel):
    """Metadata of relations."""

    relations: list[Triple] = Field(max_length=MAX_BATCH)
    keys: _Names = optional("Metadata keys to return; all if absent.")


class ClaimText(StrictModel):
    """Claims to check."""

    text: str = Field(description="Claims, one a line, or a text with claims in [[ ]].")


class PublishedSchema(GenerateJsonSchema):
    """JSON Schema without titles of fields.

    Optional fields have no default, except for fields of requests whose default has a meaning.
    """

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchema:
        """The schema of a field with a default."""
        if self.mode == "serialization" or schema.get("default") is None:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Whether a field's name is repeated as its title."""
        return False
