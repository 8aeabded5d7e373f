"""`measure`: numbers for each shown node of a path, over the walks through it (`asking-2.md` 14).

Each different node or edge of the named step counts once, however many walks lead to it. For
`count`, `bfsql.engine.path.distinct` passes hubs without making pairs; the other functions make
the pairs of a shown node and a node or edge that has the property, within a bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache, partial
from itertools import chain
from typing import Any

import numpy as np

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.arrays import LongArray, at, places_of
from bfsql.engine.conditions import names_of
from bfsql.engine.facets import AnswerParts, known_properties, order_of_text, refuse_stripped
from bfsql.engine.path.answer import PathResult
from bfsql.engine.path.distinct import Pairs, Span, Stops
from bfsql.engine.properties import properties_of, value_bytes
from bfsql.engine.thresholds import MOST_PAIRS
from bfsql.errors import ToolError, bad_value
from bfsql.integers import IntArray, Ring
from bfsql.models import MeasureSummary, PathQuery
from bfsql.models.comparison import Number, number_of, scalars, shown_as, unordered_text
from bfsql.models.facet import EXACT, MEAN, Measure, Value
from bfsql.models.quotation import quoted
from bfsql.query.properties import measure
from bfsql.workers import off_loop

_SAFE = 2**62 // MOST_PAIRS
"""Integers below it are added without overflow, over as many pairs as there may be."""


async def measured(
    db: GraphDbInterface, result: PathResult, query: PathQuery, *, stripped: Collection[str] = ()
) -> PathResult:
    """The answer of a path with the measures of its query.

    Args:
        db: The graph; the named properties of the nodes or edges of a step are read.
        result: The answer, with the counts of its query.
        query: The query.
        stripped: Keys of edge metadata that traversals leave out.

    Raises:
        ToolError: A text is no measure, has no numbers to add, or there are too many pairs.
        NodesUncounted: The deadline passed while pairs were made.
        TimeoutError: The deadline passed while metadata was read.
    """
    parts, columns, facts = AnswerParts.of(result), [], []
    names = parts.names(await names_of(db))
    for text in query.measure:
        one = measure(text, names, len(query.path.steps))
        if one.of is None:
            columns.append(result.counts[one.step].tolist())
            continue
        refuse_stripped("measure", one.of, stripped)
        values = await _values(db, parts, one)
        known = await known_properties(db, parts, one.of, stripped) if not values.had else ()
        facts.append(values.summary(known))
        size = sum(map(len, result.walks.arcs))
        columns.append(await off_loop(size, partial(_over_walks, result, query, one, values)))
    selection = result.selection
    selection = replace(selection, facts=replace(selection.facts, measures=tuple(facts)))
    return replace(result, selection=selection, measures=tuple(columns))


@dataclass(frozen=True)
class _Values:
    """The values of the nodes or edges that have a property."""

    measure: Measure
    stops: IntArray | Ring
    """The nodes or edges."""
    numbers: list[list[Number]]
    """The numbers of each."""
    texts: list[list[str]]
    """The texts of each."""

    @property
    def had(self) -> int:
        """The number of nodes or edges that have the property."""
        return len(self.numbers)

    def summary(self, known: Sequence[str]) -> MeasureSummary:
        """The facts that notes report; `known` are properties that there are."""
        texts = list(chain.from_iterable(self.texts))
        adds = self.measure.function in ("sum", "mean")
        only_texts = bool(texts) and not any(self.numbers)
        if adds and only_texts:
            raise bad_value(
                f"measure: {quoted(self.measure.text)} adds numbers, and there is only text, such "
                f'as {quoted(min(texts))}. min and max take text, and "count STEP" counts nodes.',
                "measure",
            )
        return MeasureSummary(
            self.measure.text,
            self.had,
            len(texts) if any(self.numbers) else 0,
            unordered_text(Counter(texts)) if only_texts else None,
            tuple(known),
        )

    def ranks(self) -> tuple[LongArray, list[Value]]:
        """For each of them the rank of its first value in the order of `min` or `max`, and those.

        Numbers come before texts, whatever the order.
        """
        first, descending = (max, True) if self.measure.function == "max" else (min, False)
        firsts: list[int | float | str | None] = [
            first(number.value for number in numbers)
            if numbers
            else first(texts, key=order_of_text, default=None)
            for numbers, texts in zip(self.numbers, self.texts, strict=True)
        ]
        numbers = {value for value in firsts if isinstance(value, int | float)}
        words = {value for value in firsts if isinstance(value, str)}
        ordered: list[Value] = [
            *sorted(numbers, reverse=descending),
            *sorted(words, key=order_of_text, reverse=descending),
            None,
        ]
        rank = {value: place for place, value in enumerate(ordered)}
        return np.array([rank[value] for value in firsts], np.int64), ordered

    def sums(self) -> tuple[Any, LongArray, int]:
        """For each of them the sum of its numbers as an integer, their count, and the exponent."""
        sums = []
        for numbers in self.numbers:
            total = Decimal(0)
            for number in numbers:
                total = EXACT.add(total, number.decimal)
            sums.append(total)
        exponent = min((_exponent(one) for one in sums), default=0)
        scaled = [int(EXACT.scaleb(one, -exponent)) for one in sums]
        small = all(abs(one) < _SAFE for one in scaled)
        counts = np.array([len(numbers) for numbers in self.numbers], np.int64)
        return np.array(scaled, np.int64 if small else object), counts, exponent


def _exponent(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    return min(exponent, 0) if isinstance(exponent, int) else 0


async def _values(db: GraphDbInterface, parts: AnswerParts, one: Measure) -> _Values:
    """The values of a measure's property."""
    assert one.of is not None
    things, key = parts.scope(one.of, ending=True), one.of.key
    had: list[int] = []
    numbers: list[list[Number]] = []
    texts: list[list[str]] = []
    # Equal values share their number: making and freeing one for each of 300,000 nodes takes 1 s.
    number = lru_cache(4_096, typed=True)(number_of)

    def add(part: slice, values: list[Any]) -> None:
        for place, value in enumerate(values, part.start):
            if value is None:
                continue
            had.append(place)
            found = [(number(scalar), scalar) for scalar in scalars(value)]
            numbers.append([one for one, _ in found if one is not None])
            texts.append([shown_as(scalar) for one, scalar in found if one is None])

    async with aclosing(properties_of(db, parts.columns, things, {key})) as batches:
        async for part, metadata in batches:
            values = [known.get(key) for known in metadata]
            call.hold(value_bytes(values))
            await off_loop(len(values), partial(add, part, values))
    places = np.array(had, np.intp)
    stops = at(things, places) if isinstance(things, Ring) else things[places]
    return _Values(one, stops, numbers, texts)


