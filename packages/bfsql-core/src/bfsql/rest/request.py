"""The input of the web API: declarations of routes, and reading requests.

An `ApiRoute` is the single declaration of a route. The router, the check of a request's parameters
and the OpenAPI document are generated from it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeAlias, get_args
from urllib.parse import parse_qs

from pydantic import ValidationError
from pydantic_core import from_json
from starlette.requests import Request

from bfsql.abc import NormalizedBackend
from bfsql.answers.shapes import StrictModel
from bfsql.call import Caller, within
from bfsql.errors import ToolError
from bfsql.graph import Graph
from bfsql.models import Node
from bfsql.models.quotation import excerpt
from bfsql.rest.parameters import MAX_BATCH, PublishedSchema
from bfsql.rest.response import JSON, Problem, Reply
from bfsql.serving.access import ROLE, subject_of
from bfsql.tools.resolve import require
from bfsql.tools.validate import argument_like

_READ_FACTOR = 20
"""Factor of the size limit up to which a body that is too large is read and discarded, because a
client that sends before it reads would otherwise not see the refusal; beyond that, its connection
is closed."""

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
    takes: Any = StrictModel
    """Model of a GET's query parameters, or type of a POST's body; None for any JSON."""
    exact: bool = False
    """Whether a GET is for one thing, which may be missing."""
    choice: str = ""
    """The sentence of a body that is none of several types."""


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
    parameters: Any
    """The parameters of the query or of the body, an instance of the route's `takes`; the JSON of
    a POST that takes any, None where it is empty."""
    caller: Caller


async def read_request(api: Api, route: ApiRoute, request: Request) -> ApiRequest:
    """Read a request as its route declares it.

    Raises:
        Problem: The body or the query cannot be read.
        ToolError: A parameter is unknown, missing or wrong.
        ClientDisconnect: The client left while it was sending.
    """
    body = await _json_body(request, api.max_request_bytes) if route.method == "POST" else None
    query = _query(request)
    if route.takes is None:
        _refuse_unknown(route.subject, query, ())
        parameters = body
    else:  # a batch takes all its parameters from the body
        parameters = _checked(route, query if route.method == "GET" else body)
    caller = Caller(
        client=request.headers.get("user-agent"),
        subject=subject_of(request.scope),
        address=request.client.host if request.client else None,
        role=request.scope.get(ROLE),
    )
    return ApiRequest(api, route, request.path_params, parameters, caller)


def _query(request: Request) -> dict[str, str | list[str]]:
    """The values of a request's query: a text, or a list of those of a repeated name."""
    text = request.scope["query_string"].decode("latin-1")
    try:
        values = parse_qs(text, keep_blank_values=True, errors="strict")
    except ValueError:
        raise Problem(
            HTTPStatus.BAD_REQUEST,
            "The query cannot be read: its values have to be percent-encoded UTF-8 text.",
        ) from None
    return {name: texts if len(texts) > 1 else texts[0] for name, texts in values.items()}


def _checked(route: ApiRoute, values: Any) -> StrictModel:
    """The parameters of a query or of a body, as an instance of the route's model."""
    models: tuple[type[StrictModel], ...] = get_args(route.takes) or (route.takes,)
    known = list(dict.fromkeys(name for model in models for name in model.model_fields))
    if not isinstance(values, Mapping):
        have = "nothing" if values is None else excerpt(values)
        right = f"a JSON object with {' or '.join(known)}"
        raise ToolError(f"{route.subject} takes {right}, not {have}.", kind="bad_value")
    _refuse_unknown(route.subject, values, known)
    if len(models) > 1:  # each has another required field, which is its first
        fitting = [m for m in models if next(iter(m.model_fields)) in values]
        models = tuple(m for m in fitting if values.keys() <= m.model_fields.keys())
    if not models:
        raise ToolError(route.choice, kind="bad_value")
    _refuse_long_lists(values)
    [model] = models
    try:
        return model.model_validate(values)
    except ValidationError as error:
        name = str(error.errors(include_url=False)[0]["loc"][0])
    value = values.get(name)
    if route.method == "GET" and value is None:
        missing = f"The parameter {name} is missing."
        raise ToolError(missing, kind="missing_argument", argument=name)
    if route.method == "GET" and isinstance(value, list):
        times = f"{name} is given {len(value)} times; give it once."
        raise ToolError(times, kind="bad_value", argument=name)
    have = excerpt(value) if name in values else "nothing"
    raise wrong_value(name, _expected(model, name), have)


def _expected(model: type[StrictModel], name: str) -> str:
    """What a parameter has to be, according to its published schema."""
    match model.model_json_schema(schema_generator=PublishedSchema)["properties"][name]:
        case {"enum": names}:
            return f"one of {', '.join(names)}"
        case {"type": "integer", "minimum": least, "maximum": most}:
            return f"a whole number from {least} to {most}"
        case {"type": "boolean"}:
            return "true or false"
        case {"type": "string"}:
            return "a string"
        case {"items": {"description": item}}:
            return f"a list of {item}"
    return "a list of strings"


def wrong_value(name: str, right: str, have: str) -> ToolError:
    """An error about a value: what it has to be, and what it is."""
    return ToolError(f"{name} must be {right}, not {have}.", kind="bad_value", argument=name)


def _refuse_unknown(subject: str, names: Collection[str], known: Collection[str]) -> None:
    """Refuse the first unknown name, and suggest the closest known one."""
    for name in names:
        if name not in known:
            have = f"It takes: {', '.join(known)}." if known else "It takes none."
            raise ToolError(
                f"{subject} has no parameter {excerpt(name)}.{argument_like(name, known)} {have}",
                kind="unknown_argument",
                argument=name,
            )


def _refuse_long_lists(values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        if isinstance(value, list) and len(value) > MAX_BATCH:
            raise ToolError(
                f"{name} contains {len(value)} values; the limit is {MAX_BATCH}. Make several "
                "requests.",
                kind="too_large",
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
