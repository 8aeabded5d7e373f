"""Graphs as users have them are served without a setting: films, crimes, a company's tables."""

import json
import shlex
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from bfsql.cli import bfsql
from bfsql.graph import open_graph
from bfsql.models import EdgeRecord, NodeRecord
from bfsql_neo4j import Neo4jBackend
from bfsql_neo4j.indexes import prepare
from bfsql_neo4j.proposal import propose
from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.northwind import northwind
from bfsql_test_support.suites.agreement import assert_agreed
from bfsql_test_support.suites.as_it_is import (
    CRIMES,
    FILMS,
    Question,
    assert_answered,
    crimes,
    film_records,
)

pytestmark = pytest.mark.slow

FILE = Path(__file__).parents[3] / "docs" / "how-to" / "snippets" / "films.cypher"


async def fill_films(cypher):
    for statement in FILE.read_text("utf-8").split(";\n"):
        if statement.strip():
            await cypher(statement)


async def fill_company(cypher):
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


async def fill_crimes(cypher):
    """As the importer does it: `id` is unique for each label."""
    graph = crimes()
    for label, rows in graph.nodes.items():
        await cypher(f"CREATE CONSTRAINT FOR (n:{label}) REQUIRE n.id IS UNIQUE")
        await cypher(f"UNWIND $rows AS row CREATE (n:{label}) SET n = row", rows=rows)
    for name, (start, end), pairs in graph.relationships:
        await cypher(
            f"UNWIND $pairs AS pair MATCH (a:{start} {{id: pair[0]}}) "
            f"MATCH (b:{end} {{id: pair[1]}}) CREATE (a)-[:{name}]->(b)",
            pairs=pairs,
        )


COMPANY = [
    Question(
        "Which products are beverages?",
        {"seeds": ["Beverages"], "path": ["<-part_of- Product"]},
        cypher=(
            "MATCH (:Category {categoryName: 'Beverages'})<--(p:Product) "
            "RETURN 'Product:' + p.productID"
        ),
    ),
    Question(
        "Which customers ordered Syrup 9?",
        {
            "seeds": ["Syrup 9"],
            "path": ["<-of_product- OrderDetail", "-line_of-> Order", "-ordered_by-> Customer"],
        },
        cypher=(
            "MATCH (:Product {productName: 'Syrup 9'})<--()-->(:Order)-->(c:Customer) "
            "RETURN DISTINCT 'Customer:' + c.customerID"
        ),
    ),
    Question(
        "Who reports to employee 5?",
        {"seeds": ["Employee:5"], "path": ["<-reports_to- Employee"]},
        cypher=(
            "MATCH (:Employee {employeeID: 5})<-[:REPORTS_TO]-(e) RETURN 'Employee:'+e.employeeID"
        ),
    ),
    Question(
        "Who sold an order with freight above 60?",
        {"seeds": ["Order[freight>60]"], "path": ["-sold_by-> Employee"]},
        cypher=(
            "MATCH (o:Order)-->(e:Employee) WHERE o.freight > 60 RETURN 'Employee:' + e.employeeID"
        ),
    ),
    Question(
        "Which lines are of 50 pieces or more?",
        {"seeds": ["OrderDetail[quantity>=50]"]},
        cypher=(
            "MATCH (d:OrderDetail) WHERE d.quantity >= 50 "
            "RETURN 'OrderDetail:' + d.orderID + '/' + d.productID"
        ),
    ),
]
GRAPHS = {"films": (fill_films, FILMS)}
"""What fills the server, and questions."""
COMMANDS = {"films": ("Movie=title", "tom hanks", "Tom Hanks")}
"""A value that is proposed for `id_property`, words, and an id that a search for them finds."""
if THOROUGH:  # Postgres has the other graphs every day
    GRAPHS |= {"company": (fill_company, COMPANY), "crimes": (fill_crimes, CRIMES)}
    of_two = "OrderDetail=OrderDetail:{orderID}/{productID}"
    COMMANDS["company"] = (of_two, "beverages", "Category:1")


