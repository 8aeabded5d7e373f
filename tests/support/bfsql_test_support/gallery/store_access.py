"""Mistakes in dealing with the store: queries, permissions and outages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from bfsql.models import GraphRecord, Triple
from bfsql_test_support.gallery.bases import Store


class WritesValuesIntoQueries(Store):
    """Puts values into the text of its queries, escaped or not."""

    def query(self, name: str, *values: Any) -> str:
        return f"{name} {values!r}"


class WritesTheSearchedText(Store):
    """Sends values as parameters, except in the query for a search."""

    def query(self, name: str, *values: Any) -> str:
        return f"{name} '%{values[0]}%'" if name == "search_entities" else f"{name} $1"


class AsksOneByOne(Store):
    """Implements a batch as a loop of single requests."""

    async def get_nodes_batch(self, ids: Sequence[str]) -> Any:
        found = [await self.through(self.right.get_nodes_batch, [i]) for i in ids]
        return [node for nodes in found for node in nodes]


class RingNodeByNode(Store):
    """Reads a ring node by node."""

    async def edges_batch(self, ids: Sequence[str]) -> list[Triple]:
        rings = [await self.through(self.right.edges_batch, [i]) for i in ids]
        return [triple for ring in rings for triple in ring]


class WritesWhenReading(Store):
    """Creates an index before the first request, which needs write permission."""

    async def through(self, ask: Any, *asked: Any) -> Any:
        if not self.writable:
            raise PermissionError("attempt to write a read-only database")
        return await super().through(ask, *asked)


class NeverConnectsAgain(Store):
    """Does not reconnect after the store has closed the connection."""

    @asynccontextmanager
    async def gone(self) -> AsyncIterator[None]:
        self.there = False
        yield


class LetsTheDriverSpeak(Store):
    """Raises the error of its driver when the store is unreachable."""

    async def through(self, ask: Any, *asked: Any) -> Any:
        if not self.there:
            raise RuntimeError("[Errno 111] connect failed")
        return await super().through(ask, *asked)


class TakesGoneForEmpty(Store):
    """Reports an entity as unknown when the store is unreachable."""

    async def through(self, ask: Any, *asked: Any) -> Any:
        if not self.there:
            raise KeyError(*asked)
        return await super().through(ask, *asked)


class KeepsItsAnswers(Store):
    """Has its own cache, which answers while the store is unreachable."""

    def __init__(self, records: Iterable[GraphRecord] = ()) -> None:
        super().__init__(records)
        self._kept: dict[str, Any] = {}

    async def through(self, ask: Any, *asked: Any) -> Any:
        key = repr((ask.__name__, asked))
        if key not in self._kept:
            self._kept[key] = await super().through(ask, *asked)
        return self._kept[key]


class LeavesOutInSilence(Store):
    """Has a limit, and does not report what it omits."""

    def leave_out(self, ids: Sequence[str], number: int) -> None:
        return


class SaysItOfAnother(Store):
    """Reports an omission under an id that is not the node's."""

    def leave_out(self, ids: Sequence[str], number: int) -> None:
        super().leave_out([f"node/{i}" for i in ids], number)


class CountsTheWhole(Store):
    """Reports the number of rows that it has read instead of the number omitted."""

    def leave_out(self, ids: Sequence[str], number: int) -> None:
        super().leave_out(ids, number + 1_000)


class SaysItOnce(Store):
    """Reports an omission only the first time, and then answers from memory without it."""

    _said = False

    def leave_out(self, ids: Sequence[str], number: int) -> None:
        if not self._said:
            super().leave_out(ids, number)
        self._said = True
