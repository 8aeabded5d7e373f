"""The output of the web API: documents with their JSON-LD context and validator, and problems.

The context is generated from the graph's schema. Every other key is a property in one namespace,
types and predicates are terms in it, and a relation has the form of an `rdf:Statement` without its
type, since a predicate that is arbitrary text could not be a property.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from bfsql import call
from bfsql.answers import encode
from bfsql.errors import Busy, CircuitOpen, StoreUnavailable, ToolError

JSON = "application/json"
JSON_LD = "application/ld+json"
PROBLEM_JSON = "application/problem+json"

RETRY_SECONDS = 5
"""The value of `Retry-After` if the store did not answer or the server is shutting down."""

VOCABULARY = "urn:bfsql:vocabulary:"
"""Namespace of types, predicates and metadata keys; the same for every server."""

_STATUSES = {
    "unknown_entity": HTTPStatus.NOT_FOUND,
    "unknown_tool": HTTPStatus.NOT_FOUND,
    "refused": HTTPStatus.FORBIDDEN,
    "busy": HTTPStatus.TOO_MANY_REQUESTS,
    "deadline": HTTPStatus.GATEWAY_TIMEOUT,
    "stopping": HTTPStatus.SERVICE_UNAVAILABLE,
    "store": HTTPStatus.BAD_GATEWAY,
    "internal": HTTPStatus.INTERNAL_SERVER_ERROR,
}
"""Status by kind of `ToolError`; all others are errors in the request."""

_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_PLAIN = re.compile(r"[^@:/][^:/]*")
"""Names that can be terms: those with a colon or slash are IRIs, those with `@` keywords."""

_STATEMENT: dict[str, Any] = {
    "subject": {"@id": f"{_RDF}subject", "@type": "@id"},
    "predicate": {"@id": f"{_RDF}predicate", "@type": "@vocab"},
    "object": {"@id": f"{_RDF}object", "@type": "@id"},
}
"""Terms of a relation; elsewhere these names are keys of metadata like any other."""

_OWN: dict[str, Any] = {
    "id": "@id",
    "omissions": {"@id": f"{VOCABULARY}omissions", "@type": "@json"},
    "relations": {"@id": f"{VOCABULARY}relations", "@context": _STATEMENT},
}


@dataclass(frozen=True, slots=True)
class Reply:
    """What a handler returns: bytes, their type, and whether they may be cached."""

    content: bytes
    media_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    transient: bool = False
    """Whether the same request may have a different answer later, so that this one must not be
    cached."""

    def response(self, request: Request, cache_control: str) -> Response:
        """The HTTP response, without a body if the client already has these bytes."""
        headers = {"Cache-Control": "no-store", **self.headers}
        if request.method == "POST" or self.transient:
            return Response(self.content, 200, headers, self.media_type)
        tag = f'"{hashlib.sha256(self.content).hexdigest()[:32]}"'
        headers |= {"Cache-Control": cache_control, "ETag": tag}
        if _includes(request.headers.getlist("if-none-match"), tag):
            return Response(status_code=304, headers=headers)
        if request.method == "HEAD":
            headers["Content-Length"] = str(len(self.content))
        content = b"" if request.method == "HEAD" else self.content
        return Response(content, 200, headers, self.media_type)


def reply(document: Any, **about: Any) -> Reply:
    """A document as an answer, with the omissions of the call under way.

    A document without a context is plain JSON.
    """
    scope = call.current()
    omissions = [*scope.omissions, *_withheld(scope)] if scope else []
    if omissions:
        document = {**document, "omissions": [_omission(one) for one in omissions]}
    transient = any(one.passing for one in omissions)
    media_type = JSON_LD if "@context" in document else JSON
    return Reply(encode(document), media_type, transient=transient, **about)


def _withheld(scope: call.Scope) -> list[call.Omission]:
    """The records whose redaction failed, sorted."""
    found = [
        call.Omission(
            key if isinstance(key, str) else " ".join(key),
            "metadata",
            reason=f"the redaction of {'an' if kind[0] in 'aeiou' else 'a'} {kind} failed",
        )
        for kind, key in scope.withheld
    ]
    return sorted(found, key=lambda one: (one.id, one.reason))


def _omission(one: call.Omission) -> dict[str, Any]:
    facts = {"at_least": one.at_least, "reason": one.reason, "lasting": one.lasting or None}
    known = {name: fact for name, fact in facts.items() if fact is not None}
    return {"id": one.id, "direction": one.direction, **known}


def _includes(if_none_match: list[str], tag: str) -> bool:
    """Whether a client's copies include this one; for reading, weak validators are sufficient."""
    copies = {copy.strip().removeprefix("W/") for line in if_none_match for copy in line.split(",")}
    return tag in copies or "*" in copies


