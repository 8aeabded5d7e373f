"""Concurrent callers with the same request share one call to the backend."""

import asyncio
import gc
import logging
from contextvars import Context

import pytest

from bfsql import call, workers
from bfsql.cache import CachedGraphDb
from bfsql.errors import StoreUnavailable
from bfsql.memory import MemoryBackend
from bfsql.models import NodeRecord, Omission


async def settle() -> None:
    """Let every task run until it waits."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_concurrent_equal_calls_share_one_flight(memory, primitives):
    backend, watch = memory
    for ask in primitives:
        db = CachedGraphDb(backend)
        before = len(watch.calls)
        first, *others = await asyncio.gather(*(ask(db) for _ in range(5)))
        assert all(other == first for other in others)
        assert len(watch.calls) - before <= 1


async def test_overlapping_batches_ask_for_each_key_once(memory):
    backend, watch = memory
    db = CachedGraphDb(backend)
    watch.gate = asyncio.Event()
    batches = (["a", "b"], ["b", "c"], ["c", "a"], ["a"])
    asking = [asyncio.create_task(db.get_nodes_batch(ids)) for ids in batches]
    single = asyncio.create_task(db.get_node("c"))
    await settle()
    watch.gate.set()
    for ids, task in zip(batches, asking, strict=True):
        assert sorted(node.id for node in await task) == sorted(ids)
    assert (await single).id == "c"
    assert [asked for _, asked in watch.calls] == [(["a", "b"],), (["c"],)]


async def test_a_caller_that_is_cancelled_does_not_end_the_flight_of_others(memory):
    backend, watch = memory
    db = CachedGraphDb(backend)
    watch.gate = asyncio.Event()
    first, second = (asyncio.create_task(db.metadata_for_node("a")) for _ in range(2))
    await settle()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    watch.gate.set()
    assert (await second)["name"] == "Ay"
    assert (len(watch.calls), watch.cancelled) == (1, [])


async def test_the_last_caller_that_leaves_cancels_the_flight(memory):
    backend, watch = memory
    db = CachedGraphDb(backend)
    watch.gate = asyncio.Event()
    asking = [asyncio.create_task(db.edges_batch(["a"])) for _ in range(2)]
    await settle()
    for task in asking:
        assert watch.cancelled == []
        task.cancel()
        await settle()
    assert watch.cancelled == ["edges_batch"]
    watch.gate = None
    assert await db.edges_batch(["a"])


async def test_a_caller_during_the_cancellation_of_a_flight_begins_its_own(memory):
    backend, watch = memory
    db = CachedGraphDb(backend)
    watch.gate = asyncio.Event()
    leaving = asyncio.create_task(db.get_nodes_batch(["a"]))
    await settle()
    leaving.cancel()
    watch.gate.set()
    found, _ = await asyncio.gather(db.get_nodes_batch(["a", "b"]), leaving, return_exceptions=True)
    assert isinstance(found, list)
    assert sorted(node.id for node in found) == ["a", "b"]


class Dated(MemoryBackend):
    """Raises TimeoutError when the time of the current call is over, like a statement timeout."""

    def __init__(self) -> None:
        super().__init__([NodeRecord("a", "Drug")])
        self.seen: list[float | None] = []
        self.gate = asyncio.Event()

    async def edges_batch(self, ids):
        left = call.remaining()
        self.seen.append(left)
        await self.gate.wait()
        if left is not None and left <= 1.0:
            raise TimeoutError
        return []


async def ask_within(db: CachedGraphDb, seconds: float | None) -> object:
    with call.scope(seconds=seconds):
        return await db.edges_batch(["a"])


@pytest.mark.parametrize("patience", [100.0, None])
async def test_a_flight_that_its_starters_deadline_ended_is_retried_for_a_patient_one(patience):
    backend = Dated()
    db = CachedGraphDb(backend)
    hurried = asyncio.create_task(ask_within(db, 0.5))
    await settle()
    patient = asyncio.create_task(ask_within(db, patience))
    await settle()
    backend.gate.set()
    with pytest.raises(TimeoutError):
        await hurried
    assert await patient == []
    assert len(backend.seen) == 2


async def test_a_caller_at_the_moment_a_flight_fails_begins_its_own():
    later: list[asyncio.Task[object]] = []

    class Failing(Dated):
        async def edges_batch(self, ids):
            if not later:  # runs when this call has failed but its callers have not resumed yet
                later.append(asyncio.create_task(ask_within(db, 100), context=Context()))
            return await super().edges_batch(ids)

    backend = Failing()
    backend.gate.set()
    db = CachedGraphDb(backend)
    with pytest.raises(TimeoutError):
        await ask_within(db, 0.5)
    assert await later[0] == []
    assert len(backend.seen) == 2


async def test_a_stores_own_timeout_reaches_every_caller_after_one_call(memory):
    backend, watch = memory
    db = CachedGraphDb(backend)
    watch.failures = [TimeoutError(), TimeoutError()]
    asking = (db.edges_batch(["a"]) for _ in range(5))
    answers = await asyncio.gather(*asking, return_exceptions=True)
    assert [type(answer) for answer in answers] == [TimeoutError] * 5
    assert len(watch.calls) == 1


async def test_a_flight_has_the_deadline_of_its_most_patient_caller():
    backend = Dated()
    db = CachedGraphDb(backend)
    seen: list[float | None] = []

    async def tell(ids: object) -> list[object]:
        await backend.gate.wait()
        seen.append(call.remaining())
        return []

    backend.__class__ = type("Telling", (Dated,), {"edges_batch": lambda _, ids: tell(ids)})
    asking = [asyncio.create_task(ask_within(db, s)) for s in (50.0, 500.0, 5.0)]
    await settle()
    backend.gate.set()
    await asyncio.gather(*asking)
    assert len(seen) == 1
    assert seen[0] is not None
    assert 400 < seen[0] <= 500


async def test_a_few_ids_do_not_wait_for_a_batch_of_many():
    class Slow(MemoryBackend):
        async def get_nodes_batch(self, ids):
            if len(ids) > workers.SMALL:
                await released.wait()
            return await super().get_nodes_batch(ids)

    released = asyncio.Event()
    ids = [f"n{number}" for number in range(workers.SMALL + 1)]
    db = CachedGraphDb(Slow([NodeRecord(one, "T") for one in ids]))
    large = [asyncio.create_task(db.get_nodes_batch(ids)) for _ in range(2)]
    await settle()
    async with asyncio.timeout(5):
        assert [node.id for node in await db.get_nodes_batch(["n7"])] == ["n7"]
    released.set()
    assert [len(nodes) for nodes in await asyncio.gather(*large)] == [len(ids)] * 2


async def test_many_ids_wait_for_no_more_calls_than_have_them():
    class Slow(MemoryBackend):
        async def get_nodes_batch(self, ids):
            await released[len(ids)].wait()
            return await super().get_nodes_batch(ids)

    many, few = workers.SMALL + 1, 1
    released = {many: asyncio.Event(), few: asyncio.Event()}
    ids = [f"n{number}" for number in range(many)]
    db = CachedGraphDb(Slow([NodeRecord(one, "T") for one in ids]))
    first = asyncio.create_task(db.get_nodes_batch(ids))
    await settle()
    again = asyncio.create_task(db.get_nodes_batch(ids[:few]))
    await settle()
    second = asyncio.create_task(db.get_nodes_batch(ids))
    await settle()
    released[many].set()
    async with asyncio.timeout(5):
        assert len(await first) == len(await second) == many
    released[few].set()
    assert len(await again) == few


async def test_a_flight_counts_towards_the_call_that_began_it():
    class Working(MemoryBackend):
        async def get_nodes_batch(self, ids):
            usage = call.current_usage()
            usage.worked += 0.5
            clients.append(usage.client)
            return await super().get_nodes_batch(ids)

    clients: list[str] = []
    with call.scope(caller=call.Caller(subject="ann")) as scope:
        await CachedGraphDb(Working([NodeRecord("a", "T")])).get_nodes_batch(["a"])
    assert clients == ["ann"]
    assert scope.usage.worked == 0.5


async def test_closing_ends_the_calls_under_way_with_an_error_for_every_caller(memory):
    backend, watch = memory
    db = CachedGraphDb(backend)
    watch.gate = asyncio.Event()
    asking = [asyncio.create_task(db.get_node("a")) for _ in range(3)]
    await settle()
    await db.close()
    answers = await asyncio.gather(*asking, return_exceptions=True)
    assert [type(answer) for answer in answers] == [StoreUnavailable] * 3
    assert watch.cancelled == ["get_node"]
    assert len(watch.calls) == 1, "nobody asks a backend that is closed"


async def test_no_failure_is_left_unread_when_all_callers_have_left(memory, caplog):
    backend, watch = memory
    db = CachedGraphDb(backend)
    watch.gate = asyncio.Event()
    watch.failures = [ConnectionError("gone")]
    asking = asyncio.create_task(db.get_node("a"))
    await settle()
    asking.cancel()
    watch.gate.set()
    await settle()
    await db.close()
    del asking
    gc.collect()
    with caplog.at_level(logging.ERROR, logger="asyncio"):
        await settle()
    assert caplog.records == []


def test_one_cache_serves_two_event_loops_one_after_the_other(memory):
    backend, watch = memory
    db = CachedGraphDb(backend)

    async def leave_in_the_middle() -> None:
        watch.gate = asyncio.Event()
        left_behind = asyncio.create_task(db.get_node("b"))
        await settle()
        assert not left_behind.done()

    async def ask() -> str:
        watch.gate = None
        return (await db.get_node("b")).id + (await db.get_node("a")).id

    asyncio.run(leave_in_the_middle())
    assert asyncio.run(ask()) == "ba"
    assert asyncio.run(ask()) == "ba"
    assert watch.count("get_node") == 3


class Limited(MemoryBackend):
    """Reports an omission for every ring."""

    async def edges_batch(self, ids):
        await asyncio.sleep(0)
        for entity_id in ids:
            call.omitted(Omission(entity_id, "in", at_least=7))
        call.omitted(Omission("elsewhere"))
        return await super().edges_batch(ids)


async def told_to(db: CachedGraphDb, ids: list[str]) -> set[tuple[str, int | None]]:
    with call.scope() as scope:
        await db.edges_batch(ids)
    return {(omission.id, omission.at_least) for omission in scope.omissions}


@pytest.mark.parametrize("maxsize", [500_000, 8, 2])
async def test_omissions_reach_every_reader_cold_warm_and_shared(maxsize):
    db = CachedGraphDb(Limited([NodeRecord(i, "Drug") for i in "abc"]), maxsize)
    of_a = {("a", 7), ("elsewhere", None)}
    together = await asyncio.gather(*(told_to(db, ["a"]) for _ in range(3)))
    assert together == [of_a] * 3
    assert await told_to(db, ["a"]) == of_a
    assert await told_to(db, ["a", "b"]) == of_a | {("b", 7)}
    assert await told_to(db, ["b"]) == {("b", 7), ("elsewhere", None)}
    for _ in range(2):
        assert await told_to(db, ["a", "b", "c"]) == of_a | {("b", 7), ("c", 7)}


async def test_omissions_of_an_id_without_an_answer_reach_its_caller():
    class Partial(MemoryBackend):
        async def metadata_for_nodes_batch(self, ids):
            call.omitted(*(Omission(i) for i in ids))
            return {}

    with call.scope() as scope:
        await CachedGraphDb(Partial()).metadata_for_nodes_batch(["a"])
    assert scope.omissions == (Omission("a"),)
