"""The bounds that every tool call keeps, each a setting with a generous default."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from bfsql.engine.traverse import MAX_NODES

Estimator: TypeAlias = Callable[[bytes], int]
"""UTF-8 text to a number of tokens."""

STRIPPED = (
    "provenance",
    "strongest_evidence_quote",
    "evidence_confidence_avg",
    "created_at",
    "text_span",
)
"""Edge metadata that traversals leave out; `describe_entity` brings it back (`protocol.md` 16)."""


def third_of_bytes(text: bytes) -> int:
    """Tokens of a text, estimated: a third of its bytes, rounded up (`protocol.md` 14)."""
    return -(-len(text) // 3)


@dataclass(frozen=True, slots=True)
class Limits:
    """What one call may cost."""

    max_tokens: int = 20_000
    """Budget of an answer where the call names none; 0 is none."""
    deadline: float | None = 60.0
    """Seconds a call may take, all its store calls together; None is no end."""
    max_nodes: int = MAX_NODES
    """Nodes after which a traversal stops at the end of a ring."""
    stripped: tuple[str, ...] = STRIPPED
    """Edge metadata that traversals leave out."""
    estimator: Estimator = third_of_bytes
    """How text is counted against the budget."""
