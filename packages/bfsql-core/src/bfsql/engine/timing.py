"""Store calls within the deadline of the call under way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from bfsql import call

T = TypeVar("T")

TRAVERSAL_SHARE = 0.7
"""Part of the time left that a ring may take: the types of what was reached come after it."""


async def within(answer: Awaitable[T], share: float = 1.0) -> T:
    """The answer, if it comes within a share of the time that is left.

    Raises:
        TimeoutError: It did not; the store call is cancelled.
    """
    left = call.remaining()
    async with asyncio.timeout(None if left is None else left * share):
        return await answer


def seconds() -> float | None:
    """What the deadline was when the call began, for a sentence about it."""
    under_way = call.current()
    return None if under_way is None else under_way.seconds
