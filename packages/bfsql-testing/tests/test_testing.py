"""The kit on the reference, on a backend of only eight methods, and on a read-only store."""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.errors import StoreUnavailable
from bfsql.memory import MemoryBackend
from bfsql.models import Edge, GraphRecord, Node, Omission, Triple
from bfsql_test_support.backends.in_memory import BareBackend, CountingBackend
from bfsql_test_support.suites.conformance import trying
from bfsql_testing.conformance import RULES, Finding
from bfsql_testing.conformance.graphs import village
from bfsql_testing.suite import BackendSuite, raise_outcome

ROW_LIMIT = 150


class AwayBackend(CountingBackend):
    """An in-memory backend that can be made unreachable and records its queries."""

    def __init__(self, records: Iterable[GraphRecord]) -> None:
        super().__init__(records)
        self.away = False
        self.texts: list[str] = []

    async def get_node(self, entity_id: str) -> Node:
        self._reach("NODE $1")
        return await super().get_node(entity_id)

    async def get_nodes_batch(self, ids: Sequence[str]) -> list[Node]:
        self._reach("NODES $1")
        return await super().get_nodes_batch(ids)

    async def edges_batch(self, ids: Sequence[str]) -> list[Triple]:
        self._reach("RING $1")
        return await super().edges_batch(ids)

    def _reach(self, text: str) -> None:
        if self.away:
            raise StoreUnavailable("The switch is off; turn it on.")
        self.texts.append(text)


class LimitedBackend(MemoryBackend):
    """Returns the first edges of a hub and reports the omission of the others."""

    async def edges_from(self, entity_id: str) -> list[Edge]:
        return [Edge(*e) for e in self._cut(await super().edges_from(entity_id), entity_id)]

    async def edges_to(self, entity_id: str) -> list[Edge]:
        return [Edge(*e) for e in self._cut(await super().edges_to(entity_id), entity_id)]

    async def edges_batch(self, ids: Sequence[str]) -> list[Triple]:
        await asyncio.sleep(0)  # so that callers can share the call
        return [
            edge
            for i in ids
            for edge in self._cut(list(await super(type(self), self).edges_batch([i])), i)
        ]

    def _cut(self, edges: Collection[Any], entity_id: str) -> list[Any]:
        missing = len(edges) - ROW_LIMIT
        if missing > 0:
            call.omitted(Omission(entity_id, at_least=missing, reason="a row limit"))
        return list(edges)[:ROW_LIMIT]


class TestMemory(BackendSuite):
    """A suite that defines everything the kit can make use of."""

    @asynccontextmanager
    async def backend_with(self, records: Sequence[GraphRecord]) -> AsyncIterator[GraphDbInterface]:
        yield AwayBackend(records)

    @asynccontextmanager
    async def read_only_with(
        self, records: Sequence[GraphRecord]
    ) -> AsyncIterator[GraphDbInterface]:
        yield MemoryBackend(records)

    @asynccontextmanager
    async def omitting_with(
        self, records: Sequence[GraphRecord]
    ) -> AsyncIterator[GraphDbInterface]:
        yield LimitedBackend(records)

    @asynccontextmanager
    async def store_gone(self, backend: Any) -> AsyncIterator[None]:
        backend.away = True
        yield
        backend.away = False

    def queries_of(self, backend: Any) -> list[str]:
        return list(backend.texts)

    def round_trips_of(self, backend: Any) -> int:
        return int(backend.batches)


class TestBareEight(BackendSuite):
    """A backend without batches, `node_types` and `close`, like the author's own."""

    @asynccontextmanager
    async def backend_with(self, records: Sequence[GraphRecord]) -> AsyncIterator[GraphDbInterface]:
        yield BareBackend(records)


class TestStoreThatIsOnlyRead(BackendSuite):
    """The store is opened by a method; ids are found by searching."""

    words = ("shape", "house", "one", "paper")

    @asynccontextmanager
    async def backend(self) -> AsyncIterator[GraphDbInterface]:
        yield MemoryBackend(village())


@trying("own-identity", "found-by-id", "edges-batch", "tools-answer", "fresh-answers")
class TestStoreThatAFixtureOpens(BackendSuite):
    """The store is opened once by a fixture that needs other fixtures; ids are given."""

    sample = ("s:0", "s:1", "e:1", "p:1")

    @pytest.fixture
    async def backend(self, tmp_path: Path) -> GraphDbInterface:
        return BareBackend(village())


@trying("every-node", "own-identity", "schema-lists", "drawn-graphs", "concurrent-calls")
class TestFillingByAFixture(BackendSuite):
    """A fixture of the class returns the function that fills the store."""

    examples = 3

    @pytest.fixture
    def backend_with(self, tmp_path: Any) -> Any:
        @asynccontextmanager
        async def filled(records: Sequence[GraphRecord]) -> AsyncIterator[GraphDbInterface]:
            yield MemoryBackend(records)

        return filled


def test_advice_that_a_backend_does_not_follow_is_an_expected_failure():
    finding = Finding(RULES["search-misspelt"], "broken", "It did not find it.")
    with pytest.raises(pytest.xfail.Exception, match=r"advice: It did not find it\."):
        raise_outcome(finding)
