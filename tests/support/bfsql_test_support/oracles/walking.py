"""Walks by brute force: every walk is listed, which the engine never does."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

from hypothesis import strategies as st

from bfsql.models import EdgeRecord, NodeRecord, Pattern, Step, Triple
from bfsql.models.merge import merge_node_records
from bfsql_test_support import graph_strategies

Walk = tuple[tuple[tuple[str, ...], tuple[Triple, ...]], ...]
"""For each step, the nodes that it reaches, in order, and the edges that it takes."""


@dataclass(frozen=True)
class Walker:
    """The walks of a drawn graph."""

    types: dict[str, str]
    triples: frozenset[Triple]

    @classmethod
    def of(cls, graph: graph_strategies.Drawn) -> Self:
        described: dict[str, list[NodeRecord]] = {}
        for record in graph.records:
            if isinstance(record, NodeRecord):
                described.setdefault(record.id, []).append(record)
        types = {i: merge_node_records(records)[0] for i, records in described.items()}
        return cls(types, frozenset(graph.triples))

    def walks(
        self,
        seeds: Collection[str],
        steps: Sequence[Step],
        *,
        to: Collection[str] | None = None,
        removed: Collection[str] = (),
    ) -> list[tuple[str, Walk]]:
        """Every complete walk, with the seed where it starts.

        Args:
            to: Nodes where walks end; None for any.
            removed: Nodes that no walk may reach.
        """
        return [
            (seed, walk)
            for seed in seeds
            for walk in self._rest(seed, None, steps, frozenset(removed))
            if to is None or walk[-1][0][-1] in to
        ]

    def _rest(
        self, at: str, last: Triple | None, steps: Sequence[Step], removed: frozenset[str]
    ) -> Iterator[Walk]:
        if not steps:
            yield ()
            return
        step = steps[0]
        for times in range(step.least, step.most + 1):
            for nodes, edges in self._taken(at, last, step, times, removed):
                for rest in self._rest(nodes[-1], edges[-1], steps[1:], removed):
                    yield ((nodes, edges), *rest)

    def _taken(
        self, at: str, last: Triple | None, step: Step, times: int, removed: frozenset[str]
    ) -> Iterator[tuple[tuple[str, ...], tuple[Triple, ...]]]:
        if not times:
            yield (), ()
            return
        for edge, end in self._arcs(at, step):
            if edge != last and end not in removed:
                for nodes, edges in self._taken(end, edge, step, times - 1, removed):
                    yield (end, *nodes), (edge, *edges)

    def _arcs(self, at: str, step: Step) -> Iterator[tuple[Triple, str]]:
        for edge in self.triples:
            subject, predicate, other = edge
            if step.predicates is not None and predicate not in step.predicates:
                continue
            ends: set[str] = set()
            if subject == at and step.direction != "in":
                ends.add(other)
            if other == at and step.direction != "out":
                ends.add(subject)
            if subject == at == other:
                ends = {at}
            for end in ends:
                known = self.types.get(end)
                if known is not None and (step.types is None or known in step.types):
                    yield edge, end


def on_them(walks: Iterable[tuple[str, Walk]]) -> tuple[set[str], set[Triple]]:
    """The nodes and edges on some walks."""
    nodes: set[str] = set()
    edges: set[Triple] = set()
    for seed, walk in walks:
        nodes |= {seed, *(node for reached, _ in walk for node in reached)}
        edges |= {edge for _, taken in walk for edge in taken}
    return nodes, edges


def node_at(seed: str, walk: Walk, step: int) -> str:
    """The node that a step of a walk reaches; step 0 is the seed."""
    return walk[step - 1][0][-1] if step else seed


@st.composite
def steps(draw: st.DrawFn, most: int = 3, *, times: bool = True) -> list[Step]:
    """Steps with the predicates and types of drawn graphs."""
    names = st.none() | st.frozensets(
        st.sampled_from(graph_strategies.PREDICATES), min_size=1, max_size=2
    )
    kinds = (
        st.none() | st.none() | st.frozensets(st.sampled_from(graph_strategies.TYPES), min_size=1)
    )
    found = []
    for _ in range(draw(st.integers(1, most), label="steps")):
        least = draw(st.integers(1, 2)) if times and draw(st.booleans()) else 1
        upper = draw(st.integers(least, 2)) if times else 1
        direction = draw(st.sampled_from(["out", "in", None]))
        found.append(Step(draw(names), direction, Pattern(draw(kinds)), least, upper))
    return found


@st.composite
def tangles(draw: st.DrawFn) -> graph_strategies.Drawn:
    """A graph of few nodes and many edges: loops, parallel and opposite edges."""
    ids = graph_strategies.PLAIN[: draw(st.integers(1, 5), label="nodes")]
    ends = st.sampled_from([*ids, *ids, graph_strategies.GONE[0]])
    edge = st.tuples(ends, st.sampled_from(graph_strategies.PREDICATES), ends)
    triples = draw(st.frozensets(edge, max_size=14), label="triples")
    nodes = [NodeRecord(i, draw(st.sampled_from(graph_strategies.TYPES)), {}) for i in ids]
    nodes += [NodeRecord(f"apart:{name}", name, {}) for name in graph_strategies.TYPES]
    one, other, *_ = graph_strategies.TYPES  # so that every name is in use
    triples |= {(f"apart:{one}", name, f"apart:{other}") for name in graph_strategies.PREDICATES}
    return graph_strategies.Drawn(
        (*nodes, *(EdgeRecord(*t) for t in sorted(triples))), ids, triples
    )


def arguments(found: Sequence[Step]) -> dict[str, Any]:
    """The steps as arguments of a call."""
    return {"path": [step.text for step in found]}
