"""What one answer cannot hold: all rows of one node, window by window, and what lacks in the end.

A window begins with the row at which the last one ended, in an order by text that
every endpoint has; an `OFFSET` would have the endpoint count from the start each
time, and some refuse it beyond a few thousand. How many rows there are is asked
first, so that what is missing is known by number, whatever the endpoint does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from bfsql_sparql.batches import decoded, nonsense
from bfsql_sparql.dataset import Dataset, Refused, TooSlow
from bfsql_sparql.results import NoResults, rows

WINDOW = 10_000
"""Rows of a window at the most: more in an order is what one endpoint refuses."""
SMALLEST = 100
"""Rows of the smallest window that is tried after refusals."""

R = TypeVar("R", bound=Hashable)


class Windows(NamedTuple, Generic[R]):
    """How the rows of one node are read."""

    number: str
    """The query for their number."""
    text: Callable[[str, int], str]
    """The query for some of them, from where to begin and how many."""
    decode: Callable[[bytes], Sequence[R]]
    """The rows of an answer."""
    end: Callable[[R], str]
    """Where to begin after a row."""


@dataclass(slots=True)
class Read(Generic[R]):
    """The rows that were read, and their number in the store."""

    rows: list[R]
    total: int

    @property
    def missing(self) -> int:
        """Rows that were not read."""
        return max(0, self.total - len(self.rows))


async def counted(dataset: Dataset, query: str) -> int:
    """The one number that a query asks for.

    Raises:
        StoreError: The store does not give it.
    """
    reply = await dataset.reply(query)
    try:
        ((value,),) = rows(reply.body)
        return int(getattr(value, "text", ""))
    except ValueError as error:  # NoResults is one
        raise nonsense(dataset, error) from error


async def read_windows(
    dataset: Dataset, windows: Windows[R], most: int, late: Callable[[int], None]
) -> Read[R]:
    """Read rows until there are no more, or as many as are wanted.

    Args:
        dataset: The store.
        windows: What is asked.
        most: Rows to read at the most.
        late: Told the number of rows when the time is up before they are read.

    Raises:
        Refused: The store answers not even small windows.
        StoreUnavailable: It is not there, or too slow for them.
    """
    total = await counted(dataset, windows.number)
    try:
        found = await _all(dataset, windows, min(total, most))
    except (TimeoutError, asyncio.CancelledError):
        late(total)
        raise
    return Read(found[:most], total)


async def _all(dataset: Dataset, windows: Windows[R], wanted: int) -> list[R]:
    seen: dict[R, None] = {}
    after, size = "", WINDOW
    while len(seen) < wanted:
        try:
            reply = await dataset.reply(windows.text(after, size))
            found = await decoded(reply.body, windows.decode)
        except (Refused, TooSlow):
            if size <= SMALLEST:
                raise
            size = max(SMALLEST, size // 2)
            continue
        except NoResults as error:
            raise nonsense(dataset, error) from error
        before = len(seen)
        seen.update(dict.fromkeys(found))
        if len(seen) == before:
            break
        after = windows.end(found[-1])
    return list(seen)
