"""Walks as paths through a networkx graph of states, without listing the walks.

A state is the edge that a walk has just taken, with the step and how often that step has been
taken; where the step may end, a second state follows it. The number of walks is the number of
paths from the source to the sink. Unlike `oracles.walking`, this can handle hubs.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import Any

import networkx as nx

from bfsql.models import Step, Triple

State = Hashable
SOURCE, SINK = "source", "sink"


class Layered:
    """All complete walks along some steps.

    Args:
        to: Nodes where walks end; None for any.
        comes_to: Whether a step, counted from 1, may reach a node.
        ends_at: Whether walks may end at a node of `to`, even if the last step may not reach it.
        takes: Whether a step may take an edge.
    """

    def __init__(
        self,
        types: dict[str, str],
        triples: Collection[Triple],
        seeds: Iterable[str],
        steps: Sequence[Step],
        *,
        to: Collection[str] | None = None,
        comes_to: Callable[[str, int], bool] = lambda _node, _step: True,
        ends_at: Callable[[str], bool] = lambda _node: True,
        takes: Callable[[Triple, int], bool] = lambda _edge, _step: True,
    ) -> None:
        self._types, self._steps, self._takes, self._comes_to = types, steps, takes, comes_to
        self._ends = None if to is None else {node for node in to if ends_at(node)}
        self._touching: dict[str, set[tuple[Triple, str, str]]] = defaultdict(set)
        for subject, predicate, other in triples:
            edge = (subject, predicate, other)
            self._touching[subject].add((edge, "out", other))
            self._touching[other].add((edge, "in", subject))
        whole: Any = nx.DiGraph()
        whole.add_nodes_from((SOURCE, SINK))
        whole.add_edges_from((SOURCE, ("exit", 0, 0, None, seed)) for seed in seeds)
        due = list(whole.successors(SOURCE))
        while due:
            state = due.pop()
            for behind in self._behind(state):
                if behind not in whole:
                    due.append(behind)
                whole.add_edge(state, behind)
        complete = {SOURCE, *nx.descendants(whole, SOURCE)} & {SINK, *nx.ancestors(whole, SINK)}
        self.graph = whole.subgraph(complete)
        self._order = list(nx.topological_sort(self.graph))

    def _behind(self, state: Any) -> Iterable[State]:
        if state == SINK:
            return
        kind, step, time, last, at = state
        if kind == "exit" and step == len(self._steps):
            if self._ends is None or at in self._ends:
                yield SINK
            return
        if kind == "taken":
            if time >= self._steps[step - 1].least:
                yield ("exit", *state[1:])
            if time == self._steps[step - 1].most or not self._comes_to(at, step):
                return
            follows, again = step, time + 1
        else:
            follows, again = step + 1, 1
        wanted = self._steps[follows - 1]
        for edge, way, end in self._touching[at]:
            if (
                edge != last
                and (wanted.direction in (None, way) or edge[0] == edge[2])
                and (wanted.predicates is None or edge[1] in wanted.predicates)
                and end in self._types
                and (wanted.types is None or self._types[end] in wanted.types)
                and self._takes(edge, follows)
                and (self._comes_to(end, follows) or self._ends_at(end, follows))
            ):
                yield ("taken", follows, again, edge, end)

    def _ends_at(self, node: str, step: int) -> bool:
        return step == len(self._steps) and self._ends is not None and node in self._ends

    # --- queries ----------------------------------------------------------------------

    def on(self, states: Iterable[Any] | None = None) -> tuple[set[str], set[Triple]]:
        """The nodes and edges of some states, by default of all."""
        known = [s for s in (states or self.graph) if s not in (SOURCE, SINK)]
        return {s[4] for s in known}, {s[3] for s in known if s[3] is not None}

    def exits(self, step: int) -> dict[str, list[State]]:
        """The states that end a step, by the node that the step reaches."""
        found: dict[str, list[State]] = defaultdict(list)
        for state in self.graph:
            if state not in (SOURCE, SINK) and state[:2] == ("exit", step):
                found[state[4]].append(state)
        return found

    def through(self, states: Collection[State]) -> set[State]:
        """All states of the walks through some states of one step."""
        found = set(states)
        for state in states:
            found |= nx.ancestors(self.graph, state) | nx.descendants(self.graph, state)
        return found

    def paths(self, step: int) -> dict[str, int]:
        """The number of walks on which a step reaches each node."""
        to, on = {SOURCE: 1}, {SINK: 1}
        for state in self._order[1:]:
            to[state] = sum(to[before] for before in self.graph.predecessors(state))
        for state in reversed(self._order[:-1]):
            on[state] = sum(on[behind] for behind in self.graph.successors(state))
        return {
            node: sum(to[state] * on[state] for state in states)
            for node, states in self.exits(step).items()
        }

    def distinct(self, step: int, counted: int) -> dict[str, int]:
        """For each node of a step, the number of distinct nodes of step `counted` on its walks."""
        others = {s: node for node, states in self.exits(counted).items() for s in states}
        return {
            node: len({others[s] for s in self.through(states) if s in others})
            for node, states in self.exits(step).items()
        }
