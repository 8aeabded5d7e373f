"""Mistakes in columns: order of handles, types, rings, batches, and concurrent calls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from bfsql.integers import IntArray, ResolvedNode, Ring
from bfsql.models import EdgeDirection, Triple
from bfsql_test_support.backends.columns import ColumnsOverMemory, PlainColumns


class NumbersAsTheyCome(PlainColumns):
    """Numbers ids in the order of its records."""

    def ordered_ids(self, ids: Iterable[str]) -> list[str]:
        return list(ids)[::-1]


class NumbersByTheLocale(PlainColumns):
    """Sorts ids like a dictionary, ignoring case."""

    def ordered_ids(self, ids: Iterable[str]) -> list[str]:
        return sorted(ids, key=lambda text: (text.casefold(), text))


class NumbersByUtf16(PlainColumns):
    """Sorts ids by UTF-16 code units, as its language compares strings."""

    def ordered_ids(self, ids: Iterable[str]) -> list[str]:
        return sorted(ids, key=lambda text: text.encode("utf-16-be", "surrogatepass"))


class OrdersByHash(PlainColumns):
    """Returns handles in the order in which they were requested."""

    async def ordered(self, handles: IntArray) -> IntArray:
        return handles


class LeavesUnknownOut(PlainColumns):
    """Returns only the ids that exist, so that positions no longer match the requested ids."""

    async def find(self, ids: Sequence[str]) -> list[ResolvedNode | None]:
        return [found for found in await super().find(ids) if found is not None]


class FindsEachOnce(PlainColumns):
    """Finds an id only once, even if it is requested twice."""

    async def find(self, ids: Sequence[str]) -> list[ResolvedNode | None]:
        found = dict(zip(ids, await super().find(ids), strict=True))
        return [found.pop(entity_id, None) for entity_id in ids]


class ForgetsCase(PlainColumns):
    """Ignores case when it looks up an id."""

    async def find(self, ids: Sequence[str]) -> list[ResolvedNode | None]:
        folded = {known.casefold(): known for known in self._ids}
        return await super().find([folded.get(i.casefold(), i) for i in ids])


class NamesTypesInAnotherOrder(PlainColumns):
    """Sorts the names of types after numbering them."""

    @property
    def type_names(self) -> Sequence[str]:
        return sorted(super().type_names, reverse=True)


class GivesIdsInOrder(PlainColumns):
    """Returns ids in the order of its table, not in that of the handles."""

    async def ids(self, handles: IntArray) -> list[str]:
        return await super().ids(np.sort(handles))


class FindsEnds(PlainColumns):
    """Finds an id that occurs only in edges."""

    async def find(self, ids: Sequence[str]) -> list[ResolvedNode | None]:
        handles = [self._handles.get(entity_id) for entity_id in ids]
        return [
            None
            if handle is None
            else ResolvedNode(handle, entity_id, max(0, self._type_of[handle]))
            for handle, entity_id in zip(handles, ids, strict=True)
        ]


class GivesEndsTheFirstType(PlainColumns):
    """Gives an end that is not a node the type with number 0."""

    async def types(self, handles: IntArray) -> IntArray:
        return np.maximum(await super().types(handles), 0)


class RingsOfEnds(PlainColumns):
    """Returns edges for a handle that is not a node but occurs in its edge table."""

    def asked(self, handles: IntArray) -> IntArray:
        return handles


class NamesPastTypes(PlainColumns):
    """Lists types that no node has any longer."""

    @property
    def type_names(self) -> Sequence[str]:
        return [*super().type_names, "Retired"]


class NamesPredicatesTwice(PlainColumns):
    """Numbers each predicate twice, once per direction."""

    @property
    def predicate_names(self) -> Sequence[str]:
        return [*super().predicate_names] * 2


class RingsOfWhatLeaves(PlainColumns):
    """Finds edges only by subject."""

    def touching(self, asked: Any) -> Any:
        return asked[self._edges[:, 0]]


class RingsOfWhatEnters(PlainColumns):
    """Finds edges only by object."""

    def touching(self, asked: Any) -> Any:
        return asked[self._edges[:, 2]]


class GivesAnEdgeAtEachEnd(PlainColumns):
    """Returns an edge between two requested nodes twice, once for each."""

    async def rings(self, handles: IntArray) -> AsyncGenerator[Ring]:
        asked = np.isin(np.arange(self.size), handles)
        async for ring in super().rings(handles):
            yield ring
            again = asked[ring.subjects] & asked[ring.objects] & (ring.subjects != ring.objects)
            yield Ring(*(column[again] for column in ring))


class GivesSelfLoopsTwice(PlainColumns):
    """Returns a self-loop twice, as an edge that leaves and as one that enters."""

    async def rings(self, handles: IntArray) -> AsyncGenerator[Ring]:
        async for ring in super().rings(handles):
            yield ring
            yield Ring(*(column[ring.subjects == ring.objects] for column in ring))


class LosesSelfLoops(PlainColumns):
    """Excludes self-loops so as not to return them twice."""

    def touching(self, asked: Any) -> Any:
        return super().touching(asked) & (self._edges[:, 0] != self._edges[:, 2])


class OnePredicateOfAPair(PlainColumns):
    """Keeps one edge per pair of nodes: a second predicate between them is lost."""

    def touching(self, asked: Any) -> Any:
        first = np.zeros(len(self._edges), bool)
        first[np.unique(self._edges[:, ::2], axis=0, return_index=True)[1]] = True
        return super().touching(asked) & first


class RingsInStrings(PlainColumns):
    """Returns rows instead of three columns."""

    async def rings(self, handles: IntArray) -> AsyncGenerator[Any]:
        async for ring in super().rings(handles):
            yield np.array(ring).T


class LosesTheLastBatch(PlainColumns):
    """Returns only full batches, and never the rest."""

    async def rings(self, handles: IntArray) -> AsyncGenerator[Ring]:
        full = None
        async for ring in super().rings(handles):
            if full is not None:
                yield full
            full = ring


class GivesAHubAtOnce(PlainColumns):
    """Reads the whole ring before it returns any of it."""

    def __init__(self, types: dict[str, str], triples: Iterable[Triple], batch: int = 0) -> None:
        super().__init__(types, triples, batch=10**9)


class SharesOneReader(ColumnsOverMemory):
    """Keeps the requested handles where the next request overwrites them."""

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
    """Takes a reader from its pool, and returns it only when a ring was read to the end."""

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
    """Returns views of its own arrays, which a caller can modify."""

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


class SortsWhatItIsGiven(PlainColumns):
    """Sorts the requested handles in place, in the caller's array."""

    async def types(self, handles: IntArray) -> IntArray:
        right = await super().types(handles)
        handles.sort()
        return right

    async def rings(self, handles: IntArray) -> AsyncGenerator[Ring]:
        async for ring in super().rings(handles):
            yield ring
        handles[:] = handles[::-1].copy()


class PartsByOneEnd(PlainColumns):
    """Filters the edges that leave the requested nodes, but not those that enter them."""

    async def rings(
        self,
        handles: IntArray,
        *,
        predicates: Collection[str] | None = None,
        direction: EdgeDirection | None = None,
    ) -> AsyncGenerator[Ring]:
        leaving = np.isin(np.arange(self.size), handles)
        names = np.array(self.predicate_names)
        async for ring in super().rings(handles, direction=direction):
            kept = np.isin(names[ring.predicates], list(predicates or ()))
            kept |= ~leaving[ring.subjects] | (predicates is None)
            yield Ring(*(column[kept] for column in ring))
