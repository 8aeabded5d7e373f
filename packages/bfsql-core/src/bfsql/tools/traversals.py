"""The two traversals as tools: from checked arguments to an answer.

A traversal has six steps, each of which takes the result of the previous one:
resolve, plan, run, fit, detail, answer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bfsql import call
from bfsql.abc import NormalizedBackend
from bfsql.answers import Answer, SubgraphWriter
from bfsql.answers.notes import Note, connection_notes, left_out, relation_notes, shared_notes
from bfsql.arrays import distinct_numbers
from bfsql.call import Limits
from bfsql.engine.executor import Executor
from bfsql.engine.plan import Plan, Query
from bfsql.engine.table import AnswerTable
from bfsql.errors import NothingFits, ToolError, bad_value
from bfsql.integers import IntArray, NodeSet
from bfsql.models import (
    MAX_ALONG,
    MAX_HOPS,
    MAX_STEPS,
    BfsQuery,
    IntersectionQuery,
    Node,
    Path,
    ScopedRelation,
)
from bfsql.models.quotation import excerpt
from bfsql.query.patterns import Where, may_be_pattern, may_relate
from bfsql.query.properties import RESERVED, computed_fields, measure_label, on_measures
from bfsql.query.vocabulary import Names
from bfsql.tools.budget import Budget, detail, fit
from bfsql.tools.ends import EndResolver
from bfsql.tools.resolve import NameResolver
from bfsql.tools.schema import GraphSchema, key_notes
from bfsql.tools.steps import PathArguments, path_query, without_steps
from bfsql.tools.validate import without_doubts

MAX_PAIRS = 100
"""Maximum number of pairs of a seed and a target connected in a call (`protocol.md` 31)."""
SET_PAGE = 50
"""Number of entities of a set that a page has where `limit` is left out (`protocol.md` 34)."""


@dataclass(frozen=True, slots=True)
class EntityPage:
    """A page of a list of entities."""

    count: int
    """The number of all entities of the list."""
    nodes: list[Node]
    """Those of the page, in the order of their ids."""
    is_last: bool
    notes: list[Note]


class Traversal:
    """One call of `bfs_query` or `intersect_subgraphs`, with its requested budget."""

    def __init__(
        self, db: NormalizedBackend, limits: Limits, schema: GraphSchema, max_tokens: int | None
    ) -> None:
        self._db = db
        self._limits = limits
        self._schema = schema
        self._budget = Budget.of(limits, max_tokens)
        self._executor = Executor(db, limits.max_nodes, limits.max_edges, limits.stripped)
        self._columns = self._executor.columns
        names = NameResolver(db, schema.lists)
        self._notes = names.notes
        self._doubts: list[str] = []
        self._ends = EndResolver(self._executor, names, schema)

    async def bfs_query(
        self,
        max_hops: int | None,
        *,
        path: Sequence[str],
        along: Sequence[str],
        to: Sequence[str],
        show: str | None,
        count_distinct: int | None,
        measure: Sequence[str],
        **arguments: Any,
    ) -> Answer:
        """Sets of nodes, the union of neighbourhoods, walks along a path, or connections."""
        if path and along:
            raise bad_value(
                "along cannot be combined with path: it follows its steps in any order, path in "
                "the order written. Leave out one of the two.",
                "along",
            )
        is_walk = bool(path or along or to or max_hops)
        if not path and not along and not to and not any(map(may_be_pattern, arguments["seeds"])):
            self._columns.prefetch(arguments["seeds"])
        # A set that is only counted is not limited to what a traversal may hold.
        await self._check_given_names(fields=arguments["fields"], measure=measure)
        steps = MAX_STEPS if path else None
        named = [label for text in measure if (label := measure_label(text)) != text]
        having = on_measures(arguments["where"], named)
        if having:
            where = [text for text in arguments["where"] if text not in having]
            arguments = {**arguments, "where": where}
        seeds, arguments = await self._prepared(
            arguments, bounded=is_walk or arguments["limit"] != 0, steps=steps
        )
        self._notes += self._budget.ceiling_notes(paged=True)
        if path:
            conditions = tuple(having.values())
            of_path = PathArguments(path, show, count_distinct, measure, max_hops, conditions)
            return await self._walks(of_path, to, seeds, arguments)
        without_steps(arguments, show=show, count_distinct=count_distinct, measure=measure)
        del arguments["comparisons"]
        if along:
            arguments["along"] = await self._steps_along(along)
            max_hops = max_hops or MAX_ALONG
        if to:
            query = BfsQuery(max_hops=max_hops or MAX_HOPS, **arguments)
            return await self._connections(query, seeds, to)
        if max_hops is None:  # one hop around entities, or a set itself (`protocol.md` 34)
            max_hops = 1 if seeds.is_named else 0
            if not max_hops and arguments["limit"] is None:
                arguments["limit"] = SET_PAGE
        query = BfsQuery(max_hops=max_hops, **arguments)
        table = await self._executor.answer(Plan(query, seeds))
        self._notes += () if len(table.edges.subjects) else self._doubts
        return await self._answer(query, table)

    async def intersect_subgraphs(
        self, k: int | None, *, connect: bool, **arguments: Any
    ) -> Answer:
        """The nodes that all seeds share."""
        await self._check_given_names(fields=arguments["fields"])
        self._columns.prefetch(arguments["seeds"])
        seeds, arguments = await self._prepared(arguments, at_least=2)
        without_steps(arguments)
        del arguments["comparisons"]
        if not seeds.is_named:
            raise bad_value(
                f"seeds: {excerpt(seeds.texts[-1])} is a set of entities, but an intersection "
                "takes single ones. bfs_query takes sets: what two of them share lies on a path "
                "from one to the other (path, to).",
                "seeds",
            )
        query = IntersectionQuery(k=k or MAX_HOPS, **arguments)
        plan = Plan(query, seeds, smallest=k is None, connect=connect)
        table = await self._executor.answer(plan)
        common = table.nodes[: table.common]
        shared = len(common) - int(np.isin(common, seeds.handles).sum())
        bare = not connect and not len(table.edges.subjects)
        depth = table.depth or query.k
        notes = shared_notes(table.seed_edges, depth, shared, smallest=k is None, bare=bare)
        self._notes += notes
        self._notes += self._budget.ceiling_notes(paged=False)
        return await self._answer(query.model_copy(update={"k": depth}), table)

    async def entity_page(
        self, types: Sequence[str], conditions: Sequence[str], after: str | None, limit: int
    ) -> EntityPage:
        """A page of the entities of some types that meet conditions, in the order of their ids.

        Args:
            types: The types; all if there are none.
            conditions: Conditions, written as in the brackets of a pattern.
            after: The id after which the page begins, which need not exist; None for the first.
            limit: The most entities of the page.

        Raises:
            ToolError: A type is unknown, or a condition cannot be read.
            EntitiesNotListed: The store cannot list its entities.
        """
        place = await self._ends.listed(types, conditions)
        start = 0 if after is None else await self._rank(place.handles, after)
        page = slice(start, start + limit)
        ids = await call.within(self._columns.ids(place.handles[page]))
        names = self._columns.type_names
        nodes = [Node(i, names[t]) for i, t in zip(ids, place.types[page].tolist(), strict=True)]
        own = await self._relation_notes((), len(self._executor.undecided))
        count = len(place.handles)
        return EntityPage(count, nodes, page.stop >= count, [*own, *self._notes, *left_out()])

    async def _rank(self, handles: IntArray, after: str) -> int:
        """The number of handles, which are in the order of their ids, up to an id."""
        low, high = 0, len(handles)
        while low < high:
            middle = (low + high) // 2
            [entity_id] = await call.within(self._columns.ids(handles[middle : middle + 1]))
            low, high = (middle + 1, high) if entity_id <= after else (low, middle)
        return low

    # --- the ways to ask --------------------------------------------------------

    async def _walks(
        self, of_path: PathArguments, to: Sequence[str], seeds: NodeSet, arguments: dict[str, Any]
    ) -> Answer:
        """Answer a call with a path by its walks, or without them if not even one node's fit."""
        names = self._columns.type_names
        types = {names[number] for number in distinct_numbers(seeds.types).tolist()}
        path, reader = await self._ends.read(
            lambda one: one.path(of_path.path, types or None),
            "path",
            (*of_path.path, frozenset(types)),
        )
        query, targets = path_query(of_path, path, arguments), None
        if to:
            last = sorted(path.steps[-1].types or ())
            targets = await self._ends.node_set(to, "to", last)
        table = await self._executor.answer(Plan(query, seeds, targets))
        self._notes += [*reader.replaced, *(() if len(table.listed) else reader.doubts)]
        return await self._answer(query, table)

    async def _connections(self, query: BfsQuery, seeds: NodeSet, to: Sequence[str]) -> Answer:
        """Answer a call by the shortest connections of its seeds with other entities."""
        targets = await self._ends.node_set(to, "to")
        count = len(seeds.places) * len(targets.places)
        if count > MAX_PAIRS:
            raise ToolError(
                f"seeds and to make {count} pairs; the limit is {MAX_PAIRS} in a "
                "call. Name fewer entities.",
                kind="too_large",
                argument="to",
            )
        table = await self._executor.answer(Plan(query, seeds, targets))
        pairs, edges = table.connections, len(table.edges.subjects)
        self._notes += connection_notes(pairs, query.max_hops, edges, along=bool(query.along))
        self._notes += () if edges else self._doubts
        return await self._answer(query, table)

    async def _steps_along(self, texts: Sequence[str]) -> tuple[Path, ...]:
        """The steps of `along`, each as a path of its own; notes are added.

        Raises:
            ToolError: A text cannot be read, has several steps, or says how often to repeat one.
        """
        paths, reader = await self._ends.read(
            lambda one: [one.path([text]) for text in texts], "along", tuple(texts)
        )
        for text, path in zip(texts, paths, strict=True):
            if path.longest > 1:
                raise bad_value(
                    f"along: {excerpt(text)} is more than one step. along follows its steps in any "
                    "order, up to max_hops: write each as a string of its own, without {m,n}; path "
                    "follows them in the order written.",
                    "along",
                )
        self._notes += reader.replaced
        self._doubts = reader.doubts
        return tuple(dict.fromkeys(paths))

    # --- the steps --------------------------------------------------------------

    async def _prepared(
        self,
        arguments: dict[str, Any],
        at_least: int = 1,
        *,
        bounded: bool = True,
        steps: int | None = None,
    ) -> tuple[NodeSet, dict[str, Any]]:
        """The seeds of a traversal and its arguments in the graph's spelling; notes are added."""
        seeds = await self._ends.node_set(arguments["seeds"], "seeds", bounded=bounded)
        if len(seeds.places) < at_least:
            raise bad_value(
                f"seeds must name {at_least} different entities or more; these are all "
                f"{excerpt(seeds.texts[0])}. For one entity use bfs_query.",
                "seeds",
            )
        prepared = {**arguments, "seeds": seeds.texts}
        if not seeds.is_named:
            prepared["seed_count"] = len(seeds.handles)
        for argument in ("node_types", "exclude_node_types", "predicates"):
            if arguments[argument]:
                names, notes = await self._schema.spelled(argument, arguments[argument])
                prepared[argument] = names
                self._notes += notes
        prepared |= (await self._where(arguments["where"], steps))._asdict()
        prepared["where"] = prepared.pop("properties")
        if (keys := prepared["fields"]) and (known := self._db.name_keys()).types:
            self._notes += [f"fields: {sentence}" for sentence in key_notes(known, keys)]
            prepared["fields"] = known.metadata_keys(keys)
        if prepared["fields"] and prepared["topology_only"]:
            self._notes.append(
                "fields: topology_only shows no metadata; leave it out to see fields."
            )
        return seeds, prepared

    async def _check_given_names(self, **texts: Sequence[str]) -> None:
        """Raise an error if a call gives something a name that means something else."""
        given = [
            (argument, text, name)
            for argument, every in texts.items()
            for text in every
            if (name := measure_label(text)) != text
        ]
        if not given:
            return
        schema = await call.within(self._schema.lists())
        keys = await self._schema.keys()
        computed_fields(texts["fields"], names=Names((), (), self._db.name_keys(), keys))
        known = {*RESERVED, *schema.entity_types, *schema.predicates, *(keys or ())}
        for argument, text, name in given:
            if name in known:
                raise bad_value(
                    f"{argument}: {excerpt(text)} is called {excerpt(name)}, which means something "
                    f'else in this call or graph. Choose another name, such as "{name}_2".',
                    argument,
                )
            known.add(name)

    async def _where(self, texts: Sequence[str], steps: int | None) -> Where:
        """The conditions of `where` by their kind; notes are added."""
        if not any(map(may_relate, texts)):
            return Where(list(texts), [], [])
        where, reader = await self._ends.read(lambda one: one.where(texts, steps), "where")
        self._notes += [*reader.replaced, *reader.doubts]
        return where

    async def _relation_notes(
        self, idle: Collection[ScopedRelation], undecided: int
    ) -> Iterator[str]:
        """Notes on conditions on relations, judged by the counts of the graph if known in time."""
        unmatched = self._executor.unmatched
        outline = (await self._schema.outline(1.0))[0] if unmatched else None
        return relation_notes(unmatched, idle, undecided, outline, self._executor.unlike)

    async def _answer(self, query: Query, table: AnswerTable) -> Answer:
        """Fit the first kind of pages of which a page fits, read its detail, write the answer."""
        summary, executor = table.summary, self._executor
        names = {*summary.entity_types_found, *summary.predicates_found}
        handles = np.array(sorted(executor.undecided), np.int32)
        undecided = await call.within(self._columns.ids(handles)) if len(handles) else []
        own = await self._relation_notes(executor.idle, len(undecided))
        notes = [*own, *without_doubts(self._notes, names)]
        limits, budget = self._limits, self._budget
        format_and_bound = limits.answer_format, budget.bound
        writer = SubgraphWriter(limits.stripped, notes, *format_and_bound, undecided)
        for pages in await executor.pages(query, table):
            try:
                stubs = await fit(pages, writer, budget)
            except NothingFits:
                continue
            try:
                page = await detail(self._db, pages, stubs, budget)
            except NothingFits:
                break
            return page.answer()
        raise _too_small(budget)


def _too_small(budget: Budget) -> ToolError:
    what = f"max_tokens={budget.tokens}" if budget.tokens else budget.bound.name.capitalize()
    cure = "Raise max_tokens (0 for no limit), or name" if budget.bound.cure else "Name"
    return ToolError(
        f"{what} is too small for even one node besides the seeds, the "
        f"counts, the facets and the schema_summary. {cure} fewer seeds or facets.",
        kind="too_large",
        argument="max_tokens",
    )
