"""`measure`: numbers for each shown node of a path, over the walks through it (`protocol.md` 37).

Each different node or edge of the named step counts once, however many walks lead to it. All
functions but `count` make the pairs of a shown node and a node or edge that has the property,
within a bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.arrays import NO_HANDLES, LongArray, at, distinct_numbers, places_of
from bfsql.engine.arcs import Pairs
from bfsql.engine.conditions import names_of
from bfsql.engine.expressions import Evaluation, PartValues
from bfsql.engine.facets import known_properties, order_of_text, refuse_stripped
from bfsql.engine.order_statistics import best, medians
from bfsql.engine.properties import Values, property_columns
from bfsql.engine.step_pairs import WalkSegment, Waypoints, different_nodes
from bfsql.engine.step_values import StepTests, StepValues
from bfsql.engine.table import AnswerTable, Numbers, count_of, plain_values
from bfsql.engine.thresholds import MOST_PAIRS
from bfsql.engine.walks import Walks, paired
from bfsql.errors import ToolError, bad_value
from bfsql.integers import IntArray, Ring
from bfsql.models import MeasureSummary, PathQuery, PropertyCondition, StepComparison
from bfsql.models.comparison import Number, number_of, shown_as, unordered_text
from bfsql.models.condition import ScopedProperty
from bfsql.models.expression import Computed
from bfsql.models.facet import BEST, EXACT, MEAN, Best, Function, Measure, MeasureValue, Value
from bfsql.models.quotation import quoted
from bfsql.query.properties import MEASURE, computed_fields, measures
from bfsql.workers import off_loop

# --- measures -------------------------------------------------------------------


_SAFE = 2**62 // MOST_PAIRS
"""Integers below it are added without overflow, over as many pairs as there may be."""


async def measured(
    db: GraphDbInterface,
    table: AnswerTable,
    query: PathQuery,
    *,
    most: int,
    stripped: Collection[str] = (),
) -> AnswerTable:
    """The answer of a path with the measures of its query.

    Args:
        db: The graph; the named properties of the nodes or edges of a step are read.
        table: The answer, with the counts of its query.
        query: The query.
        most: The largest number of pairs of an arc and a node, for measures over two steps.
        stripped: Keys of edge metadata that traversals leave out.

    Raises:
        ToolError: A text is no measure, has no numbers to add, or there are too many pairs.
        NodesUncounted: The deadline passed while pairs were made.
        TimeoutError: The deadline passed while metadata was read.
    """
    names = table.names(await names_of(db, query.measure, computed_fields(query.fields)))
    reader = MeasureReader(db, table, query, most, stripped)
    numbers, every = dict(table.numbers), measures(query.measure, names, len(query.path.steps))
    for one in every:
        numbers[one.label] = await reader.numbers(one, numbers)
    numbers[MEASURE] = numbers[every[0].label]
    gaps = replace(table.facts, measures=tuple(reader.facts))
    return replace(table, numbers=numbers, facts=gaps)


@dataclass(frozen=True)
class _Values:
    """The values of the nodes or edges that have a property."""

    measure: Measure
    walks: Walks
    """The walks, or those in a graph of pairs."""
    stops: IntArray | Waypoints
    """The nodes of the shown step, or where walks pass the nodes, edges or pairs."""
    value_of: IntArray
    """For each of them, the number of its value."""
    numbers: list[list[Number]]
    """By number of a value: the numbers in it."""
    texts: list[list[str]]
    """The texts in it."""
    nodes: IntArray
    """For each of them, the node that it is or leads to, in the order of ids, if any are named."""

    def summary(self, known: Sequence[str]) -> MeasureSummary:
        """The facts that notes report; `known` are properties that there are."""
        counts = np.bincount(self.value_of, minlength=len(self.texts)).tolist()
        texts = Counter[str]()
        for found, count in zip(self.texts, counts, strict=True):
            for text in call.checked(found):
                texts[text] += count
        adds = self.measure.function in ("sum", "mean", "median")
        only_texts = bool(texts) and not any(self.numbers)
        if adds and only_texts:
            raise bad_value(
                f"measure: {quoted(self.measure.text)} adds numbers, and there is only text, such "
                f'as {quoted(min(texts))}. min and max take text, and "count STEP" counts nodes.',
                "measure",
            )
        return MeasureSummary(
            self.measure.text,
            len(self.value_of),
            texts.total() if any(self.numbers) else 0,
            unordered_text(texts) if only_texts else None,
            tuple(known),
            by_text=only_texts and self.measure.function in BEST,
        )

    def ranks(self) -> tuple[LongArray, list[Value]]:
        """For each stop the rank of its first value in the order of `min` or `max`, and those.

        Numbers come before texts, whatever the order.
        """
        is_least = self.measure.function in ("min", "argmin")
        first, descending = (min, False) if is_least else (max, True)
        firsts: list[int | float | str | None] = [
            first(number.value for number in call.checked(numbers))
            if numbers
            else first(call.checked(texts), key=order_of_text, default=None)
            for numbers, texts in call.checked(zip(self.numbers, self.texts, strict=True))
        ]
        numbers = {value for value in firsts if isinstance(value, int | float)}
        words = {value for value in firsts if isinstance(value, str)}
        ordered: list[Value] = [
            *sorted(numbers, reverse=descending),
            *sorted(call.checked(words), key=order_of_text, reverse=descending),
            None,
        ]
        rank = {value: place for place, value in enumerate(ordered)}
        return np.array([rank[value] for value in firsts], np.int64)[self.value_of], ordered

    def sums(self) -> tuple[Any, LongArray, int]:
        """For each stop the sum of its numbers as an integer, their count, and the exponent."""
        sums = []
        for numbers in call.checked(self.numbers):
            total = Decimal(0)
            for number in call.checked(numbers):
                total = EXACT.add(total, number.decimal)
            sums.append(total)
        exponent = min((_exponent(one) for one in sums), default=0)
        scaled = [int(EXACT.scaleb(one, -exponent)) for one in call.checked(sums)]
        small = all(abs(one) < _SAFE for one in scaled)
        counts = np.array([len(numbers) for numbers in self.numbers], np.int64)
        of_value = np.array(scaled, np.int64 if small else object)
        return of_value[self.value_of], counts[self.value_of], exponent


def _exponent(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    return min(exponent, 0) if isinstance(exponent, int) else 0


class MeasureReader:
    """Reads what the measures of an answer need; arguments and errors are those of `measured`.

    Attributes:
        facts: What notes report of the measures so far.
    """

    def __init__(
        self,
        db: GraphDbInterface,
        table: AnswerTable,
        query: PathQuery,
        most: int,
        stripped: Collection[str],
    ) -> None:
        assert table.walks is not None
        self._db, self._table, self._walks = db, table, table.walks
        self._query, self._shown = query, query.shown_step
        self._most, self._stripped = most, stripped
        self.facts: list[MeasureSummary] = []

    async def numbers(self, one: Measure, known: Mapping[str, Numbers]) -> Numbers:
        """The measure of each shown node; `known` are those before it, by their labels."""
        if one.function == "computed":
            assert one.expression is not None
            count = len(self._table.listed)
            of_each = Evaluation(count, lambda part: PartValues(plain_values(known[part.key])))
            return list(of_each.values(one.expression.tree))
        if one.function == "count":
            return await self._count(one) if one.conditions else known[count_of(one.step)]
        values = await self._values(one)
        near: Sequence[str] = ()
        if one.of is not None and not len(values.value_of):
            near = await known_properties(self._db, self._table, one.of, self._stripped)
        size = self._table.size + call.held_items()
        self.facts.append(await off_loop(size, partial(values.summary, near)))
        over_walks = partial(_over_walks, self._table, self._shown, one, values)
        cells = await off_loop(size, over_walks)
        cut = sum(isinstance(cell, Best) and cell.cut for cell in cells)
        self.facts[-1] = replace(self.facts[-1], cut=cut)
        return cells

    async def _count(self, one: Measure) -> LongArray:
        """For each shown node, the number of nodes of a step that meet conditions."""
        walks, table = self._walks, self._table
        compared = [each for each in one.conditions if isinstance(each, StepComparison)]
        conditions = [each for each in one.conditions if isinstance(each, PropertyCondition)]
        walks = await StepTests(self._db, self._stripped).meeting(walks, compared, self._most)
        nodes = await off_loop(table.size, partial(walks.nodes_of, one.step))
        keys = {condition.key for condition in conditions}
        columns = await property_columns(self._db, table.columns, nodes, keys)

        def counts() -> LongArray:
            met = np.ones(len(nodes), bool)
            for condition in conditions:
                column = columns[condition.key]
                met &= column.values.meeting(condition)[column.numbers]
            return different_nodes(walks, self._shown, table.listed, one.step, nodes[met])

        return await off_loop(table.size, counts)

    async def _values(self, one: Measure) -> _Values:
        """The values of a measure's property or expression."""
        if one.expression is not None:
            return await self._pair_values(one, one.expression)
        assert one.of is not None
        refuse_stripped("measure", one.of, self._stripped)
        walks, columns = self._walks, self._table.columns
        things = self._table.scope(one.of, ending=True)
        nodes: IntArray = np.empty(0, np.int32)
        if one.function in BEST:
            ends = _nodes(self._query, one, things)
            nodes = await columns.ordered(distinct_numbers(ends))
            order = np.argsort(places_of(nodes, ends, columns.size), kind="stable")
            nodes, things = ends[order], at(things, order) if isinstance(things, Ring) else nodes
        column = (await property_columns(self._db, columns, things, {one.of.key}))[one.of.key]

        def values() -> _Values:
            places = np.flatnonzero(column.numbers)
            stops: IntArray | Waypoints
            if isinstance(things, Ring):
                stops = Waypoints.at_edges(walks, one.step, at(things, places))
            elif one.step == self._shown:
                stops = things[places]
            else:
                stops = Waypoints.at_nodes(walks, one.step, things[places])
            of_stops = nodes[places] if len(nodes) else nodes
            known = _read(column.values)
            return _Values(one, walks, stops, column.numbers[places], *known, of_stops)

        return await off_loop(len(column.numbers) + call.held_items(), values)

    async def _pair_values(self, one: Measure, expression: Computed) -> _Values:
        """The values of an expression over two steps, or over a step and its edges."""
        for part in expression.parts:
            refuse_stripped(
                "measure",
                ScopedProperty(part.key, part.step, predicate=part.predicate),
                self._stripped,
            )
        walks, most = self._walks, self._most
        steps = {part.step for part in expression.parts if part.step is not None}
        of_edges = {part.step for part in expression.parts if part.predicate is not None}
        common = min(steps - of_edges or steps)
        other = max(steps - {common}, default=common)
        if len(of_edges) > 1:
            raise bad_value(
                f"measure: {quoted(one.text)} names the edges of two steps. Name one step, or its "
                "edges and their nodes.",
                "measure",
            )
        of_steps = await StepValues.of(self._db, walks, expression, common, self._stripped)

        def values() -> _Values:
            own = walks if other == common else paired(walks, common, {}, most)
            stops, pairs = Waypoints.at_all(own, other, edges=bool(of_edges))
            known = Values()
            parts = map(known.numbers, of_steps.of_stops(expression.tree, pairs))
            numbers = np.concatenate([NO_HANDLES, *parts])
            places = np.flatnonzero(numbers)
            return _Values(
                one, own, stops.chosen(places), numbers[places], *_read(known), NO_HANDLES
            )

        return await off_loop(self._table.size, values)


