"""The timing of requests: concurrency, minimum intervals, and retries of transient failures.

All durations are in seconds; all end times are readings of `time.monotonic()`.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

from bfsql.errors import StoreUnavailable
from bfsql.places import Places

T = TypeVar("T")


class Retryable(StoreUnavailable):
    """A failure after which the same request may soon succeed; `retry` handles it.

    Args:
        message: The sentence for the operator, in case no attempt succeeds.
        wait: Seconds to wait; 0 for no wait, None for the usual pause.
        by_server: Whether the server itself requested that wait.
    """

    def __init__(self, message: str, *, wait: float | None = None, by_server: bool = False) -> None:
        super().__init__(message)
        self.wait = wait
        self.by_server = by_server
        self.retry_after = wait if by_server else None


async def retry(
    attempt: Callable[[], Awaitable[T]],
    *,
    retries: int,
    ends: float,
    pause: Callable[[int], float] | None = None,
    hold: Callable[[float], None] | None = None,
) -> T:
    """The result of the first attempt that raises no `Retryable`.

    Args:
        attempt: Sends the request.
        retries: Maximum number of times that it is sent again.
        ends: Time at which a further attempt would be too late; no wait may reach it.
        pause: Returns the seconds to wait after a failed attempt (numbered from 1) if the failure
            specifies none; `backoff` by default.
        hold: Called with the pause in seconds that the server requested, if it did.

    Raises:
        Retryable: The failure of the last attempt.
    """
    number = 0
    while True:
        number += 1
        try:
            return await attempt()
        except Retryable as failure:
            if number > retries:
                raise
            wait = (pause or backoff)(number) if failure.wait is None else failure.wait
            if failure.by_server and hold is not None:
                hold(wait)
            if time.monotonic() + wait >= ends:
                raise
        await asyncio.sleep(wait)


def backoff(
    attempt: int, *, first: float = 0.5, longest: float = 30.0, jitter: float = 0.5
) -> float:
    """Seconds before a request is sent again: doubled each time, and shortened at random.

    Args:
        attempt: The number of times it was sent, from 1.
        first: Seconds after the first attempt.
        longest: Maximum number of seconds.
        jitter: Maximum share by which the seconds are shortened, so that clients that failed
            together do not retry together; 0 for none.
    """
    full = min(longest, first * 2.0 ** (attempt - 1))
    return full * random.uniform(1.0 - jitter, 1.0)  # noqa: S311 - no secret


def retry_after(header: str | None) -> float | None:
    """Seconds from now that a `Retry-After` header specifies, as a number or as a date (RFC 9110).

    Returns:
        0 for a time in the past; None without the header, or if it has neither form.
    """
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            when = parsedate_to_datetime(header)
        except ValueError:
            return None
        seconds = (when.astimezone(UTC) - datetime.now(UTC)).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None


@dataclass(eq=False)
class RateLimited(Exception):
    """The server requested a longer pause than there is time."""

    seconds: float
    """Seconds until the next request is allowed."""


class RateLimiter(Places):
    """Limits the requests to one server: `async with limiter.turn(): await limiter.pause(ends)`.

    Args:
        max_concurrent: Maximum number of concurrent requests; further ones wait for a turn.
        delay: Seconds between the starts of two requests, enforced by `pause`.
    """

    def __init__(self, max_concurrent: int, delay: float = 0.0) -> None:
        super().__init__(lambda: (max_concurrent, max_concurrent))
        self._line = asyncio.Lock()
        self._delay = delay
        self._free = -math.inf

    async def pause(self, ends: float) -> None:
        """Wait until the next request may start.

        Args:
            ends: Time after which it would be too late.

        Raises:
            RateLimited: It may not start before that time; raised without waiting.
        """
        async with self._line:
            while (wait := self._free - time.monotonic()) > 0:
                if time.monotonic() + wait >= ends:
                    raise RateLimited(wait)
                await asyncio.sleep(wait)
            self._free = time.monotonic() + self._delay

    def hold(self, seconds: float) -> None:
        """Start no request for `seconds`, a minute at most, because the server requested it."""
        # A server is tried again after a minute, even if it requested a longer pause.
        self._free = max(self._free, time.monotonic() + min(seconds, 60.0))

    def end_hold(self) -> None:
        """Let the next request start at once: the pause was long enough."""
        self._free = time.monotonic()
