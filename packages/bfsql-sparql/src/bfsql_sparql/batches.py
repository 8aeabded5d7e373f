"""Reads many keys in few queries, and the rows of one key in several if one answer is too small.

`Batches`: a query that is refused, too slow or cut is sent again as two of half its size, down
to one key; the size grows again after successes. Some endpoints cut silently, mostly at a
round number: such a number of rows is believed only if the endpoint, queried for the key alone,
returns the same.

`read_windows`: a window begins with the row at which the last one ended, in an order by text
that every endpoint supports; an `OFFSET` would make the endpoint count from the start each time,
and some refuse it beyond a few thousand. The number of rows is requested first, so the number of
missing rows is known whatever the endpoint does.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Callable, Collection, Hashable, Sequence
from contextlib import aclosing
from typing import Any, Generic, NamedTuple, TypeVar

from bfsql.errors import StoreUnavailable
from bfsql_sparql.dataset import Dataset, NoResults, Refused, Row, TooSlow, gather_or_cancel, rows
from bfsql_sparql.queries.graph import number_of
from bfsql_sparql.settings import SparqlSettings

ROUND = 500
"""Silent limits of endpoints are multiples of this, or powers of two."""
GROWTH = 4
"""Successful queries before their size is doubled."""
NOWHERE = "urn:bfsql:/nothing"
"""An IRI that is not a node anywhere."""
_NOT_UNDERSTOOD = (400, None)

K = TypeVar("K")
R = TypeVar("R")
H = TypeVar("H", bound=Hashable)


class BatchReply(NamedTuple, Generic[K, R]):
    """The answer for some of the keys."""

    keys: Sequence[K]
    rows: R
    cut: bool
    """Whether rows are missing; only for a single key, since more keys are queried again."""


class Question(NamedTuple, Generic[K, R]):
    """A query for many keys at once."""

    text: Callable[[Sequence[K]], str]
    """Makes the query for some keys, limited to one row more than the setting `page_size`."""
    decode: Callable[[bytes], R]
    """Decodes its answer."""
    count: Callable[[R], int]
    """Counts the rows in the answer."""
    harmless: K
    """A key that no store has any data on, to test whether the query itself is understood."""
    whole: Callable[[Sequence[K], R], bool] = lambda _, __: False
    """Whether an answer itself shows that nothing is missing."""


def rows_question(
    text: Callable[[Sequence[str]], str],
    whole: Callable[[Sequence[str], list[Row]], bool] = lambda _, __: False,
) -> Question[str, list[Row]]:
    """A query for many IRIs, whose answer consists of rows of terms."""
    return Question(text, rows, len, NOWHERE, whole)


def has_row_each(keys: Sequence[Any], found: list[Row]) -> bool:
    """Whether there is one row for each key, which its first column tells apart."""
    return len(found) == len(keys) == len({row[0] for row in found})


class Batches:
    """Queries many keys, a few queries at once."""

    def __init__(self, dataset: Dataset, settings: SparqlSettings) -> None:
        self._dataset = dataset
        self._most = self._size = settings.batch_size
        self._page = settings.page_size
        self._workers = settings.max_concurrent
        self._well = 0

    async def read(self, keys: Sequence[K], question: Question[K, R]) -> list[BatchReply[K, R]]:
        """The answers for all keys, which are without duplicates, in any order.

        A key whose query is not understood even for it alone is unknown, and has no part.

        Raises:
            StoreError: The store does not answer such a query at all.
            StoreUnavailable: It is too slow for a single key.
            TimeoutError: The call's deadline has passed.
        """
        parts: list[BatchReply[K, R]] = []
        start = 0

        async def work() -> None:
            nonlocal start
            while (left := len(keys) - start) > 0:
                # Batches have equal sizes, so that no small remainder takes a round trip of its
                # own.
                size = math.ceil(left / math.ceil(left / self._size))
                chunk = keys[start : start + size]
                start += len(chunk)
                parts.extend(await self._part(chunk, question))

        await gather_or_cancel(*(work() for _ in range(min(self._workers, len(keys)))))
        return parts

    async def _part(
        self, keys: Sequence[K], question: Question[K, R], limit: int | None = None
    ) -> list[BatchReply[K, R]]:
        """The answers for at least one key; one with `limit` rows is known to be cut."""
        try:
            text = question.text(keys)
            reply = await self._dataset.reply(text)
            found = await decoded(reply.body, question.decode)
        except (Refused, TooSlow, NoResults) as error:
            if len(keys) == 1:
                return await self._alone(keys[0], question, error)
            self._shrink(len(keys))
            # One after the other: if the query itself is wrong, this ends at the first key.
            first, second = _halves(keys)
            return [*await self._part(first, question), *await self._part(second, question)]
        count = question.count(found)
        cut = reply.cut is not None or count > self._page or count == limit
        if not cut and is_round(count) and not question.whole(keys, found):
            cut = await self.number(text) != count
        if not cut:
            self._grow(len(keys))
            return [BatchReply(keys, found, cut=False)]
        if len(keys) == 1:
            return [BatchReply(keys, found, cut=True)]
        self._shrink(len(keys))
        halves = await gather_or_cancel(
            *(self._part(half, question, count) for half in _halves(keys))
        )
        return [part for half in halves for part in half]

    async def _alone(
        self, key: K, question: Question[K, R], error: Exception
    ) -> list[BatchReply[K, R]]:
        """The result for one key whose query was not answered."""
        if isinstance(error, NoResults):
            raise nonsense(self._dataset, error) from error
        if not isinstance(error, Refused) or error.status not in _NOT_UNDERSTOOD:
            raise error
        if key != question.harmless:
            await self._dataset.reply(question.text([question.harmless]))
        # The key was at fault, not the number of them: what was halved on the way to it is whole.
        self._size = self._most
        return []

    async def number(self, query: str) -> int | None:
        """The number of rows of a query; None if the store does not return it."""
        try:
            reply = await self._dataset.reply(number_of(query))
            (number,) = (getattr(value, "text", "") for row in rows(reply.body) for value in row)
            return int(number) if reply.cut is None else None
        except (Refused, TooSlow, ValueError):  # including NoResults
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
    """Whether an endpoint may have cut an answer silently at this number of rows."""
    return count >= ROUND and (count % ROUND == 0 or count & (count - 1) == 0)


async def decoded(body: bytes, decode: Callable[[bytes], R]) -> R:
    """An answer, decoded in a thread if it is large."""
    return decode(body) if len(body) < Dataset.large else await asyncio.to_thread(decode, body)


def nonsense(dataset: Dataset, error: ValueError) -> StoreUnavailable:
    """The error to raise if a complete document is not an answer."""
    return StoreUnavailable(
        f"{dataset.name} sent an answer that is not valid: {error}. Try again, or ask for less."
    )


def _halves(keys: Sequence[K]) -> tuple[Sequence[K], Sequence[K]]:
    middle = (len(keys) + 1) // 2
    return keys[:middle], keys[middle:]


# --- windows ----------------------------------------------------------------


class Windows(NamedTuple, Generic[H]):
    """How to read the rows of one node in windows."""

    number: str
    """The query for the number of rows."""
    text: Callable[[str, int], str]
    """Makes the query for some of the rows, from a start and a number."""
    decode: Callable[[bytes], Sequence[H]]
    """Decodes the rows of an answer."""
    end: Callable[[H], str]
    """The start of a window that continues after a row."""


async def counted(dataset: Dataset, query: str) -> int:
    """The one number that a query returns.

    Raises:
        StoreError: The store does not return it.
    """
    reply = await dataset.reply(query)
    try:
        ((value,),) = rows(reply.body)
        return int(getattr(value, "text", ""))
    except ValueError as error:  # including NoResults
        raise nonsense(dataset, error) from error


async def read_windows(
    dataset: Dataset, windows: Windows[H], most: int, late: Callable[[int], None] = lambda _: None
) -> tuple[list[H], int]:
    """At most `most` rows, and the number of those that are missing.

    Args:
        dataset: The store.
        windows: The queries.
        most: Most rows to read.
        late: Called with the number of rows if the time runs out before they are read.

    Raises:
        Refused: The store does not answer even small windows.
        StoreUnavailable: The store is unavailable, or too slow for them.
    """
    total = await counted(dataset, windows.number)
    try:
        found = (await _all(dataset, windows, min(total, most)))[:most]
    except (TimeoutError, asyncio.CancelledError):
        late(total)
        raise
    return found, max(0, total - len(found))


async def _all(dataset: Dataset, windows: Windows[H], most: int) -> list[H]:
    seen: dict[H, None] = {}
    if most:
        async with aclosing(window_rows(dataset, windows)) as parts:
            async for rows_ in parts:
                seen.update(dict.fromkeys(rows_))
                if len(seen) >= most:
                    break
    return list(seen)


async def window_rows(
    dataset: Dataset, windows: Windows[H], size: int = 10_000
) -> AsyncGenerator[list[H]]:
    """The rows of one window after the other, without those that the last one ended with.

    It ends with the first window that adds nothing. Errors are those of `read_windows`.

    Args:
        dataset: The store.
        windows: The queries; their number is not requested.
        size: Rows of the first window. One endpoint refuses more than 10,000 in an order; another
            may refuse as many.
    """
    after, smallest = "", 100
    last: Collection[H] = ()
    while True:
        try:
            reply = await dataset.reply(windows.text(after, size))
            found = await decoded(reply.body, windows.decode)
        except (Refused, TooSlow):
            if size <= smallest:
                raise
            size = max(smallest, size // 2)
            continue
        except NoResults as error:
            raise nonsense(dataset, error) from error
        new = [row for row in found if row not in last]
        if not new:
            return
        yield new
        after = windows.end(found[-1])
        last = {row for row in found if windows.end(row) == after}
