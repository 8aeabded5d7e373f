"""The pooled session: one client, in the event loop that uses it, and its manners.

Every request ends with the deadline of the call, is asked again only where
asking again is safe, goes to no other host than was agreed, and never takes in
more than was allowed.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from dataclasses import replace
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

import httpx2

from bfsql import call
from bfsql.errors import ConfigurationError, StoreError, StoreUnavailable
from bfsql_jsonld.addresses import NotAsked, ascii_host, joined, listed, public_address, same_host
from bfsql_jsonld.authentication import Authentication
from bfsql_jsonld.caching import Replies
from bfsql_jsonld.replies import Reply, Request, short
from bfsql_jsonld.retrying import Passing, pause, wait

REDIRECTS = 5
"""Redirects that are followed for one request."""

_KEPT_OPEN = 30.0  # seconds that an idle connection stays open
_MOVED = (301, 302, 303, 307, 308)


class Session:
    """Asks an API, as its settings say.

    Args:
        settings: Where it is, who asks, and the bounds.

    Raises:
        ConfigurationError: Certificates or secrets that cannot be used.
    """

    def __init__(self, settings: Any) -> None:
        self._settings = settings
        self._base: str = settings.base_url
        self._authentication = Authentication(settings)
        self._replies = Replies(settings.replies_bytes)
        self._trusted = _trusted(settings.ca_file)
        self._slots = asyncio.Semaphore(settings.max_concurrent)
        agent = f"bfsql-jsonld/{version('bfsql-jsonld')}"
        self._agent = f"{agent} ({settings.contact})" if settings.contact else agent
        self._client: httpx2.AsyncClient | None = None
        self._stranger: httpx2.AsyncClient | None = None
        self._closed = False
        self.requests = 0
        """Requests that were sent so far."""

    async def ask(self, request: Request) -> Reply:
        """Send a request; any status that is no error of the way there comes back.

        Raises:
            StoreError: It leads where nothing may be asked, or the answer is too large.
            StoreUnavailable: There is no answer, or none in time.
        """
        kept = self._replies.get(request)
        if kept is not None:
            if kept.is_fresh:
                return replace(kept.reply, request=request)
            request = replace(request, conditions=kept.conditions)
        limit, left = self._settings.request_timeout, call.remaining()
        seconds = limit if left is None else min(limit, left)
        ends = time.monotonic() + seconds
        try:
            async with asyncio.timeout(seconds), self._slots:
                return self._replies.settled(await self._answer(request, ends), kept)
        except TimeoutError:
            within = f"within {limit:g} s (request_timeout)"
            if seconds < limit:
                within = f"in the {seconds:.1f} s that the call had left for it"
            raise StoreUnavailable(f"{request.shown} was not answered {within}.") from None

    async def close(self) -> None:
        """Close the connections."""
        self._closed = True
        clients, self._client, self._stranger = (self._client, self._stranger), None, None
        for client in clients:
            if client is not None:
                await client.aclose()

    # --- one request --------------------------------------------------------

    async def _answer(self, request: Request, ends: float) -> Reply:
        """Asked again after what may pass, while there is time."""
        attempt = 0
        while True:
            failure: StoreUnavailable
            try:
                reply = await self._followed(request)
            except Passing as error:
                failure, seconds = error, pause(attempt)
            except httpx2.InvalidURL as error:
                raise StoreError(
                    f"{request.shown} leads to what is no URL, or to none that can be asked "
                    f"({error})."
                ) from None
            else:
                told = wait(reply, attempt)
                if told is None:
                    return reply
                seconds = told
                failure = StoreUnavailable(
                    f"{request.shown} was answered {reply.status} (try again in {seconds:.3g} s): "
                    f"{reply.quoted()}."
                )
            if attempt >= self._settings.retries or time.monotonic() + seconds >= ends:
                raise failure
            await asyncio.sleep(seconds)
            attempt += 1

    async def _followed(self, request: Request) -> Reply:
        """Redirects are followed to hosts that may be asked."""
        url = request.url
        for _ in range(REDIRECTS + 1):
            reply = await self._logged_in(request, url)
            location = reply.headers.get("location")
            if reply.status not in _MOVED or location is None:
                return reply
            target = joined(url, location).partition("#")[0]
            if request.method != "GET" and reply.status in _MOVED[:3]:
                raise StoreError(
                    f"{request.shown} is sent elsewhere ({reply.status}, to {_host(target)}), "
                    "which makes another question of it: give the right URL in base_url."
                )
            url = target
        raise StoreError(
            f"{request.shown} was redirected {REDIRECTS} times and more; it never ends."
        )

    async def _logged_in(self, request: Request, url: str) -> Reply:
        """With credentials for the API's own host, and for no other."""
        if not same_host(url, self._base):
            hosts = self._settings.follow_hosts if request.hosts is None else request.hosts
            if not listed(url, hosts):
                raise NotAsked(
                    f"{request.shown} leads to {_host(url)}, which is not asked: it is not the "
                    f"host of {self._base}. Give the right URL in base_url, or allow the host in "
                    f"{'follow_hosts' if request.hosts is None else 'context_hosts'}."
                )
            return await self._from_stranger(request, url)
        headers = await self._authentication.headers(self._post_form)
        headers = {**self._settings.headers, **headers, **request.conditions}
        reply = await self._sent(self._own(), request, url, headers)
        if reply.status == 401 and self._authentication.renewable:  # noqa: PLR2004
            self._authentication.forget(headers["Authorization"])
            headers |= await self._authentication.headers(self._post_form)
            reply = await self._sent(self._own(), request, url, headers)
        return reply

    async def _from_stranger(self, request: Request, url: str) -> Reply:
        address = await public_address(url, allow_private=self._settings.allow_private)
        parts, host = urlsplit(url), ascii_host(url)
        at = f"[{address}]" if ":" in address else address
        port = "" if parts.port is None else f":{parts.port}"
        pinned = parts._replace(netloc=f"{at}{port}").geturl()
        headers = {"Host": f"[{host}]{port}" if ":" in host else f"{host}{port}"}
        return await self._sent(
            self._other(), request, url, headers, pinned=pinned, sni_hostname=host
        )

    async def _sent(
        self,
        client: httpx2.AsyncClient,
        request: Request,
        url: str,
        headers: dict[str, str],
        *,
        pinned: str | None = None,
        **extensions: Any,
    ) -> Reply:
        self.requests += 1
        headers = {"Accept": request.accept, **headers}
        if request.body is not None:
            headers.setdefault("Content-Type", "application/json")
        most = request.most or self._settings.max_response_bytes
        body = bytearray()
        try:
            async with client.stream(
                request.method,
                pinned or url,
                content=request.body,
                headers=headers,
                extensions=extensions,
            ) as response:
                async for chunk in response.aiter_bytes():
                    body += chunk
                    if len(body) > most:
                        raise _too_large(request, most)
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            raise _unreached(request, url, error) from None
        found = {name.lower(): value for name, value in response.headers.items()}
        hidden = self._authentication.hidden
        return Reply(request, url, response.status_code, found, bytes(body), hidden)

    async def _post_form(self, url: str, form: bytes, login: dict[str, str]) -> Reply:
        """The one request with a secret for another host: the one that the settings name for it."""
        request = Request(url, "POST", form, "application/json")
        headers = {**login, "Content-Type": "application/x-www-form-urlencoded"}
        return await self._sent(self._own(), request, url, headers)

    # --- clients ------------------------------------------------------------

    def _own(self) -> httpx2.AsyncClient:
        if self._client is None:
            self._client = self._made(self._settings.max_concurrent)
        return self._client

    def _other(self) -> httpx2.AsyncClient:
        """No connection to a stranger is kept: it would be one to an address, not to a name."""
        if self._stranger is None:
            self._stranger = self._made(0)
        return self._stranger

    def _made(self, kept_open: int) -> httpx2.AsyncClient:
        if self._closed:
            raise StoreError(f"The session with {self._base} was closed.")
        limits = httpx2.Limits(
            max_connections=self._settings.max_concurrent,
            max_keepalive_connections=kept_open,
            keepalive_expiry=_KEPT_OPEN,
        )
        return httpx2.AsyncClient(
            headers={"User-Agent": self._agent, "Accept-Encoding": "gzip, deflate"},
            auth=httpx2.Auth(),  # none: a name in a URL would go in the place of the settings'
            timeout=httpx2.Timeout(None, connect=self._settings.connect_timeout),
            limits=limits,
            verify=self._trusted,
            http2=find_spec("h2") is not None,
            follow_redirects=False,
            trust_env=bool(kept_open),  # a proxy would look names up by itself
        )


