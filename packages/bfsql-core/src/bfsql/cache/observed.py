"""A store's columns with observed calls."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import aclosing

from bfsql.integers import IntArray, IntegerGraph, ResolvedNode, Ring
from bfsql.models import EdgeDirection
from bfsql.observer import Observers


class ObservedIntegerGraph(IntegerGraph):
    """The same graph in integers; observers are notified of every call to the store.

    Args:
        inner: The store's own columns.
        observers: The observers of the graph.
    """

    def __init__(self, inner: IntegerGraph, observers: Observers) -> None:
        self._inner = inner
        self._observers = observers

    @property
    def size(self) -> int:
        """Upper bound (exclusive) of all handles in use."""
        return self._inner.size

    @property
    def type_names(self) -> Sequence[str]:
        """The name of each type, by its number."""
        return self._inner.type_names

    @property
    def predicate_names(self) -> Sequence[str]:
        """The name of each predicate, by its number."""
        return self._inner.predicate_names

    @property
    def repeats(self) -> bool:
        """Whether a ring may hold an edge more than once."""
        return self._inner.repeats

    async def find(self, ids: Sequence[str]) -> list[ResolvedNode | None]:
        """The node of each id."""
        return await self._observers.store_call("columns.find", self._inner.find(ids))

    def prefetch(self, ids: Sequence[str]) -> None:
        """Start reading a ring."""
        self._inner.prefetch(ids)

    async def ids(self, handles: IntArray) -> list[str]:
        """The id of each handle."""
        return await self._observers.store_call("columns.ids", self._inner.ids(handles))

    async def types(self, handles: IntArray) -> IntArray:
        """The number of each handle's type."""
        return await self._observers.store_call("columns.types", self._inner.types(handles))

    async def rings(
        self,
        handles: IntArray,
        *,
        predicates: Collection[str] | None = None,
        direction: EdgeDirection | None = None,
    ) -> AsyncGenerator[Ring]:
        """Every edge with a requested node at either end; the time reported covers all batches."""
        spent, failed = 0.0, True
        began = time.perf_counter()
        try:
            part = self._inner.rings(handles, predicates=predicates, direction=direction)
            async with aclosing(part) as batches:
                async for batch in batches:
                    spent += time.perf_counter() - began
                    try:
                        yield batch
                    except GeneratorExit:
                        failed = False  # the reader stopped early
                        raise
                    finally:
                        began = time.perf_counter()
            failed = False
        finally:
            spent += time.perf_counter() - began
            self._observers.store_called("columns.rings", spent, failed=failed)

    async def ordered(self, handles: IntArray) -> IntArray:
        """The handles in the code point order of their ids."""
        return await self._inner.ordered(handles)
