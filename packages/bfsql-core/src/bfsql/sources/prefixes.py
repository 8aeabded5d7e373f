"""The prefixes that RDF files declare.

One IRI must have one id, in the first statement of the first file as in the
last of the last. So the prefixes that files declare are collected before
anything is read, and stay as they are from then on.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from bfsql.sources.files import guarded, open_bytes

_HEAD = 1 << 16
_TURTLE = re.compile(rb"^\s*@?prefix\s+([^\s:]*):\s*<([^\s<>]+)>", re.IGNORECASE)
_XML = re.compile(rb"""xmlns:([^\s=]+)\s*=\s*["']([^"'&<]+)["']""")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def prefixes_of(path: Path, format_: str) -> dict[str, str]:
    """The prefixes that a file declares, of two for one prefix the first.

    Turtle and TriG are looked through to the end, a line at a time; of RDF/XML
    the first 64 KB are, where the root element stands.

    Args:
        path: The file.
        format_: One of the RDF formats.

    Raises:
        SourceError: The file cannot be read.
    """
    found: dict[str, str] = {}
    for prefix, namespace in guarded(path, _declared(path, format_)):
        if _ABSOLUTE.match(namespace):
            found.setdefault(prefix, namespace)
    return found


def _declared(path: Path, format_: str) -> Any:
    if format_ in {"turtle", "trig"}:
        with open_bytes(path) as stream:
            for line in stream:
                if found := _TURTLE.match(line.removeprefix(b"\xef\xbb\xbf")):
                    yield found[1].decode(), found[2].decode()
    elif format_ == "rdfxml":
        with open_bytes(path) as stream:
            for prefix, namespace in _XML.findall(stream.read(_HEAD)):
                yield prefix.decode(), namespace.decode()
    elif format_ == "jsonld":
        with open_bytes(path) as stream:
            yield from _in_context(stream.read())


def _in_context(content: bytes) -> Any:
    try:
        document = from_json(content.removeprefix(b"\xef\xbb\xbf"))
    except ValueError:
        return  # the reader says it better
    context = document.get("@context") if isinstance(document, dict) else None
    for part in context if isinstance(context, list) else [context]:
        if isinstance(part, dict):
            for term, meaning in part.items():
                if isinstance(meaning, str) and meaning.endswith(("/", "#", "_")):
                    yield term, meaning
