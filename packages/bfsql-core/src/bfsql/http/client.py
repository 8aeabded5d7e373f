"""The HTTP client: pooled connections, bounded bodies, and credentials for one server.

It belongs to the event loop that uses it, and sets no time limit except for connecting: the
caller's `asyncio.timeout` ends a request, which closes its connection.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from http import HTTPStatus
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bfsql import call
from bfsql.errors import ConfigurationError
from bfsql.http.addresses import ascii_host, public_address, server_of
from bfsql.http.authentication import Credentials, fits_header
from bfsql.http.errors import EndlessRedirects, Failure, NoReply, ReplyTooLarge, UnusableCertificate
from bfsql.http.messages import HttpReply, HttpRequest
from bfsql.settings import open_regular
from bfsql.tracing import trace_headers

if TYPE_CHECKING:
    from pathlib import Path

    import httpx2


class HttpClient:
    """Sends requests over connections that are kept open between requests.

    A user or password within a URL is not sent. Redirects are returned like other replies.

    Args:
        headers: Sent with every request, such as `User-Agent`.
        connect_timeout: Seconds for connecting; None for no separate limit.
        keep_open: Number of unused connections that stay open, for half a minute; at least 1.
        tls: The result of `tls_context`; None trusts the system's certificates.
        http2: Whether HTTP/2 is offered over TLS, if the package `h2` is installed.

    Raises:
        ConfigurationError: The environment names a proxy that cannot be used.
    """

    def __init__(
        self,
        *,
        headers: Mapping[str, str] | None = None,
        connect_timeout: float | None = None,
        keep_open: int = 20,
        tls: ssl.SSLContext | None = None,
        http2: bool = False,
    ) -> None:
        import httpx2

        self.requests = 0
        """Number of requests sent."""
        self._closed = False
        trusted = tls or tls_context()
        make = partial(
            httpx2.AsyncClient,
            headers=headers,
            auth=httpx2.Auth(),  # no authentication: otherwise a login in the URL would be sent
            timeout=httpx2.Timeout(None, connect=connect_timeout),
            verify=trusted,
            http2=http2 and find_spec("h2") is not None,
            follow_redirects=False,
        )
        keeping = partial(httpx2.Limits, keepalive_expiry=30.0)
        self._pinned = make(limits=keeping(max_keepalive_connections=0), trust_env=False)
        try:
            self._pooled = make(limits=keeping(max_keepalive_connections=keep_open))
        except (ImportError, ValueError) as error:
            raise _unusable_proxy() from error

    async def send(
        self,
        request: HttpRequest,
        *,
        max_bytes: int,
        max_error_bytes: int | None = None,
        credentials: Credentials | None = None,
    ) -> HttpReply:
        """Send a request once, or again after a 401 if the credentials provide another token.

        The id of the current call is sent as `X-Request-Id`; if the call is traced, the headers of
        its trace are sent too.

        Args:
            request: The request to send.
            max_bytes: Maximum size of the decompressed body.
            max_error_bytes: If given, a reply with a status other than 200 is cut off here or where
                its connection breaks off, without an exception.
            credentials: Only for a URL on the server that they are meant for.

        Raises:
            NoReply: There is no complete reply.
            ReplyTooLarge: The body is larger than allowed.
            TokenRefused: The token for the credentials was refused.
        """
        credentials = credentials or Credentials()
        oauth = credentials.oauth

        async def post(url: str, body: bytes, headers: Mapping[str, str]) -> HttpReply:
            token_request = HttpRequest(url, "POST", body, headers)
            return await self._exchange(token_request, token_request, max_bytes)

        renewed = False
        while True:
            token = "" if oauth is None else await oauth.token(post)
            authorization = {"Authorization": f"Bearer {token}"} if token else {}
            headers = {**_trace(), **request.headers, **credentials.headers, **authorization}
            reply = await self._exchange(
                request,
                replace(request, headers=headers),
                max_bytes,
                max_error_bytes,
                auth=credentials.auth,
            )
            if oauth is None or renewed or reply.status != HTTPStatus.UNAUTHORIZED:
                return reply
            oauth.forget(token)
            renewed = True

    async def send_public(
        self, request: HttpRequest, *, max_bytes: int, allow_private: bool = False
    ) -> HttpReply:
        """Send a request to a URL from a document: no credentials, no private address.

        The connection uses the address that was checked, with the host name in `Host` and TLS. It
        uses no proxy, which would resolve the name itself, and is not kept open.

        Args:
            request: The request to send.
            max_bytes: Maximum size of the decompressed body.
            allow_private: Whether addresses that are not public are allowed.

        Raises:
            PrivateAddress: The host has a private address.
            StoreUnavailable: The host has no address.
            NoReply: There is no complete reply.
            ReplyTooLarge: The body is larger than allowed.
        """
        address = await public_address(request.url, allow_private=allow_private)
        parts, host = urlsplit(request.url), ascii_host(request.url)
        port = "" if parts.port is None else f":{parts.port}"
        at = f"[{address}]" if ":" in address else address
        pinned = replace(
            request,
            url=parts._replace(netloc=f"{at}{port}").geturl(),
            headers={**request.headers, "Host": f"[{host}]{port}" if ":" in host else host + port},
        )
        return await self._exchange(request, pinned, max_bytes, server_name=host)

    async def close(self) -> None:
        """Close the connections; requests under way fail with `NoReply` (`Failure.CLOSED`)."""
        self._closed = True
        await self._pooled.aclose()
        await self._pinned.aclose()

    # --- one exchange -------------------------------------------------------

    async def _exchange(
        self,
        request: HttpRequest,
        sent: HttpRequest,
        max_bytes: int,
        max_error_bytes: int | None = None,
        *,
        auth: httpx2.Auth | None = None,
        server_name: str | None = None,
    ) -> HttpReply:
        """Send `sent`, the form of `request` for the wire, and read the reply."""
        import httpx2

        if self._closed:
            raise _closed(request)
        client = self._pooled if server_name is None else self._pinned
        self.requests += 1
        response = None
        try:
            async with client.stream(
                sent.method,
                sent.url,
                content=sent.body,
                headers=dict(sent.headers),
                auth=auth or httpx2.USE_CLIENT_DEFAULT,
                extensions={} if server_name is None else {"sni_hostname": server_name},
            ) as response:
                body = await _read(response, request, max_bytes, max_error_bytes)
        except (httpx2.HTTPError, httpx2.InvalidURL, NotImplementedError) as error:
            # NotImplementedError: a kind of digest challenge that the library does not support
            if self._closed:
                raise _closed(request) from None
            raise NoReply.of(request, error, in_body=response is not None) from error
        headers = {name.lower(): value for name, value in response.headers.items()}
        return HttpReply(request, response.status_code, headers, body)


async def follow_redirects(
    request: HttpRequest,
    send: Callable[[HttpRequest], Awaitable[HttpReply]],
    target: Callable[[HttpReply], str],
    *,
    most: int = 5,
) -> HttpReply:
    """The first reply that is not a redirect.

    Args:
        request: Sent first, and then to the other URLs.
        send: Sends one request, with credentials if they apply to its URL.
        target: Returns the URL of a redirect; raises if the request may not be sent there.
        most: Maximum number of redirects to follow.

    Raises:
        EndlessRedirects: There are more redirects.
    """
    for _ in range(most + 1):
        reply = await send(request)
        if reply.location is None:
            return reply
        request = replace(request, url=target(reply))
    raise EndlessRedirects(request, reply)


def tls_context(
    ca_file: Path | None = None, client_certificate: Path | None = None
) -> ssl.SSLContext:
    """The trusted certificates and the client certificate, for `tls` of an `HttpClient`.

    Args:
        ca_file: PEM file of the certificates to trust in place of the system's.
        client_certificate: PEM file with the client certificate and its unencrypted key.

    Raises:
        UnusableCertificate: A file cannot be used; `setting` is the argument's name.
    """
    import httpx2

    if ca_file is None and client_certificate is None:
        return _system_trust(*map(os.environ.get, ("SSL_CERT_FILE", "SSL_CERT_DIR")))
    if ca_file is None:
        context = httpx2.create_ssl_context()
    else:
        with _usable("ca_file", ca_file):
            context = ssl.create_default_context(cafile=ca_file)
    if client_certificate is not None:
        with _usable("client_certificate", client_certificate):
            # A given password, even an empty one, keeps OpenSSL from prompting on the terminal.
            context.load_cert_chain(client_certificate, password="")
    return context


@cache
def _system_trust(*_paths: str | None) -> ssl.SSLContext:
    """The certificates that the system trusts; reading them takes 0.1 s, so it is done once."""
    import httpx2

    return httpx2.create_ssl_context()


@contextmanager
def _usable(setting: str, path: Path) -> Iterator[None]:
    try:
        open_regular(path).close()  # OpenSSL would wait for a FIFO
        yield
    except (OSError, ValueError) as error:
        raise UnusableCertificate(setting, path, error) from None


async def _read(
    response: httpx2.Response, request: HttpRequest, max_bytes: int, max_error_bytes: int | None
) -> bytes:
    """The body, up to the allowed size."""
    import httpx2

    is_error = max_error_bytes is not None and response.status_code != HTTPStatus.OK
    most = max_error_bytes if is_error and max_error_bytes is not None else max_bytes
    body = bytearray()
    try:
        async for chunk in response.aiter_bytes():
            body += chunk
            with call.holding(4 * len(body)):  # as it came, joined, and parsed into records
                if len(body) > most:
                    if is_error:
                        break
                    raise ReplyTooLarge(request, most)
    except (httpx2.TransportError, httpx2.DecodingError):
        if not is_error:
            raise
    return bytes(body)


def _trace() -> dict[str, str]:
    """The headers with the id and the trace of the current call."""
    request_id = call.current_request_id()
    return trace_headers() | ({"X-Request-Id": request_id} if fits_header(request_id) else {})


def _unusable_proxy() -> ConfigurationError:
    """The error for a proxy of the environment with another scheme than HTTP, such as SOCKS."""
    named = [
        f"{name}={server_of(proxy)}"
        for name, proxy in os.environ.items()
        if name.lower() in ("all_proxy", "http_proxy", "https_proxy")
        and not proxy.startswith(("http://", "https://"))
    ]
    return ConfigurationError(
        f"The proxy of the environment cannot be used: {', '.join(named)}. Name one that begins "
        "with http://, unset the variable, or install what SOCKS needs: pip install socksio"
    )


def _closed(request: HttpRequest) -> NoReply:
    return NoReply(request, Failure.CLOSED, "the client was closed", "")
