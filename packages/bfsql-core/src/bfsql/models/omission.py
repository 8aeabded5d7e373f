"""What a backend could not give, as a value that travels and is cached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Direction = Literal["out", "in", "both", "search", "metadata"]


@dataclass(frozen=True, slots=True)
class Omission:
    """What the store has and the answer has not: edges of a node, hits of a search, or metadata.

    Only `bfsql.answers` makes a sentence of it (`protocol.md` 11).
    """

    id: str
    """Canonical id of the node whose edges are incomplete, or the text that was searched for."""
    direction: Direction = "both"
    """Which of its edges: leaving it, entering it, or both; `search` for a text that was looked
    for by names alone, since it could not be compared by meaning, or, where there is a reason,
    not to the end; `metadata` for a record whose redaction failed on the server behind this one."""
    at_least: int | None = None
    """How many edges are missing at the least, or None where nobody knows."""
    reason: str | None = None
    """Why, in a few words for the model: `the endpoint's row limit`."""
    lasting: bool = False
    """Whether no call can show it, since no tool could name it: a node that has no id."""

    @property
    def passing(self) -> bool:
        """Whether it may be there when it is asked for again, so that no cache keeps the answer."""
        return self.direction in {"search", "metadata"}
