"""Conditions on the relations of nodes: how many different nodes stand at their end.

A relation is a path that begins at the node, independent of the walk that led to it
(`asking-2.md` 13); the nodes at its end are counted as those of a path's answer are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from bfsql import call
from bfsql.abc import NormalizedBackend
from bfsql.arrays import LongArray, places_of
from bfsql.engine.conditions import Conditions, Query, names_of
from bfsql.engine.path.answer import PathResult, follow
from bfsql.engine.patterns import PatternSearch
from bfsql.engine.thresholds import ENDS_A_START, FEW_STARTS
from bfsql.engine.traverse import Bounds
from bfsql.errors import EntitiesNotListed, SetTooLarge
from bfsql.integers import BoolArray, IntArray, IntegerGraph, NodeSet, Place
from bfsql.models import COMPARE, DeadEnd, Path, PathQuery, RelationCondition, ScopedRelation
from bfsql.models.condition import Names, PropertyCondition


class RelationReader:
    """Reads the relations of nodes, and walks along them, for one call.

    Args:
        db: The graph.
        columns: The graph in integers, for this call.
        bounds: Limits on the nodes and edges to read for one condition.
        stripped: Keys of edge metadata that traversals leave out; they count as absent.

    Attributes:
        unmatched: The conditions for which no node has been found at the end of a relation so far,
            with the step that found nothing.
        idle: The conditions of `where` on a type of which no node has been reached so far.
        undecided: Handles of nodes for which edges that the store left out could change a result.
        unlike: By condition on a property inside a relation, or at the end of a path that was read
            from there, as it is written: the number of values that could not be compared with it;
            None for an unknown number, negative if they could not be counted.
        search: Finds the nodes of patterns.
    """

    def __init__(
        self,
        db: NormalizedBackend,
        columns: IntegerGraph,
        bounds: Bounds,
        stripped: Collection[str] = (),
    ) -> None:
        self.unmatched: dict[RelationCondition, DeadEnd | None] = {}
        self.idle: set[ScopedRelation] = set()
        self.undecided: set[int] = set()
        self.unlike: dict[str, int | None] = {}
        self._matched: set[RelationCondition] = set()
        self._db, self._columns, self._bounds = db, columns, bounds
        self._stripped = stripped
        self.search = PatternSearch(db, columns, bounds, self)

    async def conditions(self, query: Query) -> Conditions:
        """The filters of a query on this graph.

        Raises:
            ToolError: A condition cannot be read.
            TimeoutError: The deadline passed.
        """
        self.idle.update(one for one in query.relations if one.types)
        names = await names_of(self._db) if query.where else Names((), ())
        return Conditions(self._db, self._columns, query, names, self, stripped=self._stripped)

    async def walks(self, query: PathQuery, seeds: NodeSet) -> PathResult:
        """The walks of a path, read from its end if that is a smaller set than the seeds.

        Whichever end is smaller, a store that selects the nodes of the other spares reading the
        properties of all nodes that walks reach.

        Raises:
            ToolError: A condition cannot be read.
            StepUnfinished: The deadline passed during a step, or the step exceeds a bound.
            TimeoutError: The deadline passed.
        """
        targets = None if seeds.is_named else await self._last_set(query.path, len(seeds.handles))
        if targets is not None:
            # The conditions at the end hold for the targets.
            decided = query.model_copy(update={"path": query.path.without_last_conditions()})
            result = await self.follow(query, seeds, targets, decided)
            if len(result.shown):
                self._keep_unlike(await self.search.unlike(query.path.steps[-1].end))
                return result
            # An empty answer explains what was found from the seeds.
        return await self.follow(query, seeds)

    async def follow(
        self,
        query: PathQuery,
        seeds: NodeSet,
        targets: NodeSet | None = None,
        filters: PathQuery | None = None,
    ) -> PathResult:
        """The walks of a path, as in `walks`, with the targets that a call names.

        Args:
            query: The path and its shown step.
            seeds: The nodes at which walks start.
            targets: The nodes at which walks must end; None for any node.
            filters: The query with the conditions that are still to be applied, if it differs.
        """
        conditions = await self.conditions(filters or query)
        return await follow(
            self._columns, query, seeds, targets, conditions=conditions, bounds=self._bounds
        )

    async def _last_set(self, path: Path, starts: int) -> NodeSet | None:
        """The nodes at which walks may end by the conditions of the last step on properties.

        None if it has none, or many more nodes than there are starts, or if these are few anyway.
        """
        step = path.steps[-1]
        if not step.end.conditions or step.most > 1 or starts <= FEW_STARTS:
            return None
        pattern = replace(step.end, relations=())
        try:
            place = await self.search.place(pattern, starts * ENDS_A_START)
        except (SetTooLarge, EntitiesNotListed):
            return None
        return NodeSet((place,)) if len(place.handles) else None

    async def meeting(self, nodes: IntArray, types: IntArray, one: RelationCondition) -> BoolArray:
        """Which of some nodes meet a condition, or may meet it.

        A node at which the store left out edges is undecided, unless the edges that were read
        decide it already.

        Raises:
            StepUnfinished: The deadline passed, or the relations exceed a bound.
        """
        if not len(nodes):
            return np.empty(0, bool)
        with call.joined() as under_way, under_way.own_omissions() as gaps:
            counts = await self._counts(nodes, types, one)
            partial = {gap.id for gap in gaps}
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

    def _keep_unlike(self, unlike: Mapping[PropertyCondition, int]) -> None:
        """Keep the numbers of values that conditions could not compare."""
        for text, count in ((one.property_text, unlike[one]) for one in unlike if unlike[one]):
            # Nodes that are reached again are not told from others.
            is_first = text not in self.unlike or self.unlike[text] == count == -1
            self.unlike[text] = count if is_first else None

    async def _counts(self, nodes: IntArray, types: IntArray, one: RelationCondition) -> LongArray:
        """The number of different nodes at the end of the relation of each node."""
        counts = np.zeros(len(nodes), np.int64)
        path = Path(one.steps)
        query = PathQuery(seeds=[], path=path, show=0, walks=False, count_distinct=len(one.steps))
        result = await self.walks(query, NodeSet((Place("", nodes, types, named=False),)))
        self._keep_unlike({one.condition: one.unlike for one in result.selection.facts.conditions})
        places = places_of(nodes, result.shown, self._columns.size)
        counts[places] = result.counts[len(one.steps)]
        if counts.any():
            self._matched.add(one)
            self.unmatched.pop(one, None)
        elif one not in self._matched:
            self.unmatched[one] = result.dead_end
        return counts
