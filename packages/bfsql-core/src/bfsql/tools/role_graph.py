"""The part of a graph that a role may see, above the cache that all roles share.

What is hidden is not there: a hidden node is an unknown id, an edge is visible if its predicate and
both of its ends are, and the schema is counted on what is visible. Types and predicates decide by
their numbers; patterns by records, of which values that cannot be compared hide too.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection, Iterable, Mapping
from contextlib import aclosing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain
from typing import Any

from bfsql import call
from bfsql.abc import GraphDbInterface, NormalizedBackend, chunks, normalized
from bfsql.abc.delegating import COMPOSED, SignatureAdapter
from bfsql.errors import ConfigurationError, StoreError, ToolError
from bfsql.models import EntityStub, Metadata, Node, Omission, Outline, Pattern, Triple
from bfsql.models.matching import NameQuery
from bfsql.models.merge import fold
from bfsql.models.name_keys import NAME, NO_NAME_KEYS, NameKeys
from bfsql.query.patterns import PatternReader
from bfsql.query.vocabulary import Schema, Vocabulary
from bfsql.schema_statistics import MOST_EDGES, MOST_NODES, outline_by_batches
from bfsql.settings.roles import Role
from bfsql.tools.graph_view import GraphView, Verdict, ViewColumns
from bfsql.tools.hits import MOST_HITS, MOST_LISTED

_VISIBLE, _HIDDEN = (True, ""), (False, "")
_OF_ONE = ("get_node", "metadata_for_node", "metadata_for_edge")
_OF_SEVERAL = ("edges_from", "edges_to", *COMPOSED)


def visible_to(role: Role, db: GraphDbInterface) -> GraphDbInterface:
    """The nodes and edges of a graph that a role may see."""
    hides = role.hide_types or role.hide_predicates or role.hide
    return RoleGraphDb(normalized(db), role) if hides else db


def hidden_keys(role: Role, db: GraphDbInterface) -> list[str]:
    """The properties that a role may not see; with `name` if one is called so by the data."""
    own, known = role.hide_properties, map(fold, db.name_keys().types)
    return [*own, NAME] if {*known}.intersection(map(fold, own)) else [*own]


def hidden_patterns(role: Role, name_keys: NameKeys = NO_NAME_KEYS) -> list[Pattern]:
    """The patterns that hide nodes; one that cannot be read is a `ConfigurationError`."""
    found = []
    for text in role.hide:
        types = text.partition("[")[0].removesuffix(":*").split("|")
        schema = Schema(tuple(types), (), comprehensive=False, name_keys=name_keys)
        why = "it has to be a pattern without relations, as Paper[year>=2020] or Paper:*."
        try:
            pattern = PatternReader(Vocabulary(schema), argument="hide").pattern(text)
        except ToolError as error:
            pattern, why = None, str(error)
        if pattern is None or pattern.relations:
            raise ConfigurationError(f"hide of [roles.{role.name}] has {text[:80]!r}: {why}")
        found.append(pattern)
    return found


def unknown_names(role: Role, schema: Schema | None) -> list[str]:
    """The types and predicates that a role hides and a graph does not have, if it lists all."""
    if schema is None or not schema.comprehensive:
        return []
    of_patterns = (kind for one in hidden_patterns(role) for kind in one.types or ())
    types, predicates = {*map(fold, schema.entity_types)}, {*map(fold, schema.predicates)}
    strange = {name for name in (*role.hide_types, *of_patterns) if fold(name) not in types}
    return sorted(strange.union(n for n in role.hide_predicates if fold(n) not in predicates))


class RoleJudge:
    """Decides what a role may see: names count in any case, and `today` is the day in UTC."""

    def __init__(self, role: Role, name_keys: NameKeys) -> None:
        every = [(_in_one_case(p.types), p.conditions) for p in hidden_patterns(role, name_keys)]
        whole = [kind for types, conditions in every if types and not conditions for kind in types]
        self.patterns = [one for one in every if one[1] or one[0] is None]
        self._types = frozenset(map(fold, (*role.hide_types, *whole)))
        self._predicates = frozenset(map(fold, role.hide_predicates))
        self.keys = frozenset(one.key for _, conditions in self.patterns for one in conditions)

    def alone(self, owner: str, *, of_edges: bool) -> Verdict | None:
        """The verdict on all edges of a predicate, or nodes of a type that no pattern names."""
        name = fold(owner)
        if name in (self._predicates if of_edges else self._types):
            return _HIDDEN
        judged = not of_edges and any(not types or name in types for types, _ in self.patterns)
        return None if judged else _VISIBLE

    def hides(self, owner: str, *, of_edges: bool = False) -> bool:
        """Whether a type or a predicate is hidden."""
        return self.alone(owner, of_edges=of_edges) == _HIDDEN

    def reading(self, owner: str, known: Metadata) -> tuple[str, Metadata]:
        """A type and what patterns compare."""
        return fold(owner), known

    def verdict(self, reading: tuple[str, Metadata]) -> Verdict:
        """Whether no pattern has a node; a value that cannot be compared counts as met."""
        (name, known), day = reading, _today()
        for types, conditions in self.patterns:
            if (not types or name in types) and all(_is_met(c, day, known) for c in conditions):
                return _HIDDEN
        return _VISIBLE

    def refusal(self, node: Node, known: Metadata) -> None:
        """None: a hidden node is an unknown id."""


def _in_one_case(names: Iterable[str] | None) -> frozenset[str] | None:
    return None if names is None else frozenset(map(fold, names))


def _is_met(condition: Any, day: str, known: Metadata) -> bool:
    one = _on(day, condition)
    return one.holds(known) or (one.unlike is not None and one.unlike.holds(known))


@lru_cache(maxsize=1_000)
def _on(day: str, one: Any) -> Any:
    """A condition on a day."""
    return replace(one, values=tuple(day if value == "today" else value for value in one.values))


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _ends(one: Any) -> tuple[str, ...]:
    """The ids of the nodes that an id, a node, a candidate or an edge is about."""
    if isinstance(one, str):
        return (one,)
    return (one.id,) if isinstance(one, Node | EntityStub) else (one[0], one[2])


class RoleGraphDb(GraphView):
    """The nodes and edges of a graph that a role may see; nothing is listed before it is counted.

    Args:
        db: The graph behind its cache.
        role: The role.
    """

    _judge: RoleJudge

    def __init__(self, db: NormalizedBackend, role: Role) -> None:
        super().__init__(db, RoleJudge(role, db.name_keys()))
        self._counted: tuple[Outline | None, str] = None, ""
        self._counting = asyncio.Lock()
        self._outline, self._lists = Outline(sampled=True), (list[str](), list[str]())

    def columns(self) -> ViewColumns:
        """The visible part in integers, for one call."""
        return ViewColumns(self._inner, self._judge, (self._judge, _today()))

    def numbered(self, keys: Collection[str] = ()) -> None:
        """None: the rings that the cache holds are whole."""

    # Over what is visible.
    few_edges = SignatureAdapter.few_edges
    edge_values_stream = GraphDbInterface.edge_values_stream

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        """Candidates, searched among visible types and without those found to be hidden."""
        every = node_types or [*await self._inner.entity_types()]
        among: list[str] | None = [kind for kind in every if not self._judge.hides(kind)]
        if node_types and not among:
            return []
        if len(every) > MOST_LISTED or not await self._inner.comprehensive():
            among = node_types
        wanted, texts, hidden = NameQuery(query), [query], set[str]()
        words = wanted.significant_words if self._judge.patterns else ()
        for _ in range(8):  # each time, a store looks behind twice as many that are hidden
            found = [await self._ask("search_entities", t, among, sorted(hidden)) for t in texts]
            shown = {one.id for one in await self._visible(chain(*found))}
            visible = [one for one in found[0] if one.id in shown]
            more = {one.id for one in chain(*found)} - shown
            if len(visible) >= MOST_HITS:
                break
            new = more - hidden
            if not new:
                if not words or any(wanted.match(one.id, one.name, ()) for one in visible):
                    break
                texts, words = [query, *words], ()  # which may be rare among what is visible
            hidden |= more
        if len(visible) < MOST_HITS and (new or (more and len(found[0]) >= MOST_HITS)):
            reason = "only the first candidates of the store were examined"
            call.omitted(Omission(query, "search", reason=reason))
        return visible[:MOST_HITS]

    async def _ask(self, method: str, /, *args: Any, **named: Any) -> Any:
        """What is visible of the answer of the whole graph."""
        answer = await super()._ask(method, *args, **named)
        if method in _OF_ONE and not await self._visible([*args, *named.values()][:1]):
            raise KeyError(method)
        if method not in _OF_SEVERAL:
            return answer
        visible = await self._visible(answer)
        return {one: answer[one] for one in visible} if isinstance(answer, Mapping) else visible

    async def _stream(self, method: str, /, *args: Any, **named: Any) -> AsyncGenerator[Any]:
        async with aclosing(super()._stream(method, *args, **named)) as batches:
            async for batch in batches:
                yield await self._visible(batch)

    async def _visible(self, things: Iterable[Any]) -> list[Any]:
        """The visible ones of some ids, nodes, candidates and edges."""
        every, hides = [(one, _ends(one)) for one in things], self._judge.hides
        some = [(one, of) for one, of in every if len(of) < 2 or not hides(one[1], of_edges=True)]
        visible = await self._visible_ids([*{end for _, ends in some for end in ends}])
        return [one for one, ends in some if visible.issuperset(ends)]

    async def _visible_edges(self, edges: Collection[Triple]) -> set[Triple]:
        return {*await self._visible(edges)}

    async def entity_types(self) -> list[str]:
        """The types of visible nodes."""
        return (await self._vocabulary())[0]

    async def predicates(self) -> list[str]:
        """The predicates of visible edges."""
        return (await self._vocabulary())[1]

    async def comprehensive(self) -> bool:
        """Whether both lists are complete."""
        await self._vocabulary()
        return not self._outline.sampled and await self._inner.comprehensive()

    async def _vocabulary(self) -> tuple[list[str], list[str]]:
        """The two lists, counted before if that takes no more than some seconds."""
        with suppress(StoreError, TimeoutError):
            async with asyncio.timeout(call.seconds_left(3.0, 0.5)), self._counting:
                if self._counted[0] is None:
                    await self.outline()
        return self._lists

    async def keys(self) -> None:
        """None: those of hidden nodes are not told."""

    def name_keys(self) -> NameKeys:
        """The keys that mean the name of visible types."""
        return self._inner.name_keys().without(self._judge.hides)

    async def outline(self) -> Outline | None:
        """The outline of what is visible, counted when that of the whole graph is a new one."""
        whole, day = await self._inner.outline(), _today()
        if whole is None or (self._counted[0] is whole and self._counted[1] == day):
            return whole and self._outline
        nodes, edges = sum(whole.node_counts.values()), sum(whole.edge_counts.values())
        few = 0 < nodes <= MOST_NODES and edges <= MOST_EDGES and not whole.sampled
        if few and self.lists_entities():
            ids = [node.id async for batch in self.nodes_stream() for node in batch]
            ring: list[Triple] = []
            for some in chunks(ids):
                async for rows in self.edges_stream(some, direction="out"):
                    ring += [(row[0], row[1], row[2]) for row in rows]
            self._outline = await outline_by_batches(self, ids, ring, sampled=False)
            types, predicates = {*self._outline.node_counts}, {edge[1] for edge in ring}
        else:
            self._outline = self._part_of(whole)
            types = {one for one in whole.node_counts if not self._judge.hides(one)}
            predicates = {one.predicate for one in self._outline.relations}
        self._lists, self._counted = (sorted(types), sorted(predicates)), (whole, day)
        return self._outline

    def _part_of(self, whole: Outline) -> Outline:
        """What the outline of a large graph says of types whose nodes are all visible."""
        hides, patterns = self._judge.hides, self._judge.patterns
        of = [kind for kind in whole.node_counts if self._judge.alone(kind, of_edges=False)]
        shown = [kind for kind in of if not hides(kind)]
        return Outline(
            node_counts={} if patterns else {kind: whole.node_counts[kind] for kind in shown},
            relations=[
                one
                for one in whole.relations
                if not any(map(hides, one[:3:2])) and not hides(one.predicate, of_edges=True)
            ],
            node_properties={kind: whole.node_properties.get(kind, ()) for kind in shown},
            sampled=whole.sampled or bool(patterns or whole.relations_left_out),
        )
