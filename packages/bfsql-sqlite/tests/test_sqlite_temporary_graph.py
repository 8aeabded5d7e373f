"""A file of another format is loaded to be served: the graph is the one that a load makes."""

import asyncio
import logging
import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

import bfsql
from bfsql.cli import bfsql as command
from bfsql.errors import StoreError
from bfsql.loading import load
from bfsql.models.load import LoadOptions
from bfsql.sources.registry import FORMATS
from bfsql_sqlite import SqliteBackend, SqliteSettings
from bfsql_sqlite.plugin import SOURCES, plugin

ONTOLOGY = """@prefix e: <http://e.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
e:Descriptor rdfs:subClassOf skos:Concept .
e:pizza a owl:Class ; rdfs:label "Pizza"@de , "pizza"@en ;
    rdfs:subClassOf [ a owl:Restriction ; owl:onProperty e:topping ; owl:someValuesFrom e:ham ] .
e:ham a skos:Concept , e:Descriptor ; skos:prefLabel "Schinken"@de , "ham"@en .
"""
GRAPHML = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="n" for="node" attr.name="name" attr.type="string"/>
<graph edgedefault="directed"><node id="pizza"><data key="n">Pizza</data></node>
<node id="ham"/><edge source="pizza" target="ham"/></graph></graphml>
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The folder of temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name, text):
    path = Path(name)
    path.write_text(text)
    return path


def abandon(folder):
    """Make what a killed process leaves."""
    folder.mkdir()
    (folder / "lock").touch()


def left(folder):
    return [*folder.glob(".bfsql-serve.*")]


@pytest.mark.parametrize(("name", "text"), [("a.ttl", ONTOLOGY), ("a.graphml", GRAPHML)])
async def test_answers_are_those_of_the_loaded_file(folder, name, text):
    write(name, text)
    how = LoadOptions(create_nodes=True, default_type="")
    await load(plugin, SqliteSettings(path=Path("a.db")), [Path(name)], how=how)
    answers = []
    for path in (name, "a.db"):
        async with bfsql.open_graph("sqlite", path=Path(path)) as graph:
            seed = (await graph.search_entities("pizza")).content["result"][0]["id"]
            answers.append(
                [
                    (await graph.describe_schema()).text,
                    (await graph.search_entities("piza")).text,
                    (await graph.bfs_query(seeds=[seed], max_hops=1)).text,
                    (await graph.describe_entities([seed, "e:ham"])).text,
                ]
            )
    assert answers[0] == answers[1]
    if name == "a.ttl":
        assert "e:topping" in answers[0][2]
        assert '"entity_type":"e:Descriptor"' in answers[0][2]
        assert '"name":"ham"' in answers[0][3]
    assert not left(folder)


async def test_several_files_are_one_graph_that_is_kept_by_files_and_options(folder):
    (folder / "more").mkdir()
    write("a.ttl", ONTOLOGY)
    write("more/b.ttl", "@prefix x: <http://e.org/> . x:ham x:title 'jambon' ; x:with x:pizza .")
    told = {"path": Path("a.ttl"), "more_files": ["more/b.ttl"]}
    for options, hits in ({}, []), ({"label_property": ["e:title"]}, ["e:ham"]):
        for _ in range(2):
            backend = await SqliteBackend.create(**told, **options)
            assert [one.id for one in await backend.search_entities("jambon")] == hits
            assert await backend.predicates() == ["e:topping", "e:with", "rdfs:subClassOf"]
            await backend.close()
    assert len(kept(folder)) == 2
    backend = await SqliteBackend.create(**told)
    write("c.ttl", "")
    await asyncio.to_thread(os.replace, "c.ttl", "more/b.ttl")
    assert backend.changed() is not None
    await backend.close()
    await backend.close()
    assert not left(folder)


async def test_a_cancelled_opening_leaves_nothing(folder):
    write("a.nt", "".join(f"<u:{n}> <u:p> <u:{n + 1}> .\n" for n in range(50_000)))
    opening = asyncio.create_task(SqliteBackend.create(path=Path("a.nt")))
    while not left(folder / "caches/bfsql/graphs"):  # noqa: ASYNC110 - nothing announces it
        await asyncio.sleep(0.001)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert kept(folder) == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("<a> <b> .", "line 1: bad syntax"), (None, "there is no such file or folder")],
)
async def test_a_file_that_cannot_be_read(folder, text, sentence):
    if text is not None:
        write("a.ttl", text)
    with pytest.raises(StoreError, match=sentence):
        await SqliteBackend.create(path=Path("a.ttl"))
    assert not left(folder)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "contains no nodes: every answer will be empty"),
        (
            "<u:a> <u:p> <u:b> .\nnonsense\n",
            "lines that cannot be used (1). The first: a.nt, line 2",
        ),
    ],
)
async def test_what_cannot_be_used_is_logged(text, sentence, caplog):
    write("a.nt", text)
    with caplog.at_level(logging.WARNING, "bfsql"):
        await (await SqliteBackend.create(path=Path("a.nt"))).close()
    assert sentence in caplog.text


