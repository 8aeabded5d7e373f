"""Tokens of OAuth 2 issuers: JWTs by the issuer's keys, others by introspection (RFC 7662).

Neither a token nor its content is logged.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
from http import HTTPStatus
from typing import Any
from urllib.parse import quote_plus, urlencode, urlsplit

import jwt

from bfsql import call, http
from bfsql.errors import BfsqlError, ConfigurationError
from bfsql.serving.logs import OnceAMinute
from bfsql.serving.tokens import TOKEN_PREFIX, KnownTokens, TokenOwner
from bfsql.settings import ServeSettings

log = logging.getLogger(__name__)

MAX_TOKEN, MAX_DOCUMENT, MAX_KEPT = 16_384, 500_000, 1_000
"""Characters of a token, bytes of an issuer's document, and results of introspection."""

ISSUER_SECONDS, SKEW_SECONDS, KEPT_SECONDS, FRESH_SECONDS, KEY_SECONDS = 10, 60, 30, 600, 3_600
"""For an answer of an issuer; between the clocks; and the age at which a result of introspection is
forgotten, keys are read again, and keys are no longer used."""

_ALGORITHMS = "RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA"
"""Neither `none` nor HMAC, with which a public key could sign."""

_FAULTS = (
    *(BfsqlError, http.HttpError, http.PrivateAddress, TimeoutError, RecursionError),
    *(jwt.PyJWTError, ValueError, LookupError, TypeError, AttributeError),  # of unusual JSON
)


class OAuthTokens:
    """Verifies tokens of issuers, except for what they are for (`ProtectedResource`), and others.

    Raises:
        ConfigurationError: There is no `public_url`, or an issuer has no usable URL.
    """

    def __init__(self, settings: ServeSettings, others: KnownTokens | None) -> None:
        if settings.public_url is None:
            raise ConfigurationError(
                "oauth_issuer needs public_url (--public-url), the address by which clients reach "
                "this server: tokens are issued for it."
            )
        self._others = others
        self._issuers = {url: _Issuer(url, settings) for url in settings.oauth_issuer}

    async def verify_token(self, token: str) -> TokenOwner | None:
        """The owner of a token, with its scopes and claims, or None."""
        owner = await self._others.verify_token(token) if self._others else None
        if owner is not None or token.startswith(TOKEN_PREFIX):
            return owner
        try:
            if len(token) > MAX_TOKEN:
                raise jwt.InvalidTokenError
            if token.count(".") == 2:
                claims = await self._verified(token)
            else:
                claims = await next(iter(self._issuers.values())).introspected(token)
            return _owner(claims, claims["iss"] + " " if len(self._issuers) > 1 else "")
        except _FAULTS as error:
            log.info("A token was refused: %s.", type(error).__name__)
            return None

    async def _verified(self, token: str) -> dict[str, Any]:
        """The claims of a JWT with a good signature, issuer and time."""
        unverified = jwt.decode_complete(token, options={"verify_signature": False})
        issuer = self._issuers.get(unverified["payload"].get("iss"))
        if issuer is None:
            raise jwt.InvalidIssuerError
        key = await issuer.key(unverified["header"].get("kid"))
        required: Any = {"require": ["exp", "aud", "sub"], "verify_aud": False}
        return jwt.decode(token, key, [key.algorithm_name], required, leeway=SKEW_SECONDS)


def _owner(claims: dict[str, Any], issuer: str) -> TokenOwner:
    """Whose token it is, by the claims that issuers use for this.

    Two issuers may give one name to two people: then `issuer` is put in front of it.
    """
    scopes = claims.get("scope", claims.get("scp", ()))  # the second at Entra ID and Okta
    scopes = scopes.split() if isinstance(scopes, str) else [*map(str, scopes)]
    client = claims.get("client_id", claims.get("azp")) or ""
    name = claims.get("sub") or client
    if not name:
        raise jwt.MissingRequiredClaimError("sub")
    return TokenOwner(str(client), f"{issuer}{name}", scopes, claims)


