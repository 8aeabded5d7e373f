"""What a backend could not give, as a value that travels and is cached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Direction = Literal["out", "in", "both"]


@dataclass(frozen=True, slots=True)
class Omission:
    """Edges of a node that the store has and the answer has not.

    Only `bfsql.answers` makes a sentence of it (`protocol.md` 11).
    """

    id: str
    """Canonical id of the node whose edges are incomplete."""
    direction: Direction = "both"
    """Which of its edges: leaving it, entering it, or both."""
    at_least: int | None = None
    """How many edges are missing at the least, or None where nobody knows."""
    reason: str | None = None
    """Why, in a few words for the model: `the endpoint's row limit`."""
