"""When requests are retried, and how texts from other parties appear in messages."""

import asyncio
import time
from itertools import pairwise

import pytest
from pydantic import SecretStr

from bfsql import call
from bfsql.http import (
    RateLimited,
    RateLimiter,
    Retryable,
    backoff,
    describe,
    header_secret,
    hide_secrets,
    one_line,
    retry,
    seconds_left,
)
from bfsql.http.retry import retry_after


class Server:
    """Raises the given failures in turn, and then answers."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.asked: list[float] = []

    async def __call__(self) -> str:
        self.asked.append(time.monotonic())
        if self.failures:
            raise self.failures.pop(0)
        return "here"


def soon() -> float:
    return time.monotonic() + 5


async def test_what_may_pass_is_asked_again_and_nothing_else():
    server = Server(Retryable("a", wait=0), Retryable("b", wait=0))
    assert await retry(server, retries=2, ends=soon()) == "here"
    server = Server(Retryable("a", wait=0), Retryable("b", wait=0))
    with pytest.raises(Retryable, match="b"):
        await retry(server, retries=1, ends=soon())
    server = Server(ValueError())
    with pytest.raises(ValueError):
        await retry(server, retries=1, ends=soon())
    assert len(server.asked) == 1


async def test_the_wait_is_the_servers_or_a_pause_that_grows():
    held: list[float] = []
    server = Server(Retryable("a", wait=0.2, by_server=True), Retryable("b"))
    pause = lambda attempt: attempt * 0.1
    await retry(server, retries=2, ends=soon(), pause=pause, hold=held.append)
    assert all(later - earlier >= 0.19 for earlier, later in pairwise(server.asked))
    assert held == [0.2]


async def test_a_wait_beyond_the_end_is_not_begun():
    began = time.monotonic()
    with pytest.raises(Retryable):
        await retry(Server(Retryable("a", wait=60)), retries=2, ends=soon())
    assert time.monotonic() - began < 30


def test_pauses_grow_and_are_bounded():
    for attempt, most in ((1, 0.5), (2, 1), (3, 2), (20, 30)):
        assert all(most / 2 <= backoff(attempt) <= most for _ in range(100))
    assert backoff(3, first=0.1, jitter=0) == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("3", 3),
        (" 2.5", 2.5),
        ("-3", 0),
        ("nan", None),
        ("inf", None),
        ("soon", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0),
        ("Wed, 99 Oct 2015", None),
    ],
)
def test_retry_after_is_read_in_all_its_forms(header, seconds):
    assert retry_after(header) == seconds


def test_no_request_takes_longer_than_the_call_has_left():
    assert seconds_left(7) == 7
    with call.scope(seconds=5):
        assert seconds_left(1) == 1
        assert 4 < seconds_left(7) <= 5


async def test_requests_are_bounded_in_number_and_start_a_delay_apart():
    limiter, starts, busy = RateLimiter(2, 0.05), [], 0

    async def request() -> None:
        nonlocal busy
        async with limiter.turn():
            await limiter.pause(soon())
            starts.append(time.monotonic())
            busy += 1
            assert busy <= 2
            await asyncio.sleep(0.02)
            busy -= 1

    await asyncio.gather(*(request() for _ in range(5)))
    assert all(later - earlier > 0.04 for earlier, later in pairwise(starts))


async def test_requests_of_clients_take_turns():
    limiter, starts = RateLimiter(1), list[str]()

    async def request(client: str) -> None:
        with call.entered(call.Scope(usage=call.Usage(client))):
            async with limiter.turn():
                starts.append(client)
                await asyncio.sleep(0)

    await asyncio.gather(*(request(client) for client in "aaaaab"))
    assert "".join(starts) == "aabaaa"


async def test_no_turn_comes_while_the_server_wants_to_be_left_alone():
    limiter = RateLimiter(1)
    limiter.hold(60)
    with pytest.raises(RateLimited) as caught:
        await limiter.pause(soon())
    assert 59 < caught.value.seconds <= 60


def test_a_text_of_others_is_one_short_line_without_secrets():
    assert one_line(" a\n\tb. ") == "a b"
    assert one_line("x" * 301) == "x" * 300 + "..."
    assert describe(ValueError("no.")) == "ValueError: no"
    assert describe(ValueError()) == "ValueError"
    assert hide_secrets("ab abc", ["", "ab", "abc"]) == "********** **********"


@pytest.mark.parametrize(
    ("given", "carried"), [(" a b ", "a b"), ("ü", None), ("a\nb", None), (" ", None)]
)
def test_a_header_carries_printable_ascii(given, carried):
    assert header_secret(SecretStr(given)) == carried
