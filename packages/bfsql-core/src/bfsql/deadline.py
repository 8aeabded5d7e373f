"""The deadline of the current call, for everything that works on its behalf.

Work in a thread is not cancelled together with its call, so a loop whose length an author or a
caller chooses goes over `checked` items, also where it stands far from any call:

    [fold(text) for text in checked(texts)]
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TypeVar

T = TypeVar("T")

MANY = 1_000
"""Number of items of a loop between two checks."""


@dataclass(slots=True)
class Work:
    """What is done for one call."""

    deadline: float | None = None
    """The `time.monotonic()` at which the call ends, or None for no deadline."""
    seconds: float | None = None
    """The seconds until the deadline when the call began, for error messages."""
    ended: bool = field(default=False, kw_only=True)
    """Whether the call was answered or cancelled, so that nothing waits for its work."""


current_work: ContextVar[Work | None] = ContextVar("bfsql_call", default=None)
"""The work of the current call; `bfsql.call` sets it."""


def remaining() -> float | None:
    """Seconds until the deadline of the current call, at least 0; None for no deadline.

    A backend uses this as its statement timeout.
    """
    under_way = current_work.get()
    if under_way is None or under_way.deadline is None:
        return None
    return max(0.0, under_way.deadline - time.monotonic())


def seconds() -> float | None:
    """The time limit of the current call as it was at the start, for error messages."""
    under_way = current_work.get()
    return None if under_way is None else under_way.seconds


def seconds_left(limit: float, share: float = 1.0) -> float:
    """The smaller of `limit` and a share of the time until the deadline of the current call."""
    left = remaining()
    return limit if left is None else min(limit, left * share)


def check(*, late: bool = False) -> None:
    """Raise an error if the work of the current call is to end; called repeatedly by long work.

    Args:
        late: Whether it may take longer than the deadline, as writing what was read before it.

    Raises:
        TimeoutError: The deadline of the call passed, or the call has ended.
    """
    under_way = current_work.get()
    if under_way is not None and (under_way.ended or (not late and remaining() == 0)):
        raise TimeoutError


def checked(items: Iterable[T], *, late: bool = False) -> Iterable[T]:
    """The same items for a loop, which calls `check` before each thousand of them."""
    if isinstance(items, list | tuple) and len(items) <= MANY:
        return items
    return chain.from_iterable(_checked(iter(items), late=late))


def _checked(items: Iterator[T], *, late: bool) -> Iterator[tuple[T, ...]]:
    check(late=late)
    while some := tuple(islice(items, MANY)):
        yield some
        check(late=late)


async def within(answer: Awaitable[T]) -> T:
    """Await a store call within the remaining time.

    Raises:
        TimeoutError: It took longer; the store call is cancelled.
    """
    async with time_limit():
        return await answer


def time_limit(share: float = 1.0, *, extra: float = 0.0) -> asyncio.Timeout:
    """A context that raises TimeoutError when the time of the current call is up.

    Args:
        share: The part of the remaining time that the context may take, up to 1.
        extra: Seconds that it may take beyond that.
    """
    left = remaining()
    return asyncio.timeout(None if left is None else left * share + extra)
