"""The composition of the graph in a file: all edges counted in integers, properties sampled.

A load counts once and keeps the outline in the file. It is valid as long as nothing else writes
to the file, which the header of the file shows.
"""

from __future__ import annotations

import asyncio
import sqlite3
import zlib
from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from pydantic import TypeAdapter

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.integers import IntArray, IntegerGraph, Ring
from bfsql.models.outline import Outline, outline_of
from bfsql.models.records import Triple
from bfsql_sqlite import queries

Integers: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"

AT_ONCE = 200_000
"""Nodes whose edges are read at once."""
ALL = 20_000
"""Number of nodes or edges up to which all metadata is read; the size of the sample of more.

Of more types or predicates than this, those with the most nodes, or with the first numbers, are
in the sample.
"""


async def outlined(db: GraphDbInterface, columns: IntegerGraph) -> Outline:
    """The outline of a graph, which is given as a backend, for metadata, and in integers."""
    types = await columns.types(np.arange(columns.size, dtype=np.int32))
    count = _Relations(columns, types)
    for start in range(0, columns.size, AT_ONCE):
        handles = np.arange(start, min(start + AT_ONCE, columns.size), dtype=np.int32)
        async for ring in columns.rings(handles, direction="out"):
            call.check()
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


def to_text(outline: Outline, writes: int) -> str:
    """An outline as `of_file` reads it from a file with this number in its header."""
    text = _adapter().dump_json(outline).decode()
    return _mark(text, writes) + text


def of_file(reader: sqlite3.Connection, writes: int) -> Outline | None:
    """The outline that the load of a file kept; None if it did not, or another write followed."""
    ((stored,),) = reader.execute(queries.OUTLINE)
    mark, text = str(stored)[:8], str(stored)[8:]
    return _adapter().validate_json(text) if mark == _mark(text, writes) else None


@cache
def _adapter() -> TypeAdapter[Outline]:
    return TypeAdapter(Outline)


def _mark(text: str, writes: int) -> str:
    return f"{zlib.crc32(f'{writes} {text}'.encode()):08x}"


def _spread(kinds: IntArray) -> IntArray:
    """About `ALL` places, evenly spread over each of the `ALL` most frequent kinds.

    All places if there are no more than that; those whose kind is negative are left out.
    """
    if len(kinds) <= ALL:
        return np.flatnonzero(kinds >= 0).astype(np.int32)
    groups = _Groups.of(kinds)
    counts = np.where(groups.numbers >= 0, groups.counts, 0)
    each = max(1, ALL // max(1, int(np.count_nonzero(counts))))
    steps = np.maximum(1, -(-counts // each))
    frequent = np.argsort(-counts, kind="stable")[:ALL]
    sampled = np.zeros(len(counts), bool)
    sampled[frequent] = counts[frequent] > 0
    chosen = np.repeat(sampled, groups.counts) & (
        groups.ranks % np.repeat(steps, groups.counts) == 0
    )
    return np.sort(groups.places[chosen]).astype(np.int32)


class _Groups(NamedTuple):
    """Places of equal kinds beside each other, and the rank of each place among its kind."""

    numbers: IntArray
    counts: Integers
    places: Integers
    ranks: Integers

    @classmethod
    def of(cls, kinds: IntArray) -> _Groups:
        small = kinds.size and kinds.max() < np.iinfo(np.int16).max
        # NumPy sorts small integers in linear time.
        places = np.argsort(kinds.astype(np.int16) if small else kinds, kind="stable")
        numbers, starts, counts = np.unique(kinds[places], return_index=True, return_counts=True)
        return cls(numbers, counts, places, np.arange(len(kinds)) - np.repeat(starts, counts))


class _Relations:
    """Counts edges by predicate and types of their ends, and keeps a sample."""

    def __init__(self, columns: IntegerGraph, types: IntArray) -> None:
        self._columns = columns
        self._types = types
        self._sizes = len(columns.predicate_names), len(columns.type_names)
        self._counts = Counter[int]()
        self._samples: list[Ring] = []
        self._left = np.full(self._sizes[0], max(1, ALL // max(1, self._sizes[0])))
        self._left[ALL:] = 0

    def add(self, ring: Ring) -> None:
        """Count a batch of edges that were not counted before."""
        subjects, objects = self._types[ring.subjects], self._types[ring.objects]
        whole = (subjects >= 0) & (objects >= 0)
        predicates, kinds = self._sizes
        keys = (subjects[whole].astype(np.int64) * predicates + ring.predicates[whole]) * kinds
        keys += objects[whole]
        if keys.max(initial=0) <= len(keys):  # to sort them takes ten times as long
            counts = np.bincount(keys)
            numbers = np.flatnonzero(counts)
            counts = counts[numbers]
        else:
            numbers, counts = np.unique(keys, return_counts=True)
        self._counts.update(dict(zip(numbers.tolist(), counts.tolist(), strict=True)))
        self._keep(Ring(*(column[whole] for column in ring)))

    def _keep(self, ring: Ring) -> None:
        places = np.flatnonzero(self._left[ring.predicates] > 0)
        groups = _Groups.of(ring.predicates[places])
        left = self._left[groups.numbers]
        places = places[groups.places[groups.ranks < np.repeat(left, groups.counts)]]
        self._samples.append(Ring(*(column[places] for column in ring)))
        self._left[groups.numbers] -= np.minimum(left, groups.counts)

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
        for ring in self._samples:
            subjects = await self._columns.ids(ring.subjects)
            objects = await self._columns.ids(ring.objects)
            predicates = [names[p] for p in ring.predicates.tolist()]
            found += zip(subjects, predicates, objects, strict=True)
        return found
