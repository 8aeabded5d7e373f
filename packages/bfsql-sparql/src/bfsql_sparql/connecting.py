"""Why there was no answer at all: no host, no connection, no trust."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator

import httpx2

from bfsql.errors import StoreError, StoreUnavailable
from bfsql_sparql.failures import Passing

BROKEN = (httpx2.HTTPError, NotImplementedError)
"""What the HTTP client raises without an answer; the latter is its word for a strange digest."""


def no_answer(name: str, error: Exception, waited: float) -> StoreError:
    """What an error of the HTTP client means.

    Args:
        name: What sentences call the endpoint.
        error: What the client raised.
        waited: Seconds that a connection may take.
    """
    causes = list(_causes(error))
    distrust = _distrust(name, error, causes)
    if distrust is not None:
        return distrust
    right = "Is it running, and is its address right?"
    match error:
        case httpx2.ConnectTimeout():
            return StoreUnavailable(
                f"{name} took no connection within {waited:g} s (connect_timeout). {right}"
            )
        case httpx2.ConnectError():
            return StoreUnavailable(f"{name} cannot be reached ({_why(causes)}). {right}")
        case httpx2.ProxyError():
            return StoreUnavailable(
                f"The proxy on the way to {name} refused: {_why(causes)}. The variables "
                "HTTP_PROXY, HTTPS_PROXY and NO_PROXY say which one is used."
            )
        case httpx2.NetworkError() | httpx2.RemoteProtocolError():
            # Mostly a connection that was idle, and that the server just closed: nothing to await.
            return Passing(f"{name} broke off: {_why(causes)}.", wait=0.0)
        case _:
            return StoreError(f"{name} cannot be spoken with: {_why(causes)}.")


def _distrust(name: str, error: Exception, causes: list[BaseException]) -> StoreError | None:
    for cause in causes:
        match cause:
            case ssl.SSLCertVerificationError():
                return StoreError(
                    f"The certificate of {name} is not trusted ({cause.verify_message}). If it is "
                    "the right server, name the certificate of its authority in ca_file."
                )
            case ssl.SSLError() if isinstance(error, httpx2.ConnectError):
                return StoreError(
                    f"{name} speaks no TLS that can be used ({cause.reason or cause}). Is it an "
                    "http:// address, or does it want a client_certificate?"
                )
            case socket.gaierror():
                return StoreUnavailable(
                    f"{name} cannot be found: there is no such host ({cause.strerror}). Look at "
                    "its address."
                )
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error, and what led to it."""
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__


def _why(causes: list[BaseException]) -> str:
    """What the system says, where it was the system; otherwise what the client does."""
    system = [cause.strerror for cause in causes if isinstance(cause, OSError) and cause.strerror]
    said = [str(cause) for cause in causes if str(cause)]
    return (system[-1:] or said[:1] or [type(causes[0]).__name__])[0].rstrip(".")
