"""The web API as an ASGI application: guards, routing, deadline, and problem documents.

An id is one segment of a path, whatever it contains: `a%2Fb` is the id `a/b`. So the router matches
paths with every segment encoded, and decodes segments after it has found the route.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.datastructures import MutableHeaders
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bfsql import call
from bfsql.answers.clean import clean_text
from bfsql.call import Caller
from bfsql.errors import ToolError
from bfsql.graph import Graph
from bfsql.observer import ObservedCall
from bfsql.rest.handlers import tool
from bfsql.rest.request import Api, ApiRequest, ApiRoute, read_request
from bfsql.rest.response import Problem, problem_of, refusal
from bfsql.rest.routes import ROUTES
from bfsql.serving.access import IDENTITY, ROLE, require_known_names, require_token, verifier_of
from bfsql.serving.live import LiveGraph
from bfsql.serving.requests import request_id_of, with_headers
from bfsql.serving.tokens import TokenVerifier
from bfsql.tools import translate_errors
from bfsql.tools.budget import refuse_if_too_large

if TYPE_CHECKING:
    from bfsql.settings import ServeSettings


def application(
    graph: Graph | LiveGraph,
    settings: ServeSettings,
    verifier: TokenVerifier | None = None,
    routes: Sequence[ApiRoute] = ROUTES,
) -> ASGIApp:
    """The API over an open graph, with the access checks of the settings.

        async with bfsql.open_graph("sqlite", path="graph.db") as graph:
            app = application(graph, ServeSettings())

    Args:
        graph: Open, and closed by the caller when the application is no longer used. A `LiveGraph`
            is reopened when its store changes.
        settings: Limits, tokens, names and origins; the address is not used.
        verifier: Verifies bearer tokens instead of the settings.
        routes: The routes to serve.

    Raises:
        ConfigurationError: The tokens or names of the settings cannot be used.
    """
    verifier = verifier or verifier_of(settings)
    token = verifier is not None
    live = LiveGraph(graph, settings) if isinstance(graph, Graph) else graph
    api = partial(Api, routes=routes, max_request_bytes=settings.max_request_bytes, token=token)
    app = Starlette(
        routes=[
            Route(
                route.path.replace("}", ":bfsql_segment}"),
                _Endpoint(live, api, route),
                methods=[route.method],
            )
            for route in routes
        ],
        exception_handlers={
            HTTPStatus.NOT_FOUND: _no_route,
            HTTPStatus.METHOD_NOT_ALLOWED: _no_method,
            Problem: _problem,
            ToolError: _problem,
        },
    )
    app.router.redirect_slashes = False
    decoded = _with_encoded_path(app)
    if verifier is not None:
        decoded = require_token(
            decoded, verifier, refusal, settings, roles=lambda: live.settings.roles
        )
    return with_headers(_guarded(decoded, settings))


def _guarded(app: ASGIApp, settings: ServeSettings) -> ASGIApp:
    """The application behind the checks of origins and names.

    Preflight requests of browsers have no token, so this comes before that of tokens.
    """
    if settings.cors_origins:
        app = _Cors(
            app,
            allow_origins=settings.cors_origins,
            allow_methods=["GET", "HEAD", "POST"],
            allow_headers=["Authorization", "Content-Type", "If-None-Match"],
            expose_headers=["ETag", "Link", "Retry-After"],
        )
    return require_known_names(app, settings, refusal)


class _Cors(CORSMiddleware):
    """Sends `Vary: Origin` with every answer, also to programs.

    Otherwise a shared cache could give a page an answer that the page is not allowed to read.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def varying(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if "origin" not in headers.get("vary", "").lower():
                    headers.add_vary_header("Origin")
            await send(message)

        await super().__call__(scope, receive, varying)


def _with_encoded_path(app: ASGIApp) -> ASGIApp:
    """The application, given the path as it was sent, without the prefix of its mount point.

    Every segment is decoded and encoded again, so that a path has one spelling.
    """

    async def rewritten(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        raw: bytes = (scope.get("raw_path") or scope["path"].encode()).partition(b"?")[0]
        raw = raw.removeprefix(scope.get("root_path", "").encode())
        try:
            segments = [unquote(part, errors="strict") for part in raw.decode("ascii").split("/")]
        except UnicodeDecodeError:
            problem = refusal(
                HTTPStatus.BAD_REQUEST,
                "The path cannot be read: ids in it have to be UTF-8 text, percent-encoded.",
            )
            await problem(scope, receive, send)
            return
        path = "/" + "/".join(quote(segment, safe="") for segment in segments[1:])
        await app({**scope, "path": path, "root_path": ""}, receive, send)

    return rewritten


class _Segment(Convertor[str]):
    """One encoded segment of a path, which may be empty."""

    regex = "[^/]*"

    def convert(self, value: str) -> str:
        return unquote(value)


register_url_convertor("bfsql_segment", _Segment())


class _Endpoint:
    """Answers one route."""

    def __init__(self, live: LiveGraph, api: Callable[[Graph], Api], route: ApiRoute) -> None:
        self._live, self._api, self._route = live, api, route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            caller, identity = Caller(role=scope.get(ROLE)), scope.get(IDENTITY, "")
            async with self._live.graph(caller, identity) as graph:
                if graph.limits.tools is not None and self._route.handler is not tool:
                    raise ToolError("Your role may only call tools.", kind="refused")
                read = await read_request(self._api(graph), self._route, request)
                async with self._live.calls.call():
                    response = await _while_connected(receive, self._response(request, read))
        except ClientDisconnect:
            return
        if response is not None:
            await response(scope, receive, send)

    async def _response(self, request: Request, read: ApiRequest) -> Response:
        limits, route = read.api.graph.limits, self._route
        name = f"{route.method} {route.path}"
        scope = read.api.graph.scope(read.caller, request_id_of(request.scope))
        with scope as opened, self._observed(name, read, opened) as seen:
            with translate_errors(limits, name):
                async with self._live.turn(read.caller):
                    reply = await route.handler(read)
                refuse_if_too_large(limits, route.subject, len(reply.content))
            if seen is not None:
                seen.size, seen.tokens = len(reply.content), limits.estimator(reply.content)
        shared = "private" if read.api.token else "public"
        return reply.response(request, f"{shared}, max-age={self._live.settings.max_age}")

    def _observed(
        self, name: str, read: ApiRequest, scope: call.Scope
    ) -> AbstractContextManager[ObservedCall | None]:
        """Observe a request; a request for a tool is observed as a call of the tool."""
        observers = read.api.graph.observers
        if not observers or self._route.handler is tool:
            return nullcontext()
        # Not dict(): a model with a field `keys` would be taken for a mapping.
        query = read.parameters.model_dump() if self._route.method == "GET" else {}
        given = {k: v for k, v in {**read.path, **query}.items() if v is not None}
        return observers.observed(name, given, scope)


async def _while_connected(
    receive: Receive, answering: Coroutine[Any, Any, Response]
) -> Response | None:
    """The answer; None if the client left, which cancels the store queries."""
    answer = asyncio.ensure_future(answering)
    left = asyncio.ensure_future(_disconnect(receive))
    try:
        await asyncio.wait({answer, left}, return_when=asyncio.FIRST_COMPLETED)
        return answer.result() if answer.done() else None
    finally:
        for task in (answer, left):
            task.cancel()
        await asyncio.gather(answer, left, return_exceptions=True)


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _problem(_: Request, error: Exception) -> Response:
    problem = problem_of(error) if isinstance(error, ToolError) else error
    assert isinstance(problem, Problem)
    return problem.response()


async def _no_route(request: Request, _: Exception) -> Response:
    path = clean_text(unquote(request.scope["path"]))[:200]
    return refusal(
        HTTPStatus.NOT_FOUND,
        f"There is nothing at {path}. GET /docs lists the paths; ids in a path are "
        "percent-encoded, a slash in them as %2F.",
    )


async def _no_method(request: Request, _: Exception) -> Response:
    allowed = sorted(
        method
        for route in request.app.routes
        if route.matches(request.scope)[0] is not Match.NONE
        for method in route.methods
    )
    return Problem(
        HTTPStatus.METHOD_NOT_ALLOWED,
        f"{request.method[:200]} is not allowed for this path, which accepts "
        f"{' and '.join(allowed)}. The graph can be read but not changed.",
        {"Allow": ", ".join(allowed)},
    ).response()
