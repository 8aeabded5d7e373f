"""The HTTP requests in progress: their ids, which clients have left, and how to end all requests.

ASGI applications around those of MCP and of the web API: `with_headers` is a part of these,
`Requests` is around all of a server, `with_one_length` around all of each port. The first two add
to the scope of each request.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections import Counter
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from bfsql.call import new_request_id
from bfsql.serving.logs import request_id

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

log = logging.getLogger("bfsql")
_refusals_log = logging.getLogger("bfsql.requests")

_REQUEST, _ID = "bfsql.request", "bfsql.request_id"
"""Keys of a scope."""

_WITHOUT_BODY = ("GET", "HEAD", "OPTIONS")

_ID_HEADER = b"x-request-id"
_SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
"""Browsers do not guess the type of an answer, nor give it to a page of another site."""
_CLOSES = (b"connection", b"close")
_SANE_ID = re.compile(rb"[\x21-\x7e]{1,128}")

_REFUSED = (
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.MISDIRECTED_REQUEST,
    HTTPStatus.TOO_MANY_REQUESTS,
)


class HttpRequest:
    """One request, from its first line to the last byte of its answer.

    Attributes:
        left: Whether the client left before it had received the whole answer.
        listens: Whether the client holds a stream open for messages from the server.
        status: The status of the answer; 0 before it begins.
        closes: Whether the connection is closed after the answer.
    """

    def __init__(self, method: str, receive: Receive, send: Send) -> None:
        self.left = self.listens = self.closes = False
        self._method, self._receive, self._send = method, receive, send
        self._complete, self._half_sent = method in _WITHOUT_BODY, False
        self.status = 0
        self._answered = self._ending = False
        self._task = asyncio.current_task()
        self._calls: set[asyncio.Timeout] = set()

    @property
    def waits_for_answer(self) -> bool:
        """Whether the request has arrived and its client waits for the end of the answer."""
        return self._complete and not self.listens and not self._answered

    @property
    def may_be_cut(self) -> bool:
        """Whether no answer is lost if it ends now: nothing is expected, or it is incomplete.

        A request of which the application has read nothing may have arrived in full: on a busy
        machine it takes a while until it is read.
        """
        return self.listens or self._answered or self._half_sent

    def end_when_left(self, call: asyncio.Timeout) -> None:
        """End a call when the client leaves."""
        self._calls.add(call)
        if self.left:
            expire(call)

    def ended(self, call: asyncio.Timeout) -> None:
        """Undo `end_when_left`."""
        self._calls.discard(call)

    async def receive(self) -> Message:
        """The next part of the request."""
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self._leave()
        else:
            self._half_sent = message.get("more_body", False)
            self._complete = not self._half_sent
        return message

    async def send(self, message: Message) -> None:
        """Send a part of the answer."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            kind = dict(message.get("headers", ())).get(b"content-type", b"")
            if self._method == "GET" and kind.startswith(b"text/event-stream"):
                self.listens = True
            if self.closes:
                message = {**message, "headers": [*message.get("headers", ()), _CLOSES]}
        await self._send(message)
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            self._answered = True

    async def answer(self, app: ASGIApp, scope: Scope) -> None:
        """Have an application answer the request, until `end`."""
        try:
            await app(scope, self.receive, self.send)
        except asyncio.CancelledError:
            if not self._ending:
                raise
            assert self._task is not None
            self._task.uncancel()
            await self._finish()
        except Exception as fault:
            if not self.left:
                raise
            log.info("A client disconnected during its answer: %s", type(fault).__name__)
        finally:
            self._leave()

    def end(self) -> None:
        """Finish the answer now, even while the application is still running."""
        self._ending = True
        if self._task is not None:
            self._task.cancel()

    def _leave(self) -> None:
        """Note that the client left or that the request has ended."""
        if not self._answered and not self.left:
            self.left = True
            for call in tuple(self._calls):
                expire(call)

    async def _finish(self) -> None:
        if self._answered:
            return
        if not self.status:
            why = "This server is shutting down; send the request again in a few seconds."
            retry = (b"retry-after", b"5")
            await _close(self._send, HTTPStatus.SERVICE_UNAVAILABLE, why, retry)
            return
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})


