"""The token budget of one answer (`protocol.md` 14, 21)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from bfsql.engine.fit import most
from bfsql.settings.server import Estimator

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Budget:
    """How many tokens an answer may have, and how they are counted."""

    tokens: int
    """0 is no budget."""
    estimator: Estimator

    def allows(self, text: bytes) -> bool:
        """Whether the text keeps within it."""
        return not self.tokens or self.estimator(text) <= self.tokens

    def longest(self, count: int, text_of: Callable[[int], bytes]) -> int:
        """How many of `count` parts fit, at least 0."""
        if self.allows(text_of(count)):
            return count
        return max(0, most(count - 1, lambda n: self.allows(text_of(n))))


def thinned(values: Sequence[T], count: int) -> list[T]:
    """So many of the values, evenly spread over them."""
    if count >= len(values):
        return list(values)
    return [values[position * len(values) // count] for position in range(count)]
