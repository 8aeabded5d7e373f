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
    """Whether a text begins with two lines that are objects."""
    first, _, rest = text.lstrip().partition("\n")
    try:
        return isinstance(from_json(first), dict) and rest.lstrip().startswith("{")
    except ValueError:
        return False


def objects(path: Path, encoding: str = "utf-8") -> Iterator[tuple[int, JsonObject | Unusable]]:
    """Every line that is not blank: its 1-based number, and its object or why it has none."""
    with open_utf8(path, encoding) as stream:
        for number, line in enumerate(lines(stream), 1):
            try:
                found = from_json(line.rstrip(), cache_strings="keys")
            except ValueError as error:
                if not line.strip():
                    continue
                try:
                    found = _second_try(line, error, encoding)
                except Unusable as reason:
                    yield number, reason
                    continue
            if isinstance(found, dict):
                yield number, found
            else:
                yield number, Unusable(f"contains {_kind(found)}, not a JSON object")


def _second_try(line: bytes, error: ValueError, encoding: str) -> Any:
    # The fast parser rejects an escaped lone surrogate. Whether the surrogate matters depends on
    # the field that contains it.
    if len(line) > LONGEST_LINE:
        raise Unusable(
            f"is longer than {LONGEST_LINE >> 20} MB; a JSONL file has one object per line"
        ) from error
    try:
        line.decode()
    except UnicodeDecodeError:
        raise Unusable(not_text(line, encoding)) from None
    if b"\\ud" in line.lower():
        try:
            return json.loads(line, object_pairs_hook=RepairedObject)
        except (ValueError, RecursionError):
            pass
    reason = (
        str(error).removesuffix(" at line 1 column 0").replace(" at line 1 column", " at column")
    )
    raise Unusable(f"is not JSON: {reason}") from error


def _kind(value: Any) -> str:
    names = {list: "a list", str: "text", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number")
