"""Compact JSON, encoded once (`protocol.md` 18, 19)."""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

from bfsql.answers.clean import BIDI

_HIDDEN = re.compile(f"[\x7f-\x9f{BIDI}]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def encode(document: Any) -> bytes:
    """The document as UTF-8, without spaces.

    Characters that could hide or reorder text are left only in ids, types and
    predicates, which are never altered; they go out as JSON escapes.
    """
    try:
        text = to_json(document, inf_nan_mode="strings")
    except (PydanticSerializationError, UnicodeEncodeError):
        # A lone surrogate has no UTF-8; one that a backend lets through must not stop the server.
        text = to_json(_without_surrogates(document), inf_nan_mode="strings")
    if text.isascii() and b"\x7f" not in text:
        return text
    shown = text.decode()
    if _HIDDEN.search(shown) is None:
        return text
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", shown).encode()


def as_sent(document: Any, text: bytes) -> Any:
    """The document as its text tells it: an id that has no UTF-8 form differs from the text."""
    return json.loads(text) if "\ufffd".encode() in text else document


def plain(name: str) -> str:
    """An id, type or predicate inside a sentence: as it is, or as JSON where it would hide text."""
    return name if name.isprintable() else encode(name).decode()


def _without_surrogates(value: Any) -> Any:
    match value:
        case str():
            return _SURROGATE.sub("\ufffd", value)
        case dict():
            return {_without_surrogates(k): _without_surrogates(v) for k, v in value.items()}
        case list() | tuple():
            return [_without_surrogates(item) for item in value]
        case _:
            return value
