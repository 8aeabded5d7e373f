"""Changes to columns that take more than an expression, and columns that keep a state."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection, Iterator, Sequence
from typing import Any

import numpy as np

from bfsql.integers import IntArray, ResolvedNode, Ring
from bfsql_test_support.backends.columns import ColumnsOverMemory, PlainColumns


async def ends_too(_: Any, db: Any, ids: Sequence[str]) -> list[ResolvedNode | None]:
    """The nodes of ids, and those that are ends of edges alone."""
    handles = [(entity_id, db._handles.get(entity_id)) for entity_id in ids]
    return [h if h is None else ResolvedNode(h, i, max(0, db._type_of[h])) for i, h in handles]


def with_again(ring: Ring, again: Any) -> Ring:
    """A batch in which some edges are repeated."""
    return Ring(*(np.concatenate([column, column[again]]) for column in ring))


def with_each_end(ring: Ring, db: Any, handles: IntArray) -> Ring:
    """A batch in which edges between two requested nodes are repeated."""
    asked = np.isin(np.arange(db.size), handles)
    loops = ring.subjects == ring.objects
    return with_again(ring, asked[ring.subjects] & asked[ring.objects] & ~loops)


async def without_the_last(
    right: Any, _: Any, handles: IntArray, **part: Any
) -> AsyncGenerator[Ring]:
    """All batches but the last."""
    full = None
    async for ring in right(handles, **part):
        if full is not None:
            yield full
        full = ring


async def in_its_order(right: Any, _: Any, handles: IntArray, **part: Any) -> AsyncGenerator[Ring]:
    """The batches, before the requested handles are turned round in the caller's array."""
    async for ring in right(handles, **part):
        yield ring
    handles[:] = handles[::-1].copy()


async def parts_by_one_end(
    right: Any,
    db: Any,
    handles: IntArray,
    *,
    predicates: Collection[str] | None = None,
    **part: Any,
) -> AsyncGenerator[Ring]:
    """The edges that enter, and those of the predicates that leave."""
    leaving = np.isin(np.arange(db.size), handles)
    names = np.array(db.predicate_names)
    async for ring in right(handles, **part):
        kept = np.isin(names[ring.predicates], list(predicates or ()))
        kept |= ~leaving[ring.subjects] | (predicates is None)
        yield Ring(*(column[kept] for column in ring))


class SharesOneReader(ColumnsOverMemory):
    """columns-apart: Keeps the requested handles where the next request overwrites them."""

    class Shared(PlainColumns):
        """Columns that wait between the request and the response."""

        async def rings(self, handles: IntArray) -> AsyncGenerator[Ring]:
            self._now = handles
            await asyncio.sleep(0)
            async for ring in super().rings(self._now):
                yield ring

    kind = Shared

    def columns(self) -> PlainColumns:
        if not hasattr(self, "_columns"):
            self._columns = super().columns()
        return self._columns


class NeverGivesReadersBack(ColumnsOverMemory):
    """columns-apart: Returns a reader to its pool only when a ring was read to the end."""

    class Pooled(PlainColumns):
        """Columns that read with the readers in `pool`."""

        pool: Iterator[int]

        async def rings(self, handles: IntArray) -> AsyncGenerator[Ring]:
            if next(self.pool, None) is None:
                raise RuntimeError("the pool of readers is exhausted")
            async for ring in super().rings(handles):
                yield ring

    kind = Pooled

    def columns(self) -> PlainColumns:
        if not hasattr(self, "_pool"):
            self._pool = iter(range(30))
        columns = super().columns()
        columns.pool = self._pool  # type: ignore[attr-defined]
        return columns


class GivesItsOwnArrays(ColumnsOverMemory):
    """columns-fresh: Returns views of its own arrays, which a caller can modify."""

    class Kept(PlainColumns):
        """Columns that keep each ring and return it again."""

        async def rings(self, handles: IntArray) -> AsyncGenerator[Ring]:
            key = handles.tobytes()
            if key not in self.kept:
                self.kept[key] = [ring async for ring in super().rings(handles)]
            for ring in self.kept[key]:
                yield ring

        kept: dict[bytes, list[Ring]]

    kind = Kept

    def columns(self) -> PlainColumns:
        columns = super().columns()
        vars(self).setdefault("_kept", {})
        columns.kept = self._kept  # type: ignore[attr-defined]
        return columns
