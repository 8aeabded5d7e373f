"""The watchdog logs what occupies the event loop, and nothing else."""

import asyncio
import logging
import time

import pytest

from bfsql.serving.watchdog import Watchdog, watched_loop
from bfsql_test_support import occupied_loops

pytestmark = [
    pytest.mark.occupies_loop,
    pytest.mark.skipif(
        not hasattr(time, "pthread_getcpuclockid"), reason="this system measures no other thread"
    ),
]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Watchdog, "seconds", 0.1)


def occupy(seconds: float) -> None:
    """Take processor time in Python."""
    ends = time.thread_time() + seconds
    while time.thread_time() < ends:
        pass


def one_call(seconds: float) -> None:
    """Take processor time in one call that keeps the interpreter's lock."""
    size, took = 1_000_000, 0.0
    while took < seconds:
        size *= 2
        began = time.thread_time()
        sum(range(size))
        took = time.thread_time() - began


@pytest.mark.parametrize("work", [occupy, one_call])
async def test_what_occupies_the_loop_is_logged_once_with_its_stack(work, caplog):
    assert callable(work)
    with watched_loop():
        work(0.4)
        await asyncio.sleep(0.05)
    lines = [record.getMessage() for record in caplog.records if record.name == "bfsql"]
    assert lines
    if work is occupy:
        assert len(lines) == 1
        # A call of C is logged when it has returned, perhaps after the loop has gone on.
        assert " occupy < " in lines[0]
        assert "test_watchdog.py" in lines[0]


async def test_what_gives_others_their_turn_is_not_logged(caplog):
    with watched_loop():
        for _ in range(40):
            occupy(0.01)
            await asyncio.sleep(0)
        await asyncio.to_thread(occupy, 0.2)
        time.sleep(0.3)  # noqa: ASYNC251 - occupies the loop, but not the processor
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_what_occupies_a_loop_of_a_test_or_a_server_fails_the_test(monkeypatch):
    occupy(2 * occupied_loops.SECONDS_OF_TESTS)  # the fixture of all tests watches this loop
    await asyncio.sleep(0)
    assert " occupy < " in occupied_loops.messages()
    monkeypatch.setattr(occupied_loops, "SECONDS", 0.1)
    monkeypatch.setattr(Watchdog, "warn", Watchdog.warn)  # restored at the end
    occupied_loops.watch_served_loops()
    with watched_loop():
        occupy(0.4)
    assert " occupy < " in occupied_loops.messages()
