"""Untrusted JSON-LD before its parser: limits on names and texts, and contexts named by URL."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from bfsql.deadline import check
from bfsql.errors import SourceError
from bfsql.settings import open_regular
from bfsql.sources.xml_reader import LONGEST_IRI, LONGEST_LITERAL, LONGEST_NAMESPACE

_LIMITS = {"@context": LONGEST_NAMESPACE, "@id": LONGEST_IRI, "@type": LONGEST_IRI}
"""Most characters of the texts below some keys."""
_BEGINNING = re.compile(
    r'\s*(?:\{\s*"@(?:context|graph|id|type)"|\[\s*\{\s*"@(?:context|id|type)"'
    r'|\{(?:[^"\[]|"[^"]*")*?"@context"\s*:)'
)
_SCHEMA_ORG = {"schema.org", "schema.org/docs/jsonldcontext.jsonld", "www.schema.org"}
_RO_CRATE = re.compile(r"https?://(?:www\.)?(?:w3id\.org/ro|researchobject\.org)/.*context")
_RO_CRATE_CONTEXT = {
    "@vocab": "http://schema.org/",
    "File": "http://schema.org/MediaObject",
    "conformsTo": "http://purl.org/dc/terms/conformsTo",
    "RepositoryObject": "http://pcdm.org/models#Object",
    "RepositoryCollection": "http://pcdm.org/models#Collection",
    "hasMember": "http://pcdm.org/models#hasMember",
    "hasFile": "http://pcdm.org/models#hasFile",
    "FormalParameter": "https://bioschemas.org/FormalParameter",
    "ComputationalWorkflow": "https://bioschemas.org/ComputationalWorkflow",
    "input": "https://bioschemas.org/properties/input",
    "output": "https://bioschemas.org/properties/output",
}
"""The terms of RO-Crate that are not those of schema.org."""


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
            reason = f"has a text of {len(value):,} characters; the limit is {most:,}"
            raise SourceError(name, reason)
        if isinstance(value, list):
            check()
            waiting.extend((item, most) for item in value)
        elif isinstance(value, dict):
            check()
            for key, item in value.items():
                waiting += [(key, LONGEST_IRI), (item, min(most, _LIMITS.get(key, most)))]


def is_json_ld(text: str) -> bool:
    """Whether JSON begins like JSON-LD: an object with a context, or whose first key is one."""
    return _BEGINNING.match(text) is not None


def with_local_contexts(path: Path, value: Any, context_file: Path | None = None) -> Any:
    """A JSON-LD document without remote contexts; those that are built in are replaced.

    Args:
        path: The document, for the error message.
        value: Its JSON.
        context_file: A file with the context to use in place of other remote contexts.

    Raises:
        SourceError: Another context is a remote document; or the file has no context.
    """
    other = None if context_file is None else _context_of(context_file)
    return _replaced(path, value, other)


def _context_of(path: Path) -> Any:
    try:
        with open_regular(path) as file:
            found = from_json(file.read())
    except (OSError, ValueError) as error:
        raise SourceError(path, f"cannot be read as a context of JSON-LD: {error}") from error
    if not isinstance(found, dict):
        raise SourceError(path, "is not a context of JSON-LD, which is a JSON object")
    return found.get("@context", found)


def _replaced(path: Path, value: Any, other: Any) -> Any:
    if isinstance(value, list):
        return [_replaced(path, item, other) for item in value]
    if not isinstance(value, dict):
        return value
    found = {key: _replaced(path, item, other) for key, item in value.items()}
    if "@context" in found:
        context, parts = found["@context"], list[Any]()
        for one in context if isinstance(context, list) else [context]:
            part = _local_context(path, one, other)
            parts += part if isinstance(part, list) else [part]
        found["@context"] = parts
    return found


def _local_context(path: Path, context: Any, other: Any) -> Any:
    remote = context if isinstance(context, str) else None
    if isinstance(context, dict) and isinstance(context.get("@import"), str):
        remote = context["@import"]
    if remote is None:
        return context
    if remote.rstrip("/").partition("://")[2] in _SCHEMA_ORG:
        return {"@vocab": "http://schema.org/"}
    if _RO_CRATE.match(remote):
        return _RO_CRATE_CONTEXT
    if other is not None:
        return _replaced(path, {"@context": other}, None)["@context"]
    raise SourceError(
        path,
        f"its context {remote!r} is another document, and nothing is fetched while reading; "
        "include the context in the file, or save it, and name it with --context FILE",
    )
