"""Requests to an API and its replies: read as JSON, refused with a sentence, or cached.

A backend does not cache by itself, so `HttpCache` is empty unless the setting
`replies_bytes` allows it space; it keeps replies as their headers allow (RFC 9111).
"""

from __future__ import annotations

import json
import re
import time
from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any, TypeAlias
from urllib.parse import urljoin

from bfsql.errors import StoreError
from bfsql.http import HttpReply, HttpRequest, hide_secrets
from bfsql.masking import shorten

ACCEPT = "application/ld+json, application/json;q=0.9, application/*+json;q=0.8"
"""Accepted formats of answers (content negotiation)."""

_CURE = "Check base_url and the settings that end with _path."
_OTHER_RDF = ("text/turtle", "application/rdf+xml", "application/n-", "text/n3", "application/trig")
_AGE = re.compile(r"max-age\s*=\s*\"?(\d+)")
_LINK = re.compile(r"<([^<>]*)>((?:\s*;\s*[^\s=;,]+(?:\s*=\s*(?:\"[^\"]*\"|[^\s\";,]+))?)*)")
_PARAMETER = re.compile(r";\s*([^\s=;,]+)(?:\s*=\s*(?:\"([^\"]*)\"|([^\s\";,]+)))?")

_Key: TypeAlias = tuple[str, str, str | None]


class NotAllowed(StoreError):
    """A URL leads to a place where no request may go."""


class Unreadable(ValueError):
    """The reason why an answer is invalid; `Reply.read` makes a `StoreError` of it."""


@dataclass(frozen=True, slots=True)
class Request(HttpRequest):
    """One request to a server. It never writes: a POST here is a query too long for a URL."""

    hosts: Collection[str] | None = None
    """Hosts besides the API's own that may answer; None for those of the settings."""
    most: int | None = None
    """Most bytes of the answer; None for the limit of the settings."""
    conditions: Mapping[str, str] = field(default_factory=dict)
    """Headers that request an answer from the API's host only if it has changed."""

    @property
    def label(self) -> str:
        """The name of the request in sentences."""
        return f"{self.method} {short(self.url)}"


@dataclass(frozen=True, slots=True)
class Reply(HttpReply):
    """A complete answer; `request` is the last one, after redirects."""

    label: str = ""
    """The name of the first request in sentences."""
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """Secrets that no sentence may repeat, even if the server does."""

    @property
    def url(self) -> str:
        """Its URL, after redirects."""
        return self.request.url

    @property
    def gone(self) -> bool:
        """Whether the status means that the thing does not exist."""
        return self.status in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE)

    @property
    def is_page(self) -> bool:
        """Whether it is for people: a web page, a picture, or anything else without data."""
        kind = self.content_type
        data = not kind or kind.endswith(("json", "xml")) or kind.startswith(_OTHER_RDF)
        return self.status == HTTPStatus.OK and (not data or kind == "application/xhtml+xml")

    def links(self, relation: str) -> list[tuple[str, Mapping[str, str]]]:
        """Targets of the `Link` header, with their parameters (RFC 8288)."""
        found: list[tuple[str, Mapping[str, str]]] = []
        for target, rest in _LINK.findall(self.headers.get("link", "")):
            parameters = {n.lower(): quoted or bare for n, quoted, bare in _PARAMETER.findall(rest)}
            if relation.lower() in parameters.get("rel", "").lower().split():
                found.append((target, parameters))
        return found

    def json(self) -> Any:
        """The body as JSON; a StoreError if the status is not 200, or the body is not JSON."""
        if self.status != HTTPStatus.OK:
            raise self.refused()
        if not self.body.strip():
            raise StoreError(f"{self.label} returned an empty answer; JSON was expected.")
        if self.content_type.startswith(_OTHER_RDF):
            raise StoreError(
                f"{self.label} returned {self.content_type}; JSON-LD or JSON was requested. Is "
                "JSON-LD available at another URL? Files in Turtle, RDF/XML and similar formats "
                "can be loaded with bfsql load."
            )
        try:
            return json.loads(self.body.removeprefix(b"\xef\xbb\xbf"))
        except (ValueError, RecursionError) as error:
            cause = f" ({error})" if type(error) is json.JSONDecodeError else ""
            raise StoreError(
                f"{self.label} returned something that is not JSON{cause}: {self.quoted()}. {_CURE}"
            ) from None

    @contextmanager
    def read(self) -> Iterator[None]:
        """Turn `Unreadable` inside the context into a `StoreError` that names this answer."""
        try:
            yield
        except Unreadable as reason:
            why = hide_secrets(str(reason), self.secrets)
            raise StoreError(f"The answer to {self.label} cannot be used: {why}.") from None

    def missing(self, what: str) -> StoreError:
        """The error for a route that does not exist: the `schema` or the `search`."""
        return StoreError(
            f"{self.label} returned {self.status}: the API has no {what} there. Check base_url. "
            f"If it is correct, set {what}_path to the route of the {what}, or to an empty text "
            "if there is none."
        )

    def refused(self) -> StoreError:
        """The error for a status that is not a success."""
        match self.status:
            case HTTPStatus.UNAUTHORIZED | HTTPStatus.FORBIDDEN:
                how = "Set token, username and password, api_key or oauth_url."
                if self.secrets:
                    how = "Check the credentials in the settings, and that they allow reading this."
                return StoreError(f"{self.label} was refused ({self.status}). {how}")
            case HTTPStatus.NOT_FOUND | HTTPStatus.GONE:
                return StoreError(
                    f"{self.label} returned {self.status}: the API has no such route. {_CURE}"
                )
            case HTTPStatus.NOT_ACCEPTABLE:
                return StoreError(
                    f"{self.label} returned 406: it is available neither as JSON-LD nor as JSON. "
                    f"{_CURE}"
                )
        return StoreError(f"{self.label} returned {self.status}: {self.quoted()}.")

    def quoted(self) -> str:
        """The beginning of the server's text; for a problem document, its sentence."""
        text = self.body[:100_000].decode("utf-8", errors="replace")
        try:
            fields = json.loads(text)
            text = next(str(fields[key]) for key in ("detail", "title", "error") if fields.get(key))
        except (ValueError, AttributeError, TypeError, RecursionError, StopIteration):
            pass
        line = hide_secrets(" ".join(text.split()), self.secrets)
        return repr(short(line)) if line else "nothing"


