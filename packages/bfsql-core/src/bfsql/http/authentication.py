"""Credentials of a request for its server: keys, logins, and fetched tokens."""

from __future__ import annotations

import asyncio
import base64
import json
import math
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Self, TypeAlias
from urllib.parse import quote_plus, urlencode

from bfsql.http.errors import HttpError

if TYPE_CHECKING:
    import httpx2
    from pydantic import SecretStr

    from bfsql.http.messages import HttpReply

Post: TypeAlias = Callable[[str, bytes, Mapping[str, str]], Awaitable["HttpReply"]]
"""Sends URL, form and headers as a POST request and returns the reply."""


@dataclass(eq=False)
class TokenRefused(HttpError):
    """The OAuth server refused to issue a token."""

    status: int
    """The status of its reply."""
    code: str
    """The error code of the reply, as in `invalid_client`; empty if there is none."""


class OAuthClient:
    """OAuth 2.0 client credentials (RFC 6749, 4.4): one token, renewed before it expires.

    Args:
        url: The token endpoint.
        client: The client's id.
        secret: The client's secret; surrounding spaces are dropped.
        scope: The scope to request; None sends none.
    """

    def __init__(self, url: str, client: str, secret: SecretStr, scope: str | None = None) -> None:
        self.secret = secret.get_secret_value().strip()
        self.current = ""
        """The access token; empty before the first one and after a refusal."""
        self._url = url
        self._scope = scope
        self._login = basic(quote_plus(client), quote_plus(self.secret))
        self._expires = 0.0
        self._lock = asyncio.Lock()

    async def token(self, post: Post) -> str:
        """The access token; concurrent callers share one request.

        Args:
            post: Sends a token request if one is needed.

        Raises:
            TokenRefused: The reply has no token.
        """
        async with self._lock:
            if not self.current or time.monotonic() >= self._expires:
                self.current, lifetime = await self._fetched(post)
                # A token is no longer used 30 s before its expiry.
                self._expires = time.monotonic() + max(lifetime - 30.0, lifetime / 2)
            return self.current

    def forget(self, token: str) -> None:
        """Discard a refused token; a newer one is retained."""
        if token == self.current:
            self.current = ""

    async def _fetched(self, post: Post) -> tuple[str, float]:
        """A token, and the seconds for which it is valid."""
        form = {"grant_type": "client_credentials"}
        if self._scope:
            form["scope"] = self._scope
        headers = {
            "Accept": "application/json",
            "Authorization": self._login,
            "Content-Type": "application/x-www-form-urlencoded",
        }
        reply = await post(self._url, urlencode(form).encode(), headers)
        answer = _json_object(reply.body)
        token, code = answer.get("access_token"), answer.get("error")
        if reply.status != HTTPStatus.OK or not isinstance(token, str) or not fits_header(token):
            named = isinstance(code, str) and code.isidentifier()
            raise TokenRefused(reply.request, reply.status, str(code) if named else "")
        try:
            seconds = float(answer["expires_in"])
        except (LookupError, TypeError, ValueError):
            seconds = math.nan
        # A token whose reply has no usable lifetime is used for five minutes.
        return token, seconds if math.isfinite(seconds) and seconds > 0 else 300.0


@dataclass(frozen=True)
class Credentials:
    """Credentials for one server; pass them to `HttpClient.send` only for requests to it."""

    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers with secrets, as in `{"Authorization": f"Bearer {token}"}`."""
    digest: tuple[str, str] | None = None
    """User name and password for digest authentication."""
    oauth: OAuthClient | None = None
    """The client that fetches bearer tokens."""
    hidden: Collection[str] = ()
    """Secrets in the headers and the login, which no message may repeat."""

    @classmethod
    def of(
        cls,
        *,
        token: str | None = None,
        key: tuple[str, str] | None = None,
        login: tuple[str, str] | None = None,
        digest: bool = False,
        oauth: OAuthClient | None = None,
    ) -> Self:
        """Credentials with every kind of secret that is given.

        Args:
            token: A bearer token.
            key: Name of a header, and the key in it.
            login: User name and password.
            digest: Whether digest authentication is used for them, instead of basic.
            oauth: Fetches bearer tokens.
        """
        headers: dict[str, str] = {}
        hidden: list[str] = []
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
            hidden.append(token)
        if key is not None:
            headers[key[0]] = key[1]
            hidden.append(key[1])
        if login is not None:
            header = basic(*login)
            hidden += [login[1], header.removeprefix("Basic ")]
            if not digest:
                headers["Authorization"] = header
        return cls(headers, login if digest else None, oauth, tuple(hidden))

    @property
    def secrets(self) -> tuple[str, ...]:
        """Secrets that no message may repeat, including OAuth's secret and token; longest first."""
        oauth = () if self.oauth is None else (self.oauth.secret, self.oauth.current)
        return tuple(sorted({*self.hidden, *oauth} - {""}, key=len, reverse=True))

    @cached_property
    def auth(self) -> httpx2.Auth | None:
        """The digest authentication, which remembers the server's challenge; None if not used."""
        import httpx2

        return None if self.digest is None else httpx2.DigestAuth(*self.digest)


def basic(username: str, password: str) -> str:
    """The `Authorization` header of basic authentication, in UTF-8 (RFC 7617)."""
    return f"Basic {base64.b64encode(f'{username}:{password}'.encode()).decode()}"


def header_secret(secret: SecretStr) -> str | None:
    """A secret in header form, without surrounding spaces; None if no header can carry it."""
    text = secret.get_secret_value().strip()
    return text if fits_header(text) else None


def fits_header(text: str) -> bool:
    """Whether a text is not empty and can be sent in a header: printable ASCII."""
    return text != "" and text.isascii() and text.isprintable()


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
