"""The input of the web API: declarations of routes, and reading requests.

An `ApiRoute` is the single declaration of a route. The router, the check of a request's parameters
and the OpenAPI document are generated from it.
"""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from typing import Any, TypeAlias
from urllib.parse import parse_qsl

from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema, from_json
from starlette.requests import Request

from bfsql.abc import NormalizedBackend
from bfsql.answers.clean import excerpt
from bfsql.call import Caller, within
from bfsql.errors import ToolError
from bfsql.graph import Graph
from bfsql.models import Node
from bfsql.rest.response import JSON, Problem, Reply
from bfsql.serving.access import subject_of
from bfsql.tools.resolve import require

_READ_FACTOR = 20
"""Factor of the size limit up to which a body that is too large is read and discarded, because a
client that sends before it reads would otherwise not see the refusal; beyond that, its connection
is closed."""

JsonSchema: TypeAlias = dict[str, Any]
Handler: TypeAlias = "Callable[[ApiRequest], Awaitable[Reply]]"


@dataclass(frozen=True, eq=False)
class ApiRoute:
    """One verb of a path. The first line of the handler's docstring is its summary."""

    method: str
    """`GET`, which is `HEAD` too, or `POST`."""
    path: str
    """`/entities/{id}/relations`: a segment in braces is a parameter."""
    handler: Handler
    subject: str
    """What the route returns, as the subject of a sentence about a wrong parameter."""
    answer: Any = None
    """Type of the answer; None if the tools' own schemas describe it."""
    takes: Any = None
    """Model of a GET's query parameters, or type of a POST's body."""
    exact: bool = False
    """Whether a GET is for one thing, which may be missing."""


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


@cache
def query_schema(route: ApiRoute) -> JsonSchema:
    """The JSON Schema of a route's query parameters, as one object."""
    if route.method == "POST" or route.takes is None:
        return {"properties": {}}
    schema: JsonSchema = route.takes.model_json_schema(schema_generator=PublishedSchema)
    return schema


@dataclass(frozen=True, slots=True)
class Api:
    """The web API over one graph."""

    graph: Graph
    routes: Sequence[ApiRoute]
    max_request_bytes: int
    token: bool = False
    """Whether requests need a token."""

    @property
    def db(self) -> NormalizedBackend:
        """The graph behind the redaction hooks."""
        return self.graph.shown

    async def node(self, entity_id: str) -> Node:
        """The entity with this id; otherwise a `ToolError` with the closest known ids."""
        return await require(self.db, "id", entity_id)

    async def vocabulary(self) -> tuple[list[str], list[str]]:
        """Entity types and predicates, sorted."""
        types = await within(self.db.entity_types())
        predicates = await within(self.db.predicates())
        return sorted(set(types)), sorted(set(predicates))


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A parsed request."""

    api: Api
    route: ApiRoute
    path: Mapping[str, str]
    """Values of the path's parameters."""
    query: Mapping[str, Any]
    """Values of the query's parameters, defaults filled in."""
    body: Any
    """The JSON of a POST; None where it is empty."""
    caller: Caller

    def fields(self, known: Collection[str]) -> Mapping[str, Any]:
        """The fields of a body that has to be one object of known fields."""
        if not isinstance(self.body, Mapping):
            have = "nothing" if self.body is None else excerpt(self.body)
            raise ToolError(
                f"{self.route.subject} takes a JSON object with {' or '.join(known)}, not {have}.",
                kind="bad_value",
            )
        _refuse_unknown(self.route.subject, self.body, known)
        return self.body


async def read_request(api: Api, route: ApiRoute, request: Request) -> ApiRequest:
    """Read a request as its route declares it.

    Raises:
        Problem: The body or the query cannot be read.
        ToolError: A parameter is unknown, missing or wrong.
        ClientDisconnect: The client left while it was sending.
    """
    body = await _json_body(request, api.max_request_bytes) if route.method == "POST" else None
    given = _query(request)
    caller = Caller(
        client=request.headers.get("user-agent"),
        subject=subject_of(request.scope),
        address=request.client.host if request.client else None,
    )
    return ApiRequest(api, route, request.path_params, _parameters(route, given), body, caller)


def _query(request: Request) -> list[tuple[str, str]]:
    """Names and values of a request's query, as often as they were given."""
    text = request.scope["query_string"].decode("latin-1")
    try:
        return parse_qsl(text, keep_blank_values=True, errors="strict")
    except ValueError:
        raise Problem(
            HTTPStatus.BAD_REQUEST,
            "The query cannot be read: its values have to be percent-encoded UTF-8 text.",
        ) from None


def _parameters(route: ApiRoute, given: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """The values of a query's parameters, read according to the published schemas."""
    if route.method == "POST" and route.takes is not None:
        return {}  # a batch takes all its parameters from the body
    schema = query_schema(route)
    known, required = schema["properties"], schema.get("required", ())
    _refuse_unknown(route.subject, [name for name, _ in given], known)
    values = {name: [value for other, value in given if other == name] for name in known}
    return {n: _value(n, known[n], values[n], required=n in required) for n in known}


def _value(name: str, schema: JsonSchema, values: list[str], *, required: bool) -> Any:
    if schema["type"] == "array":
        return values
    if len(values) > 1:
        times = f"{name} is given {len(values)} times; give it once."
        raise ToolError(times, kind="bad_value", argument=name)
    if not values and required:
        missing = f"The parameter {name} is missing."
        raise ToolError(missing, kind="missing_argument", argument=name)
    if not values:
        return schema.get("default")
    [text] = values
    if schema["type"] == "integer":
        return _whole(name, text, schema["maximum"])
    if "enum" in schema:
        text = text or schema["default"]
        if text not in schema["enum"]:
            raise wrong_value(name, f"one of {', '.join(schema['enum'])}", excerpt(text))
    return text


def _whole(name: str, text: str, maximum: int) -> int:
    """A number from 1 to the maximum."""
    digits = text.isascii() and text.isdigit() and len(text) < len(f"{maximum}0")
    number = int(text) if digits else 0
    if not 1 <= number <= maximum:
        raise wrong_value(name, f"a whole number from 1 to {maximum}", excerpt(text))
    return number


def wrong_value(name: str, right: str, have: str) -> ToolError:
    """An error about a value: what it has to be, and what it is."""
    return ToolError(f"{name} must be {right}, not {have}.", kind="bad_value", argument=name)


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


async def _json_body(request: Request, maximum: int) -> Any:
    """The JSON of a request; None where it is empty."""
    content = await _content(request, maximum)
    if not content:
        return None
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON and not (kind.startswith("application/") and kind.endswith("+json")):
        raise Problem(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            f"The body is {excerpt(kind) if kind else 'of an unspecified type'}. Send JSON, with "
            "the header 'Content-Type: application/json'.",
            {"Accept-Post": JSON},
        )
    try:
        return from_json(content, allow_inf_nan=False)
    except ValueError as error:
        raise Problem(HTTPStatus.BAD_REQUEST, f"The body is not JSON: {error}.") from None


async def _content(request: Request, maximum: int) -> bytes:
    content, size = bytearray(), int(request.headers.get("content-length") or 0)
    if size <= maximum * _READ_FACTOR:
        size = 0
        async for chunk in request.stream():
            size += len(chunk)
            if size <= maximum:
                content += chunk
            elif size > maximum * _READ_FACTOR:
                break
    if size > maximum:
        raise Problem(
            HTTPStatus(413),
            f"The body is larger than {maximum} bytes, the limit of this server. Make several "
            "requests.",
        )
    return bytes(content)
