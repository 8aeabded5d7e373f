"""Requests to an API and its replies: read as JSON, or refused with a sentence.

A backend does not cache: `bfsql.cache` holds what replies become.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import urljoin

from bfsql.errors import StoreError
from bfsql.http import HttpReply, HttpRequest, hide_secrets
from bfsql.masking import shorten

ACCEPT = "application/ld+json, application/json;q=0.9, application/*+json;q=0.8"
"""Accepted formats of answers (content negotiation)."""

_CURE = "Check base_url and the settings that end with _path."
_OTHER_RDF = ("text/turtle", "application/rdf+xml", "application/n-", "text/n3", "application/trig")
_LINK = re.compile(r"<([^<>]*)>((?:\s*;\s*[^\s=;,]+(?:\s*=\s*(?:\"[^\"]*\"|[^\s\";,]+))?)*)")
_PARAMETER = re.compile(r";\s*([^\s=;,]+)(?:\s*=\s*(?:\"([^\"]*)\"|([^\s\";,]+)))?")


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
