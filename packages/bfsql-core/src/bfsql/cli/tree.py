"""The edges of an answer as a tree: along the steps of a path, or outwards from the seeds."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.text import Text
from rich.tree import Tree

from bfsql.cli.render import plain

_STEP = re.compile(r"\s*(<?)-(.*?)-(>?)(?:\s.*)?", re.DOTALL)
"""A step in its plain form, whose predicates and direction can be read without the schema."""


@dataclass(frozen=True, slots=True)
class _Edge:
    """An edge as seen from one of its ends."""

    number: int
    predicate: str
    leaves: bool
    other: str


@dataclass(frozen=True, slots=True)
class _Step:
    """The edges that one step of a path may follow; no predicates mean any."""

    predicates: frozenset[str]
    leaving: bool
    entering: bool

    def follows(self, edge: _Edge) -> bool:
        """Whether a walk may follow an edge."""
        direction = self.leaving if edge.leaves else self.entering
        return direction and (not self.predicates or edge.predicate in self.predicates)


@dataclass(slots=True)
class _Branch:
    """A node in the tree, and the edges by which it is reached."""

    tree: Tree
    edges: set[int] = field(default_factory=set)


class EdgeTree:
    """The edges of an answer by their ends.

    Args:
        labels: The text of each node, by its id.
        edges: The edges as the answer has them.
        short: The text of a node that is in the tree already, by its id.
    """

    def __init__(
        self,
        labels: Mapping[str, Text],
        edges: Sequence[Mapping[str, Any]],
        short: Mapping[str, str],
    ) -> None:
        self._labels = labels
        self._short = short
        self._count = len(edges)
        self._edges: dict[str, list[_Edge]] = defaultdict(list)
        for number, edge in enumerate(edges):
            start, predicate, end = edge["subject"], edge["predicate"], edge["object"]
            self._edges[start].append(_Edge(number, predicate, leaves=True, other=end))
            if start != end:
                self._edges[end].append(_Edge(number, predicate, leaves=False, other=start))

    def of_path(self, seeds: Sequence[str], path: Sequence[str]) -> Tree | None:
        """The walks from the seeds, with a level for each step; a node's later walks are cut.

        Returns:
            None if the steps cannot be read without the schema, or do not lead to every edge.
        """
        steps, drawn = _steps(path), set[int]()
        if steps is None:
            return None
        root = Tree("", hide_root=True)
        level = {id_: _Branch(root.add(self._labels[id_])) for id_ in seeds if id_ in self._labels}
        for step in steps:
            following: dict[str, _Branch] = {}
            for here, branch in level.items():
                # The last edge of a walk is never followed back.
                back = branch.edges if len(branch.edges) == 1 else set()
                edges = [
                    edge
                    for edge in self._edges[here]
                    if step.follows(edge) and edge.number not in back
                ]
                for other, group in _by_other(edges):
                    self._add(branch, other, group, following)
                    drawn.update(edge.number for edge in group)
            level = following
        return root if len(drawn) == self._count else None

    def of_neighbourhood(self, seeds: Sequence[str]) -> Tree:
        """All nodes and edges, each once, below the end that is nearer to a seed."""
        root = Tree("", hide_root=True)
        branches: dict[str, _Branch] = {}
        shown: set[int] = set()
        starts = [seed for seed in seeds if seed in self._labels]
        branches |= {seed: _Branch(root.add(self._labels[seed])) for seed in starts}
        for start in (*starts, *self._labels):  # the last are what cannot be reached from a seed
            if start not in branches:
                branches[start] = _Branch(root.add(self._labels[start]))
            self._grow(start, branches, shown)
        return root

    def _grow(self, start: str, branches: dict[str, _Branch], shown: set[int]) -> None:
        """Add what can be reached from a node, breadth first."""
        waiting = deque([start])
        while waiting:
            here = waiting.popleft()
            edges = [edge for edge in self._edges[here] if edge.number not in shown]
            for other, group in _by_other(edges):
                shown.update(edge.number for edge in group)
                if self._add(branches[here], other, group, branches):
                    waiting.append(other)

    def _add(
        self, branch: _Branch, other: str, edges: Sequence[_Edge], branches: dict[str, _Branch]
    ) -> bool:
        """Add a line for edges to a node; whether the node is new."""
        arrow = plain(_arrow(edges), "cyan")
        if is_new := other not in branches:
            line = Text.assemble(arrow, " ", self._labels[other])
            branches[other] = _Branch(branch.tree.add(line))
        else:
            line = Text.assemble(arrow, " ", plain(f"{self._short[other]} (repeated)", "dim"))
            branch.tree.add(line)
        branches[other].edges.update(edge.number for edge in edges)
        return is_new


def _steps(path: Sequence[str]) -> list[_Step] | None:
    steps = []
    for text in path:
        found = _STEP.fullmatch(text)
        if found is None:
            return None
        entering, names, leaving = found.groups()
        predicates = frozenset(name.strip() for name in names.split("|") if name.strip())
        either = bool(entering) == bool(leaving)
        steps.append(_Step(predicates, either or bool(leaving), either or bool(entering)))
    return steps


def _by_other(edges: Sequence[_Edge]) -> Iterator[tuple[str, list[_Edge]]]:
    """Edges of one node by their other end and direction."""
    groups: dict[tuple[str, bool], list[_Edge]] = defaultdict(list)
    for edge in edges:
        groups[edge.other, edge.leaves].append(edge)
    for (other, _), group in groups.items():
        yield other, group


def _arrow(edges: Sequence[_Edge]) -> str:
    predicates = ", ".join(dict.fromkeys(edge.predicate for edge in edges))
    return f"-{predicates}->" if edges[0].leaves else f"<-{predicates}-"
