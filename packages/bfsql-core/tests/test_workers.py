"""Heavy work in threads: its order among clients and calls, its outcome, and its end."""

import asyncio
import gc
import threading
import time
from contextvars import ContextVar
from typing import Self
from weakref import ref

import pytest

from bfsql import call, workers
from bfsql.call import Caller
from bfsql.workers import LARGE, SMALL, Workers, cores, is_heavy, light, off_loop

ITEMS = 1_000_000
"""Estimated at one second of work."""


class Desk:
    """One thread that is busy until `open` is called, so that work waits; and its order."""

    def __init__(self) -> None:
        self.workers = Workers(1)
        self.order: list[str] = []
        self._busy = threading.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        self._tasks.append(asyncio.ensure_future(self.workers.run(self._busy.wait, 0)))
        await asyncio.sleep(0.05)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._busy.set()
        await asyncio.gather(*self._tasks)

    async def add(self, name: str, client: str, *, size: int = 10, worked: float = 0.0) -> None:
        async def run() -> None:
            with call.scope(caller=Caller(subject=client)) as scope:
                scope.usage.worked = worked
                await self.workers.run(lambda: self.order.append(name), size)

        self._tasks.append(asyncio.ensure_future(run()))
        await asyncio.sleep(0)


def spin() -> str:
    """Work for 0.05 s; the name of the thread."""
    end = time.thread_time() + 0.05
    while time.thread_time() < end:
        pass
    return threading.current_thread().name


async def test_clients_take_turns_however_much_work_one_of_them_has():
    async with Desk() as desk:
        for number in range(8):
            await desk.add(f"a{number}", "a", size=ITEMS)
        await desk.add("b0", "b", size=ITEMS)
        await desk.add("b1", "b", size=ITEMS)
        await desk.add("c0", "c")
    assert desk.order == ["a0", "b0", "c0", "a1", "b1", *(f"a{n}" for n in range(2, 8))]


async def test_cheap_work_overtakes_expensive_work():
    async with Desk() as desk:
        for number in range(3):
            await desk.add(f"expensive {number}", "a", size=ITEMS)
        for number in range(3):
            await desk.add(f"cheap {number}", "b")
    first = [name.split()[0] for name in desk.order[:4]]
    assert first == ["expensive", "cheap", "cheap", "cheap"]


async def test_a_call_that_has_worked_for_long_waits_for_others_of_its_client():
    async with Desk() as desk:
        await desk.add("old", "a", worked=30.0)
        await desk.add("new", "a")
    assert desk.order == ["new", "old"]


async def test_the_time_of_work_is_counted_in_place_of_the_estimate():
    workers = Workers(1)
    with call.scope() as scope:
        await workers.run(spin, 60 * ITEMS)
        assert 0.05 <= scope.usage.worked < 1


async def test_pieces_of_a_call_that_has_worked_for_long_wait_for_turns_as_well():
    with call.scope() as scope:
        assert not (await off_loop(SMALL + 1, spin)).startswith("bfsql-worker")
        assert scope.usage.worked >= 0.05
        assert (await off_loop(SMALL + 1, spin)).startswith("bfsql-worker")
        assert not is_heavy(SMALL)
    assert not is_heavy(LARGE)
    assert is_heavy(LARGE + 1)


def test_light_work_of_a_call_is_counted_in_whichever_thread_it_is_done():
    usage = call.Usage()
    thread = threading.Thread(target=light, args=(usage, spin))
    thread.start()
    thread.join()
    assert 0.05 <= usage.worked < 1


async def test_work_of_a_call_that_was_cancelled_never_begins():
    async with Desk() as desk:
        await desk.add("gone", "a")
        await desk.add("next", "a")
        gone = desk._tasks.pop(1)
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
    assert desk.order == ["next"]


async def test_results_errors_and_the_context_pass_between_the_threads():
    workers, variable = Workers(2), ContextVar("variable", default="")
    variable.set("known")

    def fail() -> None:
        raise ValueError("wrong")

    assert await workers.run(lambda: (variable.get(), threading.current_thread().name[:12]), 1) == (
        "known",
        "bfsql-worker",
    )
    with pytest.raises(ValueError, match="wrong"):
        await workers.run(fail, 1)
    assert await workers.run(lambda: 7, 1) == 7


async def test_the_service_of_many_clients_takes_no_memory(monkeypatch):
    monkeypatch.setattr("bfsql.workers._MOST_CLIENTS", 10)
    workers = Workers(1)
    for number in range(50):
        with call.scope(caller=Caller(subject=f"client {number}")):
            await workers.run(lambda: None, 1)
    assert len(workers._served) == 10


def test_the_number_of_cores_is_that_of_the_process():
    assert cores() >= 1


async def test_a_small_call_waits_for_one_piece_of_all_medium_work():
    order: list[str] = []

    async def medium() -> None:
        for _ in range(3):
            await workers.off_loop(workers.SMALL + 1, lambda: order.append("piece"))

    async def small() -> None:
        for _ in range(workers.STEPS):
            await asyncio.sleep(0)
        order.append("small")

    others = [asyncio.create_task(medium()) for _ in range(8)]
    for _ in range(3):
        await asyncio.sleep(0)
        order.clear()
        await small()
        assert order.index("small") <= 1
    await asyncio.gather(*others)


def test_an_event_loop_that_has_ended_is_not_kept():
    async def medium() -> ref[asyncio.AbstractEventLoop]:
        work = (workers.off_loop(workers.SMALL + 1, list) for _ in range(3))
        await asyncio.gather(*work)
        assert asyncio.get_running_loop() in workers._turns
        return ref(asyncio.get_running_loop())

    ended = asyncio.run(medium())
    gc.collect()
    assert ended() is None
