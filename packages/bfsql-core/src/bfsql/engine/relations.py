"""Conditions on the relations of nodes: how many different nodes stand at their end.

A relation is a path that begins at the node, independent of the walk that led to it
(`asking-2.md` 13); the nodes at its end are counted as those of a path's answer are.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.arrays import LongArray, places_of
from bfsql.engine.conditions import Conditions, Query, names_for
from bfsql.engine.path.answer import follow
from bfsql.engine.traverse import Bounds
from bfsql.integers import BoolArray, IntArray, IntegerGraph, NodeSet, Place
from bfsql.models import COMPARE, DeadEnd, Path, PathQuery, RelationCondition


class RelationReader:
    """Reads the relations of nodes for one call.

    Args:
        db: The graph.
        columns: The graph in integers, for this call.
        bounds: Limits on the nodes and edges to read for one condition.
        stripped: Keys of edge metadata that traversals leave out; they count as absent.

    Attributes:
        barren: The conditions for which no node has been found at the end of a relation so far,
            with the step that found nothing.
        undecided: Handles of nodes for which edges that the store left out could change a result.
    """

    def __init__(
        self,
        db: GraphDbInterface,
        columns: IntegerGraph,
        bounds: Bounds,
        stripped: Collection[str] = (),
    ) -> None:
        self.barren: dict[RelationCondition, DeadEnd | None] = {}
        self.undecided: set[int] = set()
        self._fruitful: set[RelationCondition] = set()
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
        """Which of some nodes meet a condition, or may meet it.

        A node at which the store left out edges is undecided, unless the edges that were read
        decide it already.

        Raises:
            StepUnfinished: The deadline passed, or the relations exceed a bound.
        """
        if not len(nodes):
            return np.empty(0, bool)
        with call.joined() as under_way:
            before = set(under_way.omissions)
            counts = await self._counts(nodes, types, one)
            partial = {gap.id for gap in under_way.omissions if gap not in before}
        met: BoolArray = COMPARE[one.comparison](counts, one.number)
        if partial:
            settled = counts >= one.number if one.comparison in ("<", ">=") else counts > one.number
            open_ = ~settled & await self._affected(nodes, partial)
            self.undecided.update(nodes[open_].tolist())
            met |= open_
        return met

    async def _affected(self, nodes: IntArray, partial: set[str]) -> BoolArray:
        """The nodes whose relations may lack edges: all, if edges are missing further away."""
        ids = await call.within(self._columns.ids(nodes))
        own = np.fromiter((one in partial for one in ids), bool, len(ids))
        return own if partial <= set(ids) else np.ones(len(ids), bool)

    async def _counts(self, nodes: IntArray, types: IntArray, one: RelationCondition) -> LongArray:
        """The number of different nodes at the end of the relation of each node."""
        counts = np.zeros(len(nodes), np.int64)
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
        places = places_of(nodes, result.shown, self._columns.size)
        counts[places] = result.counts[len(one.steps)]
        if counts.any():
            self._fruitful.add(one)
            self.barren.pop(one, None)
        elif one not in self._fruitful:
            self.barren[one] = result.dead_end
        return counts
