"""How an answer is made to keep its budget of tokens (`protocol.md` 14, 21).

An answer that is too large loses its least valuable parts first: metadata of
edges from the last to the first, then of nodes from the last to the first, then
nodes off the end of the page. So what stays is a prefix each time, and the
longest one that fits is found by doubling, then halving. Every size that is
tried is the answer that would be sent, notes included.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.answers import Draft, SubgraphWriter
from bfsql.call import Estimator, Limits
from bfsql.engine.detail import (
    trimmed,
    with_absent_fields,
    with_edge_metadata,
    with_metadata,
    with_node_metadata,
    without_edge_metadata,
)
from bfsql.engine.select import Pages
from bfsql.errors import NothingFits

T = TypeVar("T")

TRIED_WHOLE = 1_000
"""Nodes of a page that is written whole before a shorter one is tried."""

RECORD_TOKENS = 100
"""Room for the metadata of a node or edge; where there is that for all, it is read at once."""
TOKEN_BYTES = 32
"""Bytes that no token stands for on the average."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How many tokens an answer may have, and how they are counted."""

    tokens: int
    """0 is no budget."""
    estimator: Estimator

    @classmethod
    def of(cls, limits: Limits, max_tokens: int | None = None) -> Budget:
        """The budget of a call: what it asks for, or else the server's."""
        return cls(limits.max_tokens if max_tokens is None else max_tokens, limits.estimator)

    def keeps(self, draft: Draft) -> bool:
        """Whether the answer keeps within it; written only where there is a budget."""
        kept = not self.tokens or self.estimator(draft.text) <= self.tokens
        if not kept:
            call.cut_by("tokens")
        return kept

    def refuses(self, size: int) -> bool:
        """Whether so many bytes are too many, however they are counted."""
        refused = 0 < self.tokens * TOKEN_BYTES < size
        if refused:
            call.cut_by("tokens")
        return refused

    def longest(self, count: int, text_of: Callable[[int], bytes]) -> int:
        """How many of `count` parts fit, at least 0."""
        if not self.tokens or self.estimator(text_of(count)) <= self.tokens:
            return count
        call.cut_by("tokens")
        return max(0, largest(count - 1, lambda n: self.estimator(text_of(n)) <= self.tokens))


async def fit(pages: Pages, writer: SubgraphWriter, budget: Budget) -> Draft:
    """The page of stubs as far as it fits, before any metadata is read.

    A long page is not tried whole: a hub's would be written for nothing.

    Raises:
        NothingFits: Not even the fewest nodes that are worth an answer do.
    """
    if budget.refuses(await pages.least_bytes(pages.wanted)):
        return await _cut(pages, writer, budget, pages.wanted)
    if not budget.tokens or pages.wanted <= TRIED_WHOLE:
        whole = writer.draft(await pages.of(pages.wanted))
        return whole if budget.keeps(whole) else await _cut(pages, writer, budget, pages.wanted - 1)
    return await _cut(pages, writer, budget, pages.wanted)


async def detail(
    db: GraphDbInterface, pages: Pages, stubs: Draft, writer: SubgraphWriter, budget: Budget
) -> Draft:
    """The page with as much metadata as there is time and room for, nearest first.

    A page that was cut has no room for metadata, so none is read; nor where none is wanted. Edge
    metadata is not read either if the node metadata does not fit; of a few records, for which
    there should be room, both are read at the same time.

    Raises:
        NothingFits: There is not even room for the note that metadata is missing.
    """
    if stubs.result.facts.cut_nodes or not any(pages.wanted_in_full(stubs.result.page)):
        return stubs
    records = sum(map(len, pages.wanted_in_full(stubs.result.page)))
    if not budget.tokens or records * RECORD_TOKENS <= budget.tokens:
        result = await with_metadata(db, pages, stubs.result, writer.stripped)
    else:
        result = await with_node_metadata(db, pages, stubs.result)
        if budget.keeps(writer.draft(result)):
            result = await with_edge_metadata(db, pages, result, writer.stripped)
        else:
            result = without_edge_metadata(pages, result)
    result = with_absent_fields(pages, result, writer.stripped)
    whole = writer.draft(result)
    if budget.keeps(whole):
        return whole
    nodes, edges = len(result.page.node_metadata), len(result.page.edge_metadata)
    fitted = _longest(budget, edges - 1, lambda n: writer.draft(trimmed(result, nodes, n)))
    if fitted is None:
        fitted = _longest(budget, nodes - 1, lambda n: writer.draft(trimmed(result, n, 0)))
    return fitted or await _cut(pages, writer, budget, pages.wanted - 1)


async def _cut(pages: Pages, writer: SubgraphWriter, budget: Budget, most: int) -> Draft:
    """The longest page of stubs that fits, of `most` nodes or fewer."""
    drafts: dict[int, Draft] = {}
    sizes = _sizes(most)
    size = next(sizes, None)
    try:
        while size is not None:
            fits = not budget.refuses(await pages.least_bytes(size))
            if fits:
                drafts[size] = draft = writer.draft(await pages.of(size))
                fits = budget.keeps(draft)
            size = sizes.send(fits)
    except StopIteration as found:
        if found.value >= pages.least:
            return drafts[found.value]
    raise NothingFits


def _longest(budget: Budget, count: int, draft_of: Callable[[int], Draft]) -> Draft | None:
    """The draft of the largest size up to `count` that fits, or None."""
    size = largest(count, lambda n: budget.keeps(draft_of(n)))
    return draft_of(size) if size >= 0 else None


def largest(count: int, fits: Callable[[int], bool]) -> int:
    """The largest number up to `count` for which `fits` holds; -1 when not even 0 does.

    Args:
        count: Upper end.
        fits: Holds for every number below one for which it holds.
    """
    sizes = _sizes(count)
    try:
        size = next(sizes)
        while True:
            size = sizes.send(fits(size))
    except StopIteration as found:
        return int(found.value)


def _sizes(count: int) -> Generator[int, bool, int]:
    """Numbers up to `count` to try; each is answered by whether it fits.

    By doubling first: however large the whole is, what is tried is near what fits.

    Returns:
        The largest that fits, -1 where none does.
    """
    least, most, step = -1, count, 1
    while least < most and step:
        size = min(least + step, most)
        if (yield size):
            least, step = size, 2 * step
        else:
            most, step = size - 1, 0
    while least < most:
        size = (least + most + 1) // 2
        if (yield size):
            least = size
        else:
            most = size - 1
    return least


def thinned(values: Sequence[T], count: int) -> list[T]:
    """`count` of the values, evenly spread."""
    if count >= len(values):
        return list(values)
    return [values[position * len(values) // count] for position in range(count)]
