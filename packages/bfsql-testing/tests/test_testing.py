"""The kit on the reference, on a backend of only eight methods, and on a read-only store."""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bfsql.abc import ForwardingBackend, GraphDbInterface
from bfsql.errors import StoreUnavailable
from bfsql.memory import MemoryBackend
from bfsql.models import GraphRecord
from bfsql_test_support.backends.in_memory import BareBackend
from bfsql_test_support.gallery import Store, trial
from bfsql_test_support.suites.conformance import trying
from bfsql_testing.conformance import RULES, Finding
from bfsql_testing.conformance.graphs import village
from bfsql_testing.suite import BackendSuite, raise_outcome


class AwayBackend(ForwardingBackend):
    """An in-memory backend that can be made unreachable and records its requests."""

    def __init__(self, records: Iterable[GraphRecord]) -> None:
        super().__init__(MemoryBackend(records))
        self.away = False
        self.texts: list[str] = []

    async def _ask(self, method: str, /, *args: Any, **named: Any) -> Any:
        if self.away:
            raise StoreUnavailable("The switch is off; turn it on.")
        self.texts.append(method)
        return await super()._ask(method, *args, **named)


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

    omitting_with = staticmethod(trial(Store).omitting)

    @asynccontextmanager
    async def store_gone(self, backend: Any) -> AsyncIterator[None]:
        backend.away = True
        yield
        backend.away = False

    def queries_of(self, backend: Any) -> list[str]:
        return list(backend.texts)

    def round_trips_of(self, backend: Any) -> int:
        return len(backend.texts)


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
