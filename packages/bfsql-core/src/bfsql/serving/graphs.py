"""The applications of a server's graphs behind one address.

Several graphs have MCP at `/mcp/NAME`, and the web API with its page at `/graphs/NAME/`; `/graphs`
lists those that the caller may use. One graph has them at `/mcp` and `/`.

Starlette is not imported with this module, nor are the applications.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from http import HTTPStatus
from importlib import import_module
from typing import TYPE_CHECKING, Any

from bfsql.serving.access import (
    GRAPH,
    require_known_names,
    require_token,
    usable_graphs,
    verified_token,
)
from bfsql.serving.logs import graph_name
from bfsql.serving.requests import with_headers
from bfsql.serving.tokens import verifier_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

    from bfsql.serving.live import LiveGraph
    from bfsql.settings import ServeSettings

MCP, WEB = "bfsql.server.mcp", "bfsql.explore.page"
"""Modules with an `application` of one graph, and its `GREETING`."""


def modules(settings: ServeSettings) -> list[str]:
    """Those that a server over HTTP needs: MCP, or with `rest` the web API, or both."""
    return [MCP] * (settings.transport == "http") + [WEB] * settings.rest


def greeting(lives: Mapping[str, LiveGraph], settings: ServeSettings, url: str) -> str:
    """What the operator reads when the server listens."""
    if [*lives] == [""]:
        return "\n".join(import_module(one).GREETING.format(url=url) for one in modules(settings))
    names = (name if live.is_open else f"{name} (not open)" for name, live in lives.items())
    return f"BFS-QL answers at {url}; {url}/graphs lists its graphs: {', '.join(names)}"


def application(lives: Mapping[str, LiveGraph], settings: ServeSettings, **of_page: Any) -> ASGIApp:
    """The application of all graphs.

    Args:
        lives: The open graphs by name.
        settings: Tokens, names and bounds of the server.
        **of_page: Further arguments of the page.
    """
    verifier = verifier_of(settings)

    def applications(module: str, **arguments: Any) -> dict[str, ASGIApp]:
        if module not in modules(settings):
            return {}
        of_one = import_module(module).application
        return {name: of_one(live, settings, verifier, **arguments) for name, live in lives.items()}

    mcp, web = applications(MCP), applications(WEB, **of_page)
    if [*lives] == [""] and not (mcp and web):
        return (mcp or web)[""]
    directory = _directory(lives)
    if verifier is not None:
        directory = require_token(directory, verifier, _plain)
    directory = with_headers(require_known_names(directory, settings, _plain))

    def found(root: str, path: str) -> tuple[str, ASGIApp | None, dict[str, Any]]:
        """The graph that a path is for, its application, and what replaces parts of the scope."""
        match path.split("/"):
            case ["", "mcp", name] if name in mcp and name:
                at = f"{root}/mcp"
                return name, mcp[name], {"path": at, "raw_path": at.encode()}
            case ["", "graphs", name, _, *_] if name in web and name:
                return name, web[name], {"root_path": f"{root}/graphs/{name}"}
            case ["", "graphs", *_] if "" not in web:
                return "", None, {}
        apps = mcp if path == "/mcp" else web
        return (*next(iter(apps.items())), {}) if len(apps) == 1 else ("", None, {})

    async def routed(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await directory(scope, receive, send)
            return
        root = scope.get("root_path", "")
        name, app, place = found(root, scope["path"].removeprefix(root))
        graph_name.set(name)
        scope = {**scope, **place, GRAPH: name} if name else scope
        await (app or directory)(scope, receive, send)

    return routed


def _directory(lives: Mapping[str, LiveGraph]) -> ASGIApp:
    """Answers at `/graphs`, and where there is nothing; its lifespan is that of the sessions."""
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse, RedirectResponse
    from starlette.routing import Route

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for live in lives.values():  # an application behind another is not asked to begin
                if live.lifespan is not None:
                    await stack.enter_async_context(live.lifespan())
            yield

    async def listed(request: Request) -> Response:
        names = usable_graphs(lives, verified_token(request.scope))
        found = [{"name": name, **_about(lives[name])} for name in names]
        return JSONResponse({"graphs": found}, headers={"Cache-Control": "no-store"})

    async def folder(request: Request) -> Response:  # to which the links of the page are relative
        return RedirectResponse(f"{request.url.path}/", HTTPStatus.PERMANENT_REDIRECT)

    async def nothing(request: Request, _: Exception) -> Response:
        return _plain(
            HTTPStatus.NOT_FOUND,
            "There is nothing here. The graphs are at /mcp/NAME (MCP) and /graphs/NAME/ (a page "
            "and the web API), as far as GET /graphs lists them. NAME is one of: "
            f"{', '.join(usable_graphs(lives, verified_token(request.scope)))}.",
        )

    routes = [Route("/graphs", listed), Route("/graphs/{name}", folder)]
    return Starlette(
        routes=routes, exception_handlers={HTTPStatus.NOT_FOUND: nothing}, lifespan=lifespan
    )


def _about(live: LiveGraph) -> dict[str, Any]:
    settings, served = live.settings, modules(live.settings)
    places = {MCP: ("mcp", f"mcp/{live.name}"), WEB: ("web", f"graphs/{live.name}/")}
    return {
        "title": settings.title or live.name,
        "description": settings.graph_description,
        "open": live.is_open,
        **dict(places[module] for module in served),
    }


def _plain(status: HTTPStatus, sentence: str) -> Response:
    from starlette.responses import PlainTextResponse

    return PlainTextResponse(sentence, status)
