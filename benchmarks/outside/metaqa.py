"""MetaQA: a graph of films, and questions of one to three steps with their answers.

The type of a question, such as `movie_to_actor_to_movie`, names the relations to follow.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from bfsql.models import EdgeRecord, GraphRecord, NodeRecord
from bfsql_test_support.questions.kinds.kind import Form
from bfsql_test_support.questions.scores import Row
from bfsql_test_support.questions.toolsets import SixTools
from outside.gold import Gold, NoPlan, OutsideQuestion, Plan, QuestionForm

QUESTIONS = "*-hop*.tsv"
_ENDS = {
    "directed_by": "Person",
    "written_by": "Person",
    "starred_actors": "Person",
    "has_genre": "Genre",
    "in_language": "Language",
    "release_year": "Year",
    "has_imdb_rating": "Rating",
    "has_imdb_votes": "Votes",
    "has_tags": "Tag",
}
"""The types of what a relation leads to. The data set has none; a node that several relations
lead to has the first of them, and what a relation leaves is a film."""
_RELATIONS = {
    "actor": "starred_actors",
    "director": "directed_by",
    "writer": "written_by",
    "genre": "has_genre",
    "language": "in_language",
    "year": "release_year",
    "imdbrating": "has_imdb_rating",
    "imdbvotes": "has_imdb_votes",
    "tag": "has_tags",
    "tags": "has_tags",
}


@dataclass(frozen=True)
class MetaQA:
    """The data set in a folder.

    Args:
        folder: The folder with the graph and the TSV files of questions.
    """

    folder: Path
    name = "metaqa"
    description = "Films with their people, genres, languages, years and tags."

    def records(self) -> Iterator[GraphRecord]:
        """The graph; the name of an entity is its id."""
        names, relations = self._dictionary("entities.dict"), self._dictionary("relations.dict")
        with (self.folder / "train.txt").open(encoding="utf-8") as file:
            triples = [line.split() for line in file]
        edges = [
            (names[head], relations[relation], names[tail]) for head, relation, tail in triples
        ]
        types = dict.fromkeys(names.values(), "Entity")
        for relation, type_ in reversed(_ENDS.items()):
            types |= {tail: type_ for _, predicate, tail in edges if predicate == relation}
        types |= {head: "Film" for head, _, _ in edges}
        yield from (NodeRecord(name, type_, {"name": name}) for name, type_ in types.items())
        yield from (EdgeRecord(*edge, {}) for edge in edges)

    def questions(self, every: int = 1) -> list[OutsideQuestion]:
        """One of this many questions of the folder's TSV files."""
        found = []
        for path in sorted(self.folder.glob(QUESTIONS)):
            with path.open(encoding="utf-8", newline="") as file:
                rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
                found += [_question(f"{path.stem}:{n}", row) for n, row in enumerate(rows, 2)]
        return found[::every]

    def _dictionary(self, name: str) -> dict[str, str]:
        with (self.folder / name).open(encoding="utf-8") as file:
            return dict(line.rstrip("\n").split("\t") for line in file)


def _question(where: str, row: dict[str, str]) -> OutsideQuestion:
    steps = row["type"].count("_to_")
    kind = QuestionForm(f"{steps} hop{'s' * (steps > 1)}", Form.NAMES)
    gold = Gold([(answer,) for answer in row["answers"].split("|")])
    return OutsideQuestion(where, kind, row["question"], gold, _plan(row))


def translated(question: str, type_: str) -> dict[str, Any]:
    """The arguments of the call of `bfs_query` that answers a question.

    Args:
        question: The question, with its entity in brackets.
        type_: Its type, such as `movie_to_actor_to_movie`.

    Raises:
        NoPlan: There is no entity in brackets, or the type names an unknown relation.
    """
    entity, ends = re.search(r"\[(.*)\]", question), type_.split("_to_")
    relations = [
        (end, _RELATIONS.get(start if end == "movie" else end)) for start, end in pairwise(ends)
    ]
    if entity is None or not relations or not all(relation for _, relation in relations):
        raise NoPlan(f"no entity in brackets, or unknown relations: {question!r}, {type_}")
    path = [f"<-{one}-" if end == "movie" else f"-{one}->" for end, one in relations]
    arguments: dict[str, Any] = {"seeds": [entity[1]], "path": path, "show": "ends"}
    if len(path) > 1:  # the entity that was asked about is never an answer
        arguments["where"] = [f"{len(path)} != 0"]
    return {**arguments, "topology_only": True, "max_tokens": 0}


def _plan(row: dict[str, str]) -> Plan:
    async def plan(ask: SixTools) -> Iterable[Row]:
        answer = await ask.call("bfs_query", **translated(row["question"], row["type"]))
        return [(node["id"],) for node in answer["nodes"]]

    return plan
