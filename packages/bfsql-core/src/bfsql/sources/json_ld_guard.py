"""Untrusted JSON-LD before its parser: limits on names and texts, and contexts named by URL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bfsql.errors import SourceError
from bfsql.sources.xml_guard import LONGEST_IRI, LONGEST_LITERAL, LONGEST_NAMESPACE

_LIMITS = {"@context": LONGEST_NAMESPACE, "@id": LONGEST_IRI, "@type": LONGEST_IRI}
"""Most characters of the texts below some keys."""


def check_json_ld(name: object, document: Any) -> None:
    """Check the names and texts of a JSON-LD document.

    Args:
        name: Its name in messages.
        document: The parsed JSON, whose depth its parser has limited.

    Raises:
        SourceError: It exceeds a limit.
    """
    waiting = [(document, LONGEST_LITERAL)]
    while waiting:
        value, most = waiting.pop()
        if isinstance(value, str) and len(value) > most:
            raise SourceError(
                name, f"has a text of {len(value):,} characters where at most {most:,} are read"
            )
        if isinstance(value, list):
            waiting.extend((item, most) for item in value)
        elif isinstance(value, dict):
            for key, item in value.items():
                waiting += [(key, LONGEST_IRI), (item, min(most, _LIMITS.get(key, most)))]


def with_local_contexts(path: Path, value: Any) -> Any:
    """A JSON-LD document without remote contexts; schema.org's is replaced by its vocabulary.

    Raises:
        SourceError: Another context is a remote document.
    """
    if isinstance(value, list):
        return [with_local_contexts(path, item) for item in value]
    if not isinstance(value, dict):
        return value
    found = {key: with_local_contexts(path, item) for key, item in value.items()}
    if "@context" in found:
        context = found["@context"]
        listed = context if isinstance(context, list) else [context]
        found["@context"] = [_local_context(path, part) for part in listed]
    return found


def _local_context(path: Path, context: Any) -> Any:
    remote = context if isinstance(context, str) else None
    if isinstance(context, dict) and isinstance(context.get("@import"), str):
        remote = context["@import"]
    if remote is None:
        return context
    if remote.rstrip("/") in {"https://schema.org", "http://schema.org"}:
        return {"@vocab": "http://schema.org/"}
    raise SourceError(
        path,
        f"its context {remote!r} is another document, and nothing is fetched while reading; "
        "include the context in the file",
    )
