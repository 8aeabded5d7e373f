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

    def keeps(self, draft: Draft) -> bool:
        """Whether the answer fits the budget; it is only written if there is a budget."""
        return not self.is_bounded or self.holds(draft.text)

    def holds(self, text: bytes) -> bool:
        """Whether a text fits the budget."""
        return self._within(len(text), lambda: self.estimator(text) <= self.tokens)

    def refuses(self, size: int) -> bool:
        """Whether `size` bytes exceed the budget, if a token has 32 bytes or fewer on average."""
        return not self._within(size, lambda: size <= 32 * self.tokens)

    def _within(self, size: int, in_tokens: Callable[[], bool]) -> bool:
        if 0 < self.most_bytes < size:
            call.cut_by("bytes")
            return False
        if self.tokens > 0 and not in_tokens():
            call.cut_by("tokens")
            return False
        return True

    def leaves_room(self, records: int) -> bool:
        """Whether the metadata of `records` records should fit."""
        if self.tokens:
            return records * _RECORD_TOKENS <= self.tokens
        return not self.most_bytes or records * _RECORD_BYTES <= self.most_bytes

    def longest(self, count: int, text_of: Callable[[int], bytes]) -> int:
        """The number of leading parts, of `count` parts, that fit; at least 0."""
        if not self.is_bounded or self.holds(text_of(count)):
            return count
        return max(0, largest(count - 1, lambda n: self.holds(text_of(n))))


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
        if await _keeps(budget, whole):
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
        if await _keeps(budget, Draft(writer, result)):
            result = await with_edge_metadata(db, pages, result, writer.stripped)
        else:
            result = without_edge_metadata(pages, result)
    result = with_absent_fields(pages, result, writer.stripped)
    whole = Draft(writer, result)
    if await _keeps(budget, whole):
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
        if not (has_room or await _keeps(budget, Draft(writer, of_nodes))):
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


async def _keeps(budget: Budget, draft: Draft) -> bool:
    """Whether an answer fits a budget; a large answer is written in a thread."""
    page = draft.result.page
    size = len(page.ids) + len(page.triples)
    if page.node_metadata or page.edge_metadata:
        size += call.held_values()
    return await off_loop(size, lambda: budget.keeps(draft))


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
            fits = not budget.refuses(await pages.least_bytes(size))
            if fits:
                draft = Draft(writer, completed(await pages.of(size)))
                fits = await _keeps(budget, draft)
                longest = draft if fits else longest
            size = sizes.send(fits)
    except StopIteration as end:
        if longest is not None and end.value >= pages.least:
            return longest
    raise NothingFits


def _longest(budget: Budget, count: int, draft_of: Callable[[int], Draft]) -> Draft | None:
    """The draft of the largest size up to `count` that fits, or None."""
    size = largest(count, lambda n: budget.keeps(draft_of(n)), coarse=not budget.tokens)
    return draft_of(size) if size >= 0 else None


def largest(count: int, fits: Callable[[int], bool], *, coarse: bool = False) -> int:
    """The largest number up to `count` for which `fits` holds; -1 if it does not hold even for 0.

    Args:
        count: The largest number to try.
        fits: A predicate that holds for every number below one for which it holds.
        coarse: Whether a somewhat smaller number is acceptable, as for large answers.
    """
    sizes = _sizes(count, coarse=coarse)
    try:
        size = next(sizes)
        while True:
            call.check(late=True)
            size = sizes.send(fits(size))
    except StopIteration as end:
        return int(end.value)


def _sizes(count: int, *, coarse: bool) -> Generator[int, bool, int]:
    """Yield numbers up to `count` to try; the caller sends back whether each one fits.

    Numbers are doubled first, so that those tried stay near those that fit.

    Returns:
        The largest number that fits or, with `coarse`, one that is smaller by at most a
        sixteenth; -1 if none fits.
    """
    least, most, step = -1, count, 1
    while least < most and step:
        size = min(least + step, most)
        if (yield size):
            least, step = size, 2 * step
        else:
            most, step = size - 1, 0
    while least + (max(least, 0) // 16 if coarse else 0) < most:
        size = (least + most + 1) // 2
        if (yield size):
            least = size
        else:
            most = size - 1
    return least


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
