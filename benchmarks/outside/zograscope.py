"""ZOGRASCOPE: a crime graph (POLE) and questions about it, each with its Cypher.

The right answers are computed here, by joins over the CSV files in which no edge is used twice
within one `MATCH`; each has as many rows as the data set says (`return_count`).
"""

from __future__ import annotations

import csv
import io
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from zipfile import ZipFile

from graphs import records_of

from bfsql.models import GraphRecord
from bfsql.models.condition import PropertyCondition
from bfsql.models.pattern import Pattern, Step
from bfsql_test_support.questions.kinds.kind import Form
from bfsql_test_support.questions.scores import Row, comparable
from bfsql_test_support.questions.toolsets import SixTools
from outside.cypher import CypherQuery, parse, translated
from outside.gold import Gold, NoPlan, OutsideQuestion, Plan, QuestionForm, no_plan

GRAPH = "pole-data-importer.zip"
QUESTIONS = "zograscope_*.csv"
_IDS = "a JSON list of the ids of the entities"
_ID = "a JSON list with the id of the entity; with one of them if several are equal"
_VALUES = "a JSON list of the values, each once"
_VALUE = "a JSON list with the value; with one of them if several entities are equal"
_FORMS = {
    "count": QuestionForm("count", Form.NUMBER),
    "entity_set": QuestionForm("entity_set", Form.NAMES, f"here {_IDS}"),
    "attribute_set": QuestionForm("attribute_set", Form.NAMES, f"here {_VALUES}"),
    "max": QuestionForm("max", Form.NAMES, f"here {_ID}"),
    "min": QuestionForm("min", Form.NAMES, f"here {_ID}"),
    "argmax": QuestionForm("argmax", Form.NAMES, f"here {_VALUE}"),
    "argmin": QuestionForm("argmin", Form.NAMES, f"here {_VALUE}"),
}


@dataclass(frozen=True)
class Zograscope:
    """The data set in a folder.

    Args:
        folder: The folder with the zip of the graph and the CSV files of questions.
    """

    folder: Path
    name = "zograscope"
    description = (
        "People, crimes, officers, vehicles, phone calls and places of Greater Manchester."
    )

    def records(self) -> Iterator[GraphRecord]:
        """The graph as our own loaders read the CSV files, with neo4j-admin's headers."""
        with TemporaryDirectory(prefix="bfsql-zograscope-") as place, ZipFile(self._zip) as packed:
            members = [name for name in packed.namelist() if name.endswith(".csv")]
            packed.extractall(place, members)
            yield from records_of([Path(place, name) for name in sorted(members)])

    def questions(self, every: int = 1) -> list[OutsideQuestion]:
        """One of this many questions of the folder's CSV files."""
        graph = CsvGraph.read(self._zip)
        rows: list[dict[str, str]] = []
        for path in sorted(self.folder.glob(QUESTIONS)):
            with path.open(encoding="utf-8", newline="") as file:
                rows += csv.DictReader(file)
        return [_question(graph, row) for row in rows[::every]]

    @property
    def _zip(self) -> Path:
        return self.folder / GRAPH


def _question(graph: CsvGraph, row: dict[str, str]) -> OutsideQuestion:
    try:
        query = parse(row["mr"])
        gold, rows = Joins(graph, query).answer()
        plan = _plan(query, graph.single)
        if rows != int(row["return_count"]):
            plan = no_plan(f"the joins find {rows} rows, and the set says {row['return_count']}")
    except NoPlan as reason:
        gold, plan = Gold([]), no_plan(reason)
    kind = _FORMS.get(row["type"], QuestionForm(row["type"], Form.NAMES))
    return OutsideQuestion(row["id"], kind, row["nl"], gold, plan, row["mr"])


def _plan(query: CypherQuery, single: Collection[tuple[str, str]]) -> Plan:
    """One call, and its rows."""

    async def plan(ask: SixTools) -> Iterable[Row]:
        return rows_of(query, await ask.call("bfs_query", **translated(query, single)))

    return plan


