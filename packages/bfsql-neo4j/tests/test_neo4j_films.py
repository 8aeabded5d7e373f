"""The demo's films as a Neo4j user has them: no ids, people by name, films by title."""

import csv
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from bfsql.cli.demo import films_paths
from bfsql.graph import Graph, open_graph
from bfsql_neo4j import Neo4jBackend, Neo4jSettings
from bfsql_neo4j.indexes import prepare

BY_NAME = {"Person": "name", "Movie": "title", "Genre": "name"}


def rows(name: str) -> list[dict[str, str]]:
    with films_paths() as paths:
        path = next(path for path in paths if path.name.endswith(name))
        with path.open(encoding="utf-8", newline="") as lines:
            return list(csv.DictReader(lines))


@pytest.fixture(scope="module")
def written() -> list[bool]:
    """Whether the films are on the server."""
    return []


@pytest.fixture
async def films(cypher: Any, empty_it: Callable[[], Awaitable[None]], written: list[bool]) -> None:
    """People, movies and genres; no `entity_id`, types in capitals."""
    if written:
        return
    await empty_it()
    written.append(True)
    await cypher(
        "UNWIND $rows AS row CREATE (n:Person {name: row.name, born: toInteger(row.born)})",
        rows=rows("people.csv"),
    )
    await cypher(
        "UNWIND $rows AS row CREATE (n:Movie {title: row.name, released: toInteger(row.released)})",
        rows=rows("movies.csv"),
    )
    await cypher("UNWIND $rows AS row CREATE (:Genre {name: row.name})", rows=rows("genres.csv"))
    called = {
        row["id"]: row["name"]
        for name in ("people.csv", "movies.csv", "genres.csv")
        for row in rows(name)
    }
    edges = [
        {"s": called[row["subject"]], "o": called[row["object"]], **row}
        for row in rows("roles.csv")
    ]
    for predicate in sorted({row["predicate"] for row in edges}):
        await cypher(
            "UNWIND $rows AS row MATCH (a:Person|Movie) WHERE coalesce(a.name, a.title) = row.s "
            "MATCH (b:Movie|Genre) WHERE coalesce(b.name, b.title) = row.o "
            f"CREATE (a)-[r:{predicate}]->(b) "
            "SET r.roles = CASE WHEN row.role = '' THEN null ELSE [row.role] END",
            rows=[row for row in edges if row["predicate"] == predicate],
        )


@pytest.fixture
def by_name(settings: Neo4jSettings, films: None) -> Neo4jSettings:
    texts = [f"{label}={name}" for label, name in BY_NAME.items()]
    return settings.model_copy(update={"id_property": texts})


@pytest.fixture
async def graph(by_name: Neo4jSettings) -> AsyncIterator[Graph]:
    """The graph after only `bfsql index --apply`."""
    await prepare(by_name, True)
    backend = await Neo4jBackend.open(by_name)
    async with open_graph(backend) as opened:
        yield opened
    await backend.close()


async def test_the_schema_is_that_of_chapter_11(graph: Graph) -> None:
    schema = (await graph.describe_schema()).content
    assert schema["entity_types"] == ["Genre", "Movie", "Person"]
    assert schema["predicates"] == [
        "acted_in",
        "composed_for",
        "directed",
        "has_genre",
        "wrote",
    ]


async def test_names_become_ids_that_are_names(graph: Graph) -> None:
    found = (await graph.search_entities("tom hanks")).content["result"]
    assert found[0]["id"] == "Tom Hanks"
    assert (found[0]["entity_type"], found[0]["score"]) == ("Person", None)
    movies = (await graph.search_entities("sleepless seatle", node_types=["Movie"])).content
    assert movies["result"][0]["id"] == "Sleepless in Seattle"
    assert movies["result"][0]["name"] == "Sleepless in Seattle"


async def test_a_person_s_films_are_one_hop_away_with_their_roles(graph: Graph) -> None:
    answer = (await graph.bfs_query(seeds=["Tom Hanks"], max_hops=1)).content
    acted = [e for e in answer["edges"] if e["predicate"] == "acted_in"]
    assert {"subject": "Tom Hanks", "object": "Sleepless in Seattle"}.items() <= next(
        e for e in acted if e["object"] == "Sleepless in Seattle"
    ).items()
    node = next(n for n in answer["nodes"] if n["id"] == "Tom Hanks")
    assert node["metadata"] == {"born": 1956, "name": "Tom Hanks"}


async def test_the_intersection_of_two_actors_is_their_common_films(graph: Graph) -> None:
    answer = (await graph.intersect_subgraphs(seeds=["Tom Hanks", "Meg Ryan"], k=1)).content
    movies = {n["id"] for n in answer["nodes"] if n["entity_type"] == "Movie"}
    assert {"Sleepless in Seattle", "You've Got Mail"} <= movies
    costars = (await graph.intersect_subgraphs(seeds=["Tom Hanks", "Meg Ryan"], k=2)).content
    people = {n["id"] for n in costars["nodes"] if n["entity_type"] == "Person"}
    assert {"Tom Hanks", "Meg Ryan"} <= people
    assert len(people) > 2
    reference = {row["subject"] for row in rows("roles.csv") if row["predicate"] == "ACTED_IN"}
    assert len(people) <= len(reference)
