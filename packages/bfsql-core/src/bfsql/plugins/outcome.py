"""What became of a tool call, for whoever watches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Outcome:
    """An answer's size, or the error that stood in its place."""

    size: int = 0
    """Bytes of the answer's text, UTF-8; 0 where there was none."""
    rows: Mapping[str, int] = field(default_factory=dict)
    """How much of what is in the answer: `nodes` and `edges` of a traversal, `items` of a list
    or a description, `entity_types` and `predicates` of a schema; empty where there was none."""
    error: str | None = None
    """The `kind` of the `ToolError`, `cancelled` where the client took the call back, or None."""
