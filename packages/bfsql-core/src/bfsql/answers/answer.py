"""An answer on its way out: exact text, and the same as structured content."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool gives back; the same bytes over MCP, REST and the command line."""

    text: str
    """The answer as compact JSON: the first text block."""
    content: dict[str, Any]
    """The same as structured content; a list stands under `result` (`protocol.md` 20)."""
    notes: tuple[str, ...] = ()
    """What is missing, and how to get it. Inside `text` where that is an object."""

    @property
    def blocks(self) -> tuple[str, ...]:
        """The text blocks: a list cannot hold its notes, so they follow in a second one."""
        if self.notes and self.text.startswith("["):
            return (self.text, "\n".join(self.notes))
        return (self.text,)
