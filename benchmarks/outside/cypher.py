"""Cypher of the form that ZOGRASCOPE's queries have, and its translation into one `bfs_query`.

    MATCH (x0:Crime)-[:PARTY_TO]-(x1:Person WHERE x1.surname = "Ward")-[:KNOWS]-(x2:Person)
    MATCH (x0:Crime)-[:OCCURRED_AT]-(x3:Location)
    RETURN x0.date          COUNT(DISTINCT x0), x0 or a property of it
    ORDER BY x0.date DESC
    LIMIT 1

The longest chain that has the returned variable becomes the path, from its first node on. Every
other chain hangs on a node of it and becomes a relation condition in that node's brackets. In both
languages no rule binds edges of two of them. Within one, Cypher takes no edge twice and `path` none
twice in a row; where that may differ, steps of the path are compared.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NoReturn, TypeAlias

from bfsql.models import EdgeDirection
from bfsql.models.condition import Operator, PropertyCondition
from bfsql.models.pattern import ANY, Pattern, RelationCondition, Step
from outside.gold import NoPlan

_VALUE = r'(?:"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|-?\d+(?:\.\d+)?)'
_COMPARISON = rf"\w+\.\w+\s*(?:=|<>|<=|>=|<|>|CONTAINS)\s*{_VALUE}"
_NODE = re.compile(
    rf"\(\s*(\w+)\s*(?::\s*(\w+)\s*)?(?:WHERE\s+({_COMPARISON}(?:\s+AND\s+{_COMPARISON})*)\s*)?\)"
)
_COMPARED = re.compile(rf"\w+\.(\w+)\s*(=|<>|<=|>=|<|>|CONTAINS)\s*({_VALUE})")
_LINK = re.compile(r"\s*(<?)-\[\s*:\s*(\w+(?:\s*\|\s*\w+)*)\s*\]-(>?)\s*")
_MATCH = re.compile(r"\s*MATCH\s+")
_RETURN = re.compile(
    r"\s*RETURN\s+(?:(COUNT)\(DISTINCT\s+(\w+)\)|(?:DISTINCT\s+)?(\w+)(?:\.(\w+))?)"
    r"(?:\s+ORDER\s+BY\s+(\w+)\.(\w+)(?:\s+(ASC|DESC))?\s+LIMIT\s+1)?\s*;?\s*$"
)
_OPERATORS: dict[str, Operator] = {"<>": "!=", "CONTAINS": "~"}

Arguments: TypeAlias = dict[str, Any]
"""Arguments of a call of `bfs_query`."""


@dataclass(frozen=True)
class Chain:
    """The pattern of one `MATCH`.

    Attributes:
        variables: The variables of its nodes.
        links: The relations between each of them and the next: steps without an end.
    """

    variables: tuple[str, ...]
    links: tuple[Step, ...]

    def reversed(self) -> Chain:
        """The same chain from its last node on."""
        turn: dict[EdgeDirection | None, EdgeDirection | None]
        turn = {"in": "out", "out": "in", None: None}
        links = [replace(link, direction=turn[link.direction]) for link in reversed(self.links)]
        return Chain(self.variables[::-1], tuple(links))

    def cut(self, variable: str) -> list[Chain]:
        """The one or two chains that leave a variable of it."""
        at = self.variables.index(variable)
        left = Chain(self.variables[: at + 1], self.links[:at]).reversed()
        right = Chain(self.variables[at:], self.links[at:])
        return [part for part in (left, right) if part.links]


@dataclass(frozen=True)
class CypherQuery:
    """A parsed query.

    Attributes:
        nodes: The types and conditions of each variable.
        chains: The patterns of its `MATCH` clauses.
        returned: The variable that it returns.
        key: The property of it that it returns; None for the node itself.
        counts: Whether it returns how many different nodes there are.
        order: The property by which one row is chosen; None if all rows are returned.
        descends: Whether the row with the largest value is chosen.
    """

    nodes: dict[str, Pattern]
    chains: tuple[Chain, ...]
    returned: str
    key: str | None = None
    counts: bool = False
    order: str | None = None
    descends: bool = False


def parse(text: str) -> CypherQuery:
    """Parse a query.

    Raises:
        NoPlan: It is not of the form that ZOGRASCOPE's queries have.
    """
    nodes: dict[str, Pattern] = {}
    chains = []
    place = 0
    while match := _MATCH.match(text, place):
        place = match.end()
        variables, links = [], []
        while node := _NODE.match(text, place):
            variables.append(node[1])
            nodes[node[1]] = _merged(nodes.get(node[1], ANY), node)
            place = node.end()
            if not (link := _LINK.match(text, place)):
                break
            links.append(_step(link))
            place = link.end()
        if len(variables) != len(links) + 1:
            _unknown(text, place)
        chains.append(Chain(tuple(variables), tuple(links)))
    if not chains or not (end := _RETURN.match(text, place)):
        _unknown(text, place)
    counts, counted, returned, key, ordered, order, descends = end.groups()
    variable = counted or returned
    if variable not in nodes or (ordered or variable) != variable:
        raise NoPlan(f"the query orders by another variable than it returns: {text!r}")
    return CypherQuery(
        nodes, tuple(chains), variable, key, counts is not None, order, descends == "DESC"
    )


def translated(query: CypherQuery, single: Collection[tuple[str, str]] = ()) -> Arguments:
    """The arguments of the call of `bfs_query` that answers a query.

    Args:
        query: The query.
        single: Types with a predicate of which each of their nodes has at most one edge.

    Raises:
        NoPlan: The chains form a cycle, or one of them hangs on two nodes.
    """
    on_chain = [chain for chain in query.chains if query.returned in chain.variables]
    main = max(on_chain, key=lambda chain: len(chain.links))
    rest = [chain for chain in query.chains if chain is not main]
    ends = [
        _decorated(query, variable, rest, seen={*main.variables}) for variable in main.variables
    ]
    if rest:
        raise NoPlan("the chains of the query form a cycle")
    steps = [replace(link, end=end) for link, end in zip(main.links, ends[1:], strict=True)]
    arguments: Arguments = {"seeds": [ends[0].text]}
    if steps:
        arguments["path"] = [step.text for step in steps]
        arguments["show"] = str(main.variables.index(query.returned))
    cycle = [
        f"{at} = {main.variables.index(one)}"
        for at, one in enumerate(main.variables)
        if main.variables.index(one) != at
    ]
    if where := cycle or _different_edges(query, main, single):
        arguments["where"] = where
    return arguments | _detail(query)


def _different_edges(
    query: CypherQuery, chain: Chain, single: Collection[tuple[str, str]]
) -> list[str]:
    """Comparisons of steps that keep a walk from taking an edge once more after other edges.

    Of a node that has one edge of a predicate, every walk takes the same one, so it suffices that
    the nodes differ. Comparisons of one call have a step in common.
    """
    types = [query.nodes[one].types for one in chain.variables]
    found: list[set[int]] = []
    for late in range(2, len(chain.links)):
        for early in range(late - 1):
            predicates = chain.links[late].predicates or frozenset()
            if chain.links[early].predicates != predicates:
                continue
            for one, other in product((early, early + 1), (late, late + 1)):
                named = product(types[one] or (), predicates)
                if types[one] == types[other] and any(pair in single for pair in named):
                    if {one, other} not in found and set.intersection({one, other}, *found):
                        found.append({one, other})
                    break
    return [f"{max(pair)} != {min(pair)}" for pair in found]


def _detail(query: CypherQuery) -> Arguments:
    """What of the nodes is shown, and how many of them."""
    if query.counts:
        return {"limit": 0}
    shown: Arguments = {"fields": [query.key]} if query.key else {"topology_only": True}
    if query.order is None:
        return {**shown, "max_tokens": 0}
    return {**shown, "sort_by": f"{'-' * query.descends}{query.order}", "limit": 1}


def _decorated(query: CypherQuery, variable: str, rest: list[Chain], seen: set[str]) -> Pattern:
    """A node with the chains that hang on it as relation conditions; they are taken from `rest`."""
    relations = []
    for chain in [chain for chain in rest if variable in chain.variables]:
        if chain not in rest:
            continue
        rest.remove(chain)
        parts = chain.cut(variable)
        if len(parts) > 1 and any(
            one.predicates & other.predicates
            for one in parts[0].links
            for other in parts[1].links
            if one.predicates and other.predicates
        ):
            raise NoPlan(f"{variable} stands within a chain that takes a relation on both sides")
        for part in parts:
            if seen.intersection(part.variables[1:]):
                raise NoPlan("the chains of the query form a cycle")
            seen.update(part.variables)
            ends = [_decorated(query, one, rest, seen) for one in part.variables[1:]]
            steps = [replace(link, end=end) for link, end in zip(part.links, ends, strict=True)]
            relations.append(RelationCondition(tuple(steps)))
    return replace(query.nodes[variable], relations=tuple(relations))


def _merged(known: Pattern, node: re.Match[str]) -> Pattern:
    """What is known of a variable, and what another mention of it says."""
    types = frozenset([node[2]]) if node[2] else known.types
    conditions = [
        PropertyCondition(key, _OPERATORS.get(operator, operator), (_literal(value),))
        for key, operator, value in _COMPARED.findall(node[3] or "")
    ]
    return Pattern(types, tuple(dict.fromkeys((*known.conditions, *conditions))))


def _step(link: re.Match[str]) -> Step:
    predicates = frozenset(re.split(r"\s*\|\s*", link[2]))
    directions: dict[tuple[str, str], EdgeDirection] = {("<", ""): "in", ("", ">"): "out"}
    return Step(predicates, directions.get((link[1], link[3])))


def _literal(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text[0] in "\"'" else text


def _unknown(text: str, place: int) -> NoReturn:
    raise NoPlan(f"the translator does not know this Cypher: {text[place : place + 80]!r}")
