"""The session with one API: destinations, credentials and repetition of requests.

A request ends with the deadline of the call, is sent again only if that is safe, and goes to
the hosts that the settings allow: to the API's own with credentials, to others without them and
never to a private address.
"""

from __future__ import annotations

import asyncio
import logging
import math
import ssl
import time
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from importlib.metadata import version
from itertools import count

from pydantic import SecretStr

from bfsql import http
from bfsql.errors import ConfigurationError, StoreError, StoreUnavailable
from bfsql_jsonld.replies import ACCEPT, NotAllowed, Reply, Request, joined, short
from bfsql_jsonld.settings import JsonLdSettings

log = logging.getLogger("bfsql")

REDIRECTS = 5
"""Redirects that are followed for one request."""

_BUSY = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
_TEMPORARY = (*_BUSY, HTTPStatus.BAD_GATEWAY, HTTPStatus.GATEWAY_TIMEOUT)
_GET_ONLY = (301, 302, 303)  # redirects after which a client may send a GET instead of a POST
_pause = partial(http.backoff, first=0.1, longest=math.inf, jitter=0.0)  # 0.1, 0.2, 0.4 s ...


class Session:
    """Sends the requests of one backend.

    Args:
        settings: The location of the API, the credentials, and the limits.

    Raises:
        ConfigurationError: Certificates or secrets that cannot be used.
    """

    def __init__(self, settings: JsonLdSettings) -> None:
        self._settings = settings
        self._base = settings.base_url
        self._credentials = _credentials(settings)
        self._limiter = http.RateLimiter(settings.max_concurrent)
        agent = f"bfsql-jsonld/{version('bfsql-jsonld')}"
        agent = f"{agent} ({settings.contact})" if settings.contact else agent
        self._client = http.HttpClient(
            headers={"User-Agent": agent, "Accept-Encoding": "gzip, deflate"},
            connect_timeout=settings.connect_timeout,
            keep_open=settings.max_concurrent,
            tls=_tls(settings),
            http2=True,
        )

    async def ask(self, request: Request) -> Reply:
        """Send a request; a reply of any status that is not temporary is returned.

        Raises:
            StoreError: It leads to a place where no request may go, or the reply is too large.
            StoreUnavailable: There is no reply, or none in time.
        """
        limit = self._settings.request_timeout
        seconds = http.seconds_left(limit)
        ends = time.monotonic() + seconds
        attempts = count(1)
        try:
            async with asyncio.timeout(seconds), self._limiter.turn():
                return await http.retry(
                    lambda: self._attempted(request, next(attempts)),
                    retries=self._settings.retries,
                    ends=ends,
                    pause=_pause,
                )
        except TimeoutError:
            within = f"within {limit:g} s (request_timeout)"
            if seconds < limit:
                within = f"in the {seconds:.1f} s that remained for this call"
            raise StoreUnavailable(f"{request.label} was not answered {within}.") from None

    async def ping(self) -> None:
        """Return when the API has answered anything at all.

        Raises:
            StoreUnavailable: The API does not answer, or is too busy.
        """
        await self._attempted(Request(self._base, "HEAD"), 1)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _attempted(self, request: Request, number: int) -> Reply:
        """Send the request once; `number` is the number of the attempt, from 1."""
        reply = await self._followed(request)
        if reply.status not in _TEMPORARY:
            return reply
        requested = reply.retry_after if reply.status in _BUSY else None
        wait = _pause(number) if requested is None else requested
        raise http.Retryable(
            f"{request.label} returned {reply.status} (try again in {wait:.3g} s): "
            f"{reply.quoted()}.",
            wait=wait,
            by_server=requested is not None,
        )

    async def _followed(self, request: Request) -> Reply:
        """The reply, after redirects to allowed hosts."""

        def target(reply: http.HttpReply) -> str:
            url = joined(reply.request.url, reply.location or "").partition("#")[0]
            if request.method != "GET" and reply.status in _GET_ONLY:
                raise StoreError(
                    f"{request.label} is redirected ({reply.status}, to {http.server_of(url)}) in "
                    "a way that would change the request. Set base_url to the right URL."
                )
            return url

        first = replace(request, headers={"Accept": ACCEPT, **request.headers})
        try:
            reply = await http.follow_redirects(
                first, partial(self._sent, request), target, most=REDIRECTS
            )
        except http.EndlessRedirects:
            raise StoreError(
                f"{request.label} was redirected more than {REDIRECTS} times. The API has to be "
                "corrected."
            ) from None
        except http.HttpError as error:
            raise self._failure(request, error) from None
        answer = reply.request, reply.status, reply.headers, reply.body
        return Reply(*answer, request.label, self._credentials.secrets)

    async def _sent(self, request: Request, message: http.HttpRequest) -> http.HttpReply:
        """Send with credentials to the API's own host, without them to other allowed hosts."""
        most = request.most or self._settings.max_response_bytes
        if http.same_server(message.url, self._base):
            headers = {**message.headers, **self._settings.headers}
            return await self._client.send(
                replace(message, headers=headers), max_bytes=most, credentials=self._credentials
            )
        hosts = self._settings.follow_hosts if request.hosts is None else request.hosts
        if not http.is_listed(message.url, hosts):
            raise NotAllowed(
                f"{request.label} leads to {http.server_of(message.url)}, which is refused because "
                f"it is not the host of {self._base}. Set base_url to the right URL, or allow the "
                f"host in {'follow_hosts' if request.hosts is None else 'context_hosts'}."
            )
        try:
            return await self._client.send_public(
                message, max_bytes=most, allow_private=self._settings.allow_private
            )
        except http.PrivateAddress as error:
            raise NotAllowed(
                f"The host {error.host} has the private address {error.address}, from which "
                "nothing is fetched. Set allow_private to allow it."
            ) from None

    def _failure(self, request: Request, error: http.HttpError) -> StoreError:
        """The sentence for a request without a usable reply."""
        url = error.request.url
        is_token = url == self._settings.oauth_url and error.request.method == "POST"
        shown = f"POST {short(url)}" if is_token else request.label
        if isinstance(error, http.TokenRefused):
            return _no_token(url, error)
        if isinstance(error, http.ReplyTooLarge):
            bound = "max_context_bytes" if request.most else "max_response_bytes"
            return StoreError(
                f"{shown} returned more than {error.max_bytes:,} bytes. Ask for less, or raise "
                f"{bound}."
            )
        assert isinstance(error, http.NoReply)
        if error.kind is http.Failure.CLOSED:
            return StoreError(f"The session with {self._base} was closed.")
        return _no_reply(shown, url, error)