def joined(base: str, target: str) -> str:
    """The target of a link in the document at `base`; a StoreError if it is not a URL."""
    try:
        return urljoin(base, target)
    except ValueError as error:
        raise StoreError(
            f"{base[:200]} leads to {target[:200]!r}, which is not a URL ({error})."
        ) from None


def short(text: str) -> str:
    """A URL, or any other text, shortened for a sentence."""
    return shorten(text, 200)


@dataclass(frozen=True, slots=True)
class CachedReply:
    """A reusable answer."""

    reply: Reply
    ends: float
    """Time of expiry, by the monotonic clock."""

    @property
    def is_fresh(self) -> bool:
        """Whether it can be used without a request."""
        return time.monotonic() < self.ends

    @property
    def conditions(self) -> dict[str, str]:
        """Headers by which the server can report that nothing has changed."""
        names = {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}
        headers = self.reply.headers
        return {asked: headers[name] for name, asked in names.items() if name in headers}


class HttpCache:
    """Answers to GET requests, of at most so many bytes; the least recently used are dropped."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._bytes = 0
        self._replies: OrderedDict[_Key, CachedReply] = OrderedDict()

    def get(self, request: Request) -> CachedReply | None:
        """The cached answer for a request, if there is one."""
        key = _key(request)
        if key in self._replies:
            self._replies.move_to_end(key)
        return self._replies.get(key)

    def settled(self, request: Request, reply: Reply, cached: CachedReply | None) -> Reply:
        """The answer itself, or for 304 the cached one; caches the answer if allowed.

        Args:
            request: The request.
            reply: The reply received.
            cached: The cached answer at the time of the request; it may have been dropped since.
        """
        if request.method != "GET":
            return reply
        if reply.status == HTTPStatus.NOT_MODIFIED and cached is not None:
            reply = _renewed(cached.reply, reply)
        self._drop(_key(request))
        if reply.status == HTTPStatus.OK:
            self._add(_key(request), reply)
        return reply

    def _add(self, key: _Key, reply: Reply) -> None:
        control = reply.headers.get("cache-control", "").lower()
        if "no-store" in control or reply.headers.get("vary", "").strip() == "*":
            return
        max_age = _AGE.search(control)
        seconds = float(max_age[1]) if max_age and "no-cache" not in control else 0.0
        age = reply.headers.get("age", "0")
        seconds -= float(age) if age.isdecimal() else 0.0
        if seconds <= 0 and not {"etag", "last-modified"} & reply.headers.keys():
            return
        if len(reply.body) > self._most:
            return
        self._replies[key] = CachedReply(reply, time.monotonic() + seconds)
        self._bytes += len(reply.body)
        while self._bytes > self._most:
            self._drop(next(iter(self._replies)))

    def _drop(self, key: _Key) -> None:
        cached = self._replies.pop(key, None)
        if cached is not None:
            self._bytes -= len(cached.reply.body)


def _renewed(cached: Reply, confirmed: Reply) -> Reply:
    """The cached reply, with the headers of the reply that confirms it."""
    of_body = {"content-type", "content-length", "link"} & cached.headers.keys()
    own = {name: cached.headers[name] for name in of_body}
    return replace(cached, headers={**cached.headers, **confirmed.headers, **own})


def _key(request: Request) -> _Key:
    return request.method, request.url, request.headers.get("Accept")
