"""The applications of a server's graphs behind one address.

Several graphs have MCP at `/mcp/NAME` and the web API with its page at `/graphs/NAME/`; `/graphs`
lists those that the caller may use. One graph has them at `/mcp` and `/`.

Starlette is not imported with this module, nor are the applications.
"""

from __future__ import annotations

import asyncio
import json
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
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from bfsql.serving.live import LiveGraph
    from bfsql.settings import ServeSettings

MCP = "bfsql.server.mcp"
WEB = "bfsql.explore.page"
"""Modules with an `application` of one graph, and its `GREETING`."""


def modules(settings: ServeSettings) -> list[str]:
    """Those that a server over HTTP needs: MCP, or with `rest` the web API, or both."""
    return [MCP] * (settings.transport == "http") + [WEB] * settings.rest


def greeting(lives: Mapping[str, LiveGraph], settings: ServeSettings, url: str) -> str:
    """What the operator reads when the server listens."""
    served = modules(settings)
    if [*lives] == [""]:
        return "\n".join(import_module(module).GREETING.format(url=url) for module in served)
    places = {MCP: "/mcp/NAME", WEB: "/graphs/NAME/"}
    where = " and ".join(url + places[module] for module in served)
    closed = [f"{name} (not open yet)" for name, live in lives.items() if not live.is_open]
    names = ", ".join([*(name for name, live in lives.items() if live.is_open), *closed])
    return f"BFS-QL answers at {where}, where NAME is one of: {names}"


def application(lives: Mapping[str, LiveGraph], settings: ServeSettings, **of_page: Any) -> ASGIApp:
    """The application of all graphs.

    Args:
        lives: The open graphs by name.
        settings: Tokens, names and bounds of the server.
        **of_page: Further arguments of the page.
    """
    verifier = verifier_of(settings)
    apps: dict[str, dict[str, ASGIApp]] = {MCP: {}, WEB: {}}
    for module in modules(settings):
        for name, live in lives.items():
            arguments = of_page if module == WEB else {}
            made = import_module(module).application
            apps[module][name] = made(live, settings, verifier, **arguments)
    if [*lives] == [""] and len(modules(settings)) == 1:
        return apps[modules(settings)[0]][""]
    directory: ASGIApp = _Directory(lives)
    if verifier is not None:
        directory = require_token(directory, verifier, _plain)
    return _Graphs(apps, with_headers(require_known_names(directory, settings, _plain)))


class _Graphs:
    """Finds the application of a request by its path."""

    def __init__(self, apps: Mapping[str, Mapping[str, ASGIApp]], directory: ASGIApp) -> None:
        self._mcp, self._web, self._directory = apps[MCP], apps[WEB], directory

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._run(receive, send)
            return
        name, app, scope = self._found(scope)
        token = graph_name.set(name)
        try:
            await app(scope, receive, send)
        finally:
            graph_name.reset(token)

    def _found(self, scope: Scope) -> tuple[str, ASGIApp, Scope]:
        root = scope.get("root_path", "")
        path = scope["path"].removeprefix(root)
        match path.split("/"):
            case ["", "mcp", name] if name and name in self._mcp:
                place = {"path": f"{root}/mcp", "raw_path": f"{root}/mcp".encode()}
                return name, self._mcp[name], {**scope, **place, GRAPH: name}
            case ["", "graphs", name, _, *_] if name and name in self._web:
                place = {"root_path": f"{root}/graphs/{name}"}
                return name, self._web[name], {**scope, **place, GRAPH: name}
        # Without a name there is the only graph; the directory is that of graphs with names.
        listed = path.startswith("/graphs") and "" not in self._web
        apps = self._mcp if path == "/mcp" else {} if listed else self._web
        if len(apps) != 1:
            return "", self._directory, scope
        [(name, app)] = apps.items()
        return name, app, {**scope, GRAPH: name}

    async def _run(self, receive: Receive, send: Send) -> None:
        """The lifespan of all applications of MCP, of which each runs its sessions."""
        await receive()
        async with AsyncExitStack() as stack:
            for app in self._mcp.values():
                await stack.enter_async_context(_lifespan(app))
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})


@asynccontextmanager
async def _lifespan(app: ASGIApp) -> AsyncIterator[None]:
    """Run an application's lifespan, in a task of its own."""
    events: asyncio.Queue[Message] = asyncio.Queue()
    answers: asyncio.Queue[Message] = asyncio.Queue()
    events.put_nowait({"type": "lifespan.startup"})
    run: Any = app({"type": "lifespan", "state": {}}, events.get, answers.put)
    running = asyncio.ensure_future(run)
    if (answer := await answers.get())["type"] != "lifespan.startup.complete":
        raise RuntimeError(answer.get("message"))
    yield
    events.put_nowait({"type": "lifespan.shutdown"})
    await running


class _Directory:
    """Lists the graphs that the caller may use."""

    def __init__(self, lives: Mapping[str, LiveGraph]) -> None:
        self._lives = lives

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._answer(scope)(scope, receive, send)

    def _answer(self, scope: Scope) -> Response:
        from starlette.responses import RedirectResponse, Response

        root = scope.get("root_path", "")
        path = scope["path"].removeprefix(root)
        names = usable_graphs(self._lives, verified_token(scope))
        if scope["method"] in ("GET", "HEAD") and path.rstrip("/") == "/graphs":
            text = json.dumps({"graphs": [self._about(name) for name in names]}, ensure_ascii=False)
            return Response(
                text, headers={"Cache-Control": "no-store"}, media_type="application/json"
            )
        if path.removeprefix("/graphs/") in names:  # the page's links are relative to its folder
            return RedirectResponse(f"{root}{path}/", HTTPStatus.PERMANENT_REDIRECT)
        return _plain(
            HTTPStatus.NOT_FOUND,
            "There is nothing at this path. The graphs of this server are at /mcp/NAME (MCP) and "
            "/graphs/NAME/ (a page and the web API), as far as GET /graphs lists them. NAME is one "
            f"of: {', '.join(names)}.",
        )

    def _about(self, name: str) -> dict[str, Any]:
        live = self._lives[name]
        settings = live.settings
        return {
            "name": name,
            "title": settings.title or name,
            "description": settings.graph_description,
            "open": live.is_open,
            **({"mcp": f"mcp/{name}"} if settings.transport == "http" else {}),
            **({"web": f"graphs/{name}/"} if settings.rest else {}),
        }


def _plain(status: HTTPStatus, sentence: str) -> Response:
    from starlette.responses import PlainTextResponse

    return PlainTextResponse(sentence, status)
