"""Properties of nodes and edges of steps, for expressions over two of them (`protocol.md` 39)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

import numpy as np

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.arrays import are_named, places_of, places_of_edges
from bfsql.engine.expressions import Evaluation, PartValues
from bfsql.engine.properties import Column, property_columns
from bfsql.engine.thresholds import PAIRS_AT_ONCE
from bfsql.engine.walks import StepTest, Stops, Walks, common_step, paired
from bfsql.integers import BoolArray, IntArray, Ring
from bfsql.models import StepComparison
from bfsql.models.expression import Computed, Part, Tree, parts_of
from bfsql.workers import off_loop


@dataclass
class StepValues:
    """The values of the properties in an expression over one or two steps.

    Args:
        expression: The expression; its properties name their steps.
        common: The step of the first nodes of pairs.
        size: Upper bound (exclusive) of all handles.
        predicate_names: The name of each predicate.
    """

    expression: Computed
    common: int
    size: int
    predicate_names: tuple[str, ...]
    _nodes: dict[int, IntArray] = field(default_factory=dict)
    _edges: dict[int, Ring] = field(default_factory=dict)
    _values: dict[Part, Column | None] = field(default_factory=dict)

    @classmethod
    async def of(
        cls,
        db: GraphDbInterface,
        walks: Walks,
        expression: Computed,
        common: int,
        stripped: Collection[str],
    ) -> Self:
        """Read the values of all nodes and edges of the steps on walks.

        Raises:
            TimeoutError: The deadline passed.
            CallMemoryMet: The values would take more memory than the call may.
        """
        columns = walks.columns
        found = cls(expression, common, columns.size, tuple(columns.predicate_names))
        keys: defaultdict[tuple[int, bool], set[str]] = defaultdict(set)
        for part in expression.parts:
            assert part.step is not None
            if part.predicate is None or part.key not in stripped:
                keys[part.step, part.predicate is not None].add(part.key)
        for (step, of_edges), own in keys.items():
            things = walks.edges_of(step) if of_edges else walks.nodes_at(step)
            if isinstance(things, Ring):
                found._edges[step] = things
            else:
                found._nodes[step] = things
            values = await property_columns(db, columns, things, own)
            for part in expression.parts:
                if (part.step, part.predicate is not None) == (step, of_edges):
                    found._values[part] = values.get(part.key)
        return found

    def of_stops(self, tree: Tree, stops: Stops) -> Iterator[Sequence[Any]]:
        """The value of an expression for each pair, in parts, so that memory does not grow."""
        columns = {part: self._column(part, stops) for part in parts_of(tree)}
        for start in range(0, len(stops.second), PAIRS_AT_ONCE):
            call.check()
            rows = slice(start, min(start + PAIRS_AT_ONCE, len(stops.second)))
            own = {part: column.part(rows) for part, column in columns.items()}
            yield Evaluation(rows.stop - start, own.__getitem__).values(tree)

    def _column(self, part: Part, stops: Stops) -> PartValues:
        """The value of a property for each pair."""
        assert part.step is not None
        values, of_seeds = self._values.get(part), stops.edges is None
        if values is None or (part.predicate is not None and of_seeds):  # no edge leads to seeds
            return PartValues([None], np.zeros(len(stops.second), np.int64))
        if part.predicate is not None and stops.edges is not None:
            places = places_of_edges(self._edges[part.step], stops.edges, self.size)
            named = are_named(stops.edges.predicates, self.predicate_names, {part.predicate})
            places = np.where(named, places, -1)
        else:
            nodes = stops.first if part.step == self.common else stops.second
            places = places_of(self._nodes[part.step], nodes, self.size).astype(np.int64)
        return values.at(places)


class StepTests:
    """The comparisons of steps of a call, for pairs of nodes.

    Args:
        db: The graph.
        stripped: Keys of edge metadata that traversals leave out; they count as absent.

    Attributes:
        without_value: By the text of a comparison: the number of pairs for which it has no value.
    """

    def __init__(self, db: GraphDbInterface, stripped: Collection[str]) -> None:
        self._db, self._stripped = db, stripped
        self.without_value: Counter[str] = Counter()

    async def meeting(
        self, walks: Walks, comparisons: Sequence[StepComparison], most: int
    ) -> Walks:
        """The walks that meet all comparisons, which have one step in common.

        Args:
            walks: The walks.
            comparisons: The comparisons, at least one.
            most: The largest number of pairs of an arc and a node of the common step.

        Raises:
            TooManyPairs: There are more pairs.
            TimeoutError: The deadline passed.
        """
        size = sum(map(len, walks.arcs))
        of_two = [one for one in comparisons if one.step != one.other]
        for one in comparisons:
            if one.step == one.other:
                test = await self._test(walks, one, one.step)
                walks = await off_loop(size, partial(walks.selected, one.step, [test]))
        if not of_two:
            return walks
        common = common_step(of_two)
        assert common is not None
        tests: defaultdict[int, list[StepTest]] = defaultdict(list)
        for one in of_two:
            other = one.other if one.step == common else one.step
            tests[other].append(await self._test(walks, one, common))
        return await off_loop(size, partial(paired, walks, common, tests, most))

    async def _test(self, walks: Walks, one: StepComparison, common: int) -> StepTest:
        if one.expression is None:
            return lambda stops: (stops.first == stops.second) == one.equal
        values = await StepValues.of(self._db, walks, one.expression, common, self._stripped)
        tree = one.expression.tree

        def met(stops: Stops) -> BoolArray:
            masks = [np.empty(0, bool)]
            for found in values.of_stops(tree, stops):
                self.without_value[one.text] += sum(value is None for value in found)
                masks.append(np.fromiter((value is True for value in found), bool, len(found)))
            return np.concatenate(masks)

        return met
