"""Graphs as users have them are served without a setting: films, crimes, a company's tables."""

import csv
import io
import json
import shlex
import tomllib
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from click.testing import CliRunner
from outside.command import BESIDE

from bfsql.cli import bfsql
from bfsql.graph import Graph, open_graph
from bfsql_neo4j import Neo4jSettings
from bfsql_neo4j.proposal import propose
from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.films import cypher as films_cypher
from bfsql_test_support.films import tables
from bfsql_test_support.northwind import northwind

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[3] / "docs" / "how-to"
POLE = BESIDE / "zograscope" / "pole-data-importer.zip"
"""The files of Neo4j's example of crimes, with the model of its importer."""


async def films(cypher: Any) -> None:
    for statement in (DOCS / "films.cypher").read_text("utf-8").split(";\n"):
        if statement.strip():
            await cypher(statement)


async def company(cypher: Any) -> None:
    tables = northwind()
    for name, table in tables.items():
        keys = ", ".join(f"n.{key}" for key in table.key)
        await cypher(f"CREATE CONSTRAINT FOR (n:`{name}`) REQUIRE ({keys}) IS UNIQUE")
        await cypher(f"UNWIND $rows AS row CREATE (n:`{name}`) SET n = row", rows=table.rows)
    for name, table in tables.items():
        for column, (other, relationship) in table.references.items():
            await cypher(
                f"MATCH (a:`{name}`) MATCH (b:`{other}` {{{tables[other].key[0]}: a.{column}}}) "
                f"CREATE (a)-[:{relationship}]->(b)"
            )


async def crimes(cypher: Any) -> None:
    """As the importer does it: the column :ID is a property `id`, unique for each label."""
    of: dict[int, str] = {}
    edges: dict[str, list[tuple[int, int]]] = defaultdict(list)
    with ZipFile(POLE) as packed:
        for name in sorted(one for one in packed.namelist() if one.endswith(".csv")):
            with io.TextIOWrapper(packed.open(name), encoding="utf-8", newline="") as file:
                rows = list(csv.DictReader(file))
            if ".nodes." in name:
                label = rows[0][":LABEL"]
                await cypher(f"CREATE CONSTRAINT FOR (n:{label}) REQUIRE n.id IS UNIQUE")
                nodes = [_node(row) for row in rows]
                await cypher(f"UNWIND $rows AS row CREATE (n:{label}) SET n = row", rows=nodes)
                of.update({node["id"]: label for node in nodes})
            else:
                edges[rows[0][":TYPE"]] += [(int(r[":START_ID"]), int(r[":END_ID"])) for r in rows]
    for name, pairs in edges.items():
        by_labels = defaultdict(list)
        for pair in pairs:
            by_labels[of[pair[0]], of[pair[1]]].append(pair)
        for (a, b), some in by_labels.items():
            await cypher(
                f"UNWIND $rows AS row MATCH (a:{a} {{id: row[0]}}) MATCH (b:{b} {{id: row[1]}}) "
                f"CREATE (a)-[:{name}]->(b)",
                rows=some,
            )


def _node(row: dict[str, str]) -> dict[str, Any]:
    """A row as the importer's model types it."""
    typed: dict[str, Any] = {"id": int(row[":ID"])}
    for column, text in row.items():
        name, _, kind = column.partition(":")
        if name and text:
            key = "source_id" if name == "id" else name
            typed[key] = float(text) if kind == "double" else text
    return typed


GRAPHS = {"films": films, "company": company}
if THOROUGH and POLE.exists():
    GRAPHS["crimes"] = crimes

