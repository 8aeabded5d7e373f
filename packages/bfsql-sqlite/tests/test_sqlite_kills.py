"""A load that is killed or meets another leaves a complete graph, and no other files for long."""

import asyncio
import multiprocessing
import random
import sqlite3
import threading
import time
from contextlib import closing

import pytest

from bfsql.errors import LoadRefused
from bfsql.loading import load
from bfsql.models import NodeRecord
from bfsql.models.load import LoadMode, LoadOptions
from bfsql_sqlite import SqliteSettings, load_graph
from bfsql_sqlite.plugin import plugin
from bfsql_test_support.case_table import case_table
from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.suites.loading import load_and_tell, load_files_and_tell
from bfsql_testing.loader_suite import many

KILLS = 60 if THOROUGH else 12
NODES = 1_500
TABLE = 5_000
"""Nodes in a table; there are nine times as many edges."""
OLD = [NodeRecord(f"old {i}", "thing") for i in range(10)]
WHOLE = {LoadMode.NEW: (0, NODES), LoadMode.REPLACE: (10, NODES), LoadMode.APPEND: (10, NODES + 10)}
"""Possible numbers of nodes after a load in each mode was killed."""


def nodes_in(path):
    """The number of nodes of a graph, which must be complete; 0 if there is no file."""
    if not path.exists():
        return 0
    with closing(sqlite3.connect(path)) as graph:
        assert graph.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert graph.execute("SELECT count(*) FROM meta WHERE key = 'load'").fetchone() == (1,)
        (number,) = graph.execute("SELECT count(*) FROM entry").fetchone()
    return number


def kept(folder):
    return {path.name for path in folder.iterdir()} - {"graph.db", "graph.db.bak"}


@pytest.fixture
def processes(monkeypatch):
    """Makes processes that have already imported the modules of a load."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        pytest.skip("processes are not copied here")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["bfsql_sqlite.bulk", "bfsql_test_support.suites.loading"])
    return context


@pytest.mark.slow
def test_a_load_that_is_killed_at_any_moment_leaves_a_whole_graph(tmp_path, processes):
    path, settings = tmp_path / "graph.db", SqliteSettings(path=tmp_path / "graph.db")
    seconds, left = 0.0, 0
    for number in range(KILLS + 1):
        mode = list(LoadMode)[number % 3]
        path.unlink(missing_ok=True)
        if mode is not LoadMode.NEW:
            asyncio.run(load_graph(settings, OLD))
        ours, theirs = processes.Pipe()
        arguments = (theirs, NODES, load_graph, settings, LoadOptions(mode))
        process = processes.Process(target=load_and_tell, args=arguments)
        process.start()
        assert ours.poll(60)
        begun = time.monotonic()
        process.join(random.uniform(0, seconds) if number else 60)
        process.kill()
        process.join(60)
        seconds = seconds or time.monotonic() - begun  # of the first load, which is not killed
        assert nodes_in(path) in WHOLE[mode]
        left += bool(kept(tmp_path))
        asyncio.run(load_graph(settings, OLD))
        assert kept(tmp_path) == set()
        assert nodes_in(path) == len(OLD)
    assert left > KILLS / 4  # otherwise the kills missed the loads


@pytest.fixture
def tables(tmp_path):
    """Tables of 50,000 rows, in a separate folder."""
    folder = tmp_path / "tables"
    folder.mkdir()
    nodes, edges = folder / "nodes.csv", folder / "edges.csv"
    nodes.write_text("id,name\n" + "".join(f"n{i},name {i}\n" for i in range(TABLE)))
    edges.write_text(
        "subject,object\n" + "".join(f"n{i % TABLE},n{i % 4999}\n" for i in range(9 * TABLE))
    )
    return [nodes, edges]


@pytest.mark.slow
def test_a_load_of_tables_that_is_killed_leaves_a_whole_graph(tmp_path, processes, tables):
    folder = tmp_path / "graphs"
    folder.mkdir()
    path, options = folder / "graph.db", LoadOptions(LoadMode.REPLACE, create_nodes=True)
    settings = SqliteSettings(path=path)
    seconds, left = 0.0, 0
    for number in range(KILLS + 1):
        # The previous load was killed; its leftovers must not hinder this one.
        before = nodes_in(path)
        ours, theirs = processes.Pipe()
        arguments = (theirs, plugin, settings, tables, options)
        process = processes.Process(target=load_files_and_tell, args=arguments)
        process.start()
        assert ours.poll(60)
        begun = time.monotonic()
        process.join(seconds * number / KILLS * random.uniform(0.9, 1.1) if number else 60)
        process.kill()
        process.join(60)
        seconds = seconds or time.monotonic() - begun
        assert nodes_in(path) in {before, TABLE}
        left += bool(kept(folder))
        if number == 0:
            asyncio.run(load_graph(settings, OLD))
    assert left > KILLS / 4
    asyncio.run(load(plugin, settings, tables, how=options))
    assert nodes_in(path) == TABLE
    assert kept(folder) == set()


async def test_of_two_loads_of_tables_the_later_is_refused(tmp_path, tables):
    settings = SqliteSettings(path=tmp_path / "graph.db")
    merging, go_on = threading.Event(), threading.Event()

    def progress(phase, _):
        if phase == "merging":
            merging.set()
            go_on.wait(60)

    options = LoadOptions(LoadMode.REPLACE, progress=progress)
    first = asyncio.ensure_future(load(plugin, settings, tables, how=options))
    await asyncio.to_thread(merging.wait, 60)
    with pytest.raises(LoadRefused, match=r"another load is writing .*graph\.db"):
        await load(plugin, settings, tables, how=LoadOptions(LoadMode.REPLACE))
    go_on.set()
    assert (await first).nodes == TABLE
    assert kept(tmp_path) == {"tables"}


@case_table("mode", LoadMode)
async def test_of_two_loads_into_one_file_the_later_is_refused(tmp_path, mode):
    path = tmp_path / "graph.db"
    reading, go_on = threading.Event(), threading.Event()

    def slow():
        reading.set()
        go_on.wait(60)
        yield from OLD

    options = LoadOptions(mode)
    first = asyncio.ensure_future(load_graph(SqliteSettings(path=path), slow(), options))
    await asyncio.to_thread(reading.wait, 60)
    with pytest.raises(LoadRefused, match=r"another load is writing .*graph\.db"):
        await load_graph(SqliteSettings(path=path), many(3), options)
    other = await load_graph(SqliteSettings(path=tmp_path / "other.db"), many(3), options)
    go_on.set()
    assert ((await first).nodes, other.nodes) == (10, 3)
    assert nodes_in(path) == 10
    assert kept(tmp_path) == {"other.db"}
