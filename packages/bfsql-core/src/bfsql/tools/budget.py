"""Fitting an answer into its budget of tokens and bytes (`protocol.md` 14, 21).

An answer that is too large loses its least valuable parts first: metadata of
edges from the last to the first, then of nodes from the last to the first, then
nodes from the end of the page. The rest is always a prefix, and the longest
prefix that fits is found by doubling, then halving. If the call names `fields`, nodes go
first, and metadata only if not even one node with its fields fits. Every size that is
tried is the answer that would be sent, notes included.

If limits are ceilings, a call gets no more than the server's budget, and a note reports
that it requested more. Records are then held to the budget, too (`for_records`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from math import inf, isfinite
from typing import TypeVar

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.answers import Draft, SubgraphWriter, encode
from bfsql.answers.clean import clean_metadata
from bfsql.answers.notes import TOKEN_BUDGET, SizeBound
from bfsql.call import Estimator, Limits
from bfsql.engine.pages import (
    Pages,
    Result,
    trimmed,
    with_absent_fields,
    with_edge_metadata,
    with_metadata,
    with_metadata_of,
    with_node_metadata,
    without_edge_metadata,
)
from bfsql.errors import NothingFits, ToolError
from bfsql.models import Metadata
from bfsql.models.facet import LEAST_VALUES, with_fewer_values
from bfsql.workers import off_loop

T = TypeVar("T")

TRIED_WHOLE = 1_000
"""Largest number of nodes of a page that is written whole before a shorter one is tried.

