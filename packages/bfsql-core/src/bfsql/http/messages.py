"""A request to another server, and its reply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bfsql.http.retry import retry_after

_REDIRECTS = (301, 302, 303, 307, 308)


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request to send."""

    url: str
    method: str = "GET"
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HttpReply:
    """A reply of any status, read to its end."""

    request: HttpRequest
    """The original request, as it was passed to the client."""
    status: int
    headers: Mapping[str, str]
    """The headers, by name in lower case."""
    body: bytes = b""
    """The body, decompressed."""

    @property
    def content_type(self) -> str:
        """The media type without parameters, in lower case; empty if there is none."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def location(self) -> str | None:
        """The target of a redirect, as the server wrote it; None for any other reply."""
        return self.headers.get("location") if self.status in _REDIRECTS else None

    @property
    def retry_after(self) -> float | None:
        """Seconds that the server requests to wait, see the function of this name."""
        return retry_after(self.headers.get("retry-after"))
