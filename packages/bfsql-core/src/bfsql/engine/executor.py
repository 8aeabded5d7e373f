"""Runs the plans of one call: every plan reads edges, applies filters, and becomes a table.

Conditions on relations are plans, too: walks that begin at a node, independent of the walk that led
to it; the nodes at their end are counted as those of a path's answer are (`protocol.md` 34, 36).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import TypeAlias

import numpy as np

from bfsql import call
from bfsql.abc import NormalizedBackend
from bfsql.arrays import LongArray, places_of
from bfsql.engine.along import StepArcs
from bfsql.engine.conditions import Conditions, names_of
from bfsql.engine.connect import ShortestPathSearch, connected, edges_among, intersect
from bfsql.engine.facets import with_facets
from bfsql.engine.measure import measured
from bfsql.engine.numbered import columns_of
from bfsql.engine.order_statistics import with_names
from bfsql.engine.pages import Pages
from bfsql.engine.path import PathReader, walk_table
from bfsql.engine.patterns import PatternSearch
from bfsql.engine.plan import Bounds, Kind, Plan, Query
from bfsql.engine.rows import RowPages, WalkList
from bfsql.engine.table import AnswerTable, count_of, in_order_of, with_measures
from bfsql.engine.thresholds import ENDS_A_START, FEW_STARTS
from bfsql.engine.traverse import select, traverse
from bfsql.errors import EntitiesNotListed, SetTooLarge
from bfsql.integers import BoolArray, IntArray, NodeSet, Place
from bfsql.models import (
    COMPARE,
    BfsQuery,
    DeadEnd,
    IntersectionQuery,
    Path,
    PathQuery,
    PropertyCondition,
    RelationCondition,
    ScopedRelation,
)
from bfsql.query.expressions import may_compute
from bfsql.query.properties import DISTINCT, computed_fields
from bfsql.query.vocabulary import NO_NAMES, Names
from bfsql.workers import off_loop

Finding: TypeAlias = tuple[AnswerTable, bool]
"""A table, and whether no bound cut it off, so that later calls may use it."""


class Executor:
    """Answers the plans of one call.

    Args:
        db: The graph.
        max_nodes: The most nodes that a plan may reach; None for the default of the store.
        max_edges: The most edges that a plan may read; None as above.
        stripped: Keys of edge metadata that traversals leave out; they count as absent.

    Attributes:
        columns: The graph in integers, for this call.
        bounds: The limits on nodes and edges.
        unmatched: The conditions for which no node has been found at the end of a relation so far,
            with the step that found nothing.
        idle: The conditions of `where` on a type of which no node has been reached so far.
        undecided: Handles of nodes for which edges that the store left out could change a result.
        unlike: By condition on a property inside a relation, or at the end of a path that was read
            from there, as it is written: the number of values that could not be compared with it;
            None for an unknown number, negative if they could not be counted.
    """

    def __init__(
        self,
        db: NormalizedBackend,
        max_nodes: int | None = None,
        max_edges: int | None = None,
        stripped: Collection[str] = (),
    ) -> None:
        self.unmatched: dict[RelationCondition, DeadEnd | None] = {}
        self.idle: set[ScopedRelation] = set()
        self.undecided: set[int] = set()
        self.unlike: dict[str, int | None] = {}
        self._matched: set[RelationCondition] = set()
        self._db, self._stripped = db, frozenset(stripped)
        self.columns = columns_of(db)
        self.bounds = Bounds.of(self.columns, max_nodes, max_edges)
        self._kinds: dict[Kind, Callable[[Plan, Conditions, StepArcs | None], Awaitable[Finding]]]
        self._kinds = {
            "reach": self._reach,
            "shared": self._shared,
            "chains": self._chains,
            "walks": self._walks,
        }

    @cached_property
    def patterns(self) -> PatternSearch:
        """Finds the nodes of patterns."""
        return PatternSearch(self._db, self.columns, self.bounds, self.meeting)

    async def answer(self, plan: Plan) -> AnswerTable:
        """The table of a plan with its measures, in its order, with its facets.

        Raises:
            BfsqlError: As in `run`; or a sort key, measure or facet cannot be read.
        """
        query, table = plan.query, await self.run(plan)
        listed = None
        if isinstance(query, PathQuery):
            if query.count_distinct is not None:
                distinct = table.numbers[count_of(query.count_distinct)]
                table = replace(table, numbers={**table.numbers, DISTINCT: distinct})
            if query.measure:
                of_call = self._db, table, query
                most = self.bounds.edges
                table = await measured(*of_call, most=most, stripped=self._stripped)
                table = await off_loop(table.size, partial(with_measures, table, query.having))
            if query.row_step is not None and table.walks is not None:
                listed = table.walks.nodes_of(query.shown_step)  # rows go by those of another step
        if query.sort_by is not None:
            names = await self._sort_names(table, query)
            table = await in_order_of(self._db, table, query, names)
        if isinstance(query, PathQuery) and query.measure:
            table = await with_names(self._db, table, query)
        if query.facets:
            table = await with_facets(
                self._db, query, table, listed=listed, stripped=self._stripped
            )
        return table

    async def _sort_names(self, table: AnswerTable, query: Query) -> Names:
        """What an expression of `sort_by` may name."""
        computed = computed_fields(query.fields)
        if query.sort_by is None or not (computed or may_compute(query.sort_by)):
            return NO_NAMES
        return table.names(await names_of(self._db, [query.sort_by], computed))

    async def pages(self, query: Query, table: AnswerTable) -> list[Pages]:
        """The pages of an answer, in the kinds that it may have: the fuller ones first."""
        if not isinstance(query, PathQuery):
            return [Pages(query, table)]
        if query.row_step is None or table.walks is None:
            kinds = (True, False) if query.walks else (False,)
            return [Pages(query, table, walks=walks) for walks in kinds]
        by_id = await self.columns.ordered(table.walks.nodes)
        walks = WalkList(table, query.row_step, by_id)
        return [RowPages(query, table, walks, self._db, self.bounds.edges)]

    async def run(self, plan: Plan) -> AnswerTable:
        """The nodes and edges of a plan, and the numbers of its nodes.

        Raises:
            ToolError: A condition cannot be read.
            FirstRingUnfinished: The deadline passed before the first ring was read.
            FirstRingTooLarge: The first ring exceeds a bound.
            StepUnfinished: The deadline passed during a step, or the step exceeds a bound.
            TypesUnread: The deadline passed before the types were read.
            BoundMet: A search for connections would exceed a bound.
            TimeoutError: The deadline passed.
        """
        if (ends := await self._last_set(plan)) is not None:
            assert isinstance(plan.query, PathQuery)
            path = plan.query.path
            # The conditions at the end hold for the targets.
            filters = plan.query.model_copy(update={"path": path.without_last_conditions()})
            table = await self._run(replace(plan, targets=ends, filters=filters))
            if len(table.nodes):
                self._keep_unlike(await self.patterns.unlike(path.steps[-1].end))
                return table
            # An empty answer explains what was found from the seeds.
        return await self._run(plan)

    async def _run(self, plan: Plan) -> AnswerTable:
        """The table of a plan; one that was found earlier is reused."""
        conditions = await self._conditions(plan.filters or plan.query)
        along = await self._along(plan.along)
        reusable = conditions.are_repeatable and (along is None or not along.has_conditions)
        cache = self.columns.answer_cache if reusable else None
        # The type of the columns tells whether properties are redacted: a graph without what a hook
        # redacts shares the cache of the whole graph.
        request = (type(self.columns), self.bounds, self._stripped, plan.request)
        table: AnswerTable | None = None if cache is None else cache.find(request)
        if table is None:
            table, is_whole = await self._kinds[plan.kind](plan, conditions, along)
            if cache is not None and is_whole and not call.omissions():  # which go with no table
                cache.keep(request, table, table.size)
        return table

    # --- the kinds of plans -----------------------------------------------------------

    async def _reach(self, plan: Plan, conditions: Conditions, along: StepArcs | None) -> Finding:
        """Everything within some hops of the seeds, over all edges or those of some steps."""
        assert isinstance(plan.query, BfsQuery)
        hops = plan.query.max_hops
        followed = None if along is None else along.ring
        reach = await traverse(self.columns, plan.seeds, hops, self.bounds, followed)
        table = await select(reach, plan.seeds, conditions)
        if along is not None:
            facts = replace(
                table.facts,
                farthest=int(reach.distances.max(initial=0)),
                outermost=int((reach.distances == hops).sum()),
                conditions=(*table.facts.conditions, *along.facts),
            )
            table = replace(table, facts=facts)
        return table, table.facts.stopped_by is None

    async def _shared(self, plan: Plan, conditions: Conditions, _: StepArcs | None) -> Finding:
        """What lies within `k` hops of every seed."""
        assert isinstance(plan.query, IntersectionQuery)
        for k in range(1 if plan.smallest else plan.query.k, plan.query.k + 1):
            if k > 1 and plan.smallest:  # what conditions found at a smaller distance is no fact
                conditions = await self._conditions(plan.query)
            whole = await traverse(self.columns, plan.seeds, k, self.bounds)
            reach = await intersect(whole, plan.seeds, self.bounds)
            table = await select(reach, plan.seeds, conditions)
            is_partial = table.facts.finished_depth is not None
            if is_partial or not np.isin(table.nodes, plan.seeds.handles).all():
                break
        table = replace(table, depth=k)
        if plan.connect:
            table = await connected(table, whole, plan.seeds, conditions)
        table = replace(table, seed_edges=await edges_among(whole, plan.seeds.handles))
        return table, not is_partial

    async def _chains(self, plan: Plan, conditions: Conditions, along: StepArcs | None) -> Finding:
        """The shortest connections of every seed with every target."""
        assert isinstance(plan.query, BfsQuery)
        assert plan.targets is not None
        search = ShortestPathSearch(self.columns, conditions, self.bounds, along)
        return await search.connections(plan.seeds, plan.targets, plan.query.max_hops), True

    async def _walks(self, plan: Plan, conditions: Conditions, _: StepArcs | None) -> Finding:
        """The complete walks along a path."""
        assert isinstance(plan.query, PathQuery)
        reader = partial(
            PathReader,
            self.columns,
            plan.query.path,
            plan.seeds,
            plan.targets,
            conditions=conditions,
            bounds=self.bounds,
        )
        table, is_whole = await walk_table(reader, plan.query, conditions, self.bounds)
        if plan.targets is not None and plan.filters is None:  # the call says where walks end
            table = replace(table, facts=replace(table.facts, lost=None))
        return table, is_whole

    async def _last_set(self, plan: Plan) -> NodeSet | None:
        """The nodes at which walks may end by the conditions of the last step on properties.

        Whichever end of walks is smaller, a store that selects the nodes of the other spares
        reading the properties of all nodes that they reach. None if the seeds are named or few, if
        the step has no conditions, or selects many more nodes than there are seeds.
        """
        query, starts = plan.query, len(plan.seeds.handles)
        if not isinstance(query, PathQuery) or plan.targets is not None or plan.seeds.is_named:
            return None
        step = query.path.steps[-1]
        if not step.end.conditions or step.most > 1 or starts <= FEW_STARTS:
            return None
        try:
            place = await self.patterns.place(
                replace(step.end, relations=()), starts * ENDS_A_START
            )
        except (SetTooLarge, EntitiesNotListed):
            return None
        return NodeSet((place,)) if len(place.handles) else None

    # --- filters ----------------------------------------------------------------------

    async def _conditions(self, query: Query) -> Conditions:
        """The filters of a query on this graph."""
        self.idle.update(one for one in query.relations if one.types)
        names = NO_NAMES
        if query.where:
            names = await names_of(self._db, query.where, computed_fields(query.fields))
        of_call = self._db, self.columns, query, names, self.meeting
        return Conditions(*of_call, idle=self.idle, stripped=self._stripped)

    async def _along(self, paths: Collection[Path]) -> StepArcs | None:
        """The arcs of the steps that a plan follows; None if it follows all edges."""
        if not paths:
            return None
        steps = [(one, await self._conditions(PathQuery(seeds=[], path=one))) for one in paths]
        return StepArcs(self.columns, steps, self.bounds)

    async def meeting(self, nodes: IntArray, types: IntArray, one: RelationCondition) -> BoolArray:
        """Which of some nodes meet a condition on relations, or may meet it.

        A node at which the store left out edges is undecided, unless the edges that were read
        decide it already.

        Raises:
            StepUnfinished: The deadline passed, or the relations exceed a bound.
        """
        if not len(nodes):
            return np.empty(0, bool)
        with call.joined() as under_way, under_way.own_omissions() as gaps:
            counts = await self._counts(nodes, types, one)
            partial_ids = {gap.id for gap in gaps}
        met: BoolArray = COMPARE[one.comparison](counts, one.number)
        if partial_ids:
            settled = counts >= one.number if one.comparison in ("<", ">=") else counts > one.number
            ids = await call.within(self.columns.ids(nodes))
            affected = np.fromiter((one in partial_ids for one in ids), bool, len(ids))
            if not partial_ids.issubset(ids):  # edges are missing further away
                affected[:] = True
            self.undecided.update(nodes[~settled & affected].tolist())
            met |= ~settled & affected
        return met

    async def _counts(self, nodes: IntArray, types: IntArray, one: RelationCondition) -> LongArray:
        """The number of different nodes at the end of the relation of each node."""
        last, counts = len(one.steps), np.zeros(len(nodes), np.int64)
        query = PathQuery(seeds=[], path=Path(one.steps), show=0, walks=False, count_distinct=last)
        starts = NodeSet((Place("", nodes, types, named=False),))
        table = await self.run(Plan(query, starts))
        self._keep_unlike({one.condition: one.unlike for one in table.facts.conditions})
        places = places_of(nodes, table.listed, self.columns.size)
        counts[places] = np.asarray(table.numbers[count_of(last)])
        if counts.any():
            self._matched.add(one)
            self.unmatched.pop(one, None)
        elif one not in self._matched:
            self.unmatched[one] = table.dead_end
        return counts

    def _keep_unlike(self, unlike: Mapping[PropertyCondition, int]) -> None:
        """Keep the numbers of values that conditions could not compare."""
        for text, count in ((one.property_text, unlike[one]) for one in unlike if unlike[one]):
            # Nodes that are reached again are not told from others.
            is_first = text not in self.unlike or self.unlike[text] == count == -1
            self.unlike[text] = count if is_first else None
