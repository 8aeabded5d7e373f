"""Databases as users have them, with questions whose right answers a query of the store finds.

The films of `bfsql demo`, and a graph of crimes (POLE), which one call asks in every store; the
company's tables are in `northwind`.
"""

import csv
import io
import os
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

from bfsql.cli.demo import films_paths
from bfsql.graph import Graph
from bfsql.models import EdgeRecord, GraphRecord, NodeRecord
from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.missing import missing
from bfsql_test_support.northwind import Row
from bfsql_test_support.tool_calls import asked

ROOT = Path(__file__).parents[4]


class Question(NamedTuple):
    """A question, its call of `bfs_query`, and queries that return the ids of the right nodes."""

    text: str
    arguments: dict[str, Any]
    sql: str = ""
    cypher: str = ""


async def assert_answered(
    graph: Graph,
    questions: Sequence[Question],
    right: Callable[[Question], Awaitable[Iterable[Sequence[Any]]]],
) -> None:
    """Ask the questions, and compare the ids of the answers with the rows of a query.

    Args:
        right: Runs the query of a question, and returns its rows.
    """
    for question in questions:
        given = question.arguments | {"topology_only": True, "max_tokens": 0, "limit": 50_000}
        if path := given.get("path"):
            given["show"] = str(len(path))
        answer = (await asked(graph, "bfs_query", **given)).content
        ids = {row[0] for row in await right(question)}
        assert ids, question.text
        assert {node["id"] for node in answer["nodes"]} == ids, question.text


# --- films --------------------------------------------------------------------------


def film_records() -> Iterator[GraphRecord]:
    """The films of `bfsql demo`."""
    with films_paths() as paths:
        for path in paths:
            with path.open(encoding="utf-8", newline="") as lines:
                for row in csv.DictReader(lines):
                    yield _film_record({key: value for key, value in row.items() if value})


def _film_record(row: dict[str, str]) -> GraphRecord:
    if "subject" in row:
        role = {"role": row["role"]} if "role" in row else {}
        return EdgeRecord(row["subject"], row["predicate"], row["object"], role)
    years = {key: int(row[key]) for key in ("released", "born") if key in row}
    also = {"synonyms": row["aliases"].split("|")} if "aliases" in row else {}
    return NodeRecord(row["id"], row["type"], {"name": row["name"], **also, **years})


FILMS = [
    Question(
        "In which films did Tom Hanks act?",
        {"seeds": ["Tom Hanks"], "path": ["-acted_in-> Movie"]},
        """SELECT 'Movie:' || movie FROM "ACTED_IN" WHERE person = 'TomHanks'""",
        "MATCH (:Person {name: 'Tom Hanks'})-[:ACTED_IN]->(m) RETURN DISTINCT m.title",
    ),
    Question(
        "Who acted in a film that Nora Ephron directed?",
        {"seeds": ["nora ephron"], "path": ["-directed-> Movie", "<-acted_in- Person"]},
        """SELECT 'Person:' || a.person FROM "ACTED_IN" AS a JOIN "DIRECTED" AS d USING (movie)
            WHERE d.person = 'NoraEphron'""",
        "MATCH (:Person {name: 'Nora Ephron'})-[:DIRECTED]->()<-[:ACTED_IN]-(p) RETURN p.name",
    ),
    Question(
        "Which films were released before 1990?",
        {"seeds": ["Movie[released<1990]"]},
        """SELECT 'Movie:' || id FROM "Movie" WHERE released < 1990""",
        "MATCH (m:Movie) WHERE m.released < 1990 RETURN m.title",
    ),
    Question(
        "Which dramas are from 2000 or later?",
        {"seeds": ["Genre: Drama"], "path": ["<-has_genre- Movie[released>=2000]"]},
        """SELECT 'Movie:' || id FROM "Movie" JOIN "HAS_GENRE" ON movie = id
            WHERE genre = 'Drama' AND released >= 2000""",
        "MATCH (:Genre {name: 'Drama'})<--(m) WHERE m.released >= 2000 RETURN m.title",
    ),
    Question(
        "Who never acted?",
        {"seeds": ["Person:*"], "where": ["no -acted_in-> Movie"]},
        """SELECT 'Person:' || id FROM "Person" WHERE id NOT IN (SELECT person FROM "ACTED_IN")""",
        "MATCH (p:Person) WHERE NOT (p)-[:ACTED_IN]->() RETURN p.name",
    ),
]


# --- crimes -------------------------------------------------------------------------


class Relationships(NamedTuple):
    """The edges of one type between nodes of two labels."""

    name: str
    labels: tuple[str, str]
    pairs: list[tuple[int, int]]