def _read(values: Values) -> tuple[list[list[Number]], list[list[str]]]:
    """By number of a value: the numbers and the texts in it."""
    numbers: list[list[Number]] = []
    texts: list[list[str]] = []
    for known in call.checked(values.scalars()):
        found = [(number_of(scalar), scalar) for scalar in call.checked(known)]
        numbers.append([number for number, _ in found if number is not None])
        texts.append([shown_as(scalar) for number, scalar in found if number is None])
    return numbers, texts


def _nodes(query: PathQuery, one: Measure, things: IntArray | Ring) -> IntArray:
    """The nodes that have the property, or the ends of its edges that are far from shown nodes."""
    if not isinstance(things, Ring):
        return things
    direction = query.path.steps[one.step - 1].direction
    if direction is None and one.step:
        raise bad_value(
            f"measure: {quoted(one.text)} names an end of edges that step {one.step} takes in both "
            'directions. Write its arrow: "-p->" or "<-p-".',
            "measure",
        )
    is_behind = query.shown_step < one.step
    return things.objects if is_behind == (direction == "out") else things.subjects


def _over_walks(
    table: AnswerTable, shown: int, one: Measure, values: _Values
) -> list[MeasureValue]:
    """The measure of each shown node."""
    pairs = _pairs(table, shown, one, values)
    with call.borrowed():
        return _FUNCTIONS[one.function](pairs, len(table.listed), values)


