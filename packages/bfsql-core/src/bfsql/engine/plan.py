"""What a call asks of a graph, as a value: where it starts, what it follows, and where it ends.

Every call that answers with a part of the graph is one of four kinds of plan: everything within
some hops (`reach`), what lies within reach of every seed (`shared`), the shortest connections of
seeds and targets (`chains`), and the walks along a path (`walks`). `bfsql.engine.executor` runs it.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from bfsql.call import MAX_EDGES, MAX_EDGES_IN_COLUMNS, MAX_NODES, MAX_NODES_IN_COLUMNS
from bfsql.integers import IntegerGraph, NodeSet
from bfsql.models import BfsQuery, IntersectionQuery, Path, PathQuery
from bfsql.query.properties import computed_fields, counted_steps

Query: TypeAlias = BfsQuery | IntersectionQuery | PathQuery
Kind: TypeAlias = Literal["reach", "shared", "chains", "walks"]


@dataclass(frozen=True)
class Plan:
    """One question to a graph, whose names are resolved.

    Printed, it is one line: `walks from Trial:* over -tests-> Compound to RxNorm:3251`.
    """

    query: Query
    """The checked arguments; `seeds` repeats the places as an answer does."""
    seeds: NodeSet
    """Where it starts."""
    targets: NodeSet | None = None
    """Where connections or walks end; None for any node."""
    smallest: bool = False
    """Whether the smallest `k` at which the seeds share something is enough."""
    connect: bool = False
    """Whether the shortest ways from what is shared to the seeds are part of the answer."""
    filters: PathQuery | None = None
    """The query with the conditions that are left to apply, if `targets` meet the others."""

    @property
    def kind(self) -> Kind:
        """Which kind of answer it has."""
        if isinstance(self.query, PathQuery):
            return "walks"
        if isinstance(self.query, IntersectionQuery):
            return "shared"
        return "reach" if self.targets is None else "chains"

    @property
    def along(self) -> tuple[Path, ...]:
        """The only steps that it follows in any order, each a path; empty for all edges."""
        return self.query.along if isinstance(self.query, BfsQuery) else ()

    @property
    def request(self) -> Hashable:
        """What makes the answers of two plans the same, unless they count relations."""
        query, where = self.query, tuple(self.query.where)
        ends: list[Hashable] = [
            nodes and (*(place.text for place in nodes.places), nodes.handles.tobytes())
            for nodes in (self.seeds, self.targets)
        ]
        computed = tuple(computed_fields(query.fields).items()) if where else ()
        ends += [where, computed, tuple(query.exclude_node_types), query.min_mentions]
        if isinstance(query, PathQuery):
            # A condition on relations, whose query has no seeds, is read for nodes in any portions,
            # so what leads on from a dead end would differ by store.
            named = bool(query.seeds)
            steps = query.ordered_step, counted_steps(query), query.comparisons
            filters = self.filters and self.filters.path, where and query.shown_step
            return (query.path, *ends, *steps, named, *filters)
        if isinstance(query, IntersectionQuery):
            return (self.kind, *ends, query.k, self.smallest, self.connect)
        return (self.kind, *ends, query.max_hops, query.along)

    def __str__(self) -> str:
        query = self.query
        words = [self.kind, "from", ", ".join(self.seeds.texts)]
        if isinstance(query, PathQuery):
            words += ["over", query.path.text]
        else:
            hops = query.k if isinstance(query, IntersectionQuery) else query.max_hops
            words += ["within", str(hops)]
        if self.along:
            words += ["along", ", ".join(path.text for path in self.along)]
        if self.targets is not None:
            words += ["to", ", ".join(self.targets.texts)]
        if conditions := [*query.where, *(one.text for one in query.relations)]:
            words += ["where", " and ".join(conditions)]
        return " ".join(words)


class Bounds(NamedTuple):
    """The largest numbers of nodes and edges that a traversal may hold."""

    nodes: int
    edges: int

    @classmethod
    def of(cls, columns: IntegerGraph, nodes: int | None, edges: int | None) -> Bounds:
        """The given bounds; for None, the defaults, which depend on the store."""
        return cls(
            nodes or (MAX_NODES_IN_COLUMNS if columns.is_own else MAX_NODES),
            edges or (MAX_EDGES_IN_COLUMNS if columns.is_own else MAX_EDGES),
        )
