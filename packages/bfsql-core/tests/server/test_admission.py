"""Admission: bounds hold, places are shared fairly, and departed clients take no memory."""

import asyncio
import tracemalloc
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfsql import call
from bfsql.errors import Busy
from bfsql.serving.admission import Admission
from bfsql.settings import ServeSettings

CLIENTS = st.sampled_from(["", "a", "b", "c"])
BOUNDS = st.builds(
    dict,
    max_calls=st.integers(1, 5),
    max_calls_per_client=st.integers(1, 5),
    max_waiting=st.integers(0, 8),
)
STEPS = st.lists(st.tuples(st.sampled_from(["call", "end", "leave"]), CLIENTS), max_size=60)


class Calls:
    """Calls that run until they are ended, and their outcomes."""

    def __init__(self, admission: Admission) -> None:
        self.admission = admission
        self.running: list[tuple[str, asyncio.Event]] = []
        self._tasks: list[asyncio.Task[None]] = []
        self.refused: Counter[str] = Counter()
        self.started: list[str] = []

    async def run(self, client: str) -> None:
        ended = asyncio.Event()
        try:
            async with self.admission.admitted(client):
                self.started.append(client)
                self.running.append((client, ended))
                await ended.wait()
                self.running.remove((client, ended))
        except Busy:
            self.refused[client] += 1

    async def begin(self, client: str) -> None:
        self._tasks.append(asyncio.ensure_future(self.run(client)))
        await settle()

    async def end(self, client: str) -> None:
        """End the oldest call of a client."""
        for other, ended in self.running:
            if other == client:
                ended.set()
                break
        await settle()


async def settle() -> None:
    """Let every task run until it waits."""
    for _ in range(5):
        await asyncio.sleep(0)


def admitting(**bounds: int | None) -> Admission:
    return Admission(ServeSettings(**bounds))


@given(bounds=BOUNDS, steps=STEPS)
async def test_bounds_hold_and_no_place_stays_free_for_a_call_that_could_have_it(bounds, steps):
    admission = admitting(**bounds)
    under_way: Counter[str] = Counter()
    tasks: list[tuple[str, asyncio.Task[None], asyncio.Event]] = []

    async def run(client: str, ended: asyncio.Event) -> None:
        async with admission.admitted(client):
            under_way[client] += 1
            try:
                await ended.wait()
            finally:
                under_way[client] -= 1

    for step, client in steps:
        own = [one for one in tasks if one[0] == client and not one[1].done()]
        if step == "call":
            ended = asyncio.Event()
            tasks.append((client, asyncio.ensure_future(run(client, ended)), ended))
        elif step == "end" and own:
            own[0][2].set()
        elif own:
            own[-1][1].cancel()
        await settle()
        waiting = Counter(c for c, task, _ in tasks if not task.done()) - under_way
        assert admission.running == under_way.total() <= bounds["max_calls"]
        assert max(under_way.values(), default=0) <= bounds["max_calls_per_client"]
        assert admission.waiting == waiting.total() <= bounds["max_waiting"]
        if admission.running < bounds["max_calls"]:
            for other in waiting:
                is_reserved = admission.running >= bounds["max_calls"] * 3 // 4
                assert under_way[other] == bounds["max_calls_per_client"] or (
                    under_way[other] and is_reserved
                )
    failed = [task.exception() for _, task, _ in tasks if task.done() and not task.cancelled()]
    assert admission.refused.total() == sum(isinstance(error, Busy) for error in failed)
    for _, task, _ in tasks:
        task.cancel()
    await asyncio.gather(*(task for _, task, _ in tasks), return_exceptions=True)
    assert (admission.running, admission.waiting) == (0, 0)


async def test_places_go_round_among_the_clients_that_wait():
    calls = Calls(admitting(max_calls=2, max_calls_per_client=2))
    for client in "aaaaaabbbc":
        await calls.begin(client)
    while calls.running:
        await calls.end(calls.running[0][0])
    assert "".join(calls.started) == "aaabcababa"


async def test_a_quarter_of_the_places_is_for_clients_without_a_call():
    calls = Calls(admitting(max_calls=8, max_calls_per_client=8))
    for client in "baaaaaaaabb":
        await calls.begin(client)
    assert "".join(calls.started) == "baaaaa", "the second call of b waits, like those of a"
    await calls.begin("c")
    await calls.begin("d")
    assert "".join(calls.started) == "baaaaacd", "all places are taken"
    while calls.running:
        await calls.end(calls.running[0][0])
    assert Counter(calls.started) == Counter("aaaaaaaabbbcd")


async def test_a_client_that_nobody_shares_with_has_all_places():
    calls = Calls(admitting(max_calls=8, max_calls_per_client=8))
    for client in "aaaaaaaaa":
        await calls.begin(client)
    assert "".join(calls.started) == "aaaaaaaa"
    await calls.begin("b")
    for _ in range(3):
        await calls.end("a")
    assert "".join(calls.started) == "aaaaaaaab", "two places are for others now"
    await calls.begin("c")
    assert "".join(calls.started) == "aaaaaaaabc"
    while calls.running:
        await calls.end(calls.running[0][0])
    assert Counter(calls.started) == Counter("aaaaaaaaabc")


async def test_a_client_that_fills_the_queue_makes_room_for_others():
    calls = Calls(admitting(max_calls=1, max_waiting=4))
    for client in "aaaaa":
        await calls.begin(client)
    assert not calls.refused
    for client in "bbb":
        await calls.begin(client)
    assert calls.refused == {"a": 2, "b": 1}, "they share the queue"
    await calls.begin("a")
    assert calls.refused == {"a": 3, "b": 1}
    await calls.end("a")
    await calls.begin("a")
    await calls.begin("c")
    assert calls.refused["c"] == 0
    while calls.running:
        await calls.end(calls.running[0][0])


async def test_waiting_counts_against_the_time_of_the_call():
    admission = admitting(max_calls=1)
    async with admission.admitted("a"):
        with call.scope(seconds=0.01), pytest.raises(Busy, match="reached its time limit"):
            async with admission.admitted("b"):
                raise AssertionError
    assert (admission.running, admission.waiting) == (0, 0)
    assert admission.refused == {"rate_limit": 0, "queue_full": 0, "deadline": 1}


async def test_a_rate_is_a_bucket_that_fills_again():
    now = 1_000.0
    admission = Admission(ServeSettings(calls_per_minute=6), clock=lambda: now)

    async def made(client: str = "a") -> bool:
        try:
            async with admission.admitted(client):
                return True
        except Busy:
            return False

    assert [await made() for _ in range(8)] == [True] * 6 + [False] * 2
    assert await made("b")
    with pytest.raises(Busy, match="again in 10 seconds"):
        async with admission.admitted("a"):
            raise AssertionError
    now += 10
    assert [await made(), await made()] == [True, False]
    now += 60
    assert [await made() for _ in range(7)] == [True] * 6 + [False]


@pytest.mark.slow
@pytest.mark.occupies_loop
@pytest.mark.parametrize(("rate", "most_bytes"), [(None, 50_000), (10, 6_000_000)])
async def test_clients_that_have_nothing_under_way_take_no_memory(rate, most_bytes):
    admission = admitting(calls_per_minute=rate)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for number in range(30_000):
            async with admission.admitted(f"client {number}"):
                pass
        assert tracemalloc.get_traced_memory()[0] - before < most_bytes
    finally:
        tracemalloc.stop()
