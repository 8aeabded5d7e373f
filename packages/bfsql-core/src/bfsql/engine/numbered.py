"""Columns over a backend of strings: ids, predicates and types are numbered as they arrive.

What is learned during a call is kept for that call: types that came with the seeds or with a
ring are not read again.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import aclosing
from copy import copy
from itertools import chain
from typing import Unpack

import numpy as np

from bfsql import call, workers
from bfsql.abc import GraphDbInterface, NormalizedBackend, each, normalized
from bfsql.arrays import NO_HANDLES, Handles, distinct_numbers, grown
from bfsql.engine.thresholds import AT_ONCE
from bfsql.errors import StoreUnavailable
from bfsql.integers import (
    NO_NODE,
    TYPE_UNREAD,
    CodedGraph,
    IntArray,
    IntegerGraph,
    NodeBatch,
    NumberedRings,
    Numbering,
    ResolvedNode,
    Ring,
)
from bfsql.models import EdgeFilter, Metadata, Node, PropertyCondition
from bfsql.workers import off_loop


def columns_of(db: GraphDbInterface) -> IntegerGraph:
    """The graph in integers for one call: the store's own columns, or numbered strings."""
    return db.columns() or NumberedGraph(normalized(db))


async def nodes_of(db: NormalizedBackend, ids: Sequence[str]) -> list[Node | None]:
    """The node of each id, in the order of the ids; None for an id that is not a node.

    One batch returns canonical ids. An id that the batch does not return may be another
    spelling of a node that it did return, so each of those ids is looked up individually.
    """
    asked = list(dict.fromkeys(ids))
    if not asked:
        return []
    found: dict[str, Node | None] = {node.id: node for node in await db.get_nodes_batch(asked)}
    if found and (respelled := [i for i in asked if i not in found]):
        alone = await each(respelled, db.get_node)
        found |= dict(zip(respelled, alone, strict=True))
    return [found.get(entity_id) for entity_id in ids]


class _StreamedRings:
    """The rings of a backend without a cache, numbered for one call, without metadata."""

    def __init__(self, db: NormalizedBackend) -> None:
        self._db = db
        self.numbering = Numbering()
        self.typed = False

    async def rings(
        self, ids: Sequence[str], **part: Unpack[EdgeFilter]
    ) -> AsyncGenerator[IntArray]:
        async with aclosing(self._db.edges_stream(ids, **part)) as batches:
            async for rows in batches:
                yield self.numbering.rows(rows)