Writing that of a hub in vain is expensive: with 60,000 neighbours, a call takes 0.76 s, not 0.18.
"""
_RECORD_TOKENS, _RECORD_BYTES = 100, 300
"""Room for the metadata of a record; if that of all fits, nodes and edges are read together."""

_CEILING = SizeBound(cure="")


@dataclass(frozen=True, slots=True)
class Budget:
    """The numbers of tokens and bytes that an answer may have, and how tokens are counted."""

    tokens: int
    """Number of tokens; 0 for no budget."""
    estimator: Estimator
    most_bytes: int = 0
    """Number of bytes; 0 for no bound."""
    requested: int | None = None
    """The tokens requested by the call, if they exceed what the server grants."""
    bound: SizeBound = TOKEN_BUDGET
    """The bound that cuts an answer that is too large, for sentences."""

    @classmethod
    def of(cls, limits: Limits, max_tokens: int | None = None) -> Budget:
        """The budget of a call: the requested one, or else the server's.

        Args:
            limits: The limits of the server; ceilings also apply to requested budgets.
            max_tokens: The requested budget, 0 for none; None if the call requests nothing.
        """
        most = limits.max_tokens
        requested = most if max_tokens is None else max_tokens
        if not limits.ceilings or not most or 0 < requested < most:
            return cls._bounded(limits, requested, TOKEN_BUDGET)
        return cls._bounded(limits, most, _CEILING, None if requested == most else requested)

    @classmethod
    def for_records(cls, limits: Limits) -> Budget:
        """The budget of the records of single entities, which come whole without ceilings."""
        return cls._bounded(limits, limits.max_tokens if limits.ceilings else 0, _CEILING)

    @classmethod
    def _bounded(
        cls, limits: Limits, tokens: int, by_tokens: SizeBound, requested: int | None = None
    ) -> Budget:
        """A budget with the bound that is met first, assuming three bytes per token."""
        most_bytes, bound = limits.max_answer_bytes or 0, by_tokens
        if most_bytes and not 0 < 3 * tokens <= most_bytes:
            bound = SizeBound(f"this server's limit of {most_bytes:,} bytes", cure="")
        return cls(tokens, limits.estimator, most_bytes, requested, bound)

    def ceiling_notes(self, *, paged: bool) -> Iterator[str]:
        """A note that the call requested more than the server grants, if it did."""
        if self.requested is None:
            return
        pages = "ask in pages (limit, offset), or " if paged else "ask "
        no_bound = "" if self.requested else " (no bound)"
        yield (
            f"max_tokens: reduced to {self.tokens}, the maximum of this server, from "
            f"{self.requested}{no_bound}. To see more, {pages}for less of each record (fields, "
            "topology_only)."
        )

    @property
    def is_bounded(self) -> bool:
        """Whether there is a budget at all."""
        return self.tokens > 0 or self.most_bytes > 0

    def holds(self, text: bytes) -> bool:
        """Whether a text fits the budget."""
        return self.share(text) <= 1

    def share(self, text: bytes) -> float:
        """How much of the budget a text takes; it fits up to 1."""
        return self._share(len(text), lambda: self.estimator(text))

    def share_of(self, draft: Draft) -> float:
        """The same of an answer, which is only written if there is a budget."""
        return self.share(draft.text) if self.is_bounded else 0.0

    def refuses(self, size: int) -> bool:
        """Whether `size` bytes exceed the budget, if a token has 32 bytes or fewer on average."""
        return self._share(size, lambda: size / 32) > 1

    def _share(self, size: int, tokens: Callable[[], float]) -> float:
        of_bytes = size / self.most_bytes if self.most_bytes > 0 else 0.0
        if of_bytes > 1:
            call.cut_by("bytes")
            return of_bytes
        of_tokens = tokens() / self.tokens if self.tokens > 0 else 0.0
        if of_tokens > 1:
            call.cut_by("tokens")
        return max(of_bytes, of_tokens)

    def leaves_room(self, records: int) -> bool:
        """Whether the metadata of `records` records should fit."""
        if self.tokens:
            return records * _RECORD_TOKENS <= self.tokens
        return not self.most_bytes or records * _RECORD_BYTES <= self.most_bytes

    def longest(self, count: int, text_of: Callable[[int], bytes]) -> int:
        """The number of leading parts, of `count` parts, that fit; at least 0."""
        if not self.is_bounded or self.holds(text_of(count)):
            return count
        return max(0, largest(count - 1, lambda n: self.share(text_of(n))))


async def fit(pages: Pages, writer: SubgraphWriter, budget: Budget) -> Draft:
    """The longest page of stubs that fits, before any metadata is read.

    If not all nodes fit, the facets of the answer lose values before it loses nodes.

    Raises:
        NothingFits: Not even the smallest useful number of nodes fits.
    """
    facets = pages.facets
    longest = max((len(one.common) for one in facets.values()), default=0)
    if longest <= LEAST_VALUES:
        return await _longest_page(pages, writer, budget)
    with suppress(NothingFits):
        whole = await _longest_page(pages, writer, budget)
        if not whole.result.facts.cut_nodes:
            return whole
    pages.facets = with_fewer_values(facets, LEAST_VALUES)
    page = await _longest_page(pages, writer, budget)
    if page.result.facts.cut_nodes:
        return page

    def more(count: int) -> Draft:
        fewer = with_fewer_values(facets, LEAST_VALUES + count)
        return Draft(writer, replace(page.result, facets=fewer))

    return _longest(budget, longest - LEAST_VALUES - 1, more) or page


async def _longest_page(pages: Pages, writer: SubgraphWriter, budget: Budget) -> Draft:
    """The longest page of stubs that fits, with the facets of the pages."""
    most = pages.wanted
    may_fit = not budget.refuses(await pages.least_bytes(most))
    if may_fit and (most <= TRIED_WHOLE or not budget.is_bounded):
        whole = Draft(writer, await pages.of(most))
        if await _share(budget, whole) <= 1:
            return whole
        most -= 1
    return await _cut(pages, writer, budget, most)


async def detail(db: GraphDbInterface, pages: Pages, stubs: Draft, budget: Budget) -> Draft:
    """The page with as much metadata as time and room allow, nearest first.

    If the page was cut, or no metadata is wanted, none is read. Edge metadata is not read if the
    node metadata does not fit. With `fields`, or for a few records, for which there should be room,
    both are read concurrently.

    Raises:
        NothingFits: There is not even room for the note that metadata is missing.
    """
    writer, result, fields = stubs.writer, stubs.result, pages.query.fields
    records, cut = sum(map(len, pages.wanted_in_full(result.page))), result.facts.cut_nodes
    if not records or (cut and not fields):
        return stubs
    if cut:
        result = replace(result, facts=replace(result.facts, bare_nodes=0, bare_edges=0))
    has_room = budget.leaves_room(records)
    if has_room or fields:
        result = await with_metadata(db, pages, result, writer.stripped)
    else:
        result = await with_node_metadata(db, pages, result)
        if await _share(budget, Draft(writer, result)) <= 1:
            result = await with_edge_metadata(db, pages, result, writer.stripped)
        else:
            result = without_edge_metadata(pages, result)
    result = with_absent_fields(pages, result, writer.stripped)
    whole = Draft(writer, result)
    if await _share(budget, whole) <= 1:
        return whole
    if fields:
        facets = pages.facets
        with suppress(NothingFits):
            return await _fewer_with_fields(pages, whole, budget)
        pages.facets = facets
        if cut:
            return stubs
        facts = replace(stubs.result.facts, late=result.facts.late)
        of_nodes = replace(result, page=replace(result.page, edge_metadata={}), facts=facts)
        if not (has_room or await _share(budget, Draft(writer, of_nodes)) <= 1):
            result = without_edge_metadata(pages, of_nodes)
            result = with_absent_fields(pages, result, writer.stripped)
    return await _fewer_metadata(pages, writer, budget, result)


async def _fewer_metadata(
    pages: Pages, writer: SubgraphWriter, budget: Budget, result: Result
) -> Draft:
    """The page with the metadata of the first nodes and edges; if none fits, a shorter page."""
    nodes, edges = len(result.page.node_metadata), len(result.page.edge_metadata)
    size = nodes + edges + call.held_values()

    def trim(result: Result) -> Draft | None:
        return _longest(
            budget, edges - 1, lambda n: Draft(writer, trimmed(result, nodes, n))
        ) or _longest(budget, nodes - 1, lambda n: Draft(writer, trimmed(result, n, 0)))

    fitted = await off_loop(size, lambda: trim(result))
    if fitted is None and result.facets:
        pages.facets = with_fewer_values(result.facets, LEAST_VALUES)
        fewer = replace(result, facets=pages.facets)
        fitted = await off_loop(size, lambda: trim(fewer))
    return fitted or await _cut(pages, writer, budget, pages.wanted - 1)


async def _fewer_with_fields(pages: Pages, whole: Draft, budget: Budget) -> Draft:
    """The longest beginning of a page on which every record has its `fields`.

    Raises:
        NothingFits: The fields of not even one node fit.
    """
    full = whole.result
    pages.facets = with_fewer_values(full.facets, LEAST_VALUES)
    shown = pages.wanted - full.facts.cut_nodes
    draft = await _cut(pages, whole.writer, budget, shown, partial(with_metadata_of, full))
    if draft.result.facts.cut_nodes == pages.wanted:
        raise NothingFits
    return draft


async def _share(budget: Budget, draft: Draft) -> float:
    """How much of a budget an answer takes; a large answer is written in a thread."""
    page = draft.result.page
    size = len(page.ids) + len(page.triples)
    if page.node_metadata or page.edge_metadata:
        size += call.held_values()
    return await off_loop(size, lambda: budget.share_of(draft))


async def _cut(
    pages: Pages,
    writer: SubgraphWriter,
    budget: Budget,
    most: int,
    completed: Callable[[Result], Result] = lambda result: result,
) -> Draft:
    """The longest page that fits, with at most `most` nodes: stubs that `completed` may fill."""
    longest: Draft | None = None
    sizes = _sizes(most, coarse=not budget.tokens)
    size = next(sizes, None)
    try:
        while size is not None:
            share = inf
            if not budget.refuses(await pages.least_bytes(size)):
                draft = Draft(writer, completed(await pages.of(size)))
                share = await _share(budget, draft)
                longest = draft if share <= 1 else longest
            size = sizes.send(share)
    except StopIteration as end:
        if longest is not None and end.value >= pages.least:
            return longest
    raise NothingFits


def _longest(budget: Budget, count: int, draft_of: Callable[[int], Draft]) -> Draft | None:
    """The draft of the largest size up to `count` that fits, or None."""
    size = largest(count, lambda n: budget.share_of(draft_of(n)), coarse=not budget.tokens)
    return draft_of(size) if size >= 0 else None


def largest(count: int, share_of: Callable[[int], float], *, coarse: bool = False) -> int:
    """The largest number up to `count` whose share of a budget is at most 1; -1 without any.

    Args:
        count: The largest number to try.
        share_of: The share of a number, which is at most 1 for every number below one of which it
            is.
        coarse: Whether a somewhat smaller number is acceptable, as for large answers.
    """
    sizes = _sizes(count, coarse=coarse)
    try:
        size = next(sizes)
        while True:
            call.check(late=True)
            size = sizes.send(share_of(size))
    except StopIteration as end:
        return int(end.value)


def _sizes(count: int, *, coarse: bool) -> Generator[int, float, int]:
    """Yield numbers up to `count` to try; the caller sends back the share of each.

    Numbers grow by a few times first, so that those tried stay near those that fit. The next one is
    where a line through two shares meets 1, since an answer has about as many bytes for each node;
    or halfway, if such a number was far off.

    Returns:
        The largest number that fits or, with `coarse`, one that is smaller by at most a
        sixteenth; -1 if none fits.
    """
    low, high, line, halve = -1, count + 1, list[tuple[int, float]](), coarse
    while low + (max(low, 0) // 16 if coarse and high <= count else 0) < high - 1:
        gap, grows = high - low, high > count
        size = (2 if coarse else 8) * (low + 1) if grows else (low + high) // 2
        if not halve and len(line) > 1:
            (x, of_x), (y, of_y) = line[-2:]
            if of_x != of_y:
                meets = x + int((1 - of_x) * (y - x) / (of_y - of_x))
                size = min(size, meets) if grows else meets
        size = min(max(size, low + 1), high - 1)
        share = yield size
        low, high = (size, high) if share <= 1 else (low, size)
        if isfinite(share):
            line.append((size, share))
        halve = coarse or not (grows or halve or 2 * (high - low) <= gap)
    return low


def without_large_values(
    metadata: Metadata, budget: Budget, text_of: Callable[[Metadata], bytes]
) -> Metadata:
    """Metadata with as few of its largest values removed as the budget allows.

    `text_of` writes the record with part of its metadata, as it would be sent.
    """
    if budget.holds(text_of(metadata)):
        return metadata
    sizes = {
        key: len(encode(clean_metadata({key: metadata[key]})))
        for key in call.checked(metadata, late=True)
    }
    ascending = sorted(metadata, key=lambda key: (sizes[key], key))

    def smallest(count: int) -> Metadata:
        kept = frozenset(ascending[:count])
        return {key: value for key, value in metadata.items() if key in kept}

    return smallest(budget.longest(len(ascending), lambda n: text_of(smallest(n))))


def refuse_if_too_large(limits: Limits, what: str, size: int) -> None:
    """Refuse an answer of `size` bytes to the call `what`, if it could not be made small enough.

    Raises:
        ToolError: The answer has more bytes than the bound.
    """
    if limits.max_answer_bytes is not None and size > limits.max_answer_bytes:
        raise ToolError(
            f"{what}: the answer would have {size:,} bytes, which is more than this server's limit "
            f"of {limits.max_answer_bytes:,}. Ask for less: fewer ids, some keys or predicates "
            "alone, or smaller pages (limit).",
            kind="too_large",
        )