def _trusted(ca_file: Any) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(
            f"The setting ca_file is {str(ca_file)!r}: no certificates can be read from it "
            f"({error})."
        ) from None


def _unreached(request: Request, url: str, error: Exception) -> StoreError:
    """Nothing that passes where the certificate is wrong, otherwise `Passing`.

    Args:
        request: What was asked.
        url: Where, after redirects.
        error: What came of it.
    """
    why = f"{type(error).__name__}: {error}".removesuffix(": ").rstrip(".")
    if "CERTIFICATE_VERIFY_FAILED" in why:
        return StoreError(
            f"{_host(url)} has a certificate that is not trusted ({short(why)}). If it is "
            "the right host, name the certificates to trust in ca_file."
        )
    if "WRONG_VERSION_NUMBER" in why:
        return StoreError(f"{_host(url)} speaks no TLS. Is it http:// and not https://?")
    if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
        return Passing(
            f"{_host(url)} cannot be reached ({short(why)}). Is it running, and is the URL right?"
        )
    return Passing(f"{request.shown} broke off: {short(why)}.")


def _too_large(request: Request, most: int) -> StoreError:
    bound = "max_context_bytes" if request.most else "max_response_bytes"
    return StoreError(
        f"{request.shown} was answered with more than {most:,} bytes. Ask for less, or "
        f"raise {bound}."
    )


def _host(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return "what is no URL"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
