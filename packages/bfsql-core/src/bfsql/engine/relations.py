"""Conditions on the relations of nodes: how many different nodes stand at their end.

A relation is a path that begins at the node, independent of the walk that led to it
(`asking-2.md` 13); the nodes at its end are counted as those of a path's answer are.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from bfsql.abc import GraphDbInterface
from bfsql.arrays import LongArray, places_of
from bfsql.engine.conditions import Conditions, Query, names_for
from bfsql.engine.path.answer import follow
from bfsql.engine.traverse import Bounds
from bfsql.integers import BoolArray, IntArray, IntegerGraph, NodeSet, Place
from bfsql.models import COMPARE, Path, PathQuery, RelationCondition


class RelationReader:
    """Reads the relations of nodes for one call.

    Args:
        db: The graph.
        columns: The graph in integers, for this call.
        bounds: Limits on the nodes and edges to read for one condition.
        stripped: Keys of edge metadata that traversals leave out; they count as absent.

    Attributes:
        barren: The conditions for which no node has been found at the end of a relation so far.
    """

    def __init__(
        self,
        db: GraphDbInterface,
        columns: IntegerGraph,
        bounds: Bounds,
        stripped: Collection[str] = (),
    ) -> None:
        self.barren: dict[RelationCondition, bool] = {}
        self._db, self._columns, self._bounds = db, columns, bounds
        self._stripped = stripped

    async def conditions(self, query: Query) -> Conditions:
        """The filters of a query on this graph.

        Raises:
            ToolError: A condition cannot be read.
            TimeoutError: The deadline passed.
        """
        names = await names_for(self._db, query)
        return Conditions(self._db, self._columns, query, names, self, stripped=self._stripped)

    async def meeting(self, nodes: IntArray, types: IntArray, one: RelationCondition) -> BoolArray:
        """Which of some nodes meet a condition.

        Raises:
            StepUnfinished: The deadline passed, or the relations exceed a bound.
        """
        counts = await self._counts(nodes, types, one)
        if len(nodes):
            self.barren[one] = self.barren.get(one, True) and not counts.any()
        met: BoolArray = COMPARE[one.comparison](counts, one.number)
        return met

    async def _counts(self, nodes: IntArray, types: IntArray, one: RelationCondition) -> LongArray:
        """The number of different nodes at the end of the relation of each node."""
        counts = np.zeros(len(nodes), np.int64)
        if not len(nodes):
            return counts
        path = Path(one.steps)
        query = PathQuery(seeds=[], path=path, show=0, walks=False, count_distinct=len(one.steps))
        result = await follow(
            self._columns,
            query,
            NodeSet((Place("", nodes, types, named=False),)),
            None,
            conditions=await self.conditions(query),
            bounds=self._bounds,
        )
        assert result.distinct is not None
        places = places_of(nodes, result.shown, self._columns.size)
        counts[places] = result.distinct
        return counts