class _Issuer:
    """An issuer, whose metadata and keys are read when first needed, and again at times."""

    def __init__(self, url: str, settings: ServeSettings) -> None:
        self._url, self._settings, self._may_be_local = url, settings, settings.oauth_allow_private
        self._client = http.HttpClient()
        self._metadata: dict[str, Any] = {}
        self._keys: dict[str | None, jwt.PyJWK] = {}
        self._read_at, self._may_read = -float("inf"), OnceAMinute()
        self._reading: asyncio.Task[None] | None = None
        self._introspected: dict[bytes, tuple[float, dict[str, Any]]] = {}
        self._places = asyncio.Semaphore(8)
        self._check(url)

    async def key(self, name: str | None) -> jwt.PyJWK:
        """The key of a name, or the only one; waits for none that is known."""
        if time.monotonic() - self._read_at > KEY_SECONDS:
            self._keys = {}
        await self._follow(wait=name not in self._keys)
        if name not in self._keys:
            raise jwt.InvalidKeyError
        return self._keys[name]

    async def introspected(self, token: str) -> dict[str, Any]:
        """What the issuer says of an active token."""
        digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
        until, claims = self._introspected.get(digest, (0.0, {}))
        if time.time() >= until:
            client, secret = self._settings.oauth_client_id, self._settings.oauth_client_secret
            if client is None or secret is None:
                raise jwt.DecodeError
            login = http.basic(quote_plus(client), quote_plus(secret.get_secret_value().strip()))
            form = urlencode({"token": token, "token_type_hint": "access_token"}).encode()
            headers = {"Authorization": login, "Content-Type": "application/x-www-form-urlencoded"}
            await self._follow(wait=not self._metadata)
            async with self._places, asyncio.timeout(ISSUER_SECONDS):
                at = self._metadata["introspection_endpoint"]
                claims = await self._document(at, "POST", form, headers)
            until = min(time.time() + KEPT_SECONDS, float(claims.get("exp", "inf")))
            self._introspected[digest] = until, claims
            if len(self._introspected) > MAX_KEPT:
                del self._introspected[next(iter(self._introspected))]
        if claims.get("active") is not True or claims.get("iss", self._url) != self._url:
            raise jwt.InvalidTokenError
        return {"iss": self._url, **claims}

    async def _follow(self, *, wait: bool) -> None:
        """Read metadata and keys if they are old or lack something, at most once a minute."""
        if (wait or time.monotonic() - self._read_at > FRESH_SECONDS) and self._may_read():
            loop = asyncio.get_running_loop()
            self._reading = loop.create_task(self._read(), context=call.outside())
        if wait and self._reading is not None:
            await asyncio.wait({self._reading})

    async def _read(self) -> None:
        path = urlsplit(self._url).path.rstrip("/")
        origin = self._url.rstrip("/").removesuffix(path)
        of_oauth = f"{origin}/.well-known/oauth-authorization-server{path}"
        of_openid = f"{origin}{path}/.well-known/openid-configuration"
        try:
            async with asyncio.timeout(ISSUER_SECONDS):
                found = await self._document(of_oauth) or await self._document(of_openid)
                if found.get("issuer") != self._url:
                    raise ValueError("its metadata is missing or names another issuer")
                keys = (await self._document(found["jwks_uri"]))["keys"]
            usable = [k for k in jwt.PyJWKSet(keys).keys if k.algorithm_name in _ALGORITHMS.split()]
            self._keys = dict.fromkeys([None], usable[0]) if len(usable) == 1 else {}
            self._keys |= {key.key_id: key for key in usable}
            self._metadata, self._read_at = found, time.monotonic()
        except _FAULTS as error:
            log.warning("The keys of %s cannot be read. %s", self._url, http.describe(error))

    async def _document(self, url: str, *how: Any) -> dict[str, Any]:
        """A JSON object of the issuer; empty if it answers with another status than 200."""
        self._check(url)
        request, local = http.HttpRequest(url, *how), self._may_be_local
        reply = await self._client.send_public(request, max_bytes=MAX_DOCUMENT, allow_private=local)
        return dict(json.loads(reply.body)) if reply.status == HTTPStatus.OK else {}

    def _check(self, url: str) -> None:
        local = self._may_be_local and not http.is_unencrypted(url)
        if not (url.startswith("https://") or local):
            why = "is not an https URL, nor one of this machine with oauth_allow_private"
            raise ConfigurationError(f"{url} of oauth_issuer {why}.")
