"""Outlines of graphs, computed in integers, or from ids and edges by the backend's batches.

A backend without integers lists its nodes and edges, or a sample if they are many; types and
metadata are read by its own batch methods, so the outline agrees with the answers. Of a larger
graph the store itself counts nodes and relations, as long as that takes no more than a given time.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Collection, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from bfsql import call
from bfsql.abc import GraphDbInterface, chunks
from bfsql.arrays import LongArray, concatenated, distinct, marked
from bfsql.integers import CodedGraph, IntArray, IntegerGraph, Ring
from bfsql.models import Metadata, Outline, Triple, outline_of

MOST_NODES = 20_000
"""Up to this number of nodes all are read; of larger graphs, a sample of about this size."""
MOST_EDGES = 50_000
"""Up to this number of edges all are read, parallel ones counted separately; otherwise a sample."""

AT_ONCE = 200_000
"""Nodes whose edges are read at once."""

_Value = TypeVar("_Value")
_Counts = TypeVar("_Counts")


async def counted_in_time(counting: Awaitable[_Counts], seconds: float) -> _Counts | None:
    """The counts of a whole graph; None if they take too long, so that a sample has to do.

    Args:
        counting: Counts in the store. It is cancelled if it takes too long.
        seconds: How long it may take, at most half of the remaining time of the call.
    """
    try:
        async with asyncio.timeout(call.seconds_left(seconds, share=0.5)):
            return await counting
    except TimeoutError:
        return None


def evenly_spaced(values: Sequence[_Value], most: int | None) -> list[_Value]:
    """At most `most` of the values, evenly spaced; all if it is None."""
    if most is None or len(values) <= most:
        return list(values)
    return [values[position * len(values) // most] for position in range(most)]


async def outline_by_batches(
    db: GraphDbInterface,
    ids: Collection[str],
    edges: Collection[Triple],
    *,
    sampled: bool,
    node_counts: Mapping[str, int] | None = None,
    edge_counts: Mapping[tuple[str, str, str], int] | None = None,
) -> Outline:
    """The outline of a graph.

    Args:
        db: The backend.
        ids: The ids of all nodes, or of a sample.
        edges: All edges, or a sample; each may occur several times.
        sampled: Whether either of them is a sample.
        node_counts: The number of nodes by type, if the store counted all of them.
        edge_counts: The number of edges by relation, as for `outline_of`, if the store counted all
            of them.
    """
    distinct = sorted(set(edges))
    types = await _types(db, ids, distinct)
    known = [i for i in dict.fromkeys(ids) if i in types]
    whole = [edge for edge in distinct if edge[0] in types and edge[2] in types]
    some = 10_000 if sampled else None
    nodes: dict[str, Metadata] = {}
    for chunk in chunks(evenly_spaced(known, some)):
        with call.borrowed():
            nodes |= await db.metadata_for_nodes_batch(chunk)
    described: dict[Triple, Metadata] = {}
    for part in chunks(evenly_spaced(whole, some)):
        with call.borrowed():
            described |= await db.metadata_for_edges_batch(part)
    of_nodes = Counter() if sampled else Counter(types[i] for i in known)
    of_edges = Counter((types[s], p, types[o]) for s, p, o in whole)
    relations = of_edges if edge_counts is None else edge_counts
    dated = (((types[s], p, types[o]), known) for (s, p, o), known in described.items())
    return await asyncio.to_thread(
        outline_of,
        of_nodes if node_counts is None else node_counts,
        relations,
        [(types[i], metadata) for i, metadata in nodes.items() if i in types],
        [(edge[1], metadata) for edge, metadata in described.items()],
        sampled=sampled and edge_counts is None,
        ended=await asyncio.to_thread(db.time_keys.ended, dated, relations),
    )


async def _types(
    db: GraphDbInterface, ids: Collection[str], edges: Collection[Triple]
) -> dict[str, str]:
    """The type of each node among some ids and the ends of some edges."""
    types: dict[str, str] = {}
    ends = (end for s, _, o in edges for end in (s, o))
    for chunk in chunks(sorted({*ids, *ends})):
        types.update((node.id, node.entity_type) for node in await db.get_nodes_batch(chunk))
    return types


# --- in integers ----------------------------------------------------------------


async def outline_in_integers(
    db: GraphDbInterface, columns: IntegerGraph, most: int = MOST_NODES
) -> Outline:
    """The outline of a graph: all nodes and edges counted in integers, properties sampled.

    Args:
        db: The backend, for metadata.
        columns: The graph in integers.
        most: The number of nodes or edges up to which all metadata is read; the size of the sample
            of more. Of more types or predicates than this, those with the most nodes, or with the
            first numbers, are in the sample.
    """
    types = await columns.types(np.arange(columns.size, dtype=np.int32))
    coded = columns.coded(db.time_keys.keys) if db.time_keys else None
    count, ended = _Relations(columns, types, most), _Relations(columns, types, 0)
    graph, have_ends = coded.graph if coded else columns, dict[int, bool]()

    def without_codes(ring: Ring, coded: CodedGraph) -> Ring:
        codes, predicates = coded.split(ring.predicates)
        different, places = np.unique(codes, return_inverse=True)
        for code in different.tolist():
            if code not in have_ends:
                row = coded.row(code)
                have_ends[code] = row is not None and db.time_keys.has_end(*row)
        ring = ring._replace(predicates=predicates)
        have = np.array([have_ends[code] for code in different.tolist()], bool)
        ended.add([marked(ring, have.take(places))])
        return ring

    for start in range(0, columns.size, AT_ONCE):
        handles = np.arange(start, min(start + AT_ONCE, columns.size), dtype=np.int32)
        uncounted: list[Ring] = []
        async for ring in graph.rings(handles, direction="out"):
            call.check()
            uncounted.append(await asyncio.to_thread(without_codes, ring, coded) if coded else ring)
            if not columns.repeats:
                await asyncio.to_thread(count.add, [uncounted.pop()])
        await asyncio.to_thread(count.add, uncounted)
    names = columns.type_names
    numbers, counts = np.unique(types[types >= 0], return_counts=True)
    handles = _spread(types, most)
    ids = await columns.ids(handles)
    of_nodes = await db.metadata_for_nodes_batch(ids)
    type_of = dict(zip(ids, types[handles].tolist(), strict=True))
    of_edges = await db.metadata_for_edges_batch(await count.triples())
    relations, of_relation = count.named(), ended.named()
    return outline_of(
        {names[t]: n for t, n in zip(numbers.tolist(), counts.tolist(), strict=True)},
        relations,
        ((names[type_of[i]], known) for i, known in of_nodes.items()),
        ((edge[1], known) for edge, known in of_edges.items()),
        ended={one: of_relation.get(one, 0) for one in relations} if coded else None,
    )


def _spread(kinds: IntArray, most: int) -> IntArray:
    """About `most` places, evenly spread over each of the `most` most frequent kinds.

    All places if there are no more than that; those whose kind is negative are left out.
    """
    if len(kinds) <= most:
        return np.flatnonzero(kinds >= 0).astype(np.int32)
    groups = _Groups.of(kinds)
    counts = np.where(groups.numbers >= 0, groups.counts, 0)
    each = max(1, most // max(1, int(np.count_nonzero(counts))))
    steps = np.maximum(1, -(-counts // each))
    frequent = np.argsort(-counts, kind="stable")[:most]
    sampled = np.zeros(len(counts), bool)
    sampled[frequent] = counts[frequent] > 0
    chosen = np.repeat(sampled, groups.counts) & (
        groups.ranks % np.repeat(steps, groups.counts) == 0
    )
    return np.sort(groups.places[chosen]).astype(np.int32)


class _Groups(NamedTuple):
    """Places of equal kinds beside each other, and the rank of each place among its kind."""

    numbers: IntArray
    counts: LongArray
    places: LongArray
    ranks: LongArray

    @classmethod
    def of(cls, kinds: IntArray) -> _Groups:
        small = kinds.size and kinds.max() < np.iinfo(np.int16).max
        # NumPy sorts small integers in linear time.
        places = np.argsort(kinds.astype(np.int16) if small else kinds, kind="stable")
        numbers, starts, counts = np.unique(kinds[places], return_index=True, return_counts=True)
        return cls(numbers, counts, places, np.arange(len(kinds)) - np.repeat(starts, counts))


class _Relations:
    """Counts edges by predicate and types of their ends, and keeps a sample."""

    def __init__(self, columns: IntegerGraph, types: IntArray, most: int) -> None:
        self._columns = columns
        self._types = types
        self._sizes = len(columns.predicate_names), len(columns.type_names)
        self._counts = Counter[int]()
        self._samples: list[Ring] = []
        self._left = np.full(self._sizes[0], max(1, most // max(1, self._sizes[0])))
        self._left[most:] = 0

    def add(self, rings: Sequence[Ring]) -> None:
        """Count edges that were not counted before; these rings may repeat them."""
        ring = concatenated(rings)
        if self._columns.repeats:
            ring = distinct(ring, self._columns.size)
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
