"""A load writes the whole file or leaves the previous one, and reports what it found."""

import asyncio
import sys
import threading
from dataclasses import replace

import pytest

from bfsql.errors import StoreError
from bfsql.models import EdgeRecord, EvidenceRecord, NodeRecord
from bfsql_sqlite import SqliteBackend, SqliteSettings, adjacency, bulk_graph, load_graph, loader
from bfsql_sqlite.graph_file import make_file
from bfsql_sqlite.plugin import plugin
from bfsql_test_support.case_table import case_table
from bfsql_test_support.commands import run
from bfsql_test_support.suites.loading import SqlLoaderSuite
from bfsql_testing.loader_suite import OLD, many


def names(folder):
    return sorted(path.name for path in folder.iterdir())


class TestLoads(SqlLoaderSuite):
    plugin = replace(plugin, load=load_graph)  # which another process can import

    @pytest.fixture(autouse=True)
    def short_batches(self, monkeypatch):
        """Makes batches so short that these graphs need several of them."""
        monkeypatch.setattr(bulk_graph, "BATCH_EDGES", 1_000)
        monkeypatch.setattr(adjacency, "BATCH_EDGES", 10_000)

    @pytest.fixture
    def settings(self, file):
        return SqliteSettings(path=file)

    @pytest.fixture
    def contents(self, file):
        async def contents():
            there = file.parent.iterdir()
            return {path.name: path.read_bytes() if path.is_file() else None for path in there}

        return contents

    @pytest.fixture(params=["a graph", "no file"])
    async def before(self, request, load, contents):
        if request.param == "a graph":
            await load(OLD)
        return await contents()

    @pytest.fixture
    async def metadata(self, file):
        async def metadata(entity_id):
            backend = await SqliteBackend.create(path=file)
            try:
                await backend.get_node(entity_id)
                return await backend.metadata_for_node(entity_id)
            finally:
                await backend.close()

        return metadata


async def test_a_document_whose_id_is_no_text_is_evidence_of_its_edge(opened):
    item = {"document_id": "half \ud800", "text_span": "so"}
    records = [NodeRecord("a", "T"), EdgeRecord("a", "P", "a"), EvidenceRecord("a", "P", "a", item)]
    backend = await opened(records)
    found = await backend.provenance_for_node("a", 5)
    assert [one["document_id"] for one in found["items"]] == ["half \ud800"]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["replace", "append"])
async def test_a_disk_that_is_full_is_reported_and_leaves_the_old_file(load, file, mode):
    pytest.importorskip("resource", reason="limits on a file's size are a matter of POSIX")
    await load(OLD)
    before = file.read_bytes()
    script = """
import asyncio, resource, sys
from pathlib import Path
from typing import Any
from bfsql.errors import StoreError
from bfsql.models import NodeRecord
from bfsql.models.load import LoadMode, LoadOptions
from bfsql_sqlite import SqliteSettings, bulk, load_graph
bulk.CONFIG["memory_limit"] = "100MB"  # beyond it, files grow
resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000))
nodes = (NodeRecord(f"{i} {'x' * 10_000}", "thing") for i in range(1_000_000))
try:
    settings, options = SqliteSettings(path=Path(sys.argv[1])), LoadOptions(LoadMode(sys.argv[2]))
    asyncio.run(load_graph(settings, nodes, options))
except StoreError as error:
    sys.exit(str(error))
"""
    done = run(sys.executable, "-c", script, file, mode)
    assert f"{file} cannot be written: " in done.stderr
    assert "The previous content is unchanged" in done.stderr
    assert file.read_bytes() == before
    assert names(file.parent) == ["graph.db"]


@case_table("name", ["no folder/graph.db", "", "a\0b"])
async def test_a_place_where_no_file_can_be_is_reported(tmp_path, name):
    with pytest.raises(StoreError) as caught:
        await load_graph(SqliteSettings(path=tmp_path / name), OLD)
    assert str(tmp_path) in str(caught.value)
    assert names(tmp_path) == []


async def test_opening_during_many_loads_always_gives_one_whole_graph(load, file):
    await load(many(1))
    done = threading.Event()

    async def loading():
        for number in range(2, 8):
            await load(many(number))
        done.set()

    work = asyncio.ensure_future(loading())
    while not done.is_set():
        backend = await SqliteBackend.create(path=file, connections=8)
        seen = await asyncio.gather(*(backend.edges_batch(["n0"]) for _ in range(8)))
        counts = [(await backend.outline()).node_counts for _ in range(2)]
        assert (len({tuple(ring) for ring in seen}), counts[0]) == (1, counts[1])
        await backend.close()
    await work


async def test_a_load_that_is_cancelled_too_late_says_that_its_graph_is_in_place(file, monkeypatch):
    made, goes_on = threading.Event(), threading.Event()

    def make(*arguments):
        report = make_file(*arguments)
        made.set()
        goes_on.wait(60)
        return report

    monkeypatch.setattr(loader, "make_file", make)
    load = asyncio.create_task(load_graph(SqliteSettings(path=file), [NodeRecord("a", "T")]))
    await asyncio.to_thread(made.wait)
    load.cancel()
    await asyncio.sleep(0)
    goes_on.set()
    with pytest.raises(asyncio.CancelledError) as cancelled:
        await load
    assert cancelled.value.__notes__ == ["The new graph is in place."]
    assert file.exists()