def _extremes(pairs: Iterator[Pairs], count: int, values: _Values) -> list[MeasureValue]:
    ranks, ordered = values.ranks()
    best = np.full(count, len(ordered) - 1, np.int64)
    for shown, others in pairs:
        np.minimum.at(best, shown, ranks[others])
    return [ordered[rank] for rank in best.tolist()]


def _sums(pairs: Iterator[Pairs], count: int, values: _Values) -> list[MeasureValue]:
    sums, counts, exponent = values.sums()
    total, numbers = np.zeros(count, sums.dtype), np.zeros(count, np.int64)
    for nodes, others in pairs:
        np.add.at(total, nodes, sums[others])
        np.add.at(numbers, nodes, counts[others])
    return [
        _of_sum(values.measure, EXACT.scaleb(Decimal(scaled), exponent), number)
        for scaled, number in zip(total.tolist(), numbers.tolist(), strict=True)
    ]


def _of_sum(one: Measure, total: Decimal, numbers: int) -> Value:
    if not numbers:
        return None
    return total if one.function == "sum" else MEAN.divide(total, Decimal(numbers))


_FUNCTIONS: dict[Function, Callable[[Iterator[Pairs], int, _Values], list[MeasureValue]]] = {
    "min": _extremes,
    "max": _extremes,
    "sum": _sums,
    "mean": _sums,
    "median": lambda pairs, count, of: medians(pairs, count, of.numbers, of.value_of),
    **dict.fromkeys(BEST, lambda p, n, of: best(p, n, of.measure, of.ranks(), of.nodes)),
}
"""How the values that shown nodes reach become their measures."""


def _pairs(table: AnswerTable, step: int, one: Measure, values: _Values) -> Iterator[Pairs]:
    """The places of shown nodes and those of the nodes or edges with the property on their walks.

    Raises:
        ToolError: There are too many.
    """
    walks, nodes, others = values.walks, table.listed, values.stops
    if not isinstance(others, Waypoints):
        places = places_of(others, nodes, walks.columns.size)
        rows = np.flatnonzero(places >= 0)
        yield rows, places[rows].astype(np.int64)
        return
    of_edges = others.first < others.step
    before = others.step < step or (of_edges and others.step == step)
    shown = Waypoints.at_nodes(walks, step, nodes)
    made = 0
    for early, late in WalkSegment(
        walks, *((others, shown) if before else (shown, others))
    ).pairs():
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