QUESTIONS: dict[str, list[tuple[dict[str, Any], str]]] = {
    "films": [
        (
            {"seeds": ["Tom Hanks"], "path": ["-acted_in-> Movie"], "show": "1"},
            "MATCH (:Person {name: 'Tom Hanks'})-[:ACTED_IN]->(m) RETURN DISTINCT m.title",
        ),
        (
            {"seeds": ["nora ephron"], "path": ["-directed-> Movie", "<-acted_in- Person"]}
            | {"show": "2"},
            (
                "MATCH (:Person {name: 'Nora Ephron'})-[:DIRECTED]->()<-[:ACTED_IN]-(p) "
                "RETURN DISTINCT p.name"
            ),
        ),
        (
            {"seeds": ["Movie[released<1990]"]},
            "MATCH (m:Movie) WHERE m.released < 1990 RETURN m.title",
        ),
        (
            {"seeds": ["Genre: Drama"], "path": ["<-has_genre- Movie[released>=2000]"]}
            | {"show": "1"},
            "MATCH (:Genre {name: 'Drama'})<--(m) WHERE m.released >= 2000 RETURN m.title",
        ),
        (
            {"seeds": ["Person:*"], "where": ["no -acted_in-> Movie"]},
            "MATCH (p:Person) WHERE NOT (p)-[:ACTED_IN]->() RETURN p.name",
        ),
    ],
    "company": [
        (
            {"seeds": ["Beverages"], "path": ["<-part_of- Product"], "show": "1"},
            (
                "MATCH (:Category {categoryName: 'Beverages'})<--(p:Product) "
                "RETURN 'Product:' + p.productID"
            ),
        ),
        (
            {"seeds": ["Syrup 9"], "show": "3"}
            | {"path": ["<-of_product- OrderDetail", "-line_of-> Order", "-ordered_by-> Customer"]},
            (
                "MATCH (:Product {productName: 'Syrup 9'})<--()-->(:Order)-->(c:Customer) "
                "RETURN DISTINCT 'Customer:' + c.customerID"
            ),
        ),
        (
            {"seeds": ["Employee:5"], "path": ["<-reports_to- Employee"], "show": "1"},
            "MATCH (:Employee {employeeID: 5})<-[:REPORTS_TO]-(e) RETURN 'Employee:'+e.employeeID",
        ),
        (
            {"seeds": ["Order[freight>60]"], "path": ["-sold_by-> Employee"], "show": "1"},
            "MATCH (o:Order)-->(e:Employee) WHERE o.freight > 60 RETURN 'Employee:' + e.employeeID",
        ),
        (
            {"seeds": ["OrderDetail[quantity>=50]"]},
            (
                "MATCH (d:OrderDetail) WHERE d.quantity >= 50 "
                "RETURN 'OrderDetail:' + d.orderID + '/' + d.productID"
            ),
        ),
    ],
    "crimes": [
        (
            {"seeds": ["Crime[type=Drugs]"], "path": ["-occurred_at-> Location"], "show": "1"},
            "MATCH (:Crime {type: 'Drugs'})-[:OCCURRED_AT]->(l) RETURN DISTINCT 'Location:' + l.id",
        ),
        (
            {"seeds": ["Person[surname=Hamilton]"], "path": ["-knows- Person"], "show": "1"},
            "MATCH (:Person {surname: 'Hamilton'})-[:KNOWS]-(p) RETURN DISTINCT 'Person:' + p.id",
        ),
        (
            {"seeds": ["Vehicle[make=Toyota]"], "path": ["-involved_in-> Crime"], "show": "1"},
            "MATCH (:Vehicle {make: 'Toyota'})-->(c:Crime) RETURN DISTINCT 'Crime:' + c.id",
        ),
        (
            {"seeds": ["WN3"], "path": ["<-postcode_in_area- PostCode"], "show": "1"},
            "MATCH (:Area {areaCode: 'WN3'})<--(p:PostCode) RETURN 'PostCode:' + p.id",
        ),
        (
            {"seeds": ["Officer[rank=Inspector]"], "path": ["<-investigated_by- Crime"]}
            | {"show": "1"},
            "MATCH (:Officer {rank: 'Inspector'})<--(c:Crime) RETURN DISTINCT 'Crime:' + c.id",
        ),
    ],
}


