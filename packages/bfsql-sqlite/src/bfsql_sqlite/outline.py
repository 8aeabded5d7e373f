"""The composition of the graph in a file: all edges counted in integers, properties sampled."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping

import numpy as np

from bfsql.abc import GraphDbInterface
from bfsql.arrays import distinct_numbers
from bfsql.integers import IntArray, IntegerGraph, Ring
from bfsql.models.outline import Outline, outline_of
from bfsql.models.records import Triple

AT_ONCE = 200_000
"""Nodes whose edges are read at once."""
ALL = 20_000
"""Number of nodes or edges up to which all metadata is read; the size of the sample of more."""


async def outlined(db: GraphDbInterface, columns: IntegerGraph) -> Outline:
    """The outline of a graph, which is given as a backend, for metadata, and in integers."""
    types = await columns.types(np.arange(columns.size, dtype=np.int32))
    count = _Relations(columns, types)
    for start in range(0, columns.size, AT_ONCE):
        handles = np.arange(start, min(start + AT_ONCE, columns.size), dtype=np.int32)
        async for ring in columns.rings(handles, direction="out"):
            await asyncio.to_thread(count.add, ring)
    names = columns.type_names
    numbers, counts = np.unique(types[types >= 0], return_counts=True)
    handles = _spread(types)
    ids = await columns.ids(handles)
    of_nodes = await db.metadata_for_nodes_batch(ids)
    type_of = dict(zip(ids, types[handles].tolist(), strict=True))
    of_edges = await db.metadata_for_edges_batch(await count.triples())
    return outline_of(
        {names[t]: n for t, n in zip(numbers.tolist(), counts.tolist(), strict=True)},
        count.named(),
        ((names[type_of[i]], known) for i, known in of_nodes.items()),
        ((edge[1], known) for edge, known in of_edges.items()),
    )


def _spread(kinds: IntArray) -> IntArray:
    """About `ALL` places, evenly spread over each kind; all places if there are no more than that.

    Places whose kind is negative are left out.
    """
    if len(kinds) <= ALL:
        return np.flatnonzero(kinds >= 0).astype(np.int32)
    numbers = distinct_numbers(kinds[kinds >= 0]).tolist()
    each = max(1, ALL // max(1, len(numbers)))
    parts = [np.empty(0, np.int32)]
    for number in numbers:
        places = np.flatnonzero(kinds == number).astype(np.int32)
        parts.append(places[:: max(1, -(-len(places) // each))])
    return np.sort(np.concatenate(parts))


class _Relations:
    """Counts edges by predicate and types of their ends, and keeps a sample."""

    def __init__(self, columns: IntegerGraph, types: IntArray) -> None:
        self._columns = columns
        self._types = types
        self._sizes = len(columns.predicate_names), len(columns.type_names)
        self._counts = Counter[int]()
        self._kept: list[Ring] = []
        self._left: dict[int, int] = {}
        self._each = max(1, ALL // max(1, self._sizes[0]))

    def add(self, ring: Ring) -> None:
        """Count a batch of edges that were not counted before."""
        subjects, objects = self._types[ring.subjects], self._types[ring.objects]
        whole = (subjects >= 0) & (objects >= 0)
        predicates, kinds = self._sizes
        keys = (subjects[whole].astype(np.int64) * predicates + ring.predicates[whole]) * kinds
        numbers, counts = np.unique(keys + objects[whole], return_counts=True)
        self._counts.update(dict(zip(numbers.tolist(), counts.tolist(), strict=True)))
        self._keep(Ring(*(column[whole] for column in ring)))

    def _keep(self, ring: Ring) -> None:
        for number in distinct_numbers(ring.predicates).tolist():
            left = self._left.get(number, self._each)
            places = np.flatnonzero(ring.predicates == number)[:left]
            if len(places):
                self._kept.append(Ring(*(column[places] for column in ring)))
            self._left[number] = left - len(places)

    def named(self) -> Mapping[tuple[str, str, str], int]:
        """The counts, by names."""
        predicates, kinds = self._columns.predicate_names, self._columns.type_names
        found = {}
        for key, edges in self._counts.items():
            rest, obj = divmod(key, self._sizes[1])
            subject, predicate = divmod(rest, self._sizes[0])
            found[kinds[subject], predicates[predicate], kinds[obj]] = edges
        return found

    async def triples(self) -> list[Triple]:
        """The sample: some edges of each predicate."""
        names = self._columns.predicate_names
        found: list[Triple] = []
        for ring in self._kept:
            subjects = await self._columns.ids(ring.subjects)
            objects = await self._columns.ids(ring.objects)
            predicates = [names[p] for p in ring.predicates.tolist()]
            found += zip(subjects, predicates, objects, strict=True)
        return found
