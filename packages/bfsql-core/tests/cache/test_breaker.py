"""The breaker opens when a probe fails too, and closes when the store answers again."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import pytest

import bfsql
from bfsql import call
from bfsql.cache import CachedGraphDb, CircuitBreakerBackend, breaker
from bfsql.errors import CircuitOpen, EmbeddingFailed, StoreUnavailable, ToolError
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, Node, NodeRecord, PropertyCondition


class Store(MemoryBackend):
    """A store whose failures a test controls."""

    fault: Exception | None = None
    """Error raised by every call and every probe."""
    refusal: Exception | None = None
    """Error raised by every call, but by no probe."""
    hangs = False
    pings = 0
    seen = ""
    """The request id of the last call."""

    async def _met(self) -> None:
        if self.hangs:
            await asyncio.Event().wait()
        if self.fault is not None:
            raise self.fault

    async def get_nodes_batch(self, ids: list[str]) -> list[Node]:
        """The nodes, or the failure that the test has set."""
        under_way = call.current()
        self.seen = "" if under_way is None else under_way.request_id
        await self._met()
        if self.refusal is not None:
            raise self.refusal
        return list(await super().get_nodes_batch(ids))

    async def ping(self) -> None:
        """Answers, or fails as the test has set."""
        self.pings += 1
        await self._met()


@pytest.fixture
def store() -> Store:
    return Store([NodeRecord("a", "T"), NodeRecord("b", "T"), EdgeRecord("a", "p", "b")])


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shortens the pauses for tests."""
    monkeypatch.setattr(breaker, "FIRST_PAUSE", 0.02)
    monkeypatch.setattr(breaker, "PROBE_SECONDS", 0.1)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110 - the breaker has no event for it
            await asyncio.sleep(0.005)


async def fails(ask: Callable[[], Awaitable[object]], kind: type[Exception]) -> None:
    with pytest.raises(kind):
        await ask()


async def test_it_opens_after_a_failed_probe_and_closes_by_itself(store, caplog):
    db = CircuitBreakerBackend(store, max_pause=0.1)
    ask = lambda: db.get_nodes_batch(["a"])
    store.fault = StoreUnavailable("Gone.")
    await fails(ask, StoreUnavailable)
    await until(lambda: db.breaker.state == "open")
    assert (db.breaker.retry_at, db.breaker.last_error) != (None, None)
    await until(lambda: store.pings > 5)
    assert db.breaker.failures > 5
    with pytest.raises(CircuitOpen, match=r"tried again in 0\.\d s\. Gone\."):
        await ask()
    store.fault = None
    await until(lambda: db.breaker.state == "closed")
    assert [node.id for node in await ask()] == ["a"]
    assert (db.breaker.failures, db.breaker.retry_at, db.breaker.last_error) == (0, None, None)
    assert [record.levelno for record in caplog.records] == [logging.ERROR, logging.WARNING]
    await db.close()


@pytest.mark.parametrize(
    "refusal", [StoreUnavailable("Too slow a statement."), TimeoutError(), EmbeddingFailed("No.")]
)
async def test_a_store_that_answers_its_probe_keeps_being_asked(store, refusal):
    db = CircuitBreakerBackend(store, max_pause=1)
    store.refusal = refusal
    for _ in range(5):
        await fails(lambda: db.get_nodes_batch(["a"]), type(refusal))
        await asyncio.sleep(0.01)
    assert db.breaker.state == "closed"
    assert store.pings == (0 if isinstance(refusal, EmbeddingFailed) else 5)
    await db.close()


async def test_a_store_that_hangs_opens_it_when_the_time_of_a_call_is_up(store):
    db = CircuitBreakerBackend(store, max_pause=1)
    store.hangs = True
    with call.scope(seconds=0.05):
        await fails(lambda: call.within(db.get_nodes_batch(["a"])), TimeoutError)
    await until(lambda: db.breaker.state != "closed")
    store.hangs = False
    await until(lambda: db.breaker.state == "closed")
    await db.close()


async def test_a_call_that_is_given_up_early_says_nothing_of_the_store(store):
    db = CircuitBreakerBackend(store, max_pause=1)
    store.hangs = True
    asking = asyncio.create_task(db.get_nodes_batch(["a"]))
    await asyncio.sleep(0.01)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    assert (store.pings, db.breaker.failures) == (0, 0)
    await db.close()


async def test_a_pause_that_the_store_asks_for_is_kept_up_to_the_longest(store):
    db = CircuitBreakerBackend(store, max_pause=1)
    store.fault = StoreUnavailable("Too busy.")
    store.fault.retry_after = 3_600
    await fails(lambda: db.get_nodes_batch(["a"]), StoreUnavailable)
    await until(lambda: db.breaker.state == "open")
    assert store.pings == 0
    assert 0 < db.breaker.seconds <= 1
    store.fault = None
    await until(lambda: db.breaker.state == "closed")
    assert store.pings == 1
    await db.close()


