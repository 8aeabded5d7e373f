"""Counts of edges in columns: the relations of a neighbourhood and the directions of one node."""

from __future__ import annotations

import numpy as np

from bfsql.arrays import at, places_of, runs
from bfsql.engine.traverse import TraversalResult
from bfsql.integers import Ring
from bfsql.workers import off_loop


async def relations_of(reach: TraversalResult) -> dict[tuple[str, str, str], int]:
    """Count the edges of a traversal by subject type, predicate and object type."""
    columns, edges = reach.columns, reach.edges
    size = columns.size

    def count() -> list[tuple[tuple[int, ...], int]]:
        subjects, objects = reach.types[places_of(reach.nodes, edges.ends, size)].reshape(2, -1)
        typed = Ring(subjects, edges.predicates, objects)
        order, new = runs(typed, len(columns.type_names))
        rows = zip(*(column.tolist() for column in at(typed, order[new])), strict=True)
        counts = np.diff(np.append(np.flatnonzero(new), len(order)))
        return list(zip(rows, counts.tolist(), strict=True))

    types, predicates = columns.type_names, columns.predicate_names
    return {
        (types[s], predicates[p], types[o]): number
        for (s, p, o), number in await off_loop(len(edges.subjects), count)
    }


def directions_of(reach: TraversalResult) -> dict[str, int]:
    """Count the edges of the seed by predicate and direction, keyed by step: `-inhibits->` to 3.

    A self-loop counts in both directions. Edges with an end that is not a node do not count.

    Args:
        reach: A traversal of one hop around one node.
    """
    edges, names = reach.edges, reach.columns.predicate_names
    found = {}
    for ends, form in ((edges.subjects, "-{}->"), (edges.objects, "<-{}-")):
        here = np.isin(ends, reach.seeds.handles)
        numbers, counts = np.unique(edges.predicates[here], return_counts=True)
        named = zip(numbers.tolist(), counts.tolist(), strict=True)
        found.update({form.format(names[number]): count for number, count in named})
    return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))
