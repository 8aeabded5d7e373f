"""`measure`: numbers for each shown node of a path, over the walks through it (`protocol.md` 37).

Each different node or edge of the named step counts once, however many walks lead to it. To count
them, the walks are divided at a junction between the two steps. The pairs of the nodes on both
sides of a hub are too many to be made. Nodes that pass the same busy nodes of the junction share
what is found behind these, and pairs are made only through the other nodes of the junction. The
other functions make the pairs of a shown node and a node or edge that has the property, within a
bound.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from itertools import pairwise
from typing import Any, Self

import numpy as np

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.arrays import (
    NO_HANDLES,
    LongArray,
    at,
    concatenated,
    distinct_numbers,
    places_of,
    ranges,
    runs,
)
from bfsql.engine.arcs import Arcs, Junction, united
from bfsql.engine.conditions import names_of
from bfsql.engine.expressions import Evaluation, PartValues
from bfsql.engine.facets import known_properties, order_of_text, refuse_stripped
from bfsql.engine.order_statistics import Pairs, best, medians
from bfsql.engine.properties import Values, property_columns
from bfsql.engine.step_values import StepValues
from bfsql.engine.table import AnswerTable, Numbers, count_of, plain_values
from bfsql.engine.thresholds import BUSY, MOST_PAIRS, PAIR_BYTES, PAIRS
from bfsql.engine.walks import Stops, Walks, paired
from bfsql.errors import NodesUncounted, ToolError, bad_value
from bfsql.integers import BoolArray, IntArray, Ring
from bfsql.models import MeasureSummary, PathQuery
from bfsql.models.comparison import Number, number_of, shown_as, unordered_text
from bfsql.models.condition import ScopedProperty
from bfsql.models.expression import Computed
from bfsql.models.facet import BEST, EXACT, MEAN, Best, Function, Measure, MeasureValue, Value
from bfsql.models.quotation import quoted
from bfsql.query.properties import MEASURE, computed_fields, measures
from bfsql.workers import off_loop


@dataclass(frozen=True, slots=True)
class Waypoints:
    """Nodes or edges that walks pass at a step."""

    step: int
    first: int
    """The first step, from 0, that a walk takes at or after them; edges are taken by their own."""
    count: int
    """The number of nodes or edges."""
    places: dict[int, LongArray]
    """By layer: for each arc, the number of the node or edge; -1 for none.

    At step 0, these are the arcs by which walks leave the nodes.
    """

    @classmethod
    def at_nodes(cls, walks: Walks, step: int, nodes: IntArray) -> Self:
        """Nodes where walks leave a step; given by their handles, each once."""
        places = {}
        for n, reached, mask in walks.step_ends(step):
            places[n] = np.full(len(mask), -1, np.int64)
            places[n][mask] = places_of(nodes, reached, walks.size)
        return cls(step, step, len(nodes), places)

    @classmethod
    def at_edges(cls, walks: Walks, step: int, edges: Ring) -> Self:
        """Edges that a step takes, in any of its repetitions; each once."""
        layers = walks.layers_of(step)
        count = len(edges.subjects)
        order, new = runs(
            concatenated([edges, *(walks.ring(walks.arcs[n]) for n in layers)]), walks.size
        )
        # The order is stable, so each run of equal edges begins with the given one, if any.
        number = np.empty(len(order), np.int64)
        number[order] = np.repeat(order[new], np.diff(np.append(np.flatnonzero(new), len(order))))
        sizes = [count, *(len(walks.arcs[n]) for n in layers)]
        own = np.split(np.where(number < count, number, -1), np.cumsum(sizes)[:-1])[1:]
        return cls(step, step - 1, count, dict(zip(layers, own, strict=True)))

    @classmethod
    def at_all(cls, walks: Walks, step: int, *, edges: bool) -> tuple[Self, Stops]:
        """All nodes or edges of a step, in the graph of pairs if walks are taken in one.

        Args:
            walks: The walks.
            step: The step.
            edges: Whether an edge and the node it reaches count together.
        """
        if edges:
            layers = walks.layers_of(step)
            coded = concatenated([walks.arcs[n].coded for n in layers])
            order, new = runs(coded, walks.size)
            number = np.empty(len(order), np.int64)
            number[order] = np.cumsum(new) - 1
            arcs = Arcs.decoded(at(coded, order[new]))
            sizes = np.cumsum([len(walks.arcs[n]) for n in layers])[:-1]
            own = dict(zip(layers, np.split(number, sizes), strict=True))
            nodes = arcs.ends if step else arcs.origins
            return cls(step, step - 1, len(arcs), own), walks.stops(nodes, arcs)
        reached: dict[int, tuple[IntArray, BoolArray]] = {}
        for n, _, mask in walks.step_ends(step):
            one = walks.arcs[n]
            reached[n] = (one.ends if step else one.origins)[mask], mask
        nodes = distinct_numbers(np.concatenate([NO_HANDLES, *(of for of, _ in reached.values())]))
        places: dict[int, LongArray] = {}
        for n, (of, mask) in reached.items():
            places[n] = np.full(len(mask), -1, np.int64)
            places[n][mask] = np.searchsorted(nodes, of)
        return cls(step, step, len(nodes), places), walks.stops(nodes, None)

    def chosen(self, numbers: LongArray) -> Waypoints:
        """Some of them, by their numbers, which are ascending; they are numbered anew."""
        new = np.full(self.count + 1, -1, np.int64)
        new[numbers] = np.arange(len(numbers))
        places = {n: new[place] for n, place in self.places.items()}
        return Waypoints(self.step, self.first, len(numbers), places)

    def arrivals(self, start: int, stop: int) -> dict[int, Pairs]:
        """By layer: some of them, numbered from `start`, with the arcs by which walks pass them."""
        reached = {}
        for n, place in self.places.items():
            arcs = np.flatnonzero((place >= start) & (place < stop))
            reached[n] = place[arcs] - start, arcs
        return reached

    def ends(self, pairs: dict[int, Pairs]) -> Pairs:
        """Which of them sources reach, if they reach some arcs by layer."""
        parts = []
        for n, place in self.places.items():
            found, ends = pairs[n][0], place[pairs[n][1]]
            parts.append((found[ends >= 0], ends[ends >= 0]))
        return _each_once(parts, self.count)


def different_nodes(
    walks: Walks, step: int, nodes: IntArray, counted: int, among: IntArray | None = None
) -> LongArray:
    """Count the different nodes of one step on the walks through each node of another.

    The walks are divided at the junction with the fewest nodes between the two steps. If either
    part has too many pairs, or there is no junction, the pairs of the two steps are counted.

    Args:
        walks: The walks.
        step: The step that reaches the nodes.
        nodes: Handles of all nodes that the step reaches, each once.
        counted: The step whose nodes are counted.
        among: Handles of the nodes that count, each once; None for all.

    Raises:
        NodesUncounted: The deadline of the call passed.
    """
    if step == counted:
        return np.isin(nodes, nodes if among is None else among).astype(np.int64)
    ends = [
        Waypoints.at_nodes(walks, step, nodes),
        Waypoints.at_nodes(walks, counted, walks.nodes_of(counted) if among is None else among),
    ]
    forwards = step < counted
    segment = WalkSegment(walks, *(ends if forwards else reversed(ends)))
    for layer in segment.junctions:
        divided = segment.divided(layer)
        if divided is not None:
            early, late, size = divided
            front, behind = (early, late) if forwards else (late, early)
            return JunctionPairs(front, behind, size).counts(segment.check)
    early_counts, late_counts = segment.counts()
    return early_counts if forwards else late_counts


@dataclass(frozen=True, slots=True)
class WalkSegment:
    """The walks between two steps."""

    walks: Walks
    early: Waypoints
    """The nodes or edges of the earlier step."""
    late: Waypoints
    """The nodes or edges of the later step."""

    def check(self) -> None:
        """Raise an error if the deadline of the call has passed."""
        if call.remaining() == 0:
            raise NodesUncounted(self.early.step, self.late.step, call.seconds())

    @property
    def junctions(self) -> list[int]:
        """The layers that begin a step in between, those that leave the fewest nodes first.

        A step that two layers begin, because it is compared with another, has no junction.
        """
        walks, begun = self.walks, defaultdict(list)
        for n, layer in enumerate(walks.layers):
            if layer.time == 1 and self.early.step < layer.step < self.late.step:
                begun[layer.step].append(n)
        layers = [numbers[0] for numbers in begun.values() if len(numbers) == 1]
        return sorted(layers, key=lambda n: len(distinct_numbers(walks.arcs[n].origins)))

    def divided(self, number: int) -> tuple[JunctionSide, JunctionSide, int] | None:
        """Divide the walks at the junction before a layer, which begins a step.

        Returns:
            The nodes of the earlier and of the later step, and the number of nodes of the
            junction; None if there are too many pairs on either side.
        """
        walks, size = self.walks, self.walks.size
        early, late = self.early, self.late
        layer, arcs = walks.layers[number], walks.arcs[number]
        every = np.arange(len(arcs))
        arrivals = early.arrivals(0, early.count)
        before = self._spread(arrivals, range(early.first, layer.step), _pairs_at_once())
        after = self._spread(
            {number: (every, every)}, range(layer.step, late.step), _pairs_at_once()
        )
        if before is None or after is None:
            return None
        arriving, places = united([walks.arcs[n] for n in layer.before], size)
        pairs = [before[n] for n in layer.before]
        joined = [(one, at[reached]) for (one, reached), at in zip(pairs, places, strict=True)]
        nodes, arrivals_ = _each_once(joined, len(arriving))
        departures, ends = late.ends(after)
        junction = Junction(arriving, arcs, size)
        back, on = junction.same_edges
        return (
            JunctionSide(nodes, arrivals_, early.count, junction.arriving, on),
            JunctionSide(ends, departures, late.count, junction.leaving, back),
            junction.count,
        )

    def counts(self) -> tuple[LongArray, LongArray]:
        """For each earlier node, the number of later ones, and the reverse."""
        early, late = (np.zeros(ends.count, np.int64) for ends in (self.early, self.late))
        for ones, others in self.pairs():
            early += np.bincount(ones, minlength=len(early))
            late += np.bincount(others, minlength=len(late))
        return early, late

    def pairs(self) -> Iterator[Pairs]:
        """All pairs of an earlier and a later stop of the same walk, each once, in parts.

        Raises:
            NodesUncounted: The deadline of the call passed.
        """
        start, chunk = 0, self.early.count
        while start < self.early.count:
            stop = min(start + chunk, self.early.count)
            most = _pairs_at_once() if stop - start > 1 else None
            arrivals = self.early.arrivals(start, stop)
            reached = self._spread(arrivals, range(self.early.first, self.late.step), most)
            if reached is None:
                chunk = -(-(stop - start) // 4)
                continue
            ones, others = self.late.ends(reached)
            yield ones + start, others
            start = stop

    def _spread(
        self, reached: dict[int, Pairs], steps: range, most: int | None
    ) -> dict[int, Pairs] | None:
        """Take some steps from the arcs that sources have reached, by layer.

        The result is None if more than `most` pairs would be made at once, and more than the arcs.
        """
        walks, reached = self.walks, dict(reached)
        for n, layer in enumerate(walks.layers):
            earlier = [before for before in layer.before if before in reached]
            if layer.step not in steps or (n in reached and not earlier):
                continue
            allowed = None if most is None else max(most, len(walks.arcs[n]))
            parts = [reached[n]] if n in reached else []
            for before in earlier:
                self.check()
                pairs = walks.junctions[before, n].pairs(*reached[before], allowed)
                if pairs is None:
                    return None
                parts.append(pairs)
            reached[n] = _each_once(parts, len(walks.arcs[n]))
        return reached


def _pairs_at_once() -> int:
    """The approximate number of pairs to make at once, by the memory that is left to the call."""
    return max(BUSY, call.room(PAIR_BYTES, PAIRS))


def _each_once(parts: Sequence[Pairs], size: int) -> Pairs:
    """The pairs of all parts, each once; the second numbers are below a size."""
    keys = [one * size + other for one, other in parts]
    every = distinct_numbers(np.concatenate([np.empty(0, np.int64), *keys]))
    one, other = np.divmod(every, max(1, size))
    return one, other


# --- both sides of a junction ----------------------------------------------------


@dataclass(frozen=True, slots=True)
class JunctionSide:
    """The nodes of a step on one side of a junction."""

    nodes: LongArray
    """Numbers of nodes, from 0."""
    arcs: LongArray
    """For each of them, an arc by which walks pass the junction; each pair once."""
    count: int
    """The number of nodes."""
    at: IntArray
    """For each arc, its node of the junction."""
    same: LongArray
    """For each arc, the arc of the other side that is the same edge; -1 for none."""


@dataclass(frozen=True, slots=True)
class _Runs:
    """The places at which each number occurs in an array; they are consecutive."""

    starts: LongArray
    lengths: LongArray

    @classmethod
    def of(cls, numbers: LongArray, size: int) -> Self:
        """The runs of all numbers below a size."""
        starts = np.zeros(size, np.int64)
        first = _run_starts(numbers)
        starts[numbers[first]] = first
        return cls(starts, np.bincount(numbers, minlength=size))

    def of_each(self, numbers: LongArray) -> tuple[LongArray, LongArray]:
        """The places of some numbers, each with the index of its number."""
        return ranges(self.starts[numbers], self.lengths[numbers])


class _SideByNode:
    """The nodes behind a junction, in the order of its nodes and of the arcs that lead there."""

    def __init__(self, side: JunctionSide, size: int) -> None:
        at = side.at[side.arcs].astype(np.int64)
        order = np.lexsort((side.arcs, at))
        self.count, self.nodes, self.arcs = side.count, side.nodes[order], side.arcs[order]
        self.by_node = _Runs.of(at[order], size)
        self.by_arc = _Runs.of(self.arcs, len(side.at))

    def ways(self, at: LongArray) -> LongArray:
        """For each node, the number of arcs that lead to it from some nodes of the junction."""
        _, places = self.by_node.of_each(at)
        return np.bincount(self.nodes[places], minlength=self.count)


class JunctionPairs:
    """The nodes in front of a junction and those behind it.

    Args:
        front: The nodes for which others are counted.
        behind: The nodes that are counted.
        size: The number of nodes of the junction.
    """

    def __init__(self, front: JunctionSide, behind: JunctionSide, size: int) -> None:
        self._count, self._behind = front.count, _SideByNode(behind, size)
        at = front.at[front.arcs].astype(np.int64)
        order = np.lexsort((at, front.nodes))
        nodes, arcs, at = front.nodes[order], front.arcs[order], at[order]
        # By row: a node in front, and a node of the junction that it is connected with.
        first = np.flatnonzero(np.diff(nodes, prepend=-1) | np.diff(at, prepend=-1))
        self._nodes, self._at = nodes[first], at[first]
        # An edge is not taken twice in a row, unless another arc leads to the junction as well.
        alone = np.diff(np.append(first, len(nodes))) == 1
        self._barred = np.where(alone, front.same[arcs[first]], -1)
        pairs = np.bincount(self._at, minlength=size) * self._behind.by_node.lengths
        self._busy = (pairs > BUSY)[self._at]

    def counts(self, check: Callable[[], None]) -> LongArray:
        """For each node in front, the number of different nodes behind; `check` may stop it."""
        total = np.zeros(self._count, np.int64)
        groups, passed = self._groups()
        group = groups[self._nodes]
        order = np.argsort(group, kind="stable")
        bounds = np.searchsorted(group[order], np.arange(len(passed) + 1))
        for busy, (start, stop) in zip(passed, pairwise(bounds.tolist()), strict=True):
            ways = self._behind.ways(busy)
            every = np.count_nonzero(ways)
            for rows in self._parts(order[start:stop]):
                check()
                total[self._nodes[rows]] = every
                more, gone = self._difference(rows, ways)
                np.add.at(total, more, 1)
                np.subtract.at(total, gone, 1)
        return total

    def _groups(self) -> tuple[LongArray, list[LongArray]]:
        """The group of each node, and the busy nodes of the junction that each group passes."""
        groups = np.zeros(self._count, np.int64)
        numbers = {b"": 0}
        nodes, at = self._nodes[self._busy], self._at[self._busy]
        first = _run_starts(nodes)
        bounds = pairwise([*first.tolist(), len(nodes)])
        for node, (start, stop) in zip(nodes[first].tolist(), bounds, strict=True):
            groups[node] = numbers.setdefault(at[start:stop].tobytes(), len(numbers))
        return groups, [np.frombuffer(key, np.int64) for key in numbers]

    def _parts(self, rows: LongArray) -> Iterator[LongArray]:
        """Divide the rows of some nodes, so that the pairs of each part can be made at once."""
        pairs = np.where(self._busy[rows], 0, self._behind.by_node.lengths[self._at[rows]])
        first = _run_starts(self._nodes[rows])
        part = (np.cumsum(pairs) // _pairs_at_once())[first]
        yield from np.split(rows, first[np.flatnonzero(np.diff(part)) + 1])

    def _difference(self, rows: LongArray, ways: LongArray) -> tuple[LongArray, LongArray]:
        """How the nodes behind some nodes differ from those behind their busy nodes.

        Args:
            rows: The rows of some nodes in front, which all pass the same busy nodes.
            ways: For each node behind, the number of arcs from these busy nodes.

        Returns:
            A node in front for each node that is also behind it, and one for each that is not.
        """
        behind, (busy, barred) = self._behind, (self._busy[rows], self._barred[rows])
        beside, lost = rows[~busy], rows[busy & (barred >= 0)]
        row, places = behind.by_node.of_each(self._at[beside])
        taken = behind.arcs[places] != self._barred[beside][row]
        found = distinct_numbers(self._pairs(beside[row[taken]], places[taken]))
        row, places = behind.by_arc.of_each(self._barred[lost])
        gone, arcs = np.unique(self._pairs(lost[row], places), return_counts=True)
        gone = np.setdiff1d(gone[arcs == ways[gone % behind.count]], found, assume_unique=True)
        more = found[ways[found % behind.count] == 0]
        return more // behind.count, gone // behind.count

    def _pairs(self, rows: LongArray, places: LongArray) -> LongArray:
        """The pairs of nodes in front and behind as one number each."""
        return self._nodes[rows] * self._behind.count + self._behind.nodes[places]


def _run_starts(numbers: LongArray) -> LongArray:
    """The first place of each run of equal numbers; none may be negative."""
    return np.flatnonzero(np.diff(numbers, prepend=-1))


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
        nodes = await off_loop(table.size, partial(walks.nodes_of, one.step))
        keys = {condition.key for condition in one.conditions}
        columns = await property_columns(self._db, table.columns, nodes, keys)

        def counts() -> LongArray:
            met = np.ones(len(nodes), bool)
            for condition in one.conditions:
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
        if len(of_edges) > 1 or (walks.pairs is not None and other != common):
            why = "names the edges of two steps"
            if len(of_edges) < 2:
                why = "names two steps, and so does where"
            raise bad_value(
                f"measure: {quoted(one.text)} {why}, which is not possible in one call. Name one "
                "step, or its edges and their nodes.",
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
