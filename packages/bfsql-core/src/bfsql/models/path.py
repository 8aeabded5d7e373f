"""Paths: the relations that a traversal follows step by step, and what explains its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from bfsql.models.records import EdgeDirection

MAX_STEPS = 8
"""Edges of the longest walk."""
MOST_PATHS = 2**53
"""Largest exact number of walks in an answer: JSON's numbers are exact up to it."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step: which edges it takes, which way, and the types of the nodes that it may reach."""

    predicates: frozenset[str] | None = None
    """None for any."""
    direction: EdgeDirection | None = None
    """As seen from the node that the step starts at; None for both."""
    types: frozenset[str] | None = None
    """None for any."""
    least: int = 1
    """Fewest times that the step is taken."""
    most: int = 1
    """Most times."""

    @property
    def text(self) -> str:
        """The step as `path` takes it."""
        names = "|".join(sorted(self.predicates or ()))
        head = "<-" if self.direction == "in" else "-"
        tail = "->" if self.direction == "out" else "-"
        times = "" if self.most == 1 else f"{{{self.least},{self.most}}}"
        kinds = f" {'|'.join(sorted(self.types))}" if self.types is not None else ""
        return f"{head}{names}{tail}{times}{kinds}"


@dataclass(frozen=True, slots=True)
class Path:
    """The steps of a walk."""

    steps: Sequence[Step]
    start_types: frozenset[str] | None = None
    """Types of the seeds that a walk may start at; None for any."""

    @property
    def longest(self) -> int:
        """Edges of the longest walk."""
        return sum(step.most for step in self.steps)


@dataclass(frozen=True, slots=True)
class DeadEnd:
    """Where the longest walks ended, in an answer without a complete one."""

    step: int
    """The step that found nothing; 0 where no seed has a type that walks may start at."""
    text: str
    """As `path` takes it."""
    nodes: int
    """How many nodes it started from."""
    removed: bool = False
    """Whether it found something that `exclude_node_types`, `min_mentions` or `where` removed."""
    turned: str | None = None
    """The step in the other direction, where that would have found something."""
    backwards: bool = False
    """Whether it was walked from the nodes of `to`."""
    astray: bool = False
    """Whether it found something, but no node of `to`."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The nodes of a path's answer that its page counts."""

    count: int
    """All of them, before the page."""
    step: int
    """Whose nodes they are; 0 is the seeds."""
    paths: Mapping[str, int] = field(default_factory=dict)
    """By id, of those on the page: complete walks through it, at most `MOST_PATHS`."""
    distinct: Mapping[str, int] | None = None
    """By id: different nodes of another step on these walks; None where none was named."""
    many: bool = False
    """Whether a node of the page lies on more than `MOST_PATHS` walks."""
    walks: Literal["shown", "left out", "too large"] = "shown"
    """Whether the page holds the walks of its nodes."""
    dead_end: DeadEnd | None = None
