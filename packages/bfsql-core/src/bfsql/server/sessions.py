"""The sessions of the 2025 protocol over HTTP: how many are kept, and which are ended first.

An ASGI application around the SDK's. The SDK keeps sessions up to a limit and then refuses new
ones, so that a client that only opens sessions locks out all others until those have expired. Here
an idle one is ended instead. The SDK also keeps the last messages of each session and stream: here
long ones are reduced, released or refused. This application also answers requests that the SDK
leaves unanswered in this protocol: those with an invalid id, and with one that is in use.
"""

from __future__ import annotations

import gc
import json
import logging
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from uuid import uuid4

from anyio import BrokenResourceError, ClosedResourceError, sleep_forever
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.shared.inbound import MCP_METHOD_HEADER, MCP_PROTOCOL_VERSION_HEADER
from mcp_types import INVALID_REQUEST
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bfsql.server.messages import BadMessage, check_id, id_in_use, is_request, parsed, reduced
from bfsql.serving.logs import OnceAMinute
from bfsql.serving.requests import header_values
from bfsql.settings import ServeSettings

_SESSION = MCP_SESSION_ID_HEADER.encode()
_VERSION = MCP_PROTOCOL_VERSION_HEADER.encode()
_METHOD = MCP_METHOD_HEADER.encode()

_RETAINED_BYTES = 2_000
"""Most bytes of a request that may stay in memory until a session or a stream ends. As objects they
take up to sixty times as much. What the SDK has of an answer is short: see `passage`."""

_JSON = (
    (b"content-type", b"application/json"),
    (b"accept", b"application/json, text/event-stream"),
)

log = logging.getLogger("bfsql")


@dataclass(eq=False, slots=True)
class _Session:
    id: str
    client: str
    user: object
    since: float
    """Time of its last use."""
    used: bool = False
    """Whether it had a request after those that opened it."""
    open: int = 0
    """HTTP requests in progress, including the stream on which it waits for messages."""
    ids: set[str] = field(default_factory=set)
    """Ids of requests in progress."""


