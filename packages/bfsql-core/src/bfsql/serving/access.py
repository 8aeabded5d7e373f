"""Who may call a server over HTTP: tokens, host names and origins.

The guards are ASGI applications around that of MCP (`bfsql.server`) or of the web API
(`bfsql.rest`). Starlette is not imported with this module.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, TypeAlias

from bfsql.serving.address import is_loopback

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

Refusal: TypeAlias = "Callable[[HTTPStatus, str], Response]"
"""Makes the answer to a request that is not let through, from its status and a sentence."""

ANY = "*"
"""In `allowed_hosts`: clients may call the server by any name."""

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_ANY_PORT = ":*"


def require_token(app: ASGIApp, token: str, refusal: Refusal) -> ASGIApp:
    """The application behind a shared token: a request without it gets 401.

    For verifiers of one's own, with issuers and scopes, use the SDK's
    `streamable_http_app(auth=..., token_verifier=...)`. The token is compared in constant
    time and never logged.
    """
    secret = token.encode()

    def allowed(scope: Scope) -> bool:
        given = _header_values(scope, b"authorization")
        scheme, _, value = given[0].partition(b" ") if len(given) == 1 else (b"", b"", b"")
        return scheme.lower() == b"bearer" and hmac.compare_digest(value.strip(), secret)

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        answer = app
        if scope["type"] == "http" and not allowed(scope):
            answer = refused = refusal(
                HTTPStatus.UNAUTHORIZED,
                "This server wants the header 'Authorization: Bearer TOKEN' with its token.",
            )
            refused.headers["WWW-Authenticate"] = "Bearer"
        await answer(scope, receive, send)

    return guarded


@dataclass(frozen=True, slots=True)
class AllowedNames:
    """Values that the headers `Host` and `Origin` may have; an entry for any port ends in `:*`."""

    hosts: tuple[str, ...]
    origins: tuple[str, ...]

    def allows_host(self, host: str | None) -> bool:
        """Whether a request to this `Host` is answered."""
        return host is not None and _matches(host, self.hosts)

    def allows_origin(self, origin: str | None) -> bool:
        """Whether a web page of this `Origin` may ask; programs send none."""
        return origin is None or _matches(origin, self.origins)


def allowed_names(host: str, allowed_hosts: Iterable[str]) -> AllowedNames | None:
    """The names that a server on a host is called by, beside those of loopback; None is any."""
    allowed = [*((*_LOOPBACK, host) if is_loopback(host) else ()), *allowed_hosts]
    if ANY in allowed:
        return None
    hosts = [entry for name in dict.fromkeys(allowed) for entry in (name, f"{name}{_ANY_PORT}")]
    origins = [f"{scheme}://{entry}" for entry in hosts for scheme in ("http", "https")]
    return AllowedNames(tuple(hosts), tuple(origins))


def require_known_names(
    app: ASGIApp, names: AllowedNames, cors_origins: Collection[str], refusal: Refusal
) -> ASGIApp:
    """The application behind its names: a foreign `Host` gets 421, a foreign `Origin` 403.

    This prevents DNS rebinding (`check_exposure`). The MCP SDK has a guard like it, which takes
    the same names. `cors_origins` are those of other web pages that may ask; `*` is any.
    """

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        answer = app
        if scope["type"] == "http":
            host, origin = _header(scope, b"host"), _header(scope, b"origin")
            known = names.allows_origin(origin) or origin in cors_origins or ANY in cors_origins
            if not names.allows_host(host):
                answer = refusal(
                    HTTPStatus.MISDIRECTED_REQUEST,
                    "This server is not called by the name in the header Host. Call it by a name "
                    "that it knows, or have its operator add the name to allowed_hosts.",
                )
            elif not known:
                answer = refusal(
                    HTTPStatus.FORBIDDEN,
                    "Pages of the origin in the header Origin may not ask this server. Its "
                    "operator can add the origin to cors_origins.",
                )
        await answer(scope, receive, send)

    return guarded


def _matches(value: str, allowed: Iterable[str]) -> bool:
    """Whether a value is allowed, in any case; `:*` stands for a port."""
    name, _, port = value.lower().rpartition(":")
    known = {entry.lower() for entry in allowed}
    return value.lower() in known or (port.isdecimal() and f"{name}{_ANY_PORT}" in known)


def _header_values(scope: Scope, name: bytes) -> list[bytes]:
    return [value for given, value in scope["headers"] if given == name]


def _header(scope: Scope, name: bytes) -> str | None:
    return next((value.decode("latin-1") for value in _header_values(scope, name)), None)
