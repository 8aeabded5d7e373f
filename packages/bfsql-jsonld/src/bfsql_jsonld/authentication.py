"""Who asks: the headers that say so, and tokens that have to be fetched first."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import math
import time
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any
from urllib.parse import quote_plus, urlencode, urlsplit

from pydantic import SecretStr

from bfsql.errors import ConfigurationError, StoreError
from bfsql_jsonld.replies import Reply
from bfsql_jsonld.retrying import Passing, wait
from bfsql_jsonld.settings import JsonLdSettings

log = logging.getLogger("bfsql")

Post = Callable[[str, bytes, dict[str, str]], Awaitable[Reply]]
"""URL, form and headers to what is answered."""

_HERE = ("localhost", "127.0.0.1", "::1")
_EARLY = 30.0  # seconds before its end at which a token is no longer used
_LIFETIME = 300.0  # of a token whose end nobody tells


class Authentication:
    """Headers for the API's own host, by the way to log in that the settings give.

    Args:
        settings: With at most one way to log in.

    Raises:
        ConfigurationError: A secret holds what no header can.
    """

    def __init__(self, settings: JsonLdSettings) -> None:
        self._headers: dict[str, str] = {}
        self.secrets: tuple[str, ...] = ()
        if settings.token is not None:
            self._headers["Authorization"] = f"Bearer {self._secret(settings.token, 'token')}"
        if settings.api_key is not None:
            self._headers[settings.api_key_header] = self._secret(settings.api_key, "api_key")
        if settings.username is not None and settings.password is not None:
            self._headers["Authorization"] = self._basic(
                settings.username, self._secret(settings.password, "password", ascii_only=False)
            )
        self._oauth = _ClientCredentials(settings) if settings.oauth_url is not None else None
        if self._oauth is not None:
            self.secrets += (self._oauth.secret,)
        self._warn(settings)

    async def headers(self, post: Post) -> dict[str, str]:
        """What a request to the API carries.

        Args:
            post: Asks for a token, where one is needed.

        Raises:
            StoreError: There is no token to be had.
        """
        if self._oauth is None:
            return self._headers
        return {**self._headers, "Authorization": f"Bearer {await self._oauth.token(post)}"}

    @property
    def renewable(self) -> bool:
        """Whether another token may help after a 401."""
        return self._oauth is not None

    def forget(self, sent: str) -> None:
        """Take no token for good that was refused; one that came meanwhile stays.

        Args:
            sent: The header of the request that was refused.
        """
        if self._oauth is not None and sent == f"Bearer {self._oauth.current}":
            self._oauth.current = ""

    @property
    def hidden(self) -> tuple[str, ...]:
        """What no sentence may repeat, longest first."""
        token = self._oauth.current if self._oauth is not None else ""
        found = {*self.secrets, token} - {""}
        return tuple(sorted(found, key=len, reverse=True))

    def _secret(self, value: SecretStr, name: str, *, ascii_only: bool = True) -> str:
        text = value.get_secret_value().strip()
        if not text or (ascii_only and not _fits_header(text)):
            raise ConfigurationError(
                f"The setting {name} is empty, or has characters that no header can carry."
            )
        self.secrets += (text,)
        return text

    def _basic(self, username: str, password: str) -> str:
        pair = base64.b64encode(f"{username}:{password}".encode()).decode()
        self.secrets += (pair,)
        return f"Basic {pair}"

    def _warn(self, settings: JsonLdSettings) -> None:
        for url in (settings.base_url, settings.oauth_url or ""):
            parts = urlsplit(url)
            if self.secrets and parts.scheme == "http" and parts.hostname not in _HERE:
                log.warning("%s gets secrets unencrypted; an https URL hides them.", url)


class _ClientCredentials:
    """OAuth 2.0 client credentials (RFC 6749, 4.4): one token, renewed before it ends."""

    def __init__(self, settings: JsonLdSettings) -> None:
        assert settings.oauth_url
        assert settings.oauth_client
        assert settings.oauth_secret
        self._url = settings.oauth_url
        self._scope = settings.oauth_scope
        self.secret = settings.oauth_secret.get_secret_value().strip()
        pair = f"{quote_plus(settings.oauth_client)}:{quote_plus(self.secret)}"
        self._login = f"Basic {base64.b64encode(pair.encode()).decode()}"
        self.current = ""
        self._ends = 0.0
        self._lock = asyncio.Lock()

    async def token(self, post: Post) -> str:
        async with self._lock:
            if not self.current or time.monotonic() >= self._ends:
                self.current, lifetime = await self._fetched(post)
                self._ends = time.monotonic() + max(lifetime - _EARLY, lifetime / 2)
            return self.current

    async def _fetched(self, post: Post) -> tuple[str, float]:
        form = {"grant_type": "client_credentials"} | (
            {"scope": self._scope} if self._scope else {}
        )
        reply = await post(self._url, urlencode(form).encode(), {"Authorization": self._login})
        if wait(reply, 0) is not None:
            raise Passing(f"{self._url} gave no token: it answered {reply.status}.")
        said = _object(reply.body)
        token = said.get("access_token")
        if reply.status != HTTPStatus.OK or not isinstance(token, str) or not _fits_header(token):
            reason = said.get("error")
            why = f" ({reason})" if isinstance(reason, str) and reason.isidentifier() else ""
            raise StoreError(
                f"{self._url} gave no token: it answered {reply.status}{why}. Are oauth_url, "
                "oauth_client, oauth_secret and oauth_scope right?"
            )
        try:
            seconds = float(said["expires_in"])
        except (LookupError, TypeError, ValueError):
            seconds = _LIFETIME
        return token, seconds if math.isfinite(seconds) and seconds > 0 else _LIFETIME


def _fits_header(text: str) -> bool:
    return text != "" and text.isascii() and text.isprintable()


def _object(body: bytes) -> dict[str, Any]:
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}
