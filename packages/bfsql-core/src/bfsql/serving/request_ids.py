"""The id of every HTTP request, in its records and its answer, and a log line for refusals."""

from __future__ import annotations

import logging
import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from bfsql.call import new_request_id
from bfsql.serving.logs import request_id

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

log = logging.getLogger("bfsql.requests")

HEADER = "X-Request-Id"

_NAME = HEADER.lower().encode()
_KEY = "bfsql.request_id"
_SANE = re.compile(rb"[\x21-\x7e]{1,128}")

_REFUSED = (
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.MISDIRECTED_REQUEST,
    HTTPStatus.TOO_MANY_REQUESTS,
)


def with_request_ids(app: ASGIApp) -> ASGIApp:
    """The application with an id for each request, which is sent with the answer.

    It is the request's header `X-Request-Id` if that has 1 to 128 printable ASCII characters
    without a space; otherwise a new one. Refused requests are logged.
    """

    async def named(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        scope[_KEY] = name = _id_from_client(scope) or new_request_id()

        async def answered(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [*message.get("headers", ()), (_NAME, name.encode())]
                message = {**message, "headers": headers}
                if message["status"] in _REFUSED:
                    _log_refused(scope, message["status"])
            await send(message)

        token = request_id.set(name)
        await app(scope, receive, answered)
        request_id.reset(token)  # after an exception it stays, for the line that the server logs

    return named


def request_id_of(scope: Any) -> str | None:
    """The id of the request of an ASGI scope; None if it has none."""
    name: str | None = scope.get(_KEY)
    return name


def _id_from_client(scope: Scope) -> str:
    values = [value for name, value in scope["headers"] if name == _NAME]
    sane = len(values) == 1 and _SANE.fullmatch(values[0])
    return values[0].decode("ascii") if sane else ""


def _log_refused(scope: Scope, status: int) -> None:
    client = scope.get("client")
    fields = {
        "status": int(status),
        "reason": HTTPStatus(status).phrase,
        "method": scope["method"][:200],
        "path": scope["path"][:200],
        "address": client[0] if client else None,
    }
    log.info("refused", extra={"fields": fields})