def _over_walks(result: PathResult, query: PathQuery, one: Measure, values: _Values) -> list[Value]:
    """The measure of each shown node."""
    pairs = _pairs(result, query.shown_step, one, values)
    count = len(result.shown)
    if one.function in ("min", "max"):
        ranks, ordered = values.ranks()
        best = np.full(count, len(ordered) - 1, np.int64)
        for shown, others in pairs:
            np.minimum.at(best, shown, ranks[others])
        return [ordered[rank] for rank in best.tolist()]
    sums, counts, exponent = values.sums()
    total, numbers = np.zeros(count, sums.dtype), np.zeros(count, np.int64)
    for shown, others in pairs:
        np.add.at(total, shown, sums[others])
        np.add.at(numbers, shown, counts[others])
    return [
        _of_sum(one, EXACT.scaleb(Decimal(scaled), exponent), number)
        for scaled, number in zip(total.tolist(), numbers.tolist(), strict=True)
    ]


def _of_sum(one: Measure, total: Decimal, numbers: int) -> Value:
    if not numbers:
        return None
    return total if one.function == "sum" else MEAN.divide(total, Decimal(numbers))


def _pairs(result: PathResult, step: int, one: Measure, values: _Values) -> Iterator[Pairs]:
    """The places of shown nodes and those of the nodes or edges with the property on their walks.

    Raises:
        ToolError: There are too many.
    """
    walks, stops = result.walks, values.stops
    of_edges = isinstance(stops, Ring)
    if isinstance(stops, Ring):
        others, before = Stops.at_edges(walks, one.step, stops), one.step <= step
    elif one.step == step:
        places = places_of(stops, result.shown, walks.columns.size)
        rows = np.flatnonzero(places >= 0)
        yield rows, places[rows].astype(np.int64)
        return
    else:
        others, before = Stops.at_nodes(walks, one.step, stops), one.step < step
    shown = Stops.at_nodes(walks, step, result.shown)
    made = 0
    for early, late in Span(walks, *((others, shown) if before else (shown, others))).pairs():
        made += len(early)
        if made > MOST_PAIRS:
            raise ToolError(
                f"measure: {quoted(one.text)} has more than {MOST_PAIRS:,} pairs of a shown node "
                f"and {'an edge' if of_edges else 'a node'} of step {one.step}. Name fewer seeds, "
                "or narrow the steps between; paths, which every shown node has, counts the walks.",
                kind="too_large",
                argument="measure",
            )
        yield (late, early) if before else (early, late)
