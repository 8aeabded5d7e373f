"""The edges of an answer as a tree: along the steps of a path, or outwards from the seeds."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rich.text import Text
from rich.tree import Tree

from bfsql.cli.render import plain

_STEP = re.compile(r"\s*(<?)-(.*?)-(>?)(?:\s.*)?", re.DOTALL)
"""A step in its plain form, whose predicates and direction can be read without the schema."""


class _Edge(NamedTuple):
    """An edge as seen from one of its ends."""

    number: int
    predicate: str
    leaves: bool
    other: str


class _Step(NamedTuple):
    """The edges that one step of a path may follow; no predicates mean any."""

    predicates: frozenset[str]
    leaves: frozenset[bool]

    def follows(self, edge: _Edge) -> bool:
        """Whether a walk may follow an edge."""
        return edge.leaves in self.leaves and (
            not self.predicates or edge.predicate in self.predicates
        )


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
        level = {id_: root.add(self._labels[id_]) for id_ in seeds if id_ in self._labels}
        arrived: dict[str, set[int]] = defaultdict(set)
        for step in steps:
            following: dict[str, Tree] = {}
            arriving: dict[str, set[int]] = defaultdict(set)
            for here, tree in level.items():
                # The last edge of a walk is never followed back.
                back = arrived[here] if len(arrived[here]) == 1 else set()
                edges = [
                    edge
                    for edge in self._edges[here]
                    if step.follows(edge) and edge.number not in back
                ]
                self._add(tree, edges, following)
                for edge in edges:
                    arriving[edge.other].add(edge.number)
            drawn.update(*arriving.values())
            level, arrived = following, arriving
        return root if len(drawn) == self._count else None

    def of_neighbourhood(self, seeds: Sequence[str]) -> Tree:
        """All nodes and edges, each once, below the end that is nearer to a seed."""
        root, shown = Tree("", hide_root=True), set[int]()
        branches = {seed: root.add(self._labels[seed]) for seed in seeds if seed in self._labels}
        for start in (*branches, *self._labels):  # the last cannot be reached from a seed
            if start not in branches:
                branches[start] = root.add(self._labels[start])
            waiting = deque([start])
            while waiting:
                here = waiting.popleft()
                edges = [edge for edge in self._edges[here] if edge.number not in shown]
                shown.update(edge.number for edge in edges)
                waiting.extend(self._add(branches[here], edges, branches))
        return root

    def _add(self, tree: Tree, edges: Sequence[_Edge], branches: dict[str, Tree]) -> list[str]:
        """Add a line for each other end and direction of a node's edges; return the new nodes."""
        groups: dict[tuple[str, bool], dict[str, None]] = defaultdict(dict)
        for edge in edges:
            groups[edge.other, edge.leaves][edge.predicate] = None
        new = []
        for (other, leaves), predicates in groups.items():
            names = ", ".join(predicates)
            arrow = plain(f"-{names}->" if leaves else f"<-{names}-", "cyan")
            if other in branches:
                repeated = plain(f"{self._short[other]} (repeated)", "dim")
                tree.add(Text.assemble(arrow, " ", repeated))
            else:
                branches[other] = tree.add(Text.assemble(arrow, " ", self._labels[other]))
                new.append(other)
        return new


def _steps(path: Sequence[str]) -> list[_Step] | None:
    steps = []
    for text in path:
        found = _STEP.fullmatch(text)
        if found is None:
            return None
        entering, names, leaving = found.groups()
        predicates = frozenset(name.strip() for name in names.split("|") if name.strip())
        # Both arrows, or none, mean both directions.
        steps.append(_Step(predicates, frozenset((bool(leaving), not entering))))
    return steps
