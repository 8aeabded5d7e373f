"""Files that are not readable graphs: one error that names the file and the remedy."""

import os
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from bfsql.errors import StoreError
from bfsql.models import EdgeRecord, NodeRecord
from bfsql.models.outline import Outline
from bfsql_sqlite import SqliteBackend, backend
from bfsql_test_support.case_table import case_table
from bfsql_test_support.commands import run

PEOPLE = [NodeRecord(f"p{i}", "person", {"name": f"Person {i}"}) for i in range(300)]
ACQUAINTED = [EdgeRecord(f"p{i}", "KNOWS", f"p{i // 2}") for i in range(300)]


async def refusal(path):
    with pytest.raises(StoreError) as caught:
        await SqliteBackend.create(path=path)
    sentence = str(caught.value)
    assert str(path) in sentence
    assert "\n" not in sentence
    return sentence


@pytest.fixture
async def graph(load, file):
    await load([*PEOPLE, *ACQUAINTED])
    return file


async def test_a_missing_file_is_reported_with_the_command_that_makes_one(tmp_path):
    sentence = await refusal(tmp_path / "nowhere" / "graph.db")
    assert "There is no graph at" in sentence
    assert "bfsql load SOURCE --path" in sentence
    assert not (tmp_path / "nowhere").exists()


async def test_an_empty_folder_is_reported(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".caches"))
    assert "this folder is empty" in await refusal(tmp_path)


async def test_a_file_under_a_file_is_reported(graph):
    assert "cannot be read" in await refusal(graph / "graph.db")


async def test_a_name_with_a_nul_is_reported():
    assert "cannot be read" in await refusal(Path("graph\0.db"))


@case_table("content", [b"", b"id,name\n1,Meg Ryan\n", b"SQLite format 3\0", bytes(5000)])
async def test_a_file_of_another_kind_is_reported(file, content):
    file.write_bytes(content)
    sentence = await refusal(file)
    assert "is empty" in sentence if not content else "is not an SQLite file" in sentence
    assert file.read_bytes() == content


