"""The input of the web API: declarations of routes, and reading requests.

An `ApiRoute` is the single declaration of a route. The router, the check of a request's parameters
and the OpenAPI document are generated from it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeAlias
from urllib.parse import parse_qs

from pydantic_core import from_json
from starlette.requests import Request

from bfsql.abc import NormalizedBackend
from bfsql.answers.clean import excerpt
from bfsql.call import Caller, within
from bfsql.graph import Graph
from bfsql.models import Node
from bfsql.rest.parameters import NoParameters, body_parameters, query_parameters
from bfsql.rest.response import JSON, Problem, Reply
from bfsql.serving.access import subject_of
from bfsql.tools.resolve import require

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
    takes: Any = NoParameters
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
    if route.method == "GET":
        parameters: Any = query_parameters(route.takes, route.subject, query)
    elif route.takes is None:
        query_parameters(NoParameters, route.subject, query)
        parameters = body
    else:  # a batch takes all its parameters from the body
        parameters = body_parameters(route.takes, route.subject, route.choice, body)
    caller = Caller(
        client=request.headers.get("user-agent"),
        subject=subject_of(request.scope),
        address=request.client.host if request.client else None,
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
