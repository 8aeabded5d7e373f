"""Paths: the relations that a traversal follows step by step, and what explains its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from bfsql.models.facet import MeasureValue
from bfsql.models.pattern import ANY, Pattern, Step

MAX_STEPS = 8
"""Maximum number of edges of a walk."""
MAX_ALONG = 20
"""Largest number of edges between a seed and a node that `along` reaches (`protocol.md` 38)."""
MOST_PATHS = 2**53
"""Largest exact number of walks in an answer: up to it, JSON numbers are exact."""


@dataclass(frozen=True, slots=True)
class Path:
    """The steps of a walk."""

    steps: Sequence[Step]
    start: Pattern = ANY
    """The seeds where a walk may start."""

    @property
    def longest(self) -> int:
        """Number of edges of the longest walk."""
        return sum(step.most for step in self.steps)

    @property
    def text(self) -> str:
        """The steps as they are written, with the pattern in front of the first."""
        return " ".join(filter(None, [self.start.step_text, *(step.text for step in self.steps)]))

    def without_last_conditions(self) -> Path:
        """The path without the conditions on properties of the nodes at its end."""
        *steps, last = self.steps
        end = replace(last.end, conditions=())
        return replace(self, steps=(*steps, replace(last, end=end)))


@dataclass(frozen=True, slots=True)
class DeadEnd:
    """The point where the longest walks ended, in an answer without a complete one."""

    step: int
    """The step that found nothing; 0 if no seed has a type where walks may start."""
    text: str
    """The step as written in `path`."""
    nodes: int
    """Number of nodes from which it started; 0 if no node of `to` can end a walk."""
    removed: bool = False
    """Whether it found anything that `exclude_node_types`, `min_mentions` or `where` removed.
    """
    turned: str | None = None
    """The step in the other direction, if that would have found something."""
    backwards: bool = False
    """Whether it was walked from the nodes of `to`."""
    turned_back: bool = False
    """Whether there would be walks if two consecutive edges could be the same edge."""
    compared: bool = False
    """Whether complete walks were found, and none met the comparisons of steps."""
    apart: bool = False
    """Whether the walks from the seeds and those to the nodes of `to` do not meet."""
    misses_targets: bool = False
    """Whether it found nodes, but none of `to`."""
    relations: Sequence[str] = ()
    """Relations of the nodes, as steps, if it found nothing in either direction."""


class WalkRow(NamedTuple):
    """One walk of a path's answer (`protocol.md` 38)."""

    nodes: Sequence[str]
    """Ids of the nodes, from the seed on."""
    edges: Sequence[str] | None
    """The predicate of each edge; where its step allows both directions, with `>` in front for an
    outgoing and `<` for an incoming edge. None if the steps leave no choice of either."""
    values: Mapping[str, Any] | None = None
    """By name: what `fields` computes of its nodes; None if that is nothing."""


@dataclass(frozen=True, slots=True)
class ShownNodes:
    """The nodes or walks of a path's answer that its page counts."""

    count: int
    """Number of all of them, before the page; of walks at most `MOST_PATHS`."""
    step: int
    """The step to which the nodes belong; 0 is the seeds."""
    paths: Mapping[str, int] = field(default_factory=dict)
    """By id of the nodes on the page: complete walks through the node, at most `MOST_PATHS`."""
    distinct: Mapping[str, int] | None = None
    """By id: different nodes of another step on these walks; None if no step was named.
    """
    measures: Mapping[str, MeasureValue | list[MeasureValue]] = field(default_factory=dict)
    """By id: the measure, or the measures in their order; empty if there are none."""
    many: bool = False
    """Whether there are more than `MOST_PATHS` walks, through a node of the page or in all."""
    walks: Literal["shown", "left out", "too large"] = "shown"
    """Whether the page contains the walks of its nodes."""
    dead_end: DeadEnd | None = None
    rows: Sequence[WalkRow] | None = None
    """The walks of the page; None if its nodes are counted."""
    measure_texts: Sequence[str] = ()
    """The measures as the call writes them."""

    @property
    def noun(self) -> str:
        """What the page counts."""
        return "shown node" if self.rows is None else "walk"

    @property
    def length(self) -> int:
        """Number of them on the page."""
        return len(self.paths if self.rows is None else self.rows)
