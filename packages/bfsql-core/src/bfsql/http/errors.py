"""Faults of a request, as facts, and the conversion of foreign texts for error messages.

An `HttpError` contains no message for an operator: only the code that catches it knows which
setting would help. `NoReply.of` reads the cause from the chain of exceptions that the HTTP library
raises.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from bfsql.errors import system_reason
from bfsql.masking import one_line

if TYPE_CHECKING:
    from pathlib import Path

    from bfsql.http.messages import HttpReply, HttpRequest


class Failure(Enum):
    """Reasons for an incomplete or missing reply."""

    UNTRUSTED = "untrusted"
    """The server's certificate is not trusted."""
    NO_TLS = "no TLS"
    """The TLS handshake failed: plain HTTP, other versions, or a client certificate is required."""
    NO_HOST = "no host"
    """The host has no address."""
    CONNECT_TIMEOUT = "connect timeout"
    """No connection was made within the client's `connect_timeout`."""
    UNREACHABLE = "unreachable"
    """The connection was refused, or there is no route."""
    PROXY = "proxy"
    """The proxy of the environment refused."""
    BROKE_OFF = "broke off"
    """The connection ended before the reply began."""
    INCOMPLETE = "incomplete"
    """The body ended before its end, or cannot be decompressed."""
    INVALID_URL = "invalid URL"
    """The URL cannot be requested."""
    UNUSABLE = "unusable"
    """The server's HTTP, or its login challenge, is not supported."""
    CLOSED = "closed"
    """`HttpClient.close` was called before the reply was complete."""


_CONNECTING = (
    Failure.UNTRUSTED,
    Failure.NO_TLS,
    Failure.NO_HOST,
    Failure.CONNECT_TIMEOUT,
    Failure.UNREACHABLE,
)


@dataclass(eq=False)
class HttpError(Exception):
    """A request without a usable reply; the subclasses are the reasons."""

    request: HttpRequest
    """The request as it was passed to the client; or the token request, if that one failed."""


@dataclass(eq=False)
class NoReply(HttpError):
    """There was no complete reply."""

    kind: Failure
    """The reason."""
    reason: str
    """The message of the system or of TLS, if the reason came from there, without a full stop."""
    detail: str
    """Type and text of the HTTP library's exception, see `describe`."""

    @property
    def is_connecting(self) -> bool:
        """Whether no connection was made, so that the server has received nothing."""
        return self.kind in _CONNECTING

    @classmethod
    def of(cls, request: HttpRequest, error: Exception, *, in_body: bool = False) -> NoReply:
        """The facts of an exception of the HTTP library.

        Args:
            request: The request.
            error: The library's exception.
            in_body: Whether status and headers had arrived.
        """
        kind, reason = (Failure.INCOMPLETE, "") if in_body else _classified(error)
        return cls(request, kind, reason or _reason(error), describe(error))


@dataclass(eq=False)
class ReplyTooLarge(HttpError):
    """The decompressed body is larger than allowed; the rest was not read."""

    max_bytes: int
    """The bound."""


@dataclass(eq=False)
class EndlessRedirects(HttpError):
    """More redirects than allowed; the request is the one that would come next."""

    reply: HttpReply
    """The reply with the redirect beyond the limit."""


@dataclass(eq=False)
class UnusableCertificate(Exception):
    """A certificate file that cannot be used."""

    setting: str
    """The argument of `tls_context` that names it."""
    path: Path
    """The file."""
    error: Exception
    """The cause."""

    @property
    def reason(self) -> str:
        """The reason, in the system's words if it came from the system."""
        return system_reason(self.error)


def describe(error: BaseException) -> str:
    """Type and text of an exception on one line, as in `ConnectError: All attempts failed`."""
    return one_line(f"{type(error).__name__}: {error}".removesuffix(": "))


def _classified(error: Exception) -> tuple[Failure, str]:
    """Kind and reason of an exception before the reply; the reason is empty if it is generic."""
    import httpx2

    connecting = isinstance(error, httpx2.ConnectError)
    for cause in _causes(error):
        match cause:
            case ssl.SSLCertVerificationError():
                return Failure.UNTRUSTED, cause.verify_message
            case ssl.SSLError() if connecting:
                return Failure.NO_TLS, cause.reason or str(cause)
            case socket.gaierror():
                return Failure.NO_HOST, cause.strerror or ""
    match error:
        case httpx2.ConnectTimeout():
            kind = Failure.CONNECT_TIMEOUT
        case httpx2.ConnectError():
            kind = Failure.UNREACHABLE
        case httpx2.ProxyError():
            kind = Failure.PROXY
        case httpx2.NetworkError() | httpx2.RemoteProtocolError():
            kind = Failure.BROKE_OFF
        case httpx2.InvalidURL():
            kind = Failure.INVALID_URL
        case _:
            kind = Failure.UNUSABLE
    return kind, ""


def _reason(error: Exception) -> str:
    """The system's words for an exception, if it came from the system; otherwise the library's."""
    causes = list(_causes(error))
    system = [cause.strerror for cause in causes if isinstance(cause, OSError) and cause.strerror]
    texts = [str(cause) for cause in causes if str(cause)]
    return (system[-1:] or texts[:1] or [type(error).__name__])[0].rstrip(".")


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An exception and its causes."""
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__
