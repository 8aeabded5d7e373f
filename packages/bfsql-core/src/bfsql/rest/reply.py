"""An answer on its way out: bytes, validator, and how long it may be kept."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from bfsql import call
from bfsql.answers import encode

JSON = "application/json"
JSON_LD = "application/ld+json"


@dataclass(frozen=True, slots=True)
class Reply:
    """What a handler gives."""

    content: bytes
    media_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    passing: bool = False
    """Whether another answer may come when it is asked for again, so that nobody may keep it."""

    def response(self, request: Request, keeping: str) -> Response:
        """The HTTP answer: without a body where the client has these bytes already.

        Args:
            request: What it answers.
            keeping: Value of `Cache-Control` for answers that may be kept.
        """
        headers = {"Cache-Control": "no-store", **self.headers}
        if request.method == "POST" or self.passing:
            return Response(self.content, 200, headers, self.media_type)
        tag = f'"{hashlib.sha256(self.content).hexdigest()[:32]}"'
        headers |= {"Cache-Control": keeping, "ETag": tag}
        if _has(request.headers.getlist("if-none-match"), tag):
            return Response(status_code=304, headers=headers)
        if request.method == "HEAD":
            headers["Content-Length"] = str(len(self.content))
            return Response(b"", 200, headers, self.media_type)
        return Response(self.content, 200, headers, self.media_type)


def replied(document: Any, **about: Any) -> Reply:
    """A document as an answer, with what the store left out of it in the call under way.

    Without a context, JSON-LD would say nothing: such a document is plain JSON.

    Args:
        document: What the answer holds.
        about: Further fields of the `Reply`.
    """
    under_way = call.current()
    left_out = [*under_way.omissions, *_withheld(under_way)] if under_way else []
    if left_out:
        document = {**document, "omissions": [_omission(one) for one in left_out]}
    passing = any(one.passing for one in left_out)
    media_type = JSON_LD if "@context" in document else JSON
    return Reply(encode(document), media_type, passing=passing, **about)


def _withheld(under_way: call.Scope) -> list[call.Omission]:
    """The records whose metadata may not leave, in one order."""
    return sorted(
        (
            call.Omission(
                key if isinstance(key, str) else " ".join(key),
                "metadata",
                reason=f"the redaction of {'an' if kind[0] in 'aeiou' else 'a'} {kind} failed",
            )
            for kind, key in under_way.withheld
        ),
        key=lambda one: (one.id, one.reason),
    )


def _omission(one: call.Omission) -> dict[str, Any]:
    facts = {"at_least": one.at_least, "reason": one.reason, "lasting": one.lasting or None}
    known = {name: fact for name, fact in facts.items() if fact is not None}
    return {"id": one.id, "direction": one.direction, **known}


def _has(given: list[str], tag: str) -> bool:
    """Whether a client's copies include this one; for reading, weak ones are as good."""
    copies = {copy.strip().removeprefix("W/") for line in given for copy in line.split(",")}
    return tag in copies or "*" in copies
