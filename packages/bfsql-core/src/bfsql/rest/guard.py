"""Who may ask: by which names the server is called, from which pages, with which token."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.datastructures import MutableHeaders
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bfsql.asgi import BearerAuth, HostGuard, allowed_names
from bfsql.rest.problem import Problem

if TYPE_CHECKING:
    from bfsql.settings import ServeSettings


def guarded(app: ASGIApp, settings: ServeSettings) -> ASGIApp:
    """The application behind token, origins and names.

    Preflights of browsers carry no token, so origins are looked at before it.
    """
    if settings.bearer_token is not None:
        app = BearerAuth(app, settings.bearer_token.get_secret_value(), _refusal)
    if settings.cors_origins:
        app = _Cors(
            app,
            allow_origins=settings.cors_origins,
            allow_methods=["GET", "HEAD", "POST"],
            allow_headers=["Authorization", "Content-Type", "If-None-Match"],
            expose_headers=["ETag", "Link", "Retry-After"],
        )
    names = allowed_names(settings.host, settings.allowed_hosts)
    return app if names is None else HostGuard(app, names, settings.cors_origins, _refusal)


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


def _refusal(status: HTTPStatus, sentence: str) -> Response:
    return Problem(status, sentence).response()