class NumberedGraph(IntegerGraph):
    """The columns of a backend that uses strings, for one call.

    Args:
        db: The backend, with or without a cache.
    """

    is_own = False

    def __init__(self, db: NormalizedBackend) -> None:
        self._db = db
        self._rings: NumberedRings | _StreamedRings = db.numbered() or _StreamedRings(db)
        self._numbering = self._rings.numbering
        self._metadata: dict[str, Metadata] = {}
        # By handle: the number of its type minus `TYPE_UNREAD`, so that unknown types are zeros.
        self._types = NO_HANDLES
        self._prefetched: tuple[frozenset[str], asyncio.Task[list[IntArray]]] | None = None

    @property
    def size(self) -> int:
        """The number of numbered names, including those of predicates and types."""
        return len(self._numbering.names)

    @property
    def type_names(self) -> Sequence[str]:
        """All numbered names, as for predicates."""
        return self._numbering.names

    predicate_names = type_names

    @property
    def repeats(self) -> bool:
        """Always True: a backend may return an edge twice."""
        return True

    @property
    def node_metadata(self) -> Mapping[str, Metadata]:
        """The metadata that came with nodes, by id."""
        return self._metadata

    def prefetch(self, ids: Sequence[str]) -> None:
        """Start a task that reads the ring of some nodes, if a cache holds what is read."""
        asked = frozenset(ids)
        if asked and self._db.numbered() is not None:
            task = call.start_in_call(self._read(sorted(asked)))
            self._prefetched = None if task is None else (asked, task)

    async def find(self, ids: Sequence[str]) -> list[ResolvedNode | None]:
        """Look nodes up in the ring read ahead, if it names their types, or else in one batch."""
        found = await self._prefetched_nodes(ids)
        if found is not None:
            return found
        nodes = await nodes_of(self._db, ids)
        self._learn_nodes([node for node in nodes if node is not None])
        number = self._numbering
        return [n and ResolvedNode(number[n.id], n.id, number[n.entity_type]) for n in nodes]

    async def ids(self, handles: IntArray) -> list[str]:
        """The names of some handles."""
        return self._names(handles)

    async def types(self, handles: IntArray) -> IntArray:
        """The types of nodes: those already known, and the others by one batch."""
        self._cover()
        unasked = distinct_numbers(handles.compress(self._types.take(handles) == 0))
        if len(unasked):
            self._types[unasked] = NO_NODE - TYPE_UNREAD
            try:
                self._learn_nodes(list(await self._db.get_nodes_batch(self._names(unasked))))
            except BaseException:
                self._types[unasked] = 0
                raise
        return self._types.take(handles) + TYPE_UNREAD

    async def rings(self, handles: IntArray, **part: Unpack[EdgeFilter]) -> AsyncGenerator[Ring]:
        """The rings of nodes, as the backend streams them or as the cache holds them."""
        async with aclosing(self._rows(self._names(handles), **part)) as batches:
            async for rows in batches:
                self._learn_types(rows)
                yield Ring(*np.ascontiguousarray(rows[:, :3].T))

    async def ordered(self, handles: IntArray) -> IntArray:
        """The handles sorted by name, since numbers are assigned in order of arrival."""
        return await off_loop(len(handles), lambda: _by_name(handles, self._numbering.names))

    async def _rows(
        self, ids: Sequence[str], **part: Unpack[EdgeFilter]
    ) -> AsyncGenerator[IntArray]:
        prefetched, self._prefetched = self._prefetched, None
        whole = all(value is None for value in part.values())
        if prefetched is not None and whole and prefetched[0] == frozenset(ids):
            for rows in await prefetched[1]:
                yield rows
            return
        async with aclosing(self._rings.rings(ids, **part)) as batches:
            async for rows in batches:
                yield rows

    async def _read(self, ids: Sequence[str]) -> list[IntArray]:
        async with aclosing(self._rings.rings(ids)) as batches:
            return [rows async for rows in batches]

    async def _prefetched_nodes(self, ids: Sequence[str]) -> list[ResolvedNode | None] | None:
        """The nodes, if each of them is an end of the ring read ahead and has a type there."""
        if self._prefetched is None or not self._rings.typed:
            return None
        task = self._prefetched[1]
        await asyncio.wait([task], timeout=AT_ONCE)
        if not task.done() or task.cancelled():
            return None
        if failed := task.exception():
            if isinstance(failed, StoreUnavailable):
                raise failed  # The look-up, or the ring after it, would fail in the same way.
            return None
        for rows in task.result():
            self._learn_types(rows)
        self._cover()
        handles = list(map(self._numbering.get, ids))
        if not all(h is not None and self._types[h] > NO_NODE - TYPE_UNREAD for h in handles):
            return None
        return [
            ResolvedNode(h, i, int(self._types[h]) + TYPE_UNREAD)
            for i, h in zip(ids, handles, strict=True)
            if h is not None
        ]

    async def nodes(
        self,
        entity_types: Collection[str] | None = None,
        conditions: Sequence[PropertyCondition] = (),
    ) -> AsyncGenerator[NodeBatch]:
        """The nodes as the backend streams them, without those that it repeats."""
        known = Handles(self.size)
        stream = self._db.nodes_stream(entity_types=entity_types, conditions=conditions)
        async with aclosing(stream) as batches:
            async for batch in batches:
                nodes = {node.id: node for node in batch}
                handles = self._number_nodes(nodes.values())
                known.cover(self.size)
                handles = handles[~known.has(handles)]
                known.add(handles)
                metadata = {i: node.metadata for i, node in nodes.items() if node.metadata}
                yield NodeBatch(handles, self._types[handles] + TYPE_UNREAD, metadata)

    def filters_exactly(self, condition: PropertyCondition) -> bool:
        """Whether the backend yields only nodes that meet a condition."""
        return self._db.filters_exactly(condition)

    def coded(self, keys: Collection[str]) -> CodedGraph | None:
        """The graph with rings that a cache holds together with these keys."""
        graph, rings = copy(self), self._db.numbered(keys)
        if rings is None:
            return None
        graph._rings = rings  # noqa: SLF001 - its own copy
        return rings.coded(graph)

    def _names(self, handles: IntArray) -> list[str]:
        return list(map(self._numbering.names.__getitem__, handles.tolist()))

    def _cover(self) -> None:
        """Extend the table of types to all handles."""
        self._types = grown(self._types, self.size)

    def _learn_nodes(self, nodes: Sequence[Node]) -> None:
        self._number_nodes(nodes)
        self._metadata.update((node.id, node.metadata) for node in nodes if node.metadata)

    def _number_nodes(self, nodes: Collection[Node]) -> IntArray:
        """Number nodes and their types; return the handles of the nodes."""
        number = self._numbering
        handles = number.of((node.id for node in nodes), len(nodes))
        types = number.of((node.entity_type for node in nodes), len(nodes))
        self._cover()
        self._types[handles] = types - TYPE_UNREAD
        return handles

    def _learn_types(self, rows: IntArray) -> None:
        self._cover()
        for end, place in ((0, 3), (2, 4)):
            is_read = rows[:, place] != TYPE_UNREAD
            if is_read.any():
                self._types[rows[is_read, end]] = rows[is_read, place] - TYPE_UNREAD


def _by_name(handles: IntArray, names: Sequence[str]) -> IntArray:
    """Handles sorted by name, in parts: Python's sort holds its lock for as long as it takes."""
    name = names.__getitem__
    sample = sorted(map(name, handles[:: workers.SMALL].tolist()))
    limits = sample[:: workers.LARGE // workers.SMALL][1:]
    parts: list[list[int]] = [[] for _ in range(len(limits) + 1)]
    for handle in call.checked(handles.tolist(), late=True):
        parts[bisect_right(limits, name(handle))].append(handle)
    for part in parts:
        call.check(late=True)
        part.sort(key=name)
    return np.array([*chain.from_iterable(parts)], np.int32)
