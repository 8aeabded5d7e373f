"""Values inside sentences: as JSON, shortened, without characters that hide or reorder text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from bfsql.errors import listing
from bfsql.masking import shorten
from bfsql.models.characters import escaped, is_visible
from bfsql.models.json_values import as_text

EXCERPT_LENGTH = 60
"""Number of characters of a value of a call that a sentence repeats."""
SHOWN = 5
"""Number of ids or names that a sentence lists."""


def plain(name: str) -> str:
    """An id, type or predicate inside a sentence; as JSON if it contains hidden characters."""
    visible = name.isprintable() if name.isascii() else is_visible(name)
    return name if visible else escaped(json.dumps(as_text(name), ensure_ascii=False))


def excerpt(value: Any) -> str:
    """A value of a call as a sentence repeats it: as JSON, shortened."""
    try:
        text = escaped(json.dumps(value, ensure_ascii=False))
    except (TypeError, ValueError, RecursionError):  # no JSON, a huge number, nested too deeply
        text = f"a value of type {type(value).__name__}"
    if len(text) <= EXCERPT_LENGTH:
        return text
    return f"{text[:EXCERPT_LENGTH]}... ({len(text)} characters)"


def quoted(text: str) -> str:
    """A condition in a message: as JSON, shortened."""
    return escaped(json.dumps(shorten(text, 80), ensure_ascii=False))


def listed(values: Sequence[str]) -> str:
    """The first values, and the number of further values."""
    return listing([*map(plain, values[:SHOWN]), *values[SHOWN:]], SHOWN)
