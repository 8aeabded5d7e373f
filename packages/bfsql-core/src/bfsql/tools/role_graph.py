"""The part of a graph that a role may see, above the cache that all roles share.

What is hidden is not there: a hidden node is an unknown id, an edge is visible if its predicate and
both of its ends are, and the schema is counted on what is visible. Types and predicates decide by
their numbers; patterns by records, of which values that cannot be compared hide too.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from bfsql import call
from bfsql.abc import GraphDbInterface, NormalizedBackend, chunks
from bfsql.abc.delegating import COMPOSED, edges_up_to
from bfsql.call import Limits
from bfsql.errors import ConfigurationError, ToolError
from bfsql.models import EntityStub, Metadata, Node, Omission, Outline, Pattern, Property, Triple
from bfsql.models.merge import fold
from bfsql.models.name_keys import NAME, NO_NAME_KEYS, NameKeys
from bfsql.plugins import NO_HOOKS
from bfsql.query.patterns import PatternReader
from bfsql.query.vocabulary import Schema, Vocabulary
from bfsql.schema_statistics import MOST_EDGES, MOST_NODES, outline_by_batches
from bfsql.settings.roles import Role
from bfsql.tools.graph_view import GraphView, Verdict, ViewColumns
from bfsql.tools.hits import MOST_HITS
from bfsql.tools.redaction import RedactedGraphDb

MOST_TYPES = 1_000
"""Most types among which a store is asked to search."""
_VISIBLE, _HIDDEN = (True, ""), (False, "")
_OF_ONE = ("get_node", "metadata_for_node", "metadata_for_edge")
_OF_SEVERAL = ("edges_from", "edges_to", *COMPOSED)


class _Names(frozenset[str]):
    """Names in any case, so that one in another case hides all the same."""

    def __contains__(self, name: object) -> bool:
        return bool(self) and super().__contains__(fold(str(name)))


def _names(names: Iterable[str]) -> _Names:
    return _Names(map(fold, names))


def part_of_role(db: NormalizedBackend, role: Role) -> NormalizedBackend:
    """The part of a graph that a role may see."""
    if role.hide_types or role.hide_predicates or role.hide:
        db = RoleGraphDb(db, role)
    return WithoutProperties(db, role) if role.hide_properties else db


def hidden_patterns(role: Role, name_keys: NameKeys = NO_NAME_KEYS) -> list[Pattern]:
    """The patterns of the nodes that a role may not see.

    Raises:
        ConfigurationError: One cannot be read, or is about relations.
    """
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


def limited(limits: Limits, role: Role) -> Limits:
    """The limits of one call, lowered to the ceilings of a role."""
    names = ("max_tokens", "deadline", "max_nodes", "max_edges")
    pairs = {name: (getattr(limits, name), getattr(role, name)) for name in names}
    lower = {name: min(filter(None, pair), default=pair[0]) for name, pair in pairs.items()}
    return replace(limits, **lower, ceilings=limits.ceilings or role.max_tokens is not None)


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


class RoleJudge:
    """Decides what a role may see, by types, predicates and patterns."""

    def __init__(self, role: Role, name_keys: NameKeys) -> None:
        self.types, self.predicates = _names(role.hide_types), _names(role.hide_predicates)
        self.patterns = hidden_patterns(role, name_keys)
        self.keys = frozenset(one.key for of in self.patterns for one in of.conditions)

    def alone(self, owner: str, *, of_edges: bool) -> Verdict | None:
        """The verdict on all edges of a predicate, or nodes of a type that no pattern names."""
        if owner in (self.predicates if of_edges else self.types):
            return _HIDDEN
        judged = not of_edges and any(_is_of(pattern, owner) for pattern in self.patterns)
        return None if judged else _VISIBLE

    def reading(self, owner: str, known: Metadata) -> tuple[str, Metadata]:
        """A type and what patterns compare, which depends on the day."""
        return owner, known

    def verdict(self, reading: tuple[str, Metadata]) -> Verdict:
        """Whether no pattern has a node; a value that cannot be compared counts as met."""
        owner, known = reading
        of_type = (pattern for pattern in self.patterns if _is_of(pattern, owner))
        hidden = any(all(_is_met(c, known) for c in one.conditions) for one in of_type)
        return _HIDDEN if hidden else _VISIBLE

    def refusal(self, node: Node, known: Metadata) -> None:
        """None: a hidden node is an unknown id."""


def _is_of(pattern: Pattern, owner: str) -> bool:
    return pattern.types is None or fold(owner) in map(fold, pattern.types)


def _is_met(condition: Any, known: Metadata) -> bool:
    values = tuple(_today() if value == "today" else value for value in condition.values)
    one = replace(condition, values=values)
    return one.holds(known) or (one.unlike is not None and one.unlike.holds(known))


class RoleGraphDb(GraphView):
    """The nodes and edges of a graph that a role may see.

    Args:
        db: The graph behind its cache.
        role: The role.
    """

    _judge: RoleJudge

    def __init__(self, db: NormalizedBackend, role: Role) -> None:
        super().__init__(db, RoleJudge(role, db.name_keys()))
        self._counted: tuple[Outline, str, Outline, list[str]] | None = None
        """What was counted of the whole graph, on which day; what of this part, and predicates."""

    # --- nodes and edges ------------------------------------------------------------

    def columns(self) -> ViewColumns:
        """The visible part in integers, for one call."""
        return ViewColumns(self._inner, self._judge)

    def numbered(self, keys: Collection[str] = ()) -> None:
        """None: the rings that the cache holds are whole."""

    async def few_edges(self, ids: Sequence[str], most: int) -> set[Triple] | None:
        """The visible edges of a ring; None if there are more than `most`."""
        return await edges_up_to(most, self.edges_stream(ids))

    edge_values_stream = GraphDbInterface.edge_values_stream  # of what is visible

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        """Candidates, searched among visible types, so that hidden ones take no places."""
        among = node_types or []
        if self._judge.types and not among and await self._inner.comprehensive():
            among = [*await self._inner.entity_types()]
        shown = [kind for kind in among if kind not in self._judge.types]
        if among and not shown:
            return []
        few = shown if len(shown) <= MOST_TYPES else None
        found = [*await self._inner.search_entities(query, few)]
        visible: list[EntityStub] = await self._visible(found)
        if len(visible) < len(found) >= MOST_HITS:
            reason = "only the first candidates of the store were examined"
            call.omitted(Omission(query, "search", reason=reason))
        return visible

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
        named = [(one, _ends(one)) for one in things]
        hidden = self._judge.predicates
        some = [(one, ends) for one, ends in named if len(ends) < 2 or one[1] not in hidden]
        visible = await self._visible_ids([*{end for _, ends in some for end in ends}])
        return [one for one, ends in some if visible.issuperset(ends)]

    async def _visible_edges(self, edges: Collection[Triple]) -> set[Triple]:
        return {*await self._visible(edges)}

    # --- the schema: nothing is listed before it is counted --------------------------

    async def entity_types(self) -> list[str]:
        """The types of visible nodes."""
        return [*self._counted[2].node_counts] if self._counted else []

    async def predicates(self) -> list[str]:
        """The predicates of visible edges."""
        return self._counted[3] if self._counted else []

    async def comprehensive(self) -> bool:
        """Whether both lists are complete."""
        known = self._counted and self._counted[2]
        return bool(known and not known.sampled) and await self._inner.comprehensive()

    async def keys(self) -> None:
        """None: those of hidden nodes are not told."""

    def name_keys(self) -> NameKeys:
        """The keys that mean the name of visible types."""
        return self._inner.name_keys().without(self._judge.types)

    async def outline(self) -> Outline | None:
        """The outline of what is visible, counted when that of the whole graph is a new one."""
        whole, day = await self._inner.outline(), _today()
        if whole is None:
            return None
        if self._counted is None or self._counted[0] is not whole or self._counted[1] != day:
            nodes, edges = sum(whole.node_counts.values()), sum(whole.edge_counts.values())
            is_small = whole.node_counts and nodes <= MOST_NODES and edges <= MOST_EDGES
            counted = is_small and not whole.sampled and self.lists_entities()
            part = await self._count() if counted else self._part_of(whole)
            self._counted = whole, day, *part
        return self._counted[2]

    async def _count(self) -> tuple[Outline, list[str]]:
        """The outline of a small graph, and its predicates."""
        ids = [node.id async for batch in self.nodes_stream() for node in batch]
        edges: list[Triple] = []
        for some in chunks(ids):
            async for rows in self.edges_stream(some, direction="out"):
                edges += [(row[0], row[1], row[2]) for row in rows]
        outline = await outline_by_batches(self, ids, edges, sampled=False)
        return outline, sorted({edge[1] for edge in edges})

    def _part_of(self, whole: Outline) -> tuple[Outline, list[str]]:
        """Those of a larger one: what its outline says of types whose nodes are all visible."""
        judge = self._judge
        kinds = [one for one in whole.node_counts if judge.alone(one, of_edges=False) == _VISIBLE]
        relations = [
            one
            for one in whole.relations
            if one.predicate not in judge.predicates and {*kinds}.issuperset(one[:3:2])
        ]
        outline = Outline(
            node_counts={kind: whole.node_counts[kind] for kind in kinds},
            relations=relations,
            node_properties={k: of for k, of in whole.node_properties.items() if k in kinds},
            sampled=whole.sampled or bool(judge.patterns or whole.relations_left_out),
        )
        return outline, sorted({one.predicate for one in relations})


def _ends(one: Any) -> tuple[str, ...]:
    """The ids of the nodes that an id, a node, a candidate or an edge is about."""
    if isinstance(one, str):
        return (one,)
    return (one.id,) if isinstance(one, Node | EntityStub) else (one[0], one[2])


class WithoutProperties(RedactedGraphDb):
    """A graph without some properties, in place of hooks that remove them."""

    def __init__(self, db: NormalizedBackend, role: Role) -> None:
        self._hidden = _names(role.hide_properties)
        if not self._hidden.isdisjoint(map(fold, db.name_keys().types)):
            self._hidden = _names([*role.hide_properties, NAME])  # by which the data call it
        super().__init__(db, NO_HOOKS)

    def _redacted(self, kind: str, key: Any, metadata: Metadata) -> Metadata:
        """Metadata without these properties, also in items of evidence."""
        kept = {name: value for name, value in metadata.items() if name not in self._hidden}
        if items := [one for one in kept.get("provenance", ()) if isinstance(one, dict)]:
            kept["provenance"] = [self._redacted("evidence", key, one) for one in items]
        return kept

    async def outline(self) -> Outline | None:
        """The outline with the other properties."""
        whole = await self._inner.outline()
        return whole and replace(
            whole,
            node_properties=self._described(whole.node_properties),
            edge_properties=self._described(whole.edge_properties),
            tables=[],
        )

    def _described(self, known: Mapping[str, Sequence[Property]]) -> dict[str, list[Property]]:
        left = {of: [p for p in some if p.name not in self._hidden] for of, some in known.items()}
        return {of: some for of, some in left.items() if some}