class Crimes(NamedTuple):
    """A graph of crimes, people and places, as its CSV files and the model beside them say."""

    nodes: dict[str, list[Row]]
    """The rows of each label, with the key `id`, and None for what is missing."""
    relationships: list[Relationships]


def crimes() -> Crimes:
    """The graph, or one in ten nodes of its large labels; skips the test where it is missing."""
    folder = Path(os.environ.get("BFSQL_OUTSIDE", ROOT.parent / "shared" / "data" / "outside"))
    path = folder / "zograscope" / "pole-data-importer.zip"
    if not path.exists():
        missing("outside", "zograscope is not here; BFSQL_OUTSIDE names the folder above it")
    with ZipFile(path) as packed:
        tables = {
            name: list(csv.DictReader(io.TextIOWrapper(packed.open(name), "utf-8", newline="")))
            for name in sorted(packed.namelist())
            if name.endswith(".csv")
        }
    nodes: dict[str, list[Row]] = {}
    label_of: dict[int, str] = {}
    for name, rows in tables.items():
        if ".nodes." in name:
            every = 10 if len(rows) > 2_000 and not THOROUGH else 1
            nodes[label := rows[0][":LABEL"]] = found = [_crime_row(row) for row in rows[::every]]
            label_of |= {row["id"]: label for row in found}
    pairs: dict[tuple[str, tuple[str, str]], list[tuple[int, int]]] = defaultdict(list)
    for name, rows in tables.items():
        for row in rows if ".relationships." in name else ():
            start, end = int(row[":START_ID"]), int(row[":END_ID"])
            if {start, end} <= label_of.keys():
                pairs[row[":TYPE"], (label_of[start], label_of[end])].append((start, end))
    return Crimes(nodes, [Relationships(*key, found) for key, found in pairs.items()])


def _crime_row(row: dict[str, str]) -> Row:
    """A row with the names and types of the importer's model."""
    typed: Row = {"id": int(row[":ID"])}
    for column, text in row.items():
        name, _, kind = column.partition(":")
        if name:
            key = "source_id" if name == "id" else name
            number = float if kind == "double" else int if name in _WHOLE else str
            typed[key] = number(text) if text else None
    return typed


_WHOLE = ("call_duration", "year")

CRIMES = [
    Question(
        "Where were drugs offences committed?",
        {"seeds": ["Crime[type=Drugs]"], "path": ["-occurred_at-> Location"]},
        """SELECT 'Location:' || o.end_id FROM "OCCURRED_AT" AS o JOIN "Crime" AS c
            ON c.id = o.start_id WHERE c.type = 'Drugs'""",
        "MATCH (:Crime {type: 'Drugs'})-[:OCCURRED_AT]->(l) RETURN 'Location:' + l.id",
    ),
    Question(
        "Who is known to somebody called Hamilton?",
        {"seeds": ["Person[surname=Hamilton]"], "path": ["-knows- Person"]},
        """SELECT 'Person:' || other FROM "Person" AS p JOIN (
                SELECT start_id AS one, end_id AS other FROM "KNOWS"
                UNION SELECT end_id, start_id FROM "KNOWS"
            ) AS k ON k.one = p.id WHERE p.surname = 'Hamilton'""",
        "MATCH (:Person {surname: 'Hamilton'})-[:KNOWS]-(p) RETURN 'Person:' + p.id",
    ),
    Question(
        "Which cars were built after 2010?",
        {"seeds": ["Vehicle[year>2010]"]},
        """SELECT 'Vehicle:' || id FROM "Vehicle" WHERE year > 2010""",
        "MATCH (v:Vehicle) WHERE v.year > 2010 RETURN 'Vehicle:' + v.id",
    ),
    Question(
        "Which postcodes are in the area WN3?",
        {"seeds": ["WN3"], "path": ["<-postcode_in_area- PostCode"]},
        """SELECT 'PostCode:' || i.start_id FROM "POSTCODE_IN_AREA" AS i JOIN "Area" AS a
            ON a.id = i.end_id WHERE a."areaCode" = 'WN3'""",
        "MATCH (:Area {areaCode: 'WN3'})<--(p:PostCode) RETURN 'PostCode:' + p.id",
    ),
    Question(
        "Which crimes do inspectors investigate?",
        {"seeds": ["Officer[rank=Inspector]"], "path": ["<-investigated_by- Crime"]},
        """SELECT 'Crime:' || i.start_id FROM "INVESTIGATED_BY" AS i JOIN "Officer" AS o
            ON o.id = i.end_id WHERE o.rank = 'Inspector'""",
        "MATCH (:Officer {rank: 'Inspector'})<--(c:Crime) RETURN 'Crime:' + c.id",
    ),
]
