"""Wrong towards the store: what is sent to it, what it may do, when it is away."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from conformance.gallery.bases import Store, wrong

from bfsql.models import GraphRecord, Triple


@wrong("query-text")
class WritesValuesIntoQueries(Store):
    """Puts what it is asked for into the text of its query, escaped or not."""

    def query(self, name: str, *values: Any) -> str:
        return f"{name} {values!r}"


@wrong("query-text")
class WritesTheSearchedText(Store):
    """Sends values beside its queries, save for that of the search."""

    def query(self, name: str, *values: Any) -> str:
        return f"{name} '%{values[0]}%'" if name == "search_entities" else f"{name} $1"


@wrong("round-trips")
class AsksOneByOne(Store):
    """Has a batch that is a loop of single questions."""

    async def get_nodes_batch(self, ids: Sequence[str]) -> Any:
        found = [await self.through(self.right.get_nodes_batch, [i]) for i in ids]
        return [node for nodes in found for node in nodes]


@wrong("round-trips")
class RingNodeByNode(Store):
    """Reads a ring node by node."""

    async def edges_batch(self, ids: Sequence[str]) -> list[Triple]:
        rings = [await self.through(self.right.edges_batch, [i]) for i in ids]
        return [triple for ring in rings for triple in ring]


@wrong("read-rights")
class WritesWhenReading(Store):
    """Makes an index for itself before the first question."""

    async def through(self, ask: Any, *asked: Any) -> Any:
        if not self.writable:
            raise PermissionError("attempt to write a read-only database")
        return await super().through(ask, *asked)


@wrong("store-returns")
class NeverConnectsAgain(Store):
    """Keeps the connection that it had, though the store closed it."""

    @asynccontextmanager
    async def gone(self) -> AsyncIterator[None]:
        self.there = False
        yield


@wrong("store-returns")
class LetsTheDriverSpeak(Store):
    """Lets the error of its driver through when the store is away."""

    async def through(self, ask: Any, *asked: Any) -> Any:
        if not self.there:
            raise RuntimeError("[Errno 111] connect failed")
        return await super().through(ask, *asked)


@wrong("store-returns")
class TakesGoneForEmpty(Store):
    """Takes a store that does not answer for one that has no such entity."""

    async def through(self, ask: Any, *asked: Any) -> Any:
        if not self.there:
            raise KeyError(*asked)
        return await super().through(ask, *asked)


@wrong("store-returns")
class KeepsItsAnswers(Store):
    """Has a cache of its own, which answers when nobody else does."""

    def __init__(self, records: Iterable[GraphRecord] = ()) -> None:
        super().__init__(records)
        self._kept: dict[str, Any] = {}

    async def through(self, ask: Any, *asked: Any) -> Any:
        key = repr((ask.__name__, asked))
        if key not in self._kept:
            self._kept[key] = await super().through(ask, *asked)
        return self._kept[key]


@wrong("omissions-said")
class LeavesOutInSilence(Store):
    """Has a limit, and says nothing when it meets it."""

    def leave_out(self, ids: Sequence[str], number: int) -> None:
        return


@wrong("omissions-said")
class SaysItOfAnother(Store):
    """Says that something was left out, under an id that is not the node's."""

    def leave_out(self, ids: Sequence[str], number: int) -> None:
        super().leave_out([f"node/{i}" for i in ids], number)


@wrong("omissions-said")
class CountsTheWhole(Store):
    """Says how many rows it read where the number of those that are missing is due."""

    def leave_out(self, ids: Sequence[str], number: int) -> None:
        super().leave_out(ids, number + 1_000)


@wrong("omissions-said")
class SaysItOnce(Store):
    """Says what was left out the first time, and answers from memory after that."""

    _said = False

    def leave_out(self, ids: Sequence[str], number: int) -> None:
        if not self._said:
            super().leave_out(ids, number)
        self._said = True
