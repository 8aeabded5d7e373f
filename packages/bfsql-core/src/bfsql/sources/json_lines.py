"""JSON Lines: one object per line. A bad line is refused, and reading continues after it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

from pydantic_core import from_json

from bfsql.sources.fields import RepairedObject, Unusable
from bfsql.sources.text import LONGEST_LINE, lines, not_text, open_utf8

JsonObject: TypeAlias = dict[str, Any]


def is_lines(text: str) -> bool:
    """Whether a text begins with an object in a line, and another object after it."""
    text = text.lstrip()
    try:
        first, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return False
    is_line = isinstance(first, dict) and "\n" not in text[:end]
    return is_line and text[end:].lstrip().startswith("{")


def objects(path: Path, encoding: str = "utf-8") -> Iterator[tuple[int, JsonObject | Unusable]]:
    """Every line that is not blank: its 1-based number, and its object or why it has none."""
    with open_utf8(path, encoding) as stream:
        for number, line in enumerate(lines(stream), 1):
            try:
                found = from_json(line.rstrip(), cache_strings="keys")
            except ValueError as error:
                if not line.strip():
                    continue
                for value in _values(line, error, encoding):
                    yield number, _object(value)
            else:
                yield number, found if isinstance(found, dict) else _object(found)


def _object(value: Any) -> JsonObject | Unusable:
    if isinstance(value, dict | Unusable):
        return value
    return Unusable(f"contains {_kind(value)}, not a JSON object")


def _values(line: bytes, error: ValueError, encoding: str) -> list[Any]:
    """The values of a line that the fast parser rejects, or the reason why it has none.

    There may be several. An escaped lone surrogate matters only in some fields of an object.
    """
    if len(line) > LONGEST_LINE:
        reason = f"is longer than {LONGEST_LINE >> 20} MB; a JSONL file has one object per line"
        return [Unusable(reason)]
    try:
        text = line.decode().strip()
    except UnicodeDecodeError:
        return [Unusable(not_text(line, encoding))]
    hook = RepairedObject if b"\\ud" in line.lower() else None
    decoder, found, at = json.JSONDecoder(object_pairs_hook=hook), list[Any](), 0
    try:
        while at < len(text):
            value, at = decoder.raw_decode(text, at)
            found.append(value)
            while text[at : at + 1].isspace():
                at += 1
    except (ValueError, RecursionError):
        pass
    else:
        return found
    reason = (
        str(error).removesuffix(" at line 1 column 0").replace(" at line 1 column", " at column")
    )
    return [Unusable(f"is not JSON: {reason}")]


def _kind(value: Any) -> str:
    names = {list: "a list", str: "text", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number")