async def test_an_sqlite_file_without_tables_is_reported(file, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA user_version = 1")
    assert "has no table" in await refusal(file)


@case_table(("layout", "found"), [(6, "reads layout 5"), (4, "older than 5")])
async def test_a_file_of_another_layout_is_reported(graph, layout, found):
    with closing(sqlite3.connect(graph)) as connection:
        connection.execute(f"PRAGMA user_version = {layout}")
    sentence = await refusal(graph)
    assert found in sentence
    assert f"bfsql load SOURCE --path {graph} --replace" in sentence


async def test_a_file_that_is_half_there_is_reported(graph):
    os.truncate(graph, graph.stat().st_size // 2)
    assert "is incomplete" in await refusal(graph)


async def test_a_file_whose_load_never_ended_is_reported(graph):
    with closing(sqlite3.connect(graph)) as connection:
        connection.execute("DELETE FROM meta WHERE key = 'load'")
        connection.commit()
    assert "damaged" in await refusal(graph)


@case_table("start", [100, 4096])
async def test_a_file_with_overwritten_pages_is_reported(graph, tmp_path, start):
    content = bytearray(graph.read_bytes())
    content[start : start + 40_000] = b"\xff" * len(content[start : start + 40_000])
    (tmp_path / "damaged.db").write_bytes(content)
    assert "damaged" in await refusal(tmp_path / "damaged.db")


def damage(graph, table):
    """Overwrite the first page of a table or an index."""
    with closing(sqlite3.connect(graph)) as connection:
        query = "SELECT rootpage FROM sqlite_schema WHERE name = ?"
        (root,) = connection.execute(query, (table,)).fetchone()
    content = bytearray(graph.read_bytes())
    content[(root - 1) * 4096 : root * 4096] = b"\xff" * 4096
    graph.write_bytes(content)


async def test_damage_that_shows_at_the_first_question_is_reported(graph):
    damage(graph, "type")
    assert "damaged" in await refusal(graph)


async def test_damage_that_shows_later_is_reported_then_and_is_no_empty_answer(graph):
    damage(graph, "entries")
    backend = await SqliteBackend.create(path=graph)
    try:
        with pytest.raises(StoreError, match="damaged"):
            await backend.edges_batch(["p1"])
        assert await backend.get_node("p1")
    finally:
        await backend.close()


async def test_an_unreadable_file_is_reported(graph, as_nobody):
    graph.chmod(0)
    assert "cannot be read" in await refusal(graph)


@pytest.fixture
def as_nobody(graph):
    """Makes file permissions apply to root too, by switching to another user."""
    if os.name != "posix":
        pytest.skip("files have no such rights here")
    if os.geteuid() != 0:
        yield
        return
    shutil.chown(graph, 65534)
    for folder in (graph.parent, *graph.parents[1:-2]):
        folder.chmod(folder.stat().st_mode | 0o111)
    os.seteuid(65534)
    yield
    os.seteuid(0)


async def test_a_path_of_any_spelling_is_opened_as_it_is(tmp_path, graph):
    for name in ("50% off?.db", "a#b&mode=rwc.db", "%2e%2e.db", "émile 🜁.db", "q'\"\n.db"):
        there = tmp_path / name
        shutil.copy(graph, there)
        backend = await SqliteBackend.create(path=there)
        assert (await backend.get_node("p1")).entity_type == "person"
        await backend.close()


async def test_reading_never_writes(graph):
    def state():
        return graph.read_bytes(), graph.stat().st_mtime_ns, sorted(graph.parent.iterdir())

    before = state()
    backend = await SqliteBackend.create(path=graph)
    await backend.search_entities("person")
    for statement in ("DELETE FROM node", "CREATE TABLE x (y)", "PRAGMA user_version = 9"):
        with pytest.raises(StoreError, match="readonly"):
            await backend._pool.run(lambda reader, text=statement: reader.execute(text))
    await backend.close()
    assert before == state()


def test_a_load_that_is_terminated_leaves_the_old_file_and_nothing_else(graph):
    before = graph.read_bytes()
    (graph.parent / "edges.csv").write_text("subject,object\na,b\n", encoding="utf-8")
    code = (
        "import itertools, os, signal, bfsql.sources as sources\n"
        "from bfsql.models import NodeRecord\n"
        "from bfsql.models.load import SourceAccount\n"
        "from bfsql.sources.open import Source\n"
        "def endless(*_):\n"
        "    for number in itertools.count():\n"
        "        if number == 5_000:\n"
        "            os.kill(os.getpid(), signal.SIGTERM)\n"
        "        yield NodeRecord(str(number), 'Thing')\n"
        "opened = lambda *_, **__: [Source(SourceAccount('endless', 'jsonl'), endless())]\n"
        "sources.open_sources = opened\n"  # before any module imports the name
        "from bfsql.cli import main\n"
        "main()\n"
    )
    load = ("load", "edges.csv", "--replace", "--path", "graph.db")
    done = run(sys.executable, "-c", code, *load, cwd=graph.parent)
    assert (done.returncode, done.stderr) == (130, "Interrupted: the store is unchanged.\n")
    assert graph.read_bytes() == before
    assert sorted(path.name for path in graph.parent.iterdir()) == ["edges.csv", "graph.db"]


async def test_the_outline_of_the_load_is_kept_until_another_program_writes_to_the_file(
    graph, monkeypatch
):
    async def outline():
        opened = await SqliteBackend.create(path=graph, connections=1)
        try:
            return await opened.outline()
        finally:
            await opened.close()

    async def counted(*_):
        return Outline({"counted": 1})

    loaded = await outline()
    assert loaded.node_counts == {"person": 300}
    assert loaded.edge_counts == {"KNOWS": 300}
    monkeypatch.setattr(backend, "outline_in_integers", counted)
    assert await outline() == loaded
    for statement in ("VACUUM", "UPDATE type SET name = 'human'"):
        kept = graph.read_bytes()
        with closing(sqlite3.connect(graph)) as connection:
            connection.execute(statement)
            connection.commit()
        assert (await outline()).node_counts == {"counted": 1}
        graph.write_bytes(kept)
    graph.write_bytes(graph.read_bytes().replace(b'{"person": 300}', b'{"person": 301}'))
    assert (await outline()).node_counts == {"counted": 1}
