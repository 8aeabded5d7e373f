"""How many requests go out, how far apart, and when again."""

from __future__ import annotations

import asyncio
import math
import random
import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import TracebackType

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0
_LONGEST_HOLD = 3_600.0
"""Seconds; whoever says more than this means that the server is gone."""


class Held(Exception):
    """The endpoint wants to be left alone for longer than there is time.

    Args:
        seconds: Until it may be asked again.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(f"not before {seconds:.0f} s have passed")
        self.seconds = seconds


class Gate:
    """Lets requests out: a number at once, a time apart, and none while the endpoint says so.

    Args:
        at_once: Requests under way at most.
        delay: Seconds between the starts of two.
    """

    def __init__(self, at_once: int, delay: float) -> None:
        self._slots = asyncio.Semaphore(at_once)
        self._line = asyncio.Lock()
        self._delay = delay
        self._free = -math.inf

    async def __aenter__(self) -> None:
        """Wait for one of the places."""
        await self._slots.acquire()

    async def __aexit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        """Give it back."""
        self._slots.release()

    async def turn(self, ends: float) -> None:
        """Wait until a request may start.

        Args:
            ends: `time.monotonic()` from which on it is in vain.

        Raises:
            Held: It is not before that.
        """
        async with self._line:
            while (wait := self._free - time.monotonic()) > 0:
                if time.monotonic() + wait >= ends:
                    raise Held(wait)
                await asyncio.sleep(wait)
            self._free = time.monotonic() + self._delay

    def hold(self, seconds: float) -> None:
        """Let nothing out for a while, because the endpoint asked for it."""
        self._free = max(self._free, time.monotonic() + min(seconds, _LONGEST_HOLD))


def pause(attempt: int) -> float:
    """Seconds before a request is made again: more each time, and never the same for two.

    Args:
        attempt: How often it was made, from 1.
    """
    full = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** (attempt - 1))
    return full * random.uniform(0.5, 1.0)  # noqa: S311 - no secret, only apart from others


def retry_after(header: str | None) -> float | None:
    """What `Retry-After` says, in seconds from now; None where it says nothing."""
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
