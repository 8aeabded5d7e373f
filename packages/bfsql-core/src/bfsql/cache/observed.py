"""A store's columns with observed calls."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Sequence

from bfsql.integers import (
    ForwardingIntegerGraph,
    IntArray,
    IntegerGraph,
    NodeBatch,
    ResolvedNode,
    Ring,
)
from bfsql.models import EdgeDirection, PropertyCondition
from bfsql.observer import Observers


class ObservedIntegerGraph(ForwardingIntegerGraph):
    """The same graph in integers; observers are notified of every call to the store.

    Args:
        inner: The store's own columns.
        observers: The observers of the graph.
    """

    def __init__(self, inner: IntegerGraph, observers: Observers) -> None:
        super().__init__(inner)
        self._observers = observers

    async def find(self, ids: Sequence[str]) -> list[ResolvedNode | None]:
        """The node of each id."""
        return await self._observers.store_call("columns.find", super().find(ids))

    async def ids(self, handles: IntArray) -> list[str]:
        """The id of each handle."""
        return await self._observers.store_call("columns.ids", super().ids(handles))

    async def types(self, handles: IntArray) -> IntArray:
        """The number of each handle's type."""
        return await self._observers.store_call("columns.types", super().types(handles))

    def rings(
        self,
        handles: IntArray,
        *,
        predicates: Collection[str] | None = None,
        direction: EdgeDirection | None = None,
    ) -> AsyncGenerator[Ring]:
        """Every edge with a requested node at either end; the time reported covers all batches."""
        part = super().rings(handles, predicates=predicates, direction=direction)
        return self._observers.store_stream("columns.rings", part)

    def nodes(
        self,
        entity_types: Collection[str] | None = None,
        conditions: Sequence[PropertyCondition] = (),
    ) -> AsyncGenerator[NodeBatch]:
        """The nodes of some types that meet conditions; the time covers all batches."""
        part = super().nodes(entity_types, conditions)
        return self._observers.store_stream("columns.nodes", part)
