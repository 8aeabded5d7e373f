"""A SPARQL endpoint over HTTP.

SPARQLWrapper makes the request (`request.py`); an asynchronous HTTP client
carries it, over connections that stay open. So an answer is bounded while it
streams, a login goes to one host, and cancelling closes the connection. What
the server then does with the query is its own affair: the time limit that is
sent along, where it takes one, ends it.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Self
from urllib.parse import urljoin, urlsplit

import httpx2

from bfsql import call
from bfsql.errors import ConfigurationError, StoreError, StoreUnavailable
from bfsql_sparql.authentication import Credentials, own, trust
from bfsql_sparql.connecting import BROKEN, no_answer
from bfsql_sparql.dataset import Dataset, Reply
from bfsql_sparql.failures import Failures, Heard, Passing
from bfsql_sparql.politeness import Gate, Held, pause
from bfsql_sparql.request import (
    TURTLE,
    Request,
    address,
    check_parameters,
    request_for_description,
    request_of,
    shown,
)
from bfsql_sparql.signs import ROW_LIMIT_HEADERS, cut_at

if TYPE_CHECKING:
    from bfsql_sparql.settings import SparqlSettings

_MOST_REDIRECTS = 5
_MOST_WORDS = 64 * 1024
"""Bytes of an error that are read; its first line is shown."""
_IDLE = 30.0
"""Seconds that an unused connection stays open."""


class Endpoint(Dataset):
    """An endpoint that takes queries by POST, and answers in JSON.

    Args:
        settings: Where it is, and how it is asked.
        client: Carries the requests; it is closed with the endpoint.
        credentials: Shown to the endpoint's own host.
    """

    endings = "/sparql or /query"
    """How the addresses of such endpoints often end."""

    def __init__(
        self, settings: SparqlSettings, client: httpx2.AsyncClient, credentials: Credentials
    ) -> None:
        if settings.endpoint is None:
            raise ConfigurationError("There is no endpoint: set endpoint or SPARQL_ENDPOINT_URL.")
        self._url = address(settings.endpoint, "endpoint")
        self.name = shown(self._url)
        self._settings = settings
        self._client: httpx2.AsyncClient | None = client
        self._credentials = credentials
        self._gate = Gate(settings.max_concurrent, settings.request_delay)
        self._failures = Failures(
            f"The SPARQL endpoint {self.name}",
            credentials.scheme,
            credentials.secrets,
            settings.max_response_bytes,
            self.endings,
        )

    @classmethod
    async def open(cls, settings: SparqlSettings) -> Self:
        """Make ready to ask, in the event loop that will; nothing is sent.

        Raises:
            ConfigurationError: Settings that cannot be used.
        """
        check_parameters(settings)
        credentials = Credentials.of(settings)
        client = httpx2.AsyncClient(
            verify=trust(settings),
            timeout=httpx2.Timeout(None, connect=settings.connect_timeout),
            limits=httpx2.Limits(
                max_keepalive_connections=settings.max_concurrent, keepalive_expiry=_IDLE
            ),
            follow_redirects=False,
        )
        try:
            endpoint = cls(settings, client, credentials)
        except BaseException:
            await client.aclose()
            raise
        credentials.warn(endpoint._url, endpoint._failures.name)
        return endpoint

    async def reply(self, query: str, seconds: float | None = None) -> Reply:
        """Ask one SELECT or ASK query (chapter 10).

        The time for the query runs from when its turn has come, that of the call all the while.

        Args:
            query: The whole text.
            seconds: How long it may take at the most, if that is less than `query_timeout`.

        Raises:
            Refused: The endpoint does not answer this query, or its answer is too large.
            TooSlow: The time is up, the endpoint's or this one, and the call's deadline is not.
            TimeoutError: The call's deadline is.
            StoreUnavailable: It is not there, too busy, or broke off, again and again.
            StoreError: It is no SPARQL endpoint, wants a login, or sends elsewhere.
        """
        most = self._settings.query_timeout
        limit = most if seconds is None else min(seconds, most)
        try:
            async with asyncio.timeout(call.remaining()), self._gate:
                return await self._within(query, limit)
        except TimeoutError:
            raise TimeoutError(
                f"{self._failures.name} did not answer before the call's time was up."
            ) from None

    async def description(self, seconds: float) -> bytes | None:
        """See `Dataset`. Asked for once: an endpoint need not have one, and most have none."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(seconds), self._gate:
                await self._gate.turn(began + seconds)
                request = request_for_description(self._settings, self._url)
                heard = await self._send(request, began, seconds)
        except (TimeoutError, Held, StoreError, *BROKEN):
            return None
        fine = heard.status == httpx2.codes.OK and heard.kind == TURTLE
        return heard.body if fine else None

    async def close(self) -> None:
        """Close its connections; a query under way ends."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _within(self, query: str, limit: float) -> Reply:
        try:
            async with asyncio.timeout(limit):
                return await self._patiently(query, limit)
        except TimeoutError:
            raise self._failures.too_late(limit) from None

    async def _patiently(self, query: str, limit: float) -> Reply:
        """Ask, and ask again as long as it may help and there is time."""
        left = call.remaining()
        ends = time.monotonic() + (limit if left is None else min(limit, left))
        attempt = 0
        while True:
            attempt += 1
            try:
                await self._gate.turn(ends)
                heard = await self._ask(query, ends)
            except Held as held:
                raise self._failures.held(held.seconds) from None
            except Passing as passing:
                if attempt > self._settings.retries:
                    raise
                await self._wait(passing, attempt, ends)
            else:
                return _reply(query, heard)

    async def _wait(self, passing: Passing, attempt: int, ends: float) -> None:
        wait = pause(attempt) if passing.wait is None else passing.wait
        if passing.asked:
            self._gate.hold(wait)
        if time.monotonic() + wait >= ends:
            raise passing
        await asyncio.sleep(wait)

    async def _ask(self, query: str, ends: float) -> Heard:
        limit = max(0.001, ends - time.monotonic())
        request = request_of(query, self._settings, self._url, limit)
        began = time.monotonic()
        try:
            heard = await self._send(request, began, limit)
        except BROKEN as error:
            if self._client is None:
                raise self._closed() from None
            waited = self._settings.connect_timeout
            raise no_answer(self._failures.name, error, waited) from error
        failure = self._failures.of(heard)
        if failure is not None:
            raise failure
        return heard

    async def _send(self, request: Request, began: float, limit: float) -> Heard:
        """Send to where the endpoint is, or to where it sends."""
        url = request.url
        for _ in range(_MOST_REDIRECTS):
            if self._client is None:
                raise self._closed()
            shows = own(self._url, url)
            headers = {**request.headers, **(self._credentials.headers if shows else {})}
            auth = self._credentials.auth if shows else None
            async with self._client.stream(
                request.method, url, content=request.body, headers=headers, auth=auth
            ) as response:
                if not response.has_redirect_location:
                    return await self._read(response, began, limit)
                url = self._next(url, response.status_code, response.headers["location"])
        raise self._failures.elsewhere(response.status_code, shown(url), "it does so in a circle.")

    def _next(self, url: str, status: int, location: str) -> str:
        """Where a redirect leads, if a query may go there."""
        try:
            to = urljoin(url, location)
            host = urlsplit(to).hostname or ""
            address(to, "endpoint")
        except (ValueError, ConfigurationError):
            raise self._failures.elsewhere(
                status, "no address", "set endpoint to the one that is meant."
            ) from None
        why = None
        if status not in (307, 308):
            why = f"a query cannot go along with {status}. Set endpoint to that address."
        elif urlsplit(url).scheme == "https" and urlsplit(to).scheme == "http":
            why = "from https to http no query goes. Set endpoint to the address that is meant."
        elif host != urlsplit(self._url).hostname and host not in self._settings.redirect_hosts:
            why = (
                f"set endpoint to that address, or add {host} to redirect_hosts, if it is to be "
                "trusted. No login goes there."
            )
        if why is not None:
            raise self._failures.elsewhere(status, shown(to), why)
        return to

    async def _read(self, response: httpx2.Response, began: float, limit: float) -> Heard:
        """Take in an answer, and stop where it is larger than it may be."""
        fine = response.status_code == httpx2.codes.OK
        most = self._settings.max_response_bytes if fine else _MOST_WORDS
        chunks: list[bytes] = []
        size = 0
        try:
            async for chunk in response.aiter_bytes():
                chunks.append(chunk)
                size += len(chunk)
                if size > most:
                    if fine:
                        raise self._failures.too_large()
                    break
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            if self._client is None:
                raise self._closed() from None
            if fine:
                raise self._failures.broke_off(time.monotonic() - began, limit) from error
        seconds = time.monotonic() - began
        return Heard(response.status_code, response.headers, b"".join(chunks), seconds, limit)

    def _closed(self) -> StoreError:
        return StoreUnavailable(f"{self._failures.name} was closed.")


def _reply(query: str, heard: Heard) -> Reply:
    """A whole answer, with the endpoint's own sign that it is not all."""
    for name in ROW_LIMIT_HEADERS:
        told = heard.headers.get(name, "")
        if told.isdecimal():
            limit = int(told)
            cut = cut_at(limit, query, heard.body)
            return Reply(
                heard.body, f"no answer has more than {limit:,} rows" if cut else None, limit
            )
    return Reply(heard.body)
