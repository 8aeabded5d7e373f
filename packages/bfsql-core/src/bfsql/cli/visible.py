"""Text from a graph or a file on a terminal: data, never a command to it."""

from __future__ import annotations

import re

_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters, but tab and newline
    "\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069"  # what reorders or breaks lines
    "\ud800-\udfff]"
)


def visible(text: str) -> str:
    """The text with control and bidirectional characters as escapes, as JSON writes them."""
    return _INVISIBLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
