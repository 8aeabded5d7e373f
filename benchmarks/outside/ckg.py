"""CKG: the concepts of subjects and their prerequisites, and questions of five types about them.

Each subject is a graph of its own. Its questions follow five templates, so that the text of a
question says what to call; the right answers are given. Some of them are one of several that are
equally right: one chain of several that are equally short, one of two concepts of the same label.
There an answer has all of them, and is a miss that says so (`ArbitraryGold`).
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import networkx as nx
from graphs import records_of

from bfsql.models import GraphRecord
from bfsql.models.condition import PropertyCondition
from bfsql.sources import SourceOptions
from bfsql_test_support.questions.kinds.kind import Form
from bfsql_test_support.questions.scores import Row
from bfsql_test_support.questions.toolsets import SixTools
from outside.gold import Gold, OutsideQuestion, Plan, QuestionForm, no_plan

OPTIONS = SourceOptions(
    id_column="ConceptID",
    name_column="ConceptLabel",
    type_column="TaxonomyID",
    edge_columns={"Dependencies": "REQUIRES"},
)
"""The options of `bfsql load` for a table: `--id-column ConceptID`, ...,
`--edge-column Dependencies=REQUIRES`."""
ARBITRARY = "the given answer is one of several, and the answer has all"
ALL = {"fields": ["name"], "limit": 10_000, "max_tokens": 0}


# --- questions --------------------------------------------------------------------


class Template(NamedTuple):
    """A type of question."""

    words: tuple[str, str, str]
    """In front of the first label, between the two if there are two, and behind."""
    call: Callable[..., dict[str, Any]]
    """The arguments of `bfs_query`, by the labels."""
    right: Callable[..., set[str]]
    """All that is right, by the table of the subject and the labels."""

    def labels(self, question: str, known: Collection[str]) -> list[str] | None:
        """The labels in a question; None if it has other words.

        Args:
            known: The labels of the graph, which tell where one ends that contains " to ".
        """
        before, between, behind = self.words
        if not (question.startswith(before) and question.endswith(behind)):
            return None
        inner = question.removeprefix(before).removesuffix(behind)
        if not between:
            return [inner]
        parts = inner.split(between)
        splits = ([between.join(parts[:n]), between.join(parts[n:])] for n in range(1, len(parts)))
        return next((pair for pair in splits if all(label in known for label in pair)), None)


def named(label: str) -> str:
    """The pattern of the concepts of a label, of which there may be two."""
    return f"*[{PropertyCondition('name', '=', (label,)).property_text}]"


def shared(first: str, second: str) -> str:
    """The pattern of the prerequisites of both labels."""
    return f"*[<-REQUIRES- {named(first)}][<-REQUIRES- {named(second)}]"


TEMPLATES = (
    Template(
        ("What is the prerequisite chain from ", " to ", "?"),
        lambda a, b: {"seeds": [named(b)], "to": [named(a)], "along": ["-REQUIRES->"]},
        lambda table, a, b: table.between(b, a),
    ),
    Template(
        ("What are the prerequisites for ", "", "?"),
        lambda a: {"seeds": [named(a)], "path": ["-REQUIRES->"], "show": "ends"},
        lambda table, a: table.required(a),
    ),
    Template(  # the right answer is what was asked about, and the prerequisites of both
        ("How does ", " relate to ", "?"),
        lambda a, b: {"seeds": [named(a), named(b), shared(a, b)]},
        lambda table, a, b: {a, b, *(table.required(a) & table.required(b))},
    ),
    Template(
        ("List all ", "", " concepts in this knowledge graph"),
        lambda a: {"seeds": [f"{a}:*"]},
        lambda table, a: table.of_type(a),
    ),
    Template(  # the right answer is the label and the type
        ("What is ", "", "?"),
        lambda a: {"seeds": [named(a)]},
        lambda table, a: {a, *table.types(a)},
    ),
)


@dataclass(frozen=True)
class ArbitraryGold(Gold):
    """A right answer that is a part of all that is right.

    Attributes:
        all: What an answer is to have.
    """

    all: Sequence[Row] = ()

    def difference(self, rows: Iterable[Row]) -> str | None:
        found = list(rows)
        told = super().difference(found)
        return told if told is None or Gold(self.all).difference(found) else ARBITRARY


def _rows(labels: Iterable[str]) -> list[Row]:
    return [(label,) for label in labels]


def _question(table: Table, given: dict[str, Any]) -> OutsideQuestion:
    kind = QuestionForm(given["type"], Form.NAMES)
    read = ((one, one.labels(given["query"], table.ids)) for one in TEMPLATES)
    template, labels = next((pair for pair in read if pair[1]), (TEMPLATES[-1], None))
    gold, plan = Gold(_rows(given["ground_truth"])), no_plan("the question has other words")
    if labels is not None:
        right = template.right(table, *labels)
        if {*given["ground_truth"]} < right:
            gold = ArbitraryGold(gold.rows, all=_rows(right))
        plan = _plan(template, labels)
    return OutsideQuestion(given["id"], kind, given["query"], gold, plan)


def _plan(template: Template, labels: Sequence[str]) -> Plan:
    async def plan(ask: SixTools) -> Iterable[Row]:
        answer = await ask.call("bfs_query", **template.call(*labels), **ALL)
        names = {node["metadata"]["name"] for node in answer["nodes"]}
        types = {node["entity_type"] for node in answer["nodes"]}
        return _rows(names | types if template is TEMPLATES[-1] else names)

    return plan


# --- the data set -----------------------------------------------------------------


class Concept(NamedTuple):
    """A row of the table of a subject."""

    label: str
    type: str
    required: list[str]
    """Ids of its prerequisites."""


@dataclass(frozen=True)
class Table:
    """The table of a subject, read without our loaders, to know what is right."""

    concepts: dict[str, Concept]

    @classmethod
    def read(cls, path: Path) -> Table:
        """Read a table."""
        with path.open(encoding="utf-8", newline="") as file:
            rows = [[cell.strip() for cell in row.values()] for row in csv.DictReader(file)]
        return cls(
            {
                id_: Concept(label, type_, ends.split("|") if ends else [])
                for id_, label, ends, type_ in rows
            }
        )

    @cached_property
    def ids(self) -> dict[str, list[str]]:
        """The ids of each label."""
        found = defaultdict(list)
        for id_, concept in self.concepts.items():
            found[concept.label].append(id_)
        return found

    def types(self, label: str) -> set[str]:
        """The types of the concepts of a label."""
        return {self.concepts[id_].type for id_ in self.ids[label]}

    def required(self, label: str) -> set[str]:
        """The labels of the prerequisites of the concepts of a label."""
        ends = {end for id_ in self.ids[label] for end in self.concepts[id_].required}
        return {self.concepts[end].label for end in ends}

    def of_type(self, type_: str) -> set[str]:
        """The labels of a type."""
        return {concept.label for concept in self.concepts.values() if concept.type == type_}

    def between(self, start: str, end: str) -> set[str]:
        """The labels on all shortest chains of prerequisites from a label to another."""
        pairs = product(self.ids[start], self.ids[end])
        joined = [pair for pair in pairs if nx.has_path(self._graph, *pair)]
        chains = [one for pair in joined for one in nx.all_shortest_paths(self._graph, *pair)]
        shortest = min(map(len, chains))
        return {self.concepts[id_].label for c in chains if len(c) == shortest for id_ in c}

    @cached_property
    def _graph(self) -> Any:
        return nx.DiGraph({id_: concept.required for id_, concept in self.concepts.items()})


@dataclass(frozen=True)
class Subject:
    """A subject of the data set.

    Args:
        path: Its table; the questions are in `queries`, beside the folder of the tables.
    """

    path: Path
    description = "The concepts of a subject, and which of them require which."

    @property
    def name(self) -> str:
        """The name of the subject."""
        return self.path.stem

    def records(self) -> Iterator[GraphRecord]:
        """The graph as our own loaders read the table."""
        yield from records_of([self.path], OPTIONS)

    def questions(self, every: int = 1) -> list[OutsideQuestion]:
        """One of this many questions."""
        table = Table.read(self.path)
        path = self.path.parents[1] / "queries" / f"{self.name}.jsonl"
        lines = path.read_text("utf-8").splitlines()[::every]
        return [_question(table, json.loads(line)) for line in lines]


def subjects(folder: Path) -> list[Subject]:
    """The subjects in a folder with `domains` and `queries`."""
    return [Subject(path) for path in sorted((folder / "domains").glob("*.csv"))]