@dataclass(eq=False)
class Problem(Exception):
    """A failed request, answered with a problem document (RFC 9457)."""

    status: HTTPStatus
    detail: str
    """The sentence: what happened, and how to correct it."""
    headers: Mapping[str, str] = field(default_factory=dict)
    members: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the document in addition to those of the RFC."""

    def response(self) -> Response:
        """The response, which must not be cached."""
        document = {
            "type": "about:blank",
            "title": self.status.phrase,
            "status": self.status.value,
            "detail": self.detail,
            **self.members,
        }
        headers = {"Cache-Control": "no-store", **self.headers}
        return Response(encode(document), self.status.value, headers, PROBLEM_JSON)


def refusal(status: HTTPStatus, sentence: str) -> Response:
    """The response to a request that is refused before a route is chosen."""
    return Problem(status, sentence).response()


def problem_of(error: ToolError) -> Problem:
    """The problem whose `detail` is the sentence of an error; `kind` and `argument` beside it."""
    status, headers = _STATUSES.get(error.kind, HTTPStatus.BAD_REQUEST), {}
    if isinstance(error.__cause__, StoreUnavailable):
        status = HTTPStatus.SERVICE_UNAVAILABLE
    if status is HTTPStatus.SERVICE_UNAVAILABLE:
        headers["Retry-After"] = str(RETRY_SECONDS)
    if isinstance(error.__cause__, CircuitOpen):
        headers["Retry-After"] = str(max(1, math.ceil(error.__cause__.seconds)))
    if isinstance(error, Busy):
        headers["Retry-After"] = str(error.retry_after)
    members = {"kind": error.kind} | ({"argument": error.argument} if error.argument else {})
    return Problem(status, str(error), headers=headers, members=members)


def context_document(names: Iterable[str]) -> dict[str, Any]:
    """The document at `/context`, from the entity types and predicates of the graph."""
    plain = sorted({name for name in names if _PLAIN.fullmatch(name)})
    terms = {name: VOCABULARY + quote(name, safe="") for name in plain}
    return {"@context": {"@version": 1.1, "@vocab": VOCABULARY, **terms, **_OWN}}


def context(root: str, metadata: Mapping[str, Any] = MappingProxyType({})) -> list[Any]:
    """The value of `@context` for a document.

    Ids that are not IRIs are relative to one base, the same in all documents. Each document has to
    state it, since `@base` is ignored in a fetched context.

    Args:
        root: Where the API's routes begin, relative to the document.
        metadata: Keys beside the document's own; values that JSON-LD would read as nodes or
            keywords are declared to be plain JSON.
    """
    opaque = {
        key: {"@type": "@json"}
        for key, value in metadata.items()
        if key in _OWN or _has_keywords(value)
    }
    return [f"{root}context", {"@base": f"{root}entities/", **opaque}]


def relation_context(root: str) -> list[Any]:
    """The same for a document that is one relation; its metadata is declared to be plain JSON."""
    address, own = context(root)
    return [address, {**own, **_STATEMENT, "metadata": {"@type": "@json"}}]


def _has_keywords(value: Any) -> bool:
    if isinstance(value, dict):
        return any(key == "id" or key.startswith("@") for key in value) or any(
            map(_has_keywords, value.values())
        )
    return isinstance(value, list) and any(map(_has_keywords, value))