class Sessions:
    """The SDK's application, which has the same limits, behind a limit on sessions.

    `len()` is the number of sessions that are open.

    Attributes:
        ended: Ended sessions, by reason: ended by the `client`, `evicted` while idle to make room
            for others, or `expired`.
    """

    def __init__(self, app: ASGIApp, settings: ServeSettings) -> None:
        self.ended: Counter[str] = Counter()
        self._app = app
        self._most, self._timeout = settings.max_sessions, settings.session_timeout
        self._most_bytes = settings.max_request_bytes
        self._sessions: dict[str, _Session] = {}
        self._opening = 0
        self._may_log = OnceAMinute()

    def __len__(self) -> int:
        self._forget_expired()
        return len(self._sessions)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; requests of the later protocol have no sessions and are passed on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        value, size = None, 0
        if scope["method"] == "POST":
            body = _Body(receive, self._most_bytes)
            if not await body.read():
                return  # the client left
            receive = body.replay
            if _has_sessions(scope) or _listens(scope):
                value = body.reduced_value()
            size = body.size
        session = self._session_of(scope)
        try:
            check_id(value)
            if _listens(scope):
                _check_size(value, size)
            if session is not None:
                await self._use(session, value, scope, receive, send)
            elif _opens(scope):
                session = await self._open(scope, receive, send)
            else:
                await self._app(scope, receive, send)
        except BadMessage as bad:
            answer = bad.answer.model_dump_json(by_alias=True, exclude_unset=True)
            response = Response(answer, HTTPStatus.BAD_REQUEST, media_type="application/json")
            await response(scope, receive, send)
        if session is not None and size > _RETAINED_BYTES:
            await self._release_messages(session, scope)

    def _session_of(self, scope: Scope) -> _Session | None:
        """The session that a request belongs to; None if it has none that its caller may use."""
        session = self._sessions.get(_header(scope, _SESSION) or "")
        if session is None or not _has_sessions(scope) or not _may_use(scope, session):
            return None
        return session

    async def _open(self, scope: Scope, receive: Receive, send: Send) -> _Session | None:
        """Pass on a request that may open a session as soon as there is room for it."""
        counted, session = True, None

        async def answered(message: Message) -> None:
            nonlocal counted, session
            if message["type"] == "http.response.start" and counted:
                counted = False
                self._opening -= 1
                name = dict(message.get("headers", ())).get(_SESSION, b"").decode("latin-1")
                if name and message["status"] < HTTPStatus.BAD_REQUEST:
                    user, since = scope.get("user"), time.monotonic()
                    session = _Session(name, _client(scope), user, since)
                    self._sessions[name] = session
            await send(message)

        self._opening += 1
        try:
            await self._make_room(scope)
            await self._app(scope, receive, answered)
        finally:
            if counted:
                self._opening -= 1
        return session

    async def _use(
        self, session: _Session, value: Any, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Pass on a request of a session."""
        own = {str(value["id"])} if is_request(value) else set()
        if own & session.ids:
            raise id_in_use(value["id"])

        started, send = False, _once(send)

        async def answered(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.body" and not message.get("more_body"):
                # Before the last part is sent: its client may use the id again at once.
                session.since = time.monotonic()
                session.ids -= own
                own.clear()
            if message["type"] == "http.response.start":
                started = True
                if message["status"] == HTTPStatus.NOT_FOUND:
                    self._forget(session, "expired")
                elif scope["method"] == "DELETE":
                    self._forget(session, "client")
            await send(message)

        if own:
            session.ids |= own
            session.used = True
        session.open += 1
        try:
            await self._app(scope, receive, answered)
        except (ClosedResourceError, BrokenResourceError):
            # The session ended before the request reached it, most often because its client left.
            log.debug("A request arrived for a session that has ended.")
            if not started:
                await Response("Session not found", HTTPStatus.NOT_FOUND)(scope, receive, answered)
        finally:
            session.open -= 1
            session.since = time.monotonic()
            session.ids -= own

    async def _make_room(self, scope: Scope) -> None:
        """End idle sessions until there is room for those that are being opened."""
        if len(self._sessions) + self._opening <= self._most:
            return
        self._forget_expired()
        before = self.ended["evicted"]
        for session in self._giving_way():
            if len(self._sessions) + self._opening <= self._most:
                break
            if session.id in self._sessions and not session.ids:  # still the case after awaiting
                self._forget(session, "evicted")
                await self._send(session, scope, "DELETE")  # as if its client had requested it
                # The SDK's sessions have reference cycles, which would otherwise be freed much
                # later than a flood of them needs.
                if self.ended["evicted"] % 500 == 0:
                    gc.collect()
        if self.ended["evicted"] > before and self._may_log():
            log.warning(
                "There are %d sessions, which is the limit max_sessions: idle ones are ended for "
                "new ones.",
                self._most,
            )

    def _giving_way(self) -> list[_Session]:
        """Sessions without a call in progress, in the order in which they are evicted.

        Those that made no call come first, then those of the client with most sessions, then those
        that have been idle longest.
        """
        held = Counter(session.client for session in self._sessions.values())
        idle = [session for session in self._sessions.values() if not session.ids]
        return sorted(idle, key=lambda s: (s.used, -held[s.client], s.since))

    async def _release_messages(self, session: _Session, scope: Scope) -> None:
        """Make the SDK forget the last request and answer of a session by sending a short one."""
        if session.id in self._sessions:
            ping = {"jsonrpc": "2.0", "id": f"bfsql-{uuid4().hex}", "method": "ping"}
            with suppress(ClosedResourceError, BrokenResourceError):  # it ended meanwhile
                await self._send(session, scope, "POST", json.dumps(ping).encode())

    async def _send(self, session: _Session, scope: Scope, method: str, body: bytes = b"") -> None:
        """Send the SDK a request of a session, in the name of its client."""
        headers = [*((k, v) for k, v in scope["headers"] if k == b"host"), *_JSON]
        headers.append((_SESSION, session.id.encode("latin-1")))
        request = {**scope, "method": method, "headers": headers, "user": session.user}
        parts = [body]

        async def receive() -> Message:
            if not parts:
                await sleep_forever()
            return {"type": "http.request", "body": parts.pop(), "more_body": False}

        async def send(message: Message) -> None:
            pass

        await self._app(request, receive, send)

    def _forget_expired(self) -> None:
        """Forget the sessions that the SDK has ended because they were idle for too long."""
        last = time.monotonic() - self._timeout - 1
        for session in [s for s in self._sessions.values() if not s.open and s.since < last]:
            self._forget(session, "expired")

    def _forget(self, session: _Session, reason: str) -> None:
        if self._sessions.pop(session.id, None) is not None:
            self.ended[reason] += 1


class _Body:
    """The body of a request, which is read and then passed on to an application.

    Args:
        receive: The source of the body.
        most: Most bytes to read; the rest of a longer body is left to the application.

    Attributes:
        size: Bytes that have been read, and not left out since.
    """

    def __init__(self, receive: Receive, most: int) -> None:
        self.size = 0
        self._whole = False
        self._receive = receive
        self._most = most
        self._messages: list[Message] = []

    async def read(self) -> bool:
        """Read the body; return whether the client stayed."""
        more = True
        while more and self.size <= self._most:
            message = await self._receive()
            if message["type"] != "http.request":
                return False
            self._messages.append(message)
            self.size += len(message.get("body", b""))
            more = message.get("more_body", False)
        self._whole = not more and self.size <= self._most
        self._messages.reverse()
        return True

    def reduced_value(self) -> Any:
        """Its JSON value without what the server does not use, which is not passed on either.

        None if it is not JSON or too long, which the application answers.
        """
        if not self._whole:
            return None
        try:
            value = parsed(b"".join(message.get("body", b"") for message in self._messages[::-1]))
        except BadMessage:
            return None
        if (less := reduced(value)) is not value:
            body = json.dumps(less).encode()
            self.size = len(body)
            self._messages = [{"type": "http.request", "body": body, "more_body": False}]
        return less

    async def replay(self) -> Message:
        """The next part."""
        return self._messages.pop() if self._messages else await self._receive()


def _once(send: Send) -> Send:
    """Sends one answer: the SDK sends a notification a second one if its session has ended."""
    whole = False

    async def sent(message: Message) -> None:
        nonlocal whole
        if not whole:
            whole = message["type"] == "http.response.body" and not message.get("more_body")
            await send(message)

    return sent


def _has_sessions(scope: Scope) -> bool:
    version = _header(scope, _VERSION)
    return version is None or version in HANDSHAKE_PROTOCOL_VERSIONS


def _may_use(scope: Scope, session: _Session) -> bool:
    """Whether a session belongs to the caller; the SDK refuses a caller with another token."""
    return not isinstance(scope.get("user"), AuthenticatedUser) or _client(scope) == session.client


def _opens(scope: Scope) -> bool:
    """Whether a request may open a session."""
    is_first = scope["method"] == "POST" and _header(scope, _SESSION) is None
    return is_first and _has_sessions(scope)


def _listens(scope: Scope) -> bool:
    """Whether a request of the later protocol opens a stream, which keeps the request in memory."""
    return not _has_sessions(scope) and _header(scope, _METHOD) == "subscriptions/listen"


def _check_size(value: Any, size: int) -> None:
    """Refuse a request that opens a stream if it is long."""
    if size > _RETAINED_BYTES:
        raise BadMessage(
            INVALID_REQUEST,
            f"A request to listen for changes may have at most {_RETAINED_BYTES:,} bytes without "
            f"the client's description; this one has {size:,}. Listen only for changes of the "
            "list of tools: this server announces no others.",
            value["id"] if is_request(value) else None,
        )


def _header(scope: Scope, name: bytes) -> str | None:
    return next((value.decode("latin-1") for value in header_values(scope, name)), None)


def _client(scope: Scope) -> str:
    """The key by which sessions are counted: the token's, or the address."""
    user = scope.get("user")
    if isinstance(user, AuthenticatedUser):
        return user.access_token.subject or user.access_token.client_id
    client = scope.get("client")
    return str(client[0]) if client else ""
