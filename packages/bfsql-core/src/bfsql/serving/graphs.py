"""The applications of a server's graphs behind one address.

Several graphs have MCP at `/mcp/NAME`, and the web API with its page at `/graphs/NAME/`; `/graphs`
lists those that the caller may use. One graph has them at `/mcp` and `/`.

Starlette is not imported with this module, nor are the applications.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from http import HTTPStatus
from importlib import import_module
from typing import TYPE_CHECKING, Any

from bfsql import call
from bfsql.errors import ConfigurationError
from bfsql.serving.access import (
    GRAPH,
    METADATA,
    RESOURCE,
    require_known_names,
    require_token,
    usable_graphs,
    verified_token,
    verifier_of,
)
from bfsql.serving.requests import with_headers
from bfsql.settings.roles import role_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

    from bfsql.serving.live import LiveGraphs
    from bfsql.settings import ServeSettings

MCP, WEB = "bfsql.server.mcp", "bfsql.explore.page"
"""Modules with an `application` of one graph, and its `GREETING`."""


def modules(settings: ServeSettings) -> list[str]:
    """Those that a server over HTTP needs: MCP, or with `rest` the web API, or both."""
    return [WEB] * settings.rest + [MCP] * (settings.transport == "http")


def application(lives: LiveGraphs, settings: ServeSettings, **of_page: Any) -> ASGIApp:
    """The application of all graphs.

    Args:
        lives: The open graphs.
        settings: Tokens, names and bounds of the server.
        **of_page: Further arguments of the page.
    """
    verifier = verifier_of(settings)
    if verifier is None and settings.roles:
        raise ConfigurationError(
            "The file has [roles], but nothing tells who calls. Set bearer_tokens (a file; `bfsql "
            "token NAME` prints a line of it) or oauth_issuer."
        )
    apps: dict[str, dict[str, ASGIApp]] = {MCP: {}, WEB: {}}
    for module in modules(settings):
        of_one = partial(import_module(module).application, **(of_page if module == WEB else {}))
        apps[module] = {name: of_one(live, settings, verifier) for name, live in lives.items()}
    if [*lives] == [""] and settings.rest != (settings.transport == "http"):
        return (apps[MCP] or apps[WEB])[""]
    directory = _directory(lives)
    if verifier is not None:
        directory = require_token(directory, verifier, _plain, settings)
    directory = with_headers(require_known_names(directory, settings, _plain))

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        name, app = "", None
        if scope["type"] == "http":
            root = scope.get("root_path", "")
            path = scope["path"].removeprefix(root)
            if is_metadata := path.startswith(METADATA):
                path = path.removeprefix(METADATA) + "/" * ("/graphs/" in path)
            name, app, place = _place(root, path, apps[MCP], apps[WEB])
            if is_metadata:  # which the application answers, whatever its own paths are
                place = {key: value for key, value in place.items() if key == RESOURCE}
            scope = {**scope, **place, **({GRAPH: name} if name else {})}
        call.GRAPH.set(name)
        await (app or directory)(scope, receive, send)

    return answer


def _place(
    root: str, path: str, mcp: Mapping[str, ASGIApp], web: Mapping[str, ASGIApp]
) -> tuple[str, ASGIApp | None, dict[str, Any]]:
    """The graph that a path is for, its application, and its place in the scope of the request."""
    match path.split("/"):
        case ["", "mcp", name] if name and name in mcp:
            place = {"path": f"{root}/mcp", "raw_path": f"{root}/mcp".encode()}
            return name, mcp[name], {**place, RESOURCE: path}
        case ["", "graphs", name, _, *_] if name and name in web:
            at = f"/graphs/{name}"
            return name, web[name], {"root_path": root + at, RESOURCE: at}
        case ["", "graphs", *_] if "" not in web:
            return "", None, {}
    apps = mcp if path == "/mcp" else web
    return (*next(iter(apps.items())), {}) if len(apps) == 1 else ("", None, {})


def _directory(lives: LiveGraphs) -> ASGIApp:
    """Answers at `/graphs`, and where there is nothing; its lifespan is that of the sessions."""
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for live in lives.values():  # an application behind another is not asked to begin
                if live.lifespan is not None:
                    await stack.enter_async_context(live.lifespan())
            yield

    def usable(request: Request) -> list[str]:
        roles = next(iter(lives.values())).settings.roles
        return usable_graphs(lives, role_of(roles, verified_token(request.scope)), roles)

    async def names_of_all(request: Request) -> Response:
        known = [lives[name] for name in usable(request)]
        found = [{"name": one.name, "title": one.title, "open": one.is_open} for one in known]
        return JSONResponse({"graphs": found}, headers={"Cache-Control": "no-store"})

    async def nothing(request: Request, _: Exception | None = None) -> Response:
        names = ", ".join(usable(request)) or "none that you may use"
        return _plain(
            HTTPStatus.NOT_FOUND,
            "There is nothing here. A graph is at /mcp/NAME over MCP, and its page and web API at "
            f"/graphs/NAME/, if the server has these. NAME is one of: {names}.",
        )

    # Starlette redirects to the second, since the links of the page are relative to a folder.
    routes = [Route("/graphs", names_of_all), Route("/graphs/{name}/", nothing)]
    return Starlette(routes=routes, exception_handlers={404: nothing}, lifespan=lifespan)


def _plain(status: HTTPStatus, sentence: str) -> Response:
    from starlette.responses import PlainTextResponse

    return PlainTextResponse(sentence, status)
