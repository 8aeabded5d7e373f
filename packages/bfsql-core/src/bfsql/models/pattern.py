"""Patterns: sets of nodes by type, properties and relations (`protocol.md` 34, 36).

    Trial:*                            all entities of a type
    Trial[phase=3][status=terminated]  those that meet all conditions
    *[address=180 Park Road]           of any type
    Compound[no <-tests- Trial]        a relation condition

A pattern stands in `seeds`, in `to`, at the end of a step, and in relation conditions.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from bfsql.models.condition import PropertyCondition, quoted_part
from bfsql.models.expression import Computed, Part, replaced
from bfsql.models.records import EdgeDirection

Comparison: TypeAlias = Literal["=", "!=", "<", "<=", ">", ">="]

COMPARE: dict[Comparison, Callable[[Any, int], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
"""The comparisons of a number of nodes; each also works on arrays."""

SHOWN = -1
"""Stands for the step whose nodes are shown."""
_NAME_LETTERS = re.compile(r"[\[\]|{}(),<>-]")


@dataclass(frozen=True, slots=True)
class RelationCondition:
    """How many different nodes have to stand at the end of some relations of a node."""

    steps: tuple[Step, ...]
    """The relations, one after the other; two consecutive edges are never the same edge."""
    comparison: Comparison = ">="
    number: int = 1

    @property
    def text(self) -> str:
        """The condition as it is written in brackets and, after its scope, in `where`."""
        walk = " ".join(step.text for step in self.steps)
        if (self.comparison, self.number) == (">=", 1):
            return walk
        if (self.comparison, self.number) == ("=", 0):
            return f"no {walk}"
        return f"{walk} {self.comparison} {self.number}"


@dataclass(frozen=True, slots=True)
class ScopedRelation:
    """A relation condition of one call, with the nodes to which it applies."""

    text: str
    """The text of the condition."""
    condition: RelationCondition
    step: int | None = None
    """The step of a path to which it applies; None if it names none."""
    types: frozenset[str] | None = None
    """The types of the nodes to which it applies; None if it names none."""


@dataclass(frozen=True, slots=True)
class StepComparison:
    """What has to hold of the nodes of two steps of a walk (`protocol.md` 35, 39).

    They have to be the same node or not, or an expression has to hold of their properties, and of
    those of the edges that reached them.
    """

    text: str
    """The text of the condition."""
    step: int
    """Its number; `SHOWN` for the step whose nodes are shown, until that is known."""
    other: int
    equal: bool = True
    """Whether they have to be the same node, where there is no expression."""
    expression: Computed | None = None
    """A comparison; its properties name their steps. It may be about one step and its edges."""

    def showing(self, shown: int) -> StepComparison:
        """The comparison in a call that shows the nodes of a step."""
        if self.expression is None:
            return self

        def named(part: Part) -> Part:
            return part if part.step is not None else part._replace(step=shown)

        step, other = (shown if one == SHOWN else one for one in (self.step, self.other))
        tree = replaced(self.expression.tree, named)
        return replace(self, step=step, other=other, expression=Computed(self.expression, tree))

    @property
    def steps(self) -> frozenset[int]:
        """Its steps whose edges it does not name: pairs are made with the nodes of one of them."""
        parts = () if self.expression is None else self.expression.parts
        edges = {part.step for part in parts if part.predicate is not None}
        return frozenset((self.step, self.other)) - edges


@dataclass(frozen=True, slots=True)
class Pattern:
    """A set of nodes: those of some types that meet all conditions."""

    types: frozenset[str] | None = None
    """The types, of which a node has one; None for any."""
    conditions: tuple[PropertyCondition, ...] = ()
    relations: tuple[RelationCondition, ...] = ()
    ids: frozenset[str] | None = None
    """The ids of the nodes, where a step ends at named entities; None for any."""

    @property
    def text(self) -> str:
        """The pattern in its canonical spelling, as a seed."""
        if not (self.conditions or self.relations):
            return f"{self._types}:*"
        return f"{self._types}{self._brackets}"

    @property
    def step_text(self) -> str:
        """The pattern as the end of a step; empty for any node."""
        if self.ids is not None:
            return "|".join(quoted_part(one, _NAME_LETTERS) for one in sorted(self.ids))
        return "" if self == ANY else f"{self._types}{self._brackets}"

    @property
    def _types(self) -> str:
        return "*" if self.types is None else "|".join(sorted(self.types))

    @property
    def _brackets(self) -> str:
        texts = (one.property_text for one in self.conditions)
        return "".join(f"[{text}]" for text in (*texts, *(one.text for one in self.relations)))


ANY = Pattern()
"""All nodes."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step: the edges it takes, their direction, and the nodes it may reach."""

    predicates: frozenset[str] | None = None
    """Predicates of the edges; None for any."""
    direction: EdgeDirection | None = None
    """Direction relative to the node where the step starts; None for both."""
    end: Pattern = ANY
    """The nodes it may reach."""
    least: int = 1
    """Minimum number of times that the step is taken."""
    most: int = 1
    """Maximum number of times that the step is taken."""
    conditions: tuple[PropertyCondition, ...] = ()
    """Conditions on the edges."""

    @property
    def unconditional(self) -> Step:
        """The step to all nodes of its types, without conditions."""
        return replace(self, end=Pattern(self.types), conditions=())

    @property
    def types(self) -> frozenset[str] | None:
        """Types of the nodes it may reach; None for any."""
        return self.end.types

    @property
    def text(self) -> str:
        """The step as written in `path`."""
        names = "|".join(sorted(self.predicates or ()))
        names += "".join(f"[{one.property_text}]" for one in self.conditions)
        head = "<-" if self.direction == "in" else "-"
        tail = "->" if self.direction == "out" else "-"
        times = "" if self.most == 1 else f"{{{self.least},{self.most}}}"
        end = self.end.step_text
        return f"{head}{names}{tail}{times}{' ' if end else ''}{end}"
