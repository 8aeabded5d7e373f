"""Counts of edges in columns: the relations of a neighbourhood and the directions of one node."""

from __future__ import annotations

import numpy as np

from bfsql.arrays import places_of
from bfsql.engine.traverse import Bounds, TraversalResult, off_loop, traverse
from bfsql.integers import IntArray, IntegerGraph, ResolvedNode


async def relations_of(reach: TraversalResult) -> dict[tuple[str, str, str], int]:
    """Count the edges of a traversal by subject type, predicate and object type."""
    columns, edges = reach.columns, reach.edges
    size = columns.size

    def count() -> list[tuple[list[int], int]]:
        def types_of(ends: IntArray) -> IntArray:
            found: IntArray = reach.types[places_of(reach.nodes, ends, size)]
            return found

        return _counted(types_of(edges.subjects), edges.predicates, types_of(edges.objects))

    types, predicates = columns.type_names, columns.predicate_names
    return {
        (types[s], predicates[p], types[o]): number
        for (s, p, o), number in await off_loop(len(edges.subjects), count)
    }


async def directions_of(
    columns: IntegerGraph, node: ResolvedNode, bounds: Bounds
) -> dict[str, int]:
    """Count the edges of one node by predicate and direction, keyed by step: `-inhibits->` to 3.

    A self-loop counts in both directions. Edges with an end that is no node do not count.

    Args:
        columns: The graph.
        node: The node.
        bounds: Limits on the nodes and edges to read.

    Raises:
        FirstRingUnfinished: The deadline passed before the edges of the node were read.
        FirstRingTooLarge: The edges exceed one of the bounds.
        TypesUnread: The deadline passed before the types of the ends were read.
    """
    edges = (await traverse(columns, [node], 1, bounds)).edges
    names = columns.predicate_names
    found = {}
    for ends, form in ((edges.subjects, "-{}->"), (edges.objects, "<-{}-")):
        numbers, counts = np.unique(edges.predicates[ends == node.handle], return_counts=True)
        named = zip(numbers.tolist(), counts.tolist(), strict=True)
        found.update({form.format(names[number]): count for number, count in named})
    return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))


def _counted(*arrays: IntArray) -> list[tuple[list[int], int]]:
    """How often each row occurs; each column is numbered separately, then all are combined."""
    parts = [np.unique(array, return_inverse=True) for array in arrays]
    keys = np.zeros(len(arrays[0]), np.int64)
    for numbers, places in parts:
        keys = keys * len(numbers) + places
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    rows = np.stack([array[first] for array in arrays], axis=1).tolist()
    return list(zip(rows, counts.tolist(), strict=True))
