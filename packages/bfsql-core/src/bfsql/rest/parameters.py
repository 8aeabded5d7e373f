"""The parameters of the web API as models, which check them and describe them in OpenAPI.

A value of a query is one text, or a list of texts if its name is repeated. A value of a body is
JSON. Nothing is converted but the texts of a query.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, get_args

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError
from pydantic.json_schema import GenerateJsonSchema, SkipJsonSchema
from pydantic_core import core_schema

from bfsql.answers.clean import excerpt
from bfsql.answers.shapes import StrictModel
from bfsql.errors import ToolError
from bfsql.models import EdgeDirection

MAX_BATCH = 10_000
"""Most values of a list in a body."""

DIRECTIONS: dict[str, EdgeDirection | None] = {"out": "out", "in": "in", "both": None}

_DIGITS = re.compile(r"[0-9]{1,9}")

JsonSchema: TypeAlias = dict[str, Any]
M = TypeVar("M", bound=StrictModel)


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
_Repeated = Annotated[list[str], BeforeValidator(_as_list)]
_WHOLE = BeforeValidator(_as_number)

_KEYS = "Metadata keys to return, repeated; all if none is given."
_MAXIMUM = "The maximum number."


class NoParameters(StrictModel):
    """Of a route that takes none."""


class SearchQuery(StrictModel):
    """Parameters of a search."""

    q: str = Field(description="A name, an alias, a part of a name, or an id.")
    types: _Repeated = Field(
        default_factory=list,
        description="Entity types to keep: repeated, or one text separated by commas.",
    )
    limit: Annotated[int, Field(ge=1, le=100), _WHOLE] = Field(20, description=_MAXIMUM)


class PageQuery(StrictModel):
    """Parameters of a page of relations."""

    direction: Annotated[_Direction, BeforeValidator(lambda text: text or "both")] = Field(
        "both", description="Relations that leave the entity, enter it, or both."
    )
    predicates: _Repeated = Field(
        default_factory=list, description="Predicates to keep, repeated; all if none is given."
    )
    limit: Annotated[int, Field(ge=1, le=10_000), _WHOLE] = Field(1_000, description=_MAXIMUM)
    cursor: str | SkipJsonSchema[None] = optional("From `next` of the previous page; opaque.")


class EvidenceQuery(StrictModel):
    """Parameters of evidence."""

    limit: Annotated[int, Field(ge=1, le=1_000), _WHOLE] = Field(20, description=_MAXIMUM)


class EntityQuery(StrictModel):
    """The metadata of an entity to return."""

    keys: _Repeated = Field(default_factory=list, description=_KEYS)


class RelationQuery(StrictModel):
    """The three parts of a relation."""

    subject: str = Field(description="Exact.")
    predicate: str = Field(description="Exact.")
    object: str = Field(description="Exact.")
    keys: _Repeated = Field(default_factory=list, description=_KEYS)


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


class PublishedSchema(GenerateJsonSchema):
    """JSON Schema without titles of fields.

    Optional fields have no default, except for fields of requests whose default has a meaning.
    """

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchema:
        """The schema of a field with a default."""
        if self.mode == "serialization" or schema.get("default") is None:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's signature
        """Whether a field's name is repeated as its title."""
        return False


def query_parameters(model: type[M], subject: str, values: Mapping[str, str | list[str]]) -> M:
    """The parameters of a query.

    Args:
        model: Their model.
        subject: What the route returns, as the subject of a sentence about a wrong parameter.
        values: Their texts.

    Raises:
        ToolError: A parameter is unknown, missing, repeated or wrong.
    """
    _refuse_unknown(subject, values, model.model_fields)
    try:
        return model.model_validate(values)
    except ValidationError as error:
        name = _argument(error)
    if name not in values:
        missing = f"The parameter {name} is missing."
        raise ToolError(missing, kind="missing_argument", argument=name)
    if isinstance(values[name], list):
        times = f"{name} is given {len(values[name])} times; give it once."
        raise ToolError(times, kind="bad_value", argument=name)
    raise wrong_value(name, _expected(model, name), excerpt(values[name]))


def body_parameters(models: Any, subject: str, choice: str, body: Any) -> StrictModel:
    """The parameters of a body, which is an object of known fields.

    Args:
        models: Their model, or a union of models whose first fields tell them apart.
        subject: As `query_parameters` takes it.
        choice: The sentence of a body that is none of several models.
        body: The JSON.

    Raises:
        ToolError: A field is unknown, missing or wrong, or no model fits.
    """
    every: tuple[type[StrictModel], ...] = get_args(models) or (models,)
    known = list(dict.fromkeys(name for model in every for name in model.model_fields))
    if not isinstance(body, Mapping):
        have = "nothing" if body is None else excerpt(body)
        raise ToolError(
            f"{subject} takes a JSON object with {' or '.join(known)}, not {have}.",
            kind="bad_value",
        )
    _refuse_unknown(subject, body, known)
    fitting = [
        model
        for model in every
        if next(iter(model.model_fields)) in body and body.keys() <= model.model_fields.keys()
    ]
    if len(every) > 1 and not fitting:
        raise ToolError(choice, kind="bad_value")
    _refuse_long_lists(body)
    model = fitting[0] if fitting else every[0]
    try:
        return model.model_validate(body)
    except ValidationError as error:
        name = _argument(error)
    have = excerpt(body[name]) if name in body else "nothing"
    raise wrong_value(name, _expected(model, name), have)


def wrong_value(name: str, right: str, have: str) -> ToolError:
    """An error about a value: what it has to be, and what it is."""
    return ToolError(f"{name} must be {right}, not {have}.", kind="bad_value", argument=name)


def _argument(error: ValidationError) -> str:
    """The first parameter that is wrong."""
    return str(error.errors(include_url=False)[0]["loc"][0])


def _expected(model: type[StrictModel], name: str) -> str:
    """What a parameter has to be, according to its published schema."""
    match model.model_json_schema(schema_generator=PublishedSchema)["properties"][name]:
        case {"enum": names}:
            return f"one of {', '.join(names)}"
        case {"type": "integer", "minimum": least, "maximum": most}:
            return f"a whole number from {least} to {most}"
        case {"type": "boolean"}:
            return "true or false"
        case {"items": {"description": item}}:
            return f"a list of {item}"
    return "a list of strings"


def _refuse_unknown(subject: str, names: Collection[str], known: Collection[str]) -> None:
    """Refuse the first unknown name, and suggest the closest known one."""
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name.lower(), known, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            have = f"It takes: {', '.join(known)}." if known else "It takes none."
            raise ToolError(
                f"{subject} has no parameter {excerpt(name)}.{hint} {have}",
                kind="unknown_argument",
                argument=name,
            )


def _refuse_long_lists(body: Mapping[str, Any]) -> None:
    for name, value in body.items():
        if isinstance(value, list) and len(value) > MAX_BATCH:
            raise ToolError(
                f"{name} contains {len(value)} values; at most {MAX_BATCH} are accepted. Make "
                "several requests.",
                kind="too_large",
                argument=name,
            )
