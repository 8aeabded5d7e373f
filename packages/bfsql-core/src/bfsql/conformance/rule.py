"""A rule of the kit: what a backend has to do, where that is written, and how to tell.

    @rule(
        "both-directions",
        "both directions of an edge agree",
        source="chapter 8: all edges that leave, all edges that enter",
        mode="reading",
    )
    async def both_directions(trial: Trial) -> None: ...

A check returns when the rule holds and raises `Broken` when it does not. The
registry is what every face of the kit is made from, so that a new rule needs
nothing but its own function.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from bfsql.errors import BfsqlError

if TYPE_CHECKING:
    from bfsql.conformance.trial import Trial

Mode: TypeAlias = Literal["filling", "reading"]
"""Whether a check needs a store that the kit can fill, or one that is there."""

Check: TypeAlias = Callable[["Trial"], Awaitable[None]]
"""Returns when the rule holds; raises `Broken` or `Untried` when not."""


class Broken(BfsqlError, AssertionError):
    """The backend does not keep the rule; the message says what was asked and what came."""


class Untried(BfsqlError):
    """The rule could not be looked at; the message says what is missing for that."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that is true of every right backend."""

    id: str
    """A few words with hyphens, by which an author opts out of it."""
    behaviour: str
    """The rule as a sentence; tests are named by it."""
    source: str
    """The sentence of the protocol or of a chapter that it comes from."""
    mode: Mode
    """What the check needs."""
    check: Check
    """How to tell."""


RULES: dict[str, Rule] = {}
"""Every rule by its id, in the order in which they are reported."""


def rule(id: str, behaviour: str, *, source: str, mode: Mode) -> Callable[[Check], Check]:  # noqa: A002 - the rule's own word
    """Register a check as a rule.

    Args:
        id: By which authors opt out of it; never changes.
        behaviour: The rule as a sentence.
        source: Where the protocol says so.
        mode: What the check needs.

    Raises:
        ValueError: The id is taken.
    """

    def register(check: Check) -> Check:
        if id in RULES:
            raise ValueError(f"Two rules are named {id!r}; give one of them another name.")
        RULES[id] = Rule(id, behaviour, source, mode, check)
        return check

    return register


def expect(holds: object, reason: str) -> None:
    """Go on when it holds.

    Raises:
        Broken: It does not; `reason` says what came and what would be right.
    """
    if not holds:
        raise Broken(reason)
