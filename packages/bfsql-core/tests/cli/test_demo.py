"""The demo's tables are consistent, and answer the question that the demo ends with."""

import csv
import json
import subprocess
import sys
from collections import Counter

import networkx as nx
import pytest
from click.testing import CliRunner

from bfsql.cli import bfsql
from bfsql.cli.demo import EDGE_TABLES, NODE_TABLES, _load, films_paths

HANKS = "Person:TomHanks"
RYAN = "Person:MegRyan"
TOGETHER = {
    "Movie:Ithaca2015",
    "Movie:JoeVersusTheVolcano1990",
    "Movie:SleeplessInSeattle1993",
    "Movie:YouveGotMail1998",
}
ENDS = {
    "ACTED_IN": ("Person", "Movie"),
    "COMPOSED_FOR": ("Person", "Movie"),
    "DIRECTED": ("Person", "Movie"),
    "HAS_GENRE": ("Movie", "Genre"),
    "WROTE": ("Person", "Movie"),
}


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, strict=True))


@pytest.fixture(scope="module")
def tables():
    with films_paths() as paths:
        return {path.name: rows_of(path) for path in paths}


@pytest.fixture(scope="module")
def nodes(tables):
    return [row for name in NODE_TABLES for row in tables[name]]


@pytest.fixture(scope="module")
def edges(tables):
    return [row for name in EDGE_TABLES for row in tables[name]]


@pytest.fixture(scope="module")
def types(nodes):
    return {row["id"]: row["type"] for row in nodes}


@pytest.fixture(scope="module")
def undirected(types, edges):
    graph = nx.Graph()
    graph.add_nodes_from(types)
    graph.add_edges_from((row["subject"], row["object"]) for row in edges)
    return graph


@pytest.fixture(scope="module")
def casts(edges):
    graph = nx.Graph()
    graph.add_edges_from((r["subject"], r["object"]) for r in edges if r["predicate"] == "ACTED_IN")
    return graph


def within(graph, start, hops):
    return set(nx.single_source_shortest_path_length(graph, start, cutoff=hops))


def test_ids_are_unique_and_begin_with_their_type(nodes):
    assert [i for i, n in Counter(row["id"] for row in nodes).items() if n > 1] == []
    assert all(row["id"].startswith(f"{row['type']}:") for row in nodes)
    assert all(row["id"].isascii() and row["name"].strip() == row["name"] != "" for row in nodes)


def test_no_two_people_share_a_name(tables):
    names = Counter(row["name"].casefold() for row in tables["people.csv"])
    assert [name for name, n in names.items() if n > 1] == []


def test_every_edge_joins_nodes_of_the_types_its_predicate_says(edges, types):
    wrong = [
        row
        for row in edges
        if (types.get(row["subject"]), types.get(row["object"])) != ENDS[row["predicate"]]
    ]
    assert wrong == []
    assert {row["predicate"] for row in edges} == set(ENDS)


def test_no_triple_is_listed_twice_and_only_actors_have_roles(edges):
    triples = Counter((row["subject"], row["predicate"], row["object"]) for row in edges)
    assert max(triples.values()) == 1
    assert {row["predicate"] for row in edges if row["role"]} == {"ACTED_IN"}


def test_tables_are_sorted(tables):
    for name in NODE_TABLES:
        ids = [row["id"] for row in tables[name]]
        assert ids == sorted(ids)
    for name in EDGE_TABLES:
        triples = [(row["subject"], row["predicate"], row["object"]) for row in tables[name]]
        assert triples == sorted(triples)


def test_the_graph_is_small_and_in_one_piece(types, undirected):
    counts = Counter(types.values())
    assert set(counts) == {"Genre", "Movie", "Person"}
    assert 300 <= counts.total() <= 450
    assert 100 <= counts["Movie"] <= 130
    assert 180 <= counts["Person"] <= 300
    assert nx.is_connected(undirected)


def test_every_movie_has_a_director_a_genre_and_a_cast(tables, edges):
    has = {(row["predicate"], row["object"]) for row in edges}
    has |= {(row["predicate"], row["subject"]) for row in edges if row["predicate"] == "HAS_GENRE"}
    wanted = {
        (predicate, row["id"])
        for row in tables["movies.csv"]
        for predicate in ("ACTED_IN", "DIRECTED", "HAS_GENRE")
    }
    assert wanted - has == set()


