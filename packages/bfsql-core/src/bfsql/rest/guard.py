"""Who may ask: by which names the server is called, from which pages, with which token."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bfsql.listening.bearer import BearerToken
from bfsql.listening.names import ANY, Names, names
from bfsql.rest.problem import Problem

if TYPE_CHECKING:
    from bfsql.config import ServeSettings


def guarded(app: ASGIApp, settings: ServeSettings) -> ASGIApp:
    """The application behind token, origins and names.

    Preflights of browsers carry no token, so origins are looked at before it.
    """
    if settings.bearer_token is not None:
        app = BearerToken(app, settings.bearer_token.get_secret_value(), _unauthorized)
    if settings.cors_origins:
        app = _Cors(
            app,
            allow_origins=settings.cors_origins,
            allow_methods=["GET", "HEAD", "POST"],
            allow_headers=["Authorization", "Content-Type", "If-None-Match"],
            expose_headers=["ETag", "Link", "Retry-After"],
        )
    served = names(settings.host, settings.allowed_hosts)
    return app if served is None else _Named(app, served, settings.cors_origins)


class _Cors(CORSMiddleware):
    """Says of every answer that it differs by origin, of those to programs too.

    Otherwise a cache would give a page an answer that does not allow the page to read it.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def varying(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if "origin" not in headers.get("vary", "").lower():
                    headers.add_vary_header("Origin")
            await send(message)

        await super().__call__(scope, receive, varying)


class _Named:
    """Lets only those requests through that call the server by one of its names.

    A web page that a user has open could otherwise reach the graph under a name
    of its own (DNS rebinding).
    """

    def __init__(self, app: ASGIApp, served: Names, origins: tuple[str, ...]) -> None:
        self._app = app
        self._served = served
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        if not self._served.serve_host(headers.get("host")):
            refusal = Problem(
                HTTPStatus.MISDIRECTED_REQUEST,
                "This server is not called by the name in the header Host. Call it by a name that "
                "it knows, or have its operator add the name to allowed_hosts.",
            )
        elif not self._from_known_page(headers.get("origin")):
            refusal = Problem(
                HTTPStatus.FORBIDDEN,
                "Pages of the origin in the header Origin may not ask this server. Its operator "
                "can add the origin to cors_origins.",
            )
        else:
            await self._app(scope, receive, send)
            return
        await refusal.response()(scope, receive, send)

    def _from_known_page(self, origin: str | None) -> bool:
        return self._served.serve_origin(origin) or ANY in self._origins or origin in self._origins


def _unauthorized(sentence: str) -> Response:
    return Problem(HTTPStatus.UNAUTHORIZED, sentence).response()