def rows_of(query: CypherQuery, answer: dict[str, Any]) -> list[Row]:
    """The rows of a query in the answer to its translation."""
    if query.counts:
        return [(answer.get("shown_count", answer["node_count"]),)]
    if query.key is None:
        return [(node["id"],) for node in answer["nodes"]]
    values = [node.get("metadata", {}).get(query.key) for node in answer["nodes"]]
    return [(one,) for value in values for one in (value if isinstance(value, list) else [value])]


# --- gold ---------------------------------------------------------------------


class Hop(NamedTuple):
    """An edge from one of its ends."""

    neighbour: str
    edge: int
    """The edge's number among all edges."""


@dataclass
class CsvGraph:
    """The CSV files in memory, as text."""

    types: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """The ids of each type."""
    properties: dict[str, dict[str, str]] = field(default_factory=dict)
    """The properties of each node, without empty ones."""
    hops: dict[tuple[str, str], dict[str, list[Hop]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )
    """The hops from each node, by predicate and direction."""
    _sets: dict[Pattern, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> CsvGraph:
        """Read the zip."""
        graph, edges = cls(), 0
        with ZipFile(path) as packed:
            for name in sorted(one for one in packed.namelist() if one.endswith(".csv")):
                with io.TextIOWrapper(packed.open(name), encoding="utf-8", newline="") as file:
                    for row in csv.DictReader(file):
                        if ":ID" in row:
                            graph.add_node(row)
                        else:
                            graph.add_edge(edges := edges + 1, row)
        return graph

    def add_node(self, row: dict[str, str]) -> None:
        """Add the row of a node."""
        columns = {name.partition(":")[0]: value for name, value in row.items() if value}
        self.types[row[":LABEL"]].append(row[":ID"])
        self.properties[row[":ID"]] = {key: value for key, value in columns.items() if key}

    def add_edge(self, number: int, row: dict[str, str]) -> None:
        """Add the row of an edge."""
        start, end, predicate = row[":START_ID"], row[":END_ID"], row[":TYPE"]
        self.hops[predicate, "out"][start].append(Hop(end, number))
        self.hops[predicate, "in"][end].append(Hop(start, number))

    @cached_property
    def single(self) -> frozenset[tuple[str, str]]:
        """The types with a predicate of which each of their nodes has at most one edge."""
        type_of = {node: type_ for type_, nodes in self.types.items() for node in nodes}
        counts = Counter[tuple[str, str]]()
        for (predicate, _), hops in self.hops.items():
            for node, some in hops.items():
                counts[node, predicate] += len(some)
        met = {(type_of[node], predicate) for node, predicate in counts}
        several = {(type_of[node], p) for (node, p), count in counts.items() if count > 1}
        return frozenset(met - several)

    def nodes(self, pattern: Pattern) -> frozenset[str]:
        """The nodes of a pattern's types that meet its conditions."""
        if pattern not in self._sets:
            self._sets[pattern] = frozenset(
                node
                for type_ in pattern.types or self.types
                for node in self.types[type_]
                if all(_meets(self.properties[node].get(c.key), c) for c in pattern.conditions)
            )
        return self._sets[pattern]

    def along(self, node: str, step: Step) -> Iterator[Hop]:
        """The hops of a step from a node; a loop is one hop."""
        directions = ("out", "in") if step.direction is None else (step.direction,)
        for predicate in step.predicates or ():
            for direction in directions:
                for hop in self.hops[predicate, direction].get(node, ()):
                    if direction != "in" or step.direction or hop.neighbour != node:
                        yield hop


class GoldAnswer(NamedTuple):
    """What a query returns."""

    gold: Gold
    rows: int
    """How many rows Cypher returns, repeated ones included."""


@dataclass(frozen=True)
class Joins:
    """A query over the CSV files."""

    graph: CsvGraph
    query: CypherQuery

    def answer(self) -> GoldAnswer:
        """What the query returns."""
        counted = self._counted()
        nodes = sorted(counted)
        if self.query.counts:
            return GoldAnswer(Gold([(len(nodes),)]), 1)
        if self.query.order is not None:
            chosen = self._chosen(nodes, self.query.order)
            ties = [(1, self._rows(chosen))] if chosen else []
            return GoldAnswer(Gold([], ties), min(1, len(nodes)))
        return GoldAnswer(Gold(self._rows(nodes)), counted.total())

    def _rows(self, nodes: Sequence[str]) -> list[Row]:
        if self.query.key is None:
            return [(node,) for node in nodes]
        values = (self.graph.properties[node].get(self.query.key) for node in nodes)
        return [(value,) for value in dict.fromkeys(values)]

    def _chosen(self, nodes: Sequence[str], key: str) -> list[str]:
        """The nodes that are first in order: all ties. A null is first only where all are null."""
        having = [node for node in nodes if key in self.graph.properties[node]]
        values = {node: _sortable(self.graph.properties[node][key]) for node in having}
        best = (max if self.query.descends else min)(values.values(), default=None)
        return [node for node in nodes if values.get(node) == best]

    def _counted(self) -> Counter[str]:
        """The nodes that the query returns, each with its number of matches."""
        start = min(self._candidates, key=lambda variable: len(self._candidates[variable]))
        found = Counter[str]()
        for node in self._candidates[start]:
            self._match({start: node}, self._order(start), (), found)
        return found

    def _match(
        self,
        bound: dict[str, str],
        rest: Sequence[JoinedLink],
        used: tuple[tuple[int, int], ...],
        found: Counter[str],
    ) -> None:
        """Count the matches that extend the bound variables."""
        if not rest:
            found[bound[self.query.returned]] += 1
            return
        link = rest[0]
        for hop in self.graph.along(bound[link.known], link.step):
            edge = (link.clause, hop.edge)
            fits = hop.neighbour in self._candidates[link.new] and edge not in used
            if fits and bound.get(link.new, hop.neighbour) == hop.neighbour:
                more = {**bound, link.new: hop.neighbour}
                self._match(more, rest[1:], (*used, edge), found)

    def _order(self, start: str) -> list[JoinedLink]:
        """All links, each from a variable that is bound by then."""
        links = []
        for clause, chain in enumerate(self.query.chains):
            back = chain.reversed()
            for at, step in enumerate(chain.links):
                there = JoinedLink(clause, chain.variables[at], chain.variables[at + 1], step)
                turned = back.links[len(chain.links) - 1 - at]
                links.append((there, JoinedLink(clause, there.new, there.known, turned)))
        bound, order = {start}, []
        while links:
            pair = next(
                (pair for pair in links if bound.intersection((pair[0].known, pair[0].new))), None
            )
            if pair is None:
                raise NoPlan("the chains of the query are not connected")
            links.remove(pair)
            order.append(pair[0] if pair[0].known in bound else pair[1])
            bound.add(order[-1].new)
        return order

    @cached_property
    def _candidates(self) -> dict[str, frozenset[str]]:
        """The nodes that each variable may stand for."""
        return {name: self.graph.nodes(pattern) for name, pattern in self.query.nodes.items()}


class JoinedLink(NamedTuple):
    """A link of a query between a bound variable and another."""

    clause: int
    """The number of its `MATCH`."""
    known: str
    new: str
    step: Step
    """Its step from the bound variable."""


def _meets(value: str | None, condition: PropertyCondition) -> bool:
    [wanted] = condition.values
    if condition.operator != "=":
        raise NoPlan(f"the joins know no operator {condition.operator}")
    return value == wanted


def _sortable(value: str) -> tuple[bool, Any]:
    """Numbers by value, also those held as text, before other text."""
    number = comparable(value)
    return (False, number) if isinstance(number, float) else (True, value)
