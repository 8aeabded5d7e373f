"""The two traversals as tools: from checked arguments to an answer.

A traversal has five steps, each of which takes the result of the previous one:
traverse, select, fit, detail, answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bfsql import call
from bfsql.abc import NormalizedBackend
from bfsql.answers import Answer, SubgraphWriter
from bfsql.answers.clean import excerpt
from bfsql.answers.notes import Note, connection_notes, shared_notes
from bfsql.call import Limits
from bfsql.engine.conditions import Conditions, conditions_of
from bfsql.engine.connect import ShortestPathSearch, connected, edges_among
from bfsql.engine.intersect import intersect
from bfsql.engine.numbered import columns_of
from bfsql.engine.order import in_order_of, in_order_of_walks
from bfsql.engine.path.answer import PathPages, follow
from bfsql.engine.select import Pages, Selection, select, selected
from bfsql.engine.traverse import Bounds, traverse
from bfsql.errors import NothingFits, ToolError
from bfsql.integers import IntegerGraph, ResolvedNode
from bfsql.models import MAX_HOPS, BfsQuery, IntersectionQuery, SchemaSummary
from bfsql.tools.budget import Budget, detail, fit
from bfsql.tools.resolve import Names
from bfsql.tools.schema import WAIT_SECONDS, GraphSchema
from bfsql.tools.steps import PathArguments, ResolvedPath, Vocabulary, path_query, without_steps
from bfsql.tools.validate import matched, missing, without_doubts

MAX_PAIRS = 100
"""Maximum number of pairs of a seed and a target connected in a call (`asking.md` 7)."""


class Traversals:
    """`bfs_query` and `intersect_subgraphs` over one graph.

    Args:
        db: The graph without what the hooks redact.
        limits: The limits of one call.
        schema: The schema with the vocabulary of the graph.
    """

    def __init__(self, db: NormalizedBackend, limits: Limits, schema: GraphSchema) -> None:
        self._db = db
        self._limits = limits
        self._schema = schema

    async def bfs_query(
        self,
        max_tokens: int | None,
        max_hops: int | None,
        *,
        path: Sequence[str],
        to: Sequence[str],
        show: str | None,
        count_distinct: int | None,
        **arguments: Any,
    ) -> Answer:
        """Traversal: the union of neighbourhoods, walks along a path, or shortest connections."""
        columns = columns_of(self._db)
        if not path:
            without_steps(show, count_distinct)
        if not path and not to:
            columns.prefetch(arguments["seeds"])
        names = Names(self._db, self._schema.lists)
        seeds, arguments = await self._prepared(columns, names, arguments)
        budget = Budget.of(self._limits, max_tokens)
        if budget.asked is not None:
            names.notes.append(budget.clamped(paged=True))
        if path:
            given = PathArguments(path, to, show, count_distinct, max_hops)
            return await self._path(columns, given, seeds, names, arguments, budget)
        if to:
            query = BfsQuery(max_hops=max_hops or MAX_HOPS, **arguments)
            targets = await names.start(columns, to, "to")
            return await self._connections(columns, query, seeds, targets, names.notes, budget)
        if max_hops is None:
            raise missing("bfs_query", "max_hops")
        query = BfsQuery(max_hops=max_hops, **arguments)
        conditions = await self._conditions(columns, query)
        bounds = self._bounds(columns)
        selection = await selected(columns, seeds, query.max_hops, bounds, conditions)
        return await self._subgraph(query, selection, names.notes, budget)

    async def _path(  # noqa: PLR0917 - what every way of asking prepares
        self,
        columns: IntegerGraph,
        given: PathArguments,
        seeds: Sequence[ResolvedNode],
        names: Names,
        arguments: dict[str, Any],
        budget: Budget,
    ) -> Answer:
        """Answer a call with a path by its walks."""
        types = frozenset(columns.type_names[seed.type] for seed in seeds)
        query, taken, doubts = await self._path_query(given, types, arguments)
        targets = None
        if given.to:
            last = query.path.steps[-1].types or ()
            targets = await names.start(columns, given.to, "to", sorted(last))
        conditions = await conditions_of(
            self._db,
            columns,
            query,
            stripped=self._limits.stripped,
            steps=len(query.path.steps),
            shown=query.shown_step,
        )
        result = await follow(
            columns, query, seeds, targets, conditions=conditions, bounds=self._bounds(columns)
        )
        if query.sort_by is not None:
            result = await in_order_of_walks(self._db, result, query.sort_by)
        notes = [*names.notes, *taken, *(() if len(result.shown) else doubts)]
        writer = self._writer(notes, result.selection.summary, budget)
        try:
            for walks in (True, False) if query.walks else (False,):
                pages = PathPages(query, result, walks=walks, too_large=query.walks and not walks)
                try:
                    stubs = await fit(pages, writer, budget)
                except NothingFits:
                    if walks:
                        continue
                    raise
                page = await detail(self._db, pages, stubs, writer, budget)
                return page.answer()
        except NothingFits:
            pass
        raise _too_small(budget)

    async def _path_query(
        self, given: PathArguments, types: frozenset[str], arguments: dict[str, Any]
    ) -> ResolvedPath:
        """The query of a path; the schema is read again before a name is called unknown."""
        try:
            vocabulary = await call.within(self._vocabulary(types, again=False))
            return path_query(given, vocabulary, arguments)
        except ToolError:
            vocabulary = await call.within(self._vocabulary(types, again=True))
            return path_query(given, vocabulary, arguments)

    async def _vocabulary(self, types: frozenset[str], *, again: bool) -> Vocabulary:
        known = self._schema
        schema = known.valid(await (known.read_again() if again else known.lists()))
        outline, _ = await known.outline(WAIT_SECONDS if again else 0)
        if outline is None:
            return Vocabulary(schema, schema.comprehensive, types)
        whole = not outline.sampled and not outline.relations_left_out
        return Vocabulary(schema, schema.comprehensive, types, outline.relations, whole)

    async def intersect_subgraphs(
        self,
        max_tokens: int | None,
        k: int | None,
        *,
        connect: bool,
        **arguments: Any,
    ) -> Answer:
        """Intersection: the nodes that all seeds share."""
        columns = columns_of(self._db)
        columns.prefetch(arguments["seeds"])
        names = Names(self._db, self._schema.lists)
        seeds, arguments = await self._prepared(columns, names, arguments, at_least=2)
        bounds = self._bounds(columns)
        for depth in range(1, MAX_HOPS + 1) if k is None else [k]:
            query = IntersectionQuery(k=depth, **arguments)
            conditions = await self._conditions(columns, query)
            whole = await traverse(columns, seeds, depth, bounds)
            reach = await intersect(whole, bounds)
            selection = await select(reach, conditions)
            shared = len(selection.nodes) - int(np.isin(selection.nodes, reach.handles).sum())
            if shared or reach.depth < depth:
                break
        if connect:
            selection = await connected(selection, whole, conditions)
        edges = await edges_among(whole, whole.handles)
        names.notes += shared_notes(edges, query.k, shared, smallest=k is None)
        budget = Budget.of(self._limits, max_tokens)
        if budget.asked is not None:
            names.notes.append(budget.clamped(paged=False))
        return await self._subgraph(query, selection, names.notes, budget)

    async def _connections(  # noqa: PLR0917 - what every way of asking prepares
        self,
        columns: IntegerGraph,
        query: BfsQuery,
        seeds: Sequence[ResolvedNode],
        targets: Sequence[ResolvedNode],
        notes: Sequence[Note],
        budget: Budget,
    ) -> Answer:
        """Answer a call by the shortest connections of the seeds and the targets."""
        if len(seeds) * len(targets) > MAX_PAIRS:
            raise ToolError(
                f"seeds and to make {len(seeds) * len(targets)} pairs; at most {MAX_PAIRS} are "
                "connected in a call. Name fewer.",
                kind="too_large",
                argument="to",
            )
        conditions = await self._conditions(columns, query)
        search = ShortestPathSearch(columns, conditions, self._bounds(columns))
        found = await search.connections(seeds, targets, query.max_hops)
        notes = [*notes, *connection_notes(found.pairs, query.max_hops)]
        return await self._subgraph(query, found.selection, notes, budget)

    async def _subgraph(
        self,
        query: BfsQuery | IntersectionQuery,
        selection: Selection,
        notes: Sequence[Note],
        budget: Budget,
    ) -> Answer:
        """Run the steps after the selection: sort, fit, detail, answer."""
        if query.sort_by is not None:
            selection = await in_order_of(self._db, selection, query.sort_by)
        writer = self._writer(notes, selection.summary, budget)
        pages = Pages(query, selection)
        try:
            stubs = await fit(pages, writer, budget)
            page = await detail(self._db, pages, stubs, writer, budget)
        except NothingFits:
            raise _too_small(budget) from None
        return page.answer()

    def _writer(
        self, notes: Sequence[Note], summary: SchemaSummary, budget: Budget
    ) -> SubgraphWriter:
        names = {*summary.entity_types_found, *summary.predicates_found}
        notes, limits = without_doubts(notes, names), self._limits
        return SubgraphWriter(limits.stripped, notes, limits.answer_format, budget.bound)

    async def _conditions(
        self, columns: IntegerGraph, query: BfsQuery | IntersectionQuery
    ) -> Conditions:
        return await conditions_of(self._db, columns, query, stripped=self._limits.stripped)

    def _bounds(self, columns: IntegerGraph) -> Bounds:
        return Bounds.of(columns, self._limits.max_nodes, self._limits.max_edges)

    async def _prepared(
        self, columns: IntegerGraph, names: Names, arguments: dict[str, Any], at_least: int = 1
    ) -> tuple[list[ResolvedNode], dict[str, Any]]:
        """The seeds of a traversal and its arguments in the graph's spelling; notes are added."""
        seeds = await names.start(columns, arguments["seeds"])
        if len(seeds) < at_least:
            raise ToolError(
                f"seeds must name {at_least} different entities or more; these are all "
                f"{excerpt(seeds[0].id)}. For one entity use bfs_query.",
                kind="bad_value",
                argument="seeds",
            )
        prepared = {**arguments, "seeds": [seed.id for seed in seeds]}
        for argument in ("node_types", "exclude_node_types", "predicates"):
            prepared[argument], found = await vocabulary(
                self._schema, argument, arguments[argument]
            )
            names.notes += found
        if prepared["fields"] and prepared["topology_only"]:
            names.notes.append(
                "fields: topology_only shows no metadata; leave it out to see fields."
            )
        return seeds, prepared


async def vocabulary(
    schema: GraphSchema, argument: str, values: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Types or predicates in the graph's spelling, and notes on unknown ones.

    Args:
        schema: The schema with the vocabulary of the graph.
        argument: The argument that contains the values.
        values: The values as the call gave them.
    """
    if not values:
        return [], []
    part = "predicates" if argument == "predicates" else "entity_types"
    names, complete = await call.within(schema.vocabulary(part, values))
    return matched(argument, values, names, complete=complete)


def _too_small(budget: Budget) -> ToolError:
    what = f"max_tokens={budget.tokens}" if budget.tokens else budget.bound.name.capitalize()
    cure = "Raise max_tokens (0 is no budget), or name" if budget.bound.cure else "Name"
    return ToolError(
        f"{what} has no room for even one node beside the seeds, the "
        f"counts and the schema_summary. {cure} fewer seeds.",
        kind="too_large",
        argument="max_tokens",
    )
