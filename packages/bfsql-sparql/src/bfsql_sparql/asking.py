"""Questions that may fail: what a store refuses, or is too slow for, is not known then."""

from __future__ import annotations

import time
from typing import NamedTuple

from bfsql import call
from bfsql_sparql.dataset import Dataset, Refused, TooSlow
from bfsql_sparql.results import NoResults, rows, truth
from bfsql_sparql.terms import Row


class Rows(NamedTuple):
    """What a store gave to a question."""

    rows: list[Row]
    cut: bool
    """Whether the store says that more are missing."""


class Clock:
    """Time that several questions share.

    Args:
        seconds: All of it.
        share: The part of the time left to the call under way that it may be at most.
    """

    def __init__(self, seconds: float, share: float = 1.0) -> None:
        left = call.remaining()
        self._end = time.monotonic() + (seconds if left is None else min(seconds, left * share))

    def left(self) -> float:
        """Seconds, 0 at the least."""
        return max(0.0, self._end - time.monotonic())


async def ask(dataset: Dataset, query: str, seconds: float) -> bool | None:
    """The answer to an ASK, None where the store gives none.

    Args:
        dataset: The store.
        query: The whole text.
        seconds: How long it may take.

    Raises:
        TimeoutError: The call's deadline is over.
        StoreError: It is not there, or cannot be used.
    """
    body, _ = await _reply(dataset, query, seconds)
    try:
        return None if body is None else truth(body)
    except NoResults:
        return None


async def select(dataset: Dataset, query: str, seconds: float) -> Rows | None:
    """The solutions of a SELECT, None where the store gives none.

    Args:
        dataset: The store.
        query: The whole text.
        seconds: How long it may take.

    Raises:
        TimeoutError: The call's deadline is over.
        StoreError: It is not there, or cannot be used.
    """
    body, cut = await _reply(dataset, query, seconds)
    try:
        return None if body is None else Rows(rows(body), cut)
    except NoResults:
        return None


async def _reply(dataset: Dataset, query: str, seconds: float) -> tuple[bytes | None, bool]:
    if seconds <= 0:
        return None, False
    try:
        reply = await dataset.reply(query, seconds)
    except (Refused, TooSlow):
        return None, False
    return reply.body, reply.cut is not None
