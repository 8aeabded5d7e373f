"""The web API as an ASGI application."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from bfsql import call
from bfsql.errors import ToolError
from bfsql.graph import Graph
from bfsql.rest.api import Api
from bfsql.rest.asked import Asked, body, query
from bfsql.rest.guard import guarded
from bfsql.rest.problem import Problem, problem_of
from bfsql.rest.routes import ROUTES
from bfsql.rest.routing import Route, found
from bfsql.tools import translate_errors

if TYPE_CHECKING:
    from bfsql.settings import ServeSettings


GREETING = "BFS-QL answers at {url} (its web API; see /docs)"
"""What the operator reads when the server listens."""


def application(graph: Graph, settings: ServeSettings) -> ASGIApp:
    """The API over an open graph, guarded as the settings say.

        async with bfsql.open_graph("sqlite", path="graph.db") as graph:
            app = application(graph, ServeSettings())

    Args:
        graph: Open, and closed by the caller when nobody asks any more.
        settings: Bounds, token, names and origins. Where it listens is the caller's matter.
    """
    token = settings.bearer_token is not None
    keeping = f"{'private' if token else 'public'}, max-age={settings.max_age}"
    api = Api(graph, settings.max_request_bytes, token)
    return guarded(_Application(api, keeping), settings)


class _Application:
    """Reads a request, has it answered, and makes problem documents of what goes wrong."""

    def __init__(self, api: Api, keeping: str) -> None:
        self._api = api
        self._keeping = keeping

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            route, path = found(ROUTES, scope)
            content = None
            if route.method == "POST":
                content = await body(request, self._api.max_request_bytes)
            asked = Asked(path, query(request), content, _caller(request))
            response = await _while_connected(receive, self._response(request, route, asked))
        except Problem as problem:
            response = problem.response()
        except ClientDisconnect:
            return
        if response is not None:
            await response(scope, receive, send)

    async def _response(self, request: Request, route: Route, asked: Asked) -> Response:
        limits = self._api.graph.limits
        try:
            with (
                call.scope(seconds=limits.deadline, caller=asked.caller),
                translate_errors(limits, f"{route.method} {route.path}"),
            ):
                reply = await route.handler(self._api, asked)
        except ToolError as error:
            return problem_of(error).response()
        return reply.response(request, self._keeping)


def _caller(request: Request) -> call.Caller:
    return call.Caller(client=request.headers.get("user-agent"))


async def _while_connected(
    receive: Receive, answering: Coroutine[Any, Any, Response]
) -> Response | None:
    """The answer, or None where the client left; then the store is not asked any longer."""
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