async def test_calls_wait_for_a_probe_that_is_under_way(store):
    db = CircuitBreakerBackend(store, max_pause=0.02)
    store.fault = StoreUnavailable("Gone.")
    await fails(lambda: db.get_nodes_batch(["a"]), StoreUnavailable)
    await until(lambda: db.breaker.state == "open")
    store.fault, store.hangs = None, True
    await until(lambda: db.breaker.state == "half-open")
    asking = asyncio.create_task(db.get_nodes_batch(["a"]))
    store.hangs = False
    await until(asking.done)
    assert [node.id for node in await asking] == ["a"]
    await db.close()


async def test_a_silent_call_makes_others_wait_for_a_probe_alone_and_ends_with_it(store):
    db = CircuitBreakerBackend(store, max_pause=60, patience=0)
    await db.get_nodes_batch(["a"])
    db.breaker.silent(0.0)  # others have had an answer since
    assert db.breaker.state == "closed"
    store.hangs, began = True, time.monotonic()

    async def held():
        async with asyncio.timeout(60) as limit:
            db.breaker.waiting.add(limit)
            await db.get_nodes_batch(["a"])

    holding = asyncio.create_task(held())
    await asyncio.sleep(0)
    db.breaker.silent(began)
    await fails(lambda: db.get_nodes_batch(["b"]), CircuitOpen)
    assert (db.breaker.state, store.pings) == ("half-open", 1)
    await fails(lambda: holding, TimeoutError)
    assert db.breaker.state == "open"
    await db.close()


async def test_what_the_cache_holds_is_answered_while_it_is_open(store):
    async with bfsql.open_graph(store, max_pause=60) as graph:
        before = await graph.bfs_query(["a"], max_hops=1)
        store.fault = StoreUnavailable("Gone.")
        with pytest.raises(ToolError, match="try again later"):
            await graph.describe_entity("c")
        assert graph.breaker is not None
        await until(lambda: graph.breaker.state == "open")
        assert (await graph.bfs_query(["a"], max_hops=1)).text == before.text
        with pytest.raises(ToolError, match=r"It is tried again in \d+ s") as down:
            await graph.describe_entities(["d"])
        assert down.value.kind == "store"


async def test_a_backend_has_behind_it_what_it_has_by_itself(store):
    plain, guarded = CachedGraphDb(store), CachedGraphDb(CircuitBreakerBackend(store, max_pause=1))
    assert plain._abilities == guarded._abilities
    assert [e async for e in guarded.edges_stream(["a"])] == [[("a", "p", "b")]]
    await guarded.close()


async def test_a_shared_call_has_the_id_of_the_one_that_began_it(store):
    db = CachedGraphDb(store)
    with call.scope(request_id="one"):
        await db.get_nodes_batch(["a"])
    assert store.seen == "one"


class Writable(Store):
    """A store whose account has write permission."""

    async def may_write(self) -> str | None:
        """Always reports write permission."""
        return "The role may write."


async def test_an_account_that_may_write_is_reported_or_refused(caplog):
    async with bfsql.open_graph(Writable([]), require_read_only=False):
        assert "The role may write. The server never writes" in caplog.text
    with pytest.raises(
        bfsql.errors.StoreError, match=r"may write\. The server does not start because of"
    ):
        async with bfsql.open_graph(Writable([]), require_read_only=True):
            pass
    caplog.clear()
    async with bfsql.open_graph(Writable([])), bfsql.open_graph(Store([]), require_read_only=True):
        assert not caplog.records


class Listing(MemoryBackend):
    """A store that lists its entities unless it is gone."""

    gone = False

    async def nodes_stream(self, **asked: Any) -> AsyncGenerator[list[Node]]:
        if self.gone:
            raise StoreUnavailable("It stopped.")
        async for nodes in super().nodes_stream(**asked):
            yield nodes


async def test_lists_of_entities_pass_through_the_cache_and_the_breaker():
    store = Listing([NodeRecord("a", "Drug", {"year": 1}), NodeRecord("b", "Gene")])
    guarded = CachedGraphDb(CircuitBreakerBackend(store, max_pause=1))
    recent = PropertyCondition("year", ">", ("0",))
    stream = guarded.nodes_stream(entity_types=["Drug"], conditions=[recent])
    assert [nodes async for nodes in stream] == [[Node("a", "Drug")]]
    assert guarded.filters_exactly(recent)
    await guarded.close()


async def test_a_store_that_does_not_answer_a_list_is_probed():
    store = Listing([NodeRecord("a", "Drug")])
    store.gone = True
    guarded = CircuitBreakerBackend(store, max_pause=1)
    with pytest.raises(StoreUnavailable):
        [nodes async for nodes in guarded.nodes_stream()]
    assert guarded.breaker._watch is not None
    await guarded.close()