async def _close(send: Send, status: HTTPStatus, why: str, *headers: tuple[bytes, bytes]) -> None:
    """Answer with a problem document, and close the connection."""
    body = json.dumps({"status": status, "detail": why}).encode()
    fixed = (
        (b"content-type", b"application/problem+json"),
        (b"content-length", b"%d" % len(body)),
        _CLOSES,
    )
    start = {"type": "http.response.start", "status": status, "headers": [*fixed, *headers]}
    await send(start)
    await send({"type": "http.response.body", "body": body, "more_body": False})


class Requests:
    """An application and its requests in progress.

    Attributes:
        refused: Number of refused requests so far, by the status of their answers.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.refused = Counter({int(status): 0 for status in _REFUSED})
        self._app = app
        self._open: set[HttpRequest] = set()
        self._closing = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, which is tracked until its end."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = scope[_REQUEST] = HttpRequest(scope["method"], receive, send)
        request.closes = self._closing
        self._open.add(request)
        try:
            await request.answer(self._app, scope)
        finally:
            self._open.discard(request)
            if request.status in _REFUSED:
                self.refused[request.status] += 1
            del scope[_REQUEST]  # the request holds uvicorn's, which holds the scope

    def waiting(self) -> set[HttpRequest]:
        """The requests whose clients wait for the end of their answer."""
        return {request for request in self._open if request.waits_for_answer}

    def close_connections(self) -> None:
        """Close each connection after its answer: a proxy then sends the next call elsewhere."""
        self._closing = True
        for request in self._open:
            request.closes = True

    def end(self, *, waiting: bool) -> None:
        """Finish all answers now; or only streams of events, and those of incomplete requests."""
        for request in self._open:
            if waiting or request.may_be_cut:
                request.end()


def request_of(scope: Any) -> HttpRequest | None:
    """The request of an ASGI scope; None if the application runs in another server."""
    request: HttpRequest | None = scope.get(_REQUEST)
    return request


def with_one_length(app: ASGIApp) -> ASGIApp:
    """The application, whose requests give the length of their body in one way.

    A request with both `Content-Length` and `Transfer-Encoding` gets 400, and its connection is
    closed (RFC 9112, section 6.1): a proxy may have taken the bytes of one request for two.
    """

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        names = {name for name, _ in scope.get("headers", ())}
        if names >= {b"content-length", b"transfer-encoding"}:
            await _close(
                send,
                HTTPStatus.BAD_REQUEST,
                "The request has both Content-Length and Transfer-Encoding. Send one of them.",
            )
        else:
            await app(scope, receive, send)

    return checked


# --- headers --------------------------------------------------------------------


def with_headers(app: ASGIApp) -> ASGIApp:
    """The application with the headers of every answer: the request's id, and security headers.

    The id is the request's header `X-Request-Id` if that has 1 to 128 printable ASCII characters
    without a space; otherwise a new one. Refused requests are logged.
    """

    async def named(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        scope[_ID] = name = _id_from_client(scope) or new_request_id()

        async def answered(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = ((_ID_HEADER, name.encode()), *_SECURITY_HEADERS)
                headers = [*message.get("headers", ()), *own]
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
    name: str | None = scope.get(_ID)
    return name


def header_values(scope: Scope, name: bytes) -> list[bytes]:
    """The values of a header, of which a request may have several."""
    return [value for given, value in scope["headers"] if given == name]


def _id_from_client(scope: Scope) -> str:
    values = header_values(scope, _ID_HEADER)
    sane = len(values) == 1 and _SANE_ID.fullmatch(values[0])
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
    _refusals_log.info("refused", extra={"fields": fields})


def expire(limit: asyncio.Timeout) -> None:
    """Let a timeout expire now."""
    if not limit.expired():  # nor about to be
        limit.reschedule(asyncio.get_running_loop().time())
