"""The column that became the name can be asked by its own name."""

import asyncio
import sqlite3

import pytest
from click.testing import CliRunner

from bfsql import open_graph
from bfsql.cli import bfsql
from bfsql.errors import StoreError
from bfsql_sqlite import SqliteBackend
from bfsql_test_support.case_table import case_table
from bfsql_test_support.tool_calls import read

FILES = {
    "samples.csv": "id,material\ns1,DNA\ns2,RNA\n",
    "films.csv": "id,title\nf1,Heat\n",
    "books.csv": "id,name,title\nb1,Bo,Heat\n",
    "plain.csv": "id,name,sort\np1,P,Q\n",
    "more.json": '{"nodes": [{"id": "m1", "title": "Solo"}], "links": []}',
    "typed.csv": "id:ID,headline:string,:LABEL\nt1,News,Page\n",
    "works.ttl": '<http://e.test/w> <http://www.w3.org/2000/01/rdf-schema#label> "Opus" .',
    "edges.csv": "source,target,predicate\ns1,f1,in\ns2,f1,in\nb1,f1,of\n",
}
TYPES = {"samples": "Sample", "films": "Film", "books": "Book", "plain": "Plain"}
NAMED = "samples.csv=material"
OPTIONS = [f"--node-type={name}.csv={kind}" for name, kind in TYPES.items()]


@pytest.fixture
def load(tmp_path):
    def run(*names, options=()):
        for name in names:
            (tmp_path / name).write_text(FILES[name])
        graph = tmp_path / "g.db"
        paths = [str(tmp_path / name) for name in names]
        types = [one for one in OPTIONS if one.split("=")[1] in names]
        arguments = ["load", *paths, "--path", str(graph), *types, *options]
        done = CliRunner().invoke(bfsql, arguments)
        assert done.exit_code == 0, done.output
        return graph

    return run


def ids(path, seed):
    async def asked():
        async with open_graph("sqlite", path=path) as graph:
            return [n["id"] for n in (await read(graph, "bfs_query", seeds=[seed]))["nodes"]]

    return asyncio.run(asked())


def test_a_file_knows_which_column_became_the_name(load):
    rdf = "works.ttl"  # without it, what has no type is a Node
    path = load(*(FILES.keys() - {rdf}), options=["--name-column", NAMED])
    expected = {
        "Sample[material=DNA]": ["s1"],
        "*[material=DNA]": ["s1"],
        "Film[title=Heat]": ["f1"],
        "Node[title=Solo]": ["m1"],
        "*[title=Heat]": ["b1"],
        "Page[headline=News]": ["t1"],
        "Plain[sort=Q]": ["p1"],
    }
    assert {seed: ids(path, seed) for seed in expected} == expected
    assert ids(load(rdf, options=["--replace"]), "*[rdfs:label=Opus]") == ["http://e.test/w"]


def test_append_keeps_the_key_until_the_type_has_such_a_property(load):
    load("samples.csv", "films.csv", "edges.csv", options=["--name-column", NAMED])
    path = load("plain.csv", options=["--append"])
    assert [ids(path, f"*[{one}]") for one in ("material=RNA", "title=Heat")] == [["s2"], ["f1"]]
    path = load("books.csv", options=["--append", "--node-type=books.csv=Film"])
    assert ids(path, "Film[title=Heat]") == ["b1"]


@case_table("text", ["{", "[]", "[[1], []]", "3", "[[[[], 2]], 5]"])
def test_damaged_keys_are_a_damaged_file(load, text):
    path = load("samples.csv", options=["--name-column", "material", "--replace"])
    with sqlite3.connect(path) as graph:
        graph.execute("UPDATE meta SET value = ? WHERE key = 'name_keys'", (text,))
    graph.close()
    with pytest.raises(StoreError, match="damaged"):
        asyncio.run(SqliteBackend.create(path=path))