@pytest.fixture(scope="module", params=GRAPHS)
def name(request):
    """The name of a graph; all tests of a graph run one after the other."""
    return request.param


@pytest.fixture(scope="module")
def present():
    """The name of the graph that is on the server."""
    return set()


@pytest.fixture
async def filled(name, cypher, empty_it, present):
    """The graph is on the server, with the constraints of its owner and no other index."""
    if name not in present:
        present.clear()
        await empty_it()
        await GRAPHS[name][0](cypher)
        present.add(name)
    return name


@pytest.fixture
async def graph(filled, settings):
    async with open_graph("neo4j", uri=settings.uri) as opened:
        yield opened


async def test_questions_are_answered_as_cypher_does_without_a_choice(
    name, graph, settings, cypher
):
    _, questions = GRAPHS[name]
    await assert_answered(graph, questions, lambda question: cypher(question.cypher))
    chosen = {one.field: one.value for one in (await propose(settings)).settings}
    async with open_graph("neo4j", uri=settings.uri, **chosen) as spelled:
        call = questions[1].arguments
        assert (await spelled.bfs_query(**call)).text == (await graph.bfs_query(**call)).text
        for one in (spelled, graph):
            await one.counted()
        assert (await spelled.describe_schema()).text == (await graph.describe_schema()).text


@pytest.mark.parametrize("name", COMMANDS, indirect=True)
def test_two_commands(filled, settings, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NEO4J_URI", settings.uri)
    result = CliRunner().invoke(bfsql, ["doctor", "--backend", "neo4j", "--write", "--json"])
    assert result.exit_code == 0, result.output
    findings = json.loads(result.stdout)
    assert [f["state"] for f in findings if "There is no full-text index" in f["text"]] == [
        "warning"
    ]
    assert not result.stderr
    line = next(f["cure"] for f in findings if f["subject"] == "bfsql serve")
    options = shlex.split(line)[2:]
    items = options[options.index("--id-property") + 1].split(",")
    item, words, found_id = COMMANDS[filled]
    assert item in items
    written = tomllib.loads((tmp_path / "bfsql.toml").read_text("utf-8"))["backend"]
    assert written["id_property"] == items
    found = CliRunner().invoke(bfsql, ["search-entities", words])
    assert found_id in found.output


@pytest.mark.parametrize("name", ["films"], indirect=True)
async def test_the_films_of_the_documentation_are_those_of_the_demo(filled, settings):
    backend = await Neo4jBackend.open(settings)
    try:
        await assert_agreed(backend, list(films_by_name()), evidence=False, singly=20)
    finally:
        await backend.close()


def films_by_name():
    """The films with names as ids, and the names that the file gives to properties."""
    names = {}
    for record in film_records():
        if isinstance(record, NodeRecord):
            name, *also = record.metadata.pop("name"), *record.metadata.pop("synonyms", ())
            names[record.id] = name
            aliases = {"aliases": also} if also else {}
            called = {"title" if record.entity_type == "Movie" else "name": name}
            yield NodeRecord(name, record.entity_type, called | aliases | record.metadata)
        elif isinstance(record, EdgeRecord):
            predicate = record.predicate.lower()
            ends = names[record.subject], names[record.object]
            yield EdgeRecord(ends[0], predicate, ends[1], record.metadata)


@pytest.mark.parametrize("name", ["films"], indirect=True)
async def test_a_misspelt_name_is_found_after_bfsql_index(filled, settings):
    chosen = {one.field: one.value for one in (await propose(settings)).settings}
    await prepare(settings.model_copy(update=chosen), True)
    async with open_graph("neo4j", uri=settings.uri) as graph:
        found = await graph.search_entities("sleepless seatle", node_types=["Movie"])
        hit = found.content["result"][0]
        assert (hit["id"], hit["name"]) == ("Sleepless in Seattle", "Sleepless in Seattle")