def _no_reply(label: str, url: str, error: http.NoReply) -> StoreError:
    """A `Retryable` error, unless the certificate or the URL has to be changed."""
    why, server = short(error.detail), http.server_of(url)
    if error.kind is http.Failure.UNTRUSTED:
        return StoreError(
            f"{server} has a certificate that is not trusted ({why}). If it is the right host, "
            "set ca_file to the certificates to trust."
        )
    if "WRONG_VERSION_NUMBER" in error.detail:
        return StoreError(
            f"{server} does not support TLS. Should the URL start with http:// instead of https://?"
        )
    if error.kind is http.Failure.INVALID_URL:
        return StoreError(f"{label} leads to something that is not a usable URL ({error.reason}).")
    if error.is_connecting:
        return http.Retryable(
            f"{server} cannot be reached ({why}). Is it running, and is the URL right?"
        )
    return http.Retryable(f"{label} was interrupted: {why}. Try again.")


def _no_token(url: str, error: http.TokenRefused) -> StoreError:
    if error.status in _TEMPORARY:
        return http.Retryable(f"{url} did not issue a token: it returned {error.status}.")
    why = f" ({error.code})" if error.code else ""
    return StoreError(
        f"{url} did not issue a token: it returned {error.status}{why}. Check oauth_url, "
        "oauth_client, oauth_secret and oauth_scope."
    )


def _tls(settings: JsonLdSettings) -> ssl.SSLContext:
    try:
        return http.tls_context(settings.ca_file)
    except http.UnusableCertificate as unusable:
        raise ConfigurationError(
            f"The setting ca_file is {str(settings.ca_file)!r}, from which no certificates can be "
            f"read ({unusable.error})."
        ) from None


def _credentials(settings: JsonLdSettings) -> http.Credentials:
    """Credentials for the API's own host, from the login in the settings.

    Raises:
        ConfigurationError: A secret does not fit a header.
    """
    token = _header_secret(settings.token, "token")
    key = _header_secret(settings.api_key, "api_key")
    login, oauth = None, None
    if settings.username is not None and settings.password is not None:
        login = settings.username, settings.password.get_secret_value().strip()
        if not login[1]:
            raise _unusable_secret("password")
    if settings.oauth_url and settings.oauth_client and settings.oauth_secret:
        oauth = http.OAuthClient(
            settings.oauth_url, settings.oauth_client, settings.oauth_secret, settings.oauth_scope
        )
    credentials = http.Credentials.of(
        token=token,
        key=None if key is None else (settings.api_key_header, key),
        login=login,
        oauth=oauth,
    )
    for url in (settings.base_url, settings.oauth_url or ""):
        if credentials.secrets and http.is_unencrypted(url):
            shown = http.hide_login(url)
            log.warning("Secrets are sent to %s unencrypted; use an https URL.", shown)
    return credentials


def _header_secret(secret: SecretStr | None, setting: str) -> str | None:
    text = None if secret is None else http.header_secret(secret)
    if secret is not None and text is None:
        raise _unusable_secret(setting)
    return text


def _unusable_secret(setting: str) -> ConfigurationError:
    return ConfigurationError(
        f"The setting {setting} is empty, or contains characters that are not allowed in a header."
    )
