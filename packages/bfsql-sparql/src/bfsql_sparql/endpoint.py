"""A SPARQL endpoint over HTTP, for queries and, in the loader, for updates.

`bfsql.http` sends the requests of `request.py` over persistent connections: an answer is bounded
while it streams, a login is sent to one server only, and cancelling closes the connection. The
server may then continue the query; the time limit sent along, if it supports one, ends it.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Self, TypeVar
from urllib.parse import urljoin, urlsplit

from pydantic_core import from_json

from bfsql import call
from bfsql.errors import ConfigurationError, StoreError, StoreUnavailable
from bfsql.http import (
    EndlessRedirects,
    HttpClient,
    HttpReply,
    HttpRequest,
    NoReply,
    RateLimited,
    RateLimiter,
    ReplyTooLarge,
    Retryable,
    follow_redirects,
    hide_login,
    is_unencrypted,
    retry,
    same_server,
    seconds_left,
)
from bfsql_sparql.dataset import PING, Dataset, Reply
from bfsql_sparql.dialects import ROW_LIMIT_HEADERS
from bfsql_sparql.failures import Failures, TimedReply
from bfsql_sparql.request import (
    TURTLE,
    Login,
    address,
    check_parameters,
    description_request,
    query_request,
    trust,
    update_request,
)

if TYPE_CHECKING:
    from bfsql_sparql.settings import SparqlSettings

log = logging.getLogger("bfsql")

T = TypeVar("T")

_LIMIT = re.compile(r"\bLIMIT\s+(\d+)(?:\s+OFFSET\s+\d+)?\s*$", re.IGNORECASE)
_QUERIES_AT = re.compile(r"/(?:sparql|query)(?=$|\?)")
_UPDATES = b"SPARQL11Update"
"""Name of the update language in a service description."""
_ONLY_BY_POST = (400, 405, 415)
"""Statuses with which an endpoint for updates answers a GET if it does not describe itself."""
_NOT_DONE = (429, 503)
"""Statuses of an endpoint that has not begun an update; after any other it may have."""


class Endpoint(Dataset):
    """An endpoint that takes queries by POST, and answers in JSON.

    Raises:
        ConfigurationError: Settings that cannot be used.
    """

    endings = "/sparql or /query"
    """Typical endings of the addresses of such endpoints."""

    def __init__(self, settings: SparqlSettings) -> None:
        check_parameters(settings)
        if settings.endpoint is None:
            raise ConfigurationError("No endpoint is set: set endpoint or SPARQL_ENDPOINT_URL.")
        login = Login.of(settings)
        self._url = address(settings.endpoint, "endpoint")
        self.name = hide_login(self._url)
        self._settings = settings
        self._credentials = login.credentials
        self._limiter = RateLimiter(settings.max_concurrent, settings.request_delay)
        self._failures = Failures(f"The SPARQL endpoint {self.name}", login, settings, self.endings)
        self._client = HttpClient(
            connect_timeout=settings.connect_timeout,
            keep_open=settings.max_concurrent,
            tls=trust(settings),
        )
        if login.scheme and is_unencrypted(self._url):
            log.warning(
                "%s receives its %s unencrypted; use an https URL.",
                self._failures.name,
                login.scheme,
            )

    @classmethod
    async def open(cls, settings: SparqlSettings) -> Self:
        """The endpoint of the settings, made in the event loop that will use it; sends nothing."""
        return cls(settings)

    async def reply(self, query: str, seconds: float | None = None) -> Reply:
        """See `Dataset`; a redirect elsewhere is also a `StoreError`.

        The time for the query runs from its turn, that of the call all the time.
        """
        most = self._settings.query_timeout
        limit = most if seconds is None else min(seconds, most)
        try:
            async with asyncio.timeout(call.remaining()), self._limiter.turn():
                return await self._within(query, limit)
        except TimeoutError:
            raise TimeoutError(
                f"{self._failures.name} did not answer within the time limit of the call."
            ) from None

    async def description(self, seconds: float) -> bytes | None:
        """See `Dataset`. Requested once: a description is optional, and most have none."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(seconds), self._limiter.turn():
                await self._limiter.pause(began + seconds)
                request = description_request(self._settings, self._url)
                reply = (await self._send(request, seconds)).reply
        except (TimeoutError, RateLimited, StoreError):
            return None
        fine = reply.status == HTTPStatus.OK and reply.content_type == TURTLE
        return reply.body if fine else None

    async def ping(self) -> None:
        """See `Dataset`. Does not wait for its turn or for the end of a pause."""
        self._limiter.end_hold()
        await self._ask(PING, time.monotonic() + seconds_left(self._settings.query_timeout))

    async def updatable(self) -> str | None:
        """See `Dataset`: determined from the endpoint's answer to a GET, which changes nothing.

        Its own address and the usual address of endpoints for updates are tried.
        """
        beside = _QUERIES_AT.sub("/update", self._url)
        for url in dict.fromkeys((self._url, beside)):
            request = description_request(self._settings, url)
            try:
                reply = (await self._send(request, self._settings.query_timeout)).reply
            except StoreError:
                continue
            described = reply.status == HTTPStatus.OK and _UPDATES in reply.body
            if described or (url != self._url and reply.status in _ONLY_BY_POST):
                return hide_login(url)
        return None

    async def close(self) -> None:
        """Close its connections; a query under way ends."""
        await self._client.close()

    async def _within(self, query: str, limit: float) -> Reply:
        """Send the query, and again as long as retrying may help and there is time."""
        ends = time.monotonic() + seconds_left(limit)
        try:
            async with asyncio.timeout(limit):
                return await self._retry(lambda: self._ask(query, ends), ends)
        except TimeoutError:
            raise self._failures.timed_out(limit) from None

    async def _retry(self, attempt: Callable[[], Awaitable[T]], ends: float) -> T:
        retries, hold = self._settings.retries, self._limiter.hold
        return await retry(attempt, retries=retries, ends=ends, hold=hold)

    async def _ask(self, query: str, ends: float) -> Reply:
        await self._pause(ends)
        limit = max(0.001, ends - time.monotonic())
        request = query_request(query, self._settings, self._url, limit)
        timed = await self._send(request, limit)
        failure = self._failures.of(timed)
        if failure is not None:
            raise failure
        return _reply(query, timed.reply)

    async def _pause(self, ends: float) -> None:
        try:
            await self._limiter.pause(ends)
        except RateLimited as limited:
            raise self._failures.rate_limited(limited.seconds) from None

    async def _send(self, request: HttpRequest, limit: float) -> TimedReply:
        """The reply of the endpoint, or of its redirect; the caller ends it at `limit`."""
        began = time.monotonic()
        try:
            reply = await follow_redirects(request, self._exchange, self._target, most=4)
        except EndlessRedirects as error:
            raise self._failures.redirected(
                error.reply.status, hide_login(error.request.url), "the redirects form a loop."
            ) from None
        except ReplyTooLarge:
            raise self._failures.too_large() from None
        except NoReply as error:
            raise self._failures.no_reply(error, time.monotonic() - began, limit) from error
        return TimedReply(reply, time.monotonic() - began, limit)

    async def _exchange(self, request: HttpRequest) -> HttpReply:
        return await self._client.send(
            request,
            max_bytes=self._settings.max_response_bytes,
            max_error_bytes=64 * 1024,  # only the first line is shown
            credentials=self._credentials if same_server(request.url, self._url) else None,
        )

    def _target(self, reply: HttpReply) -> str:
        """The target of a redirect, if a query may go there."""
        url, status = reply.request.url, reply.status
        try:
            to = urljoin(url, reply.location or "")
            host = urlsplit(to).hostname or ""
            address(to, "endpoint")
        except (ValueError, ConfigurationError):
            raise self._failures.redirected(
                status, "no address", "set endpoint to the right address."
            ) from None
        why = None
        if status not in (307, 308):
            why = f"a query cannot be sent along with {status}. Set endpoint to that address."
        elif urlsplit(url).scheme == "https" and urlsplit(to).scheme == "http":
            why = (
                "queries are not redirected from https to http. Set endpoint to the right address."
            )
        elif host != urlsplit(self._url).hostname and host not in self._settings.redirect_hosts:
            why = (
                f"set endpoint to that address, or add {host} to redirect_hosts if you trust it. "
                "Credentials are not sent there."
            )
        if why is not None:
            raise self._failures.redirected(status, hide_login(to), why)
        return to