def test_years_are_plausible_and_ids_end_with_them(tables):
    for row in tables["movies.csv"]:
        assert 1975 <= int(row["released"]) <= 2020
        assert row["id"].endswith(row["released"])


def test_nobody_works_on_a_film_before_being_born_or_at_an_implausible_age(tables, edges):
    released = {row["id"]: int(row["released"]) for row in tables["movies.csv"]}
    born = {row["id"]: int(row["born"]) for row in tables["people.csv"] if row["born"]}
    ages = {
        (row["subject"], row["object"]): released[row["object"]] - born[row["subject"]]
        for row in edges
        if row["subject"] in born
    }
    assert {pair: age for pair, age in ages.items() if not 5 <= age <= 95} == {}


def test_hanks_and_ryan_act_together_in_four_films(casts):
    assert set(casts[HANKS]) & set(casts[RYAN]) == TOGETHER


def test_each_of_the_four_has_a_well_known_cast(casts):
    assert all(casts.degree(movie) >= 6 for movie in TOGETHER)


def test_co_stars_of_both_are_in_a_film_with_both_or_in_one_with_each(casts):
    people = {n for n in within(casts, HANKS, 2) & within(casts, RYAN, 2) if n in casts}
    people = {person for person in people if person.startswith("Person:")} - {HANKS, RYAN}
    with_both = {person for person in people if TOGETHER & set(casts[person])}
    assert {
        "Person:BillPullman",
        "Person:DabneyColeman",
        "Person:GregKinnear",
        "Person:ParkerPosey",
        "Person:RitaWilson",
        "Person:RobReiner",
        "Person:RosieODonnell",
        "Person:SteveZahn",
        "Person:VictorGarber",
    } <= with_both
    assert {
        "Person:CarrieFisher",
        "Person:DavidMorse",
        "Person:DenzelWashington",
        "Person:KevinBacon",
        "Person:MattDamon",
        "Person:RobinWright",
        "Person:StanleyTucci",
    } <= people - with_both
    assert people.isdisjoint({"Person:BillPaxton", "Person:GarySinise", "Person:HughJackman"})


def test_intersection_at_two_hops_is_these_films_genres_and_people(undirected, types):
    common = within(undirected, HANKS, 2) & within(undirected, RYAN, 2)
    by_type = Counter(types[node] for node in common)
    assert {node for node in common if types[node] == "Movie"} == TOGETHER
    assert 40 <= by_type["Person"] <= 100


async def test_the_demo_uses_its_own_graph_again(tmp_path):
    path = tmp_path / "films.db"
    assert await _load(path)
    made = path.read_bytes()
    assert not await _load(path)
    assert path.read_bytes() == made
    assert [file.name for file in tmp_path.iterdir()] == ["films.db"]


def test_the_demo_replaces_no_graph_of_somebody_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("id,type\nPerson:TomHanks,Person\n", encoding="utf-8")
    runner = CliRunner()
    assert runner.invoke(bfsql, ["load", "people.csv", "--path", "films.db"]).exit_code == 0
    before = (tmp_path / "films.db").read_bytes()
    done = runner.invoke(bfsql, ["demo"])
    assert (done.exit_code, done.stdout) == (1, "")
    assert "films.db contains a graph that was not created by the demo" in done.stderr
    assert "--path" in done.stderr
    assert (tmp_path / "films.db").read_bytes() == before


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_the_demo_shows_tables_and_trees_and_on_request_json(tmp_path, options):
    command = [sys.executable, "-m", "bfsql", "demo", "--path", str(tmp_path / "films.db")]
    done = subprocess.run([*command, *options], capture_output=True, encoding="utf-8", check=True)
    session, _, farewell = done.stdout.partition("Use it with your own assistant")
    answers = [json.loads(line) for line in session.splitlines() if line[:1] in ("{", "[")]
    assert len(answers) == (10 if options else 0)
    assert ("Person -ACTED_IN-> Movie (508)\n" in session) == (not options)
    assert ("\nSteven Spielberg       5   Person:StevenSpielberg" in session) == (not options)
    assert ("├── -ACTED_IN-> Movie:Big1988 Movie" in session) == (not options)
    assert "29 played in a film with both" in session
    assert '"mcpServers"' in farewell