@pytest.fixture(scope="module")
def present() -> list[str]:
    """The name of the graph on the server."""
    return [""]


@pytest.fixture(params=GRAPHS)
async def name(
    request: pytest.FixtureRequest,
    cypher: Any,
    empty_it: Callable[[], Awaitable[None]],
    present: list[str],
) -> str:
    """A graph that is on the server, with the constraints of its owner and no other index."""
    if present[0] != request.param:
        await empty_it()
        await GRAPHS[request.param](cypher)
        present[0] = request.param
    return request.param


@pytest.fixture
async def graph(name: str, settings: Neo4jSettings) -> AsyncIterator[Graph]:
    async with open_graph("neo4j", uri=settings.uri) as opened:
        yield opened


@pytest.mark.parametrize("number", range(5))
async def test_questions_are_answered_without_a_setting(
    graph: Graph, name: str, cypher: Any, number: int
) -> None:
    call, oracle = QUESTIONS[name][number]
    answer = await graph.bfs_query(**call, topology_only=True, max_tokens=0, limit=50_000)
    right = {row[0] for row in await cypher(oracle)}
    assert {node["id"] for node in answer.content["nodes"]} == right != set()


async def test_the_printed_settings_give_the_same_bytes(
    name: str, graph: Graph, settings: Neo4jSettings
) -> None:
    chosen = {one.field: one.value for one in (await propose(settings)).settings}
    call, _ = QUESTIONS[name][1]
    async with open_graph("neo4j", uri=settings.uri, **chosen) as spelled:
        assert (await spelled.bfs_query(**call)).text == (await graph.bfs_query(**call)).text
        for one in (spelled, graph):
            await one.counted()
        assert (await spelled.describe_schema()).text == (await graph.describe_schema()).text


@pytest.mark.parametrize("name", ["company"], indirect=True)
def test_two_commands(
    name: str, settings: Neo4jSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NEO4J_URI", settings.uri)
    result = CliRunner().invoke(bfsql, ["doctor", "--backend", "neo4j", "--write", "--json"])
    assert result.exit_code == 0, result.output
    line = next(f["cure"] for f in json.loads(result.stdout) if f["subject"] == "bfsql serve")
    options = shlex.split(line)[2:]
    items = options[options.index("--id-property") + 1].split(",")
    assert "OrderDetail=OrderDetail:{orderID}/{productID}" in items
    written = tomllib.loads((tmp_path / "bfsql.toml").read_text("utf-8"))["backend"]
    assert written["id_property"] == items
    for given in ([], options):
        found = CliRunner().invoke(bfsql, ["search-entities", "beverages", *given])
        assert "Category:1" in found.output


def test_the_films_of_the_documentation_are_those_of_the_demo() -> None:
    assert (DOCS / "films.cypher").read_text("utf-8").splitlines() == list(films_cypher())


@pytest.mark.parametrize("name", ["films"], indirect=True)
async def test_the_films_on_the_server_are_those_of_the_demo(name: str, cypher: Any) -> None:
    rows = tables()
    nodes = [row for table in ("people", "movies", "genres") for row in rows[table]]
    called = {row["id"]: row["name"] for row in nodes}
    right = [
        [
            row["type"],
            row["name"],
            row.get("aliases") or "",
            row.get("born") or row.get("released") or "",
        ]
        for row in nodes
    ]
    node = "labels(n)[0], coalesce(n.name, n.title), coalesce(n.aliases[0], '')"
    year = "coalesce(toString(coalesce(n.born, n.released)), '')"
    assert sorted(await cypher(f"MATCH (n) RETURN {node}, {year}")) == sorted(right)
    edge = "coalesce(a.name, a.title), type(r), coalesce(b.name, b.title), coalesce(r.role, '')"
    assert sorted(await cypher(f"MATCH (a)-[r]->(b) RETURN {edge}")) == sorted(
        [called[r["subject"]], r["predicate"], called[r["object"]], r["role"]]
        for r in rows["roles"]
    )
