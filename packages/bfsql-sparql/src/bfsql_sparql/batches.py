"""Many keys in few queries: how large they are, and what is done when one comes back cut.

A query that is refused, too slow or cut is asked again as two of half its
size, down to one key; the size grows again when all goes well. Some endpoints
cut without a word, mostly at a round number: such a number of rows is believed
only when the endpoint, asked for it alone, says the same.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

from bfsql.errors import StoreUnavailable
from bfsql_sparql.dataset import Dataset, Refused, TooSlow, gather
from bfsql_sparql.queries.patterns import number_of
from bfsql_sparql.results import NoResults, rows
from bfsql_sparql.settings import SparqlSettings

LARGE = 256 * 1024
"""Bytes from which an answer is decoded in a thread, so that other calls go on meanwhile."""
ROUND = 500
"""Limits that endpoints set in silence are multiples of this, or powers of two."""
GROWTH = 4
"""Queries that go well before their size is doubled."""
_NOT_UNDERSTOOD = (400, None)  # None is a store in process, which has no statuses

K = TypeVar("K")
R = TypeVar("R")


class Part(NamedTuple, Generic[K, R]):
    """What was answered for some of the keys."""

    keys: Sequence[K]
    rows: R
    cut: bool
    """Whether rows are missing; of one key alone, since more are asked again."""


class Question(NamedTuple, Generic[K, R]):
    """A query for many keys at once."""

    text: Callable[[Sequence[K]], str]
    """The query for some keys, whose rows are limited to the setting `page_size` and one more."""
    decode: Callable[[bytes], R]
    """Its answer."""
    count: Callable[[R], int]
    """Rows in the answer."""
    harmless: K
    """A key that no store has anything about, to see whether the query as such is understood."""
    whole: Callable[[Sequence[K], R], bool] = lambda _, __: False
    """Whether an answer tells by itself that nothing is missing."""


class Batches:
    """Asks for many keys, a few queries at once.

    Args:
        dataset: The store.
        settings: `batch_size`, `page_size` and `max_concurrent` are used.
    """

    def __init__(self, dataset: Dataset, settings: SparqlSettings) -> None:
        self._dataset = dataset
        self._most = self._size = settings.batch_size
        self._page = settings.page_size
        self._workers = settings.max_concurrent
        self._well = 0

    async def read(self, keys: Sequence[K], question: Question[K, R]) -> list[Part[K, R]]:
        """The answers for all keys, in any order.

        A key that alone is not understood is unknown, and has no part.

        Args:
            keys: Without duplicates.
            question: What is asked.

        Raises:
            StoreError: The store does not answer such a query at all.
            StoreUnavailable: It is too slow for a single key.
            TimeoutError: The call's deadline is over.
        """
        parts: list[Part[K, R]] = []
        start = 0

        async def work() -> None:
            nonlocal start
            while (left := len(keys) - start) > 0:
                # Of one size, so that none is left over that takes a round trip of its own.
                size = math.ceil(left / math.ceil(left / self._size))
                chunk = keys[start : start + size]
                start += len(chunk)
                parts.extend(await self._part(chunk, question))

        await gather(*(work() for _ in range(min(self._workers, len(keys)))))
        return parts

    async def _part(
        self, keys: Sequence[K], question: Question[K, R], limit: int | None = None
    ) -> list[Part[K, R]]:
        """Ask for some keys.

        Args:
            keys: At least one.
            question: What is asked.
            limit: Number of rows at which an answer is known to be cut, where it is a half.
        """
        try:
            text = question.text(keys)
            reply = await self._dataset.reply(text)
            found = await decoded(reply.body, question.decode)
        except (Refused, TooSlow, NoResults) as error:
            if len(keys) == 1:
                return await self._alone(keys[0], question, error)
            self._shrink(len(keys))
            # One after the other: where the query as such is wrong, this ends at the first key.
            first, second = _halves(keys)
            return [*await self._part(first, question), *await self._part(second, question)]
        count = question.count(found)
        cut = reply.cut is not None or count > self._page or count == limit
        if not cut and is_round(count) and not question.whole(keys, found):
            cut = await self._number(text) != count
        if not cut:
            self._grow(len(keys))
            return [Part(keys, found, cut=False)]
        if len(keys) == 1:
            return [Part(keys, found, cut=True)]
        self._shrink(len(keys))
        halves = await gather(*(self._part(half, question, count) for half in _halves(keys)))
        return [part for half in halves for part in half]

    async def _alone(self, key: K, question: Question[K, R], error: Exception) -> list[Part[K, R]]:
        """What a query for one key means that was not answered."""
        if isinstance(error, NoResults):
            raise nonsense(self._dataset, error) from error
        if not isinstance(error, Refused) or error.status not in _NOT_UNDERSTOOD:
            raise error
        if key != question.harmless:
            await self._dataset.reply(question.text([question.harmless]))
        # The key was at fault, not the number of them: what was halved on the way to it is whole.
        self._size = self._most
        return []

    async def _number(self, query: str) -> int | None:
        """The number of rows that a query has; None where the store does not say."""
        try:
            reply = await self._dataset.reply(number_of(query))
            (number,) = (getattr(value, "text", "") for row in rows(reply.body) for value in row)
            return int(number) if reply.cut is None else None
        except (Refused, TooSlow, ValueError):  # NoResults is one
            return None

    def _shrink(self, size: int) -> None:
        self._size = max(1, min(self._size, size // 2))
        self._well = 0

    def _grow(self, size: int) -> None:
        if size < self._size or self._size == self._most:
            return
        self._well += 1
        if self._well >= GROWTH:
            self._size, self._well = min(self._most, self._size * 2), 0


def is_round(count: int) -> bool:
    """Whether an endpoint may have cut an answer at this number of rows without a word."""
    return count >= ROUND and (count % ROUND == 0 or count & (count - 1) == 0)


async def decoded(body: bytes, decode: Callable[[bytes], R]) -> R:
    """An answer, decoded in a thread where it is large.

    Raises:
        NoResults: It is none.
    """
    if len(body) < LARGE:
        return decode(body)
    return await asyncio.to_thread(decode, body)


def nonsense(dataset: Dataset, error: ValueError) -> StoreUnavailable:
    """What to raise where an answer is none, though it is whole.

    Args:
        dataset: Whose answer it is.
        error: What is wrong with it.
    """
    return StoreUnavailable(
        f"{dataset.name} sent an answer that is none: {error}. Ask again, or for less."
    )


def _halves(keys: Sequence[K]) -> tuple[Sequence[K], Sequence[K]]:
    middle = (len(keys) + 1) // 2
    return keys[:middle], keys[middle:]