class UpdateEndpoint(Endpoint):
    """An endpoint for updates, used only by the loader; its settings are those for queries."""

    endings = "/update or /statements"

    @classmethod
    async def of(cls, settings: SparqlSettings) -> Self:
        """The endpoint that the settings name; nothing is sent.

        Raises:
            ConfigurationError: None is named, or the settings cannot be used.
        """
        if settings.update_endpoint is None:
            raise ConfigurationError(
                "Loading needs the URL that accepts updates: set update_endpoint, or "
                "SPARQL_UPDATE_URL. It often differs from the URL for queries, such as /update "
                "instead of /sparql."
            )
        return cls(settings.model_copy(update={"endpoint": settings.update_endpoint}))

    async def update(self, text: str, seconds: float) -> None:
        """Send one update, and wait until it is done.

        Args:
            text: The whole text.
            seconds: Time limit.

        Raises:
            Refused: The endpoint refuses the update, which is not done.
            StoreUnavailable: There was no answer; the update may or may not be done.
            StoreError: It is not an endpoint for updates, or requires a login.
        """
        request = update_request(text, self._settings, self._url)
        try:
            async with asyncio.timeout(seconds), self._limiter.turn():
                ends = time.monotonic() + seconds
                await self._retry(lambda: self._update(request, ends), ends)
        except TimeoutError:
            raise self._failures.timed_out(seconds) from None

    async def _update(self, request: HttpRequest, ends: float) -> None:
        """Raises `Retryable` only if nothing can have been done yet."""
        await self._pause(ends)
        status = None
        try:
            timed = await self._send(request, ends - time.monotonic())
            status = timed.reply.status
            if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
                return
            failure = self._failures.of(timed)
            assert failure is not None
            raise failure
        except Retryable as again:
            if status not in _NOT_DONE:
                raise StoreUnavailable(str(again)) from again
            raise


def _reply(query: str, reply: HttpReply) -> Reply:
    """A whole answer, with the endpoint's own sign that it is incomplete."""
    for name in ROW_LIMIT_HEADERS:
        told = reply.headers.get(name, "")
        if told.isdecimal():
            limit = int(told)
            cut = _is_cut_at(limit, query, reply.body)
            return Reply(
                reply.body, f"an answer has at most {limit:,} rows" if cut else None, limit
            )
    return Reply(reply.body)


def _is_cut_at(limit: int, query: str, body: bytes) -> bool:
    """Whether a whole answer ends at the server's row limit, and not at the query's."""
    own = _LIMIT.search(query)
    if own is not None and int(own[1]) <= limit:
        return False
    try:
        return len(from_json(body)["results"]["bindings"]) >= limit
    except (ValueError, LookupError, TypeError):
        return False