def test_commands_take_the_file_and_no_load_replaces_it():
    text = ONTOLOGY + "e:x a e:Dish .\n"
    write("a.ttl", text)
    write("b.trig", "@prefix e: <http://e.org/> . e:g { e:pasta e:like e:pizza }")
    found = CliRunner().invoke(command, ["search-entities", "pizza", "--path", "a.ttl"])
    assert found.exit_code == 0, found.output
    assert "e:pizza" in found.stdout
    for options in [], ["--graph", "e:g"]:
        counted = CliRunner().invoke(command, ["describe-schema", "a.ttl", "b.trig", *options])
        assert "e:like" in counted.stdout, counted.output
        assert ("e:topping" in counted.stdout) == (not options)
    wrong = CliRunner().invoke(command, ["describe-schema", "a.ttl", "b.trig", "--graph", "e:no"])
    assert "is in the graph e:no. Name another one" in wrong.stderr
    write("n.csv", "id,type,name\n1,T,One\n")
    refused = CliRunner().invoke(command, ["load", "n.csv", "--path", "a.ttl", "--replace"])
    assert refused.exit_code == 2
    assert "Load into a graph file: bfsql load SOURCE --path a.db" in refused.stderr
    assert Path("a.ttl").read_text() == text


def test_the_endings_are_those_of_formats_that_are_whole_graphs():
    names = ("turtle", "ntriples", "nquads", "trig", "rdfxml", "jsonld", "graphml", "gexf")
    endings = {suffix for name in names for suffix in FORMATS[name].suffixes} - {".json"}
    assert {one for one in SOURCES if not one.endswith((".gz", ".zst"))} == endings


# --- tables ---


def kept(folder):
    return sorted((folder / "caches/bfsql/graphs").iterdir())


def database(path, name="Meg"):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE IF NOT EXISTS actor (id INTEGER PRIMARY KEY, name TEXT)")
        connection.execute("INSERT INTO actor (name) VALUES (?)", (name,))


async def names(path):
    backend = await SqliteBackend.create(path=path)
    try:
        return [one.name for one in await backend.search_entities("Meg")]
    finally:
        await backend.close()


@pytest.mark.parametrize("path", [Path("lab.db"), Path("lab")])
async def test_the_graph_of_tables_is_kept_until_they_change(folder, path, caplog):
    if path.suffix:
        database(path)
    else:
        path.mkdir()
        write("lab/actor.csv", "id,name\n1,Meg\n2,Tom\n")
    assert await names(path) == ["Meg"]
    assert f"{path} is loaded before it is served, into {folder}" in caplog.text
    (place,) = kept(folder)
    assert (place.stat().st_mode & 0o777, place.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    caplog.clear()
    made = place.stat().st_ino
    assert await names(path) == ["Meg"]
    assert (caplog.text, kept(folder)[0].stat().st_ino) == ("", made)
    backend = await SqliteBackend.create(path=path)
    if path.suffix:
        database(path, "Meg Ryan")
    else:
        write("lab/more.csv", "id,name\n3,Meg Ryan\n4,Tom Hanks\n")
    assert backend.changed() is not None
    assert sorted(await names(path)) == ["Meg", "Meg Ryan"]
    assert [one.name for one in await backend.search_entities("Meg")] == ["Meg"]
    await backend.close()
    assert len(kept(folder)) == 1
    assert place not in kept(folder)


async def test_a_damaged_or_old_graph_of_tables_is_made_again(folder):
    database("lab.db")
    await names(Path("lab.db"))
    (place,) = kept(folder)
    os.truncate(place, 5_000)
    old = place.with_name("0-0.db")
    old.touch()
    os.utime(old, (0, 0))
    abandon(place.with_name(".bfsql-serve.killed"))
    assert await names(Path("lab.db")) == ["Meg"]
    assert kept(folder) == [place]


async def test_without_a_folder_of_caches_the_graph_is_temporary(folder):
    database("lab.db")
    write("caches", "no folder")
    assert await names(Path("lab.db")) == ["Meg"]
    assert not left(folder)


async def test_tables_that_cannot_be_read_leave_nothing(folder):
    with closing(sqlite3.connect("lab.db")) as connection:
        connection.execute("PRAGMA user_version = 1")
    with pytest.raises(StoreError, match="has no table"):
        await names(Path("lab.db"))
    assert kept(folder) == []
