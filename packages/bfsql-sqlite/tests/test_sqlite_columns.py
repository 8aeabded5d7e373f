"""The columns of a file: large rings, truncated files and timeouts."""

import asyncio
import os
import random
from contextlib import aclosing, suppress
from threading import Event

import numpy as np
import pytest

from bfsql import call, open_graph
from bfsql.engine import bfs_query
from bfsql.errors import StoreError
from bfsql.models import BfsQuery, EdgeRecord, NodeRecord
from bfsql.plugins import hookimpl
from bfsql_sqlite import SqliteBackend, SqliteSettings, adjacency, load_graph
from bfsql_sqlite.connection import Pool
from bfsql_test_support.case_table import case_table

GRAPH = [
    *(NodeRecord(f"n{i:05}", f"type {i % 5}", {"name": f"name {i}"}) for i in range(3_000)),
    *(EdgeRecord(f"n{i:05}", f"P{i % 7}", f"n{i * 13 % 3_000:05}") for i in range(3_000)),
    *(EdgeRecord(f"n{i:05}", "HAS", "n00007") for i in range(2_000)),
    EdgeRecord("n00007", "IS", "n00007"),
    EdgeRecord("n00007", "HAS", "nowhere"),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("columns") / "graph.db"
    asyncio.run(load_graph(SqliteSettings(path=path), GRAPH))
    return path


@pytest.fixture
def file(made, tmp_path):
    """A copy that a test may damage."""
    path = tmp_path / "graph.db"
    path.write_bytes(made.read_bytes())
    return path


async def edges_of(backend, ids):
    columns = backend.columns()
    found = [one.handle for one in await columns.find(ids) if one]
    edges = []
    async for ring in columns.rings(np.array(found, np.int32)):
        names = await columns.ids(np.concatenate([ring.subjects, ring.objects]))
        predicates = [columns.predicate_names[p] for p in ring.predicates.tolist()]
        count = len(predicates)
        edges += zip(names[:count], predicates, names[count:], strict=True)
    return edges


async def test_a_small_ring_costs_one_thread_hop(made, monkeypatch):
    backend = await SqliteBackend.create(path=made, connections=1)
    runs, run = [], Pool.run

    async def counted(pool, work, size):
        runs.append(work)
        return await run(pool, work, size)

    monkeypatch.setattr(Pool, "run", counted)
    rings = [ring async for ring in backend.columns().rings(np.array([7, 8, 9], np.int32))]
    assert (len(rings), len(runs)) == (1, 1)
    await backend.close()


async def test_a_batch_is_read_while_the_one_before_is_used(made, monkeypatch):
    monkeypatch.setattr(adjacency, "BATCH_EDGES", 300)
    backend = await SqliteBackend.create(path=made, connections=1)
    loop, begun, ahead, ended = asyncio.get_running_loop(), [], asyncio.Event(), Event()
    work_of = Pool._work

    def watched(pool, *work):
        begun.append(work)
        if len(begun) == 3:  # after the plan and the first batch
            loop.call_soon_threadsafe(ahead.set)
            ended.wait()
        return work_of(pool, *work)

    monkeypatch.setattr(Pool, "_work", watched)
    async with aclosing(backend.columns().rings(np.arange(3_000, dtype=np.int32))) as rings:
        await anext(rings)
        await ahead.wait()
        assert len(asyncio.all_tasks()) == 2
    await asyncio.sleep(0)
    assert len(asyncio.all_tasks()) == 1  # no task is left behind
    ended.set()
    await backend.close()
    assert len(begun) == 3


async def test_a_deadline_stops_between_two_batches(made, monkeypatch):
    monkeypatch.setattr(adjacency, "BATCH_EDGES", 10)
    backend = await SqliteBackend.create(path=made, connections=1)

    async def slowly():
        async for _ in backend.columns().rings(np.arange(3_000, dtype=np.int32)):
            await asyncio.sleep(0.05)

    with call.scope(seconds=0.2), pytest.raises(TimeoutError):
        await slowly()
    assert (await backend.get_node("n00001")).id == "n00001"
    await backend.close()


@case_table("share", [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999])
async def test_a_file_that_is_cut_short_while_it_is_served_is_an_error(made, tmp_path, share):
    file = tmp_path / "graph.db"
    file.write_bytes(made.read_bytes())
    backend = await SqliteBackend.create(path=file, connections=1)
    some = [f"n{i:05}" for i in range(0, 3_000, 100)]
    await edges_of(backend, some)
    os.truncate(file, int(file.stat().st_size * share) // 4096 * 4096)
    for ids in (some, [f"n{i:05}" for i in range(3_000)]):
        with pytest.raises(StoreError, match="damaged"):
            await edges_of(backend, ids)
        with pytest.raises(StoreError, match="damaged"):
            await backend.edges_batch(ids)
    await backend.close()


@case_table("seed", range(8))
async def test_overwritten_bytes_give_an_error_of_the_store_or_an_answer(made, tmp_path, seed):
    file, chance = tmp_path / "graph.db", random.Random(seed)
    content = bytearray(made.read_bytes())
    for _ in range(60):
        place = chance.randrange(4096 * 4, len(content))
        length = chance.choice([1, 4, 400])
        content[place : place + length] = chance.randbytes(len(content[place : place + length]))
    file.write_bytes(content)
    try:
        backend = await SqliteBackend.create(path=file, connections=1)
    except StoreError:
        return
    for start in range(0, 3_000, 250):
        handles = np.arange(start, start + 250, dtype=np.int32)
        with suppress(StoreError):
            async for ring in backend.columns().rings(handles):
                assert ring.subjects.max() < backend.columns().size
                assert ring.objects.max() < backend.columns().size
    await backend.close()


class HidingSalaries:
    """Hides a property from every caller."""

    @hookimpl
    def redact_metadata(self, metadata):
        return {key: value for key, value in metadata.items() if key != "salary"}


async def test_an_answer_of_the_whole_graph_is_not_reused_where_a_hook_hides_properties(opened):
    records = [NodeRecord("hub", "T", {})]
    for n in range(3_000):  # from 2,000 on, properties are read from columns
        records += [NodeRecord(f"n{n}", "T", {"salary": n}), EdgeRecord("hub", "p", f"n{n}", {})]
    call = {"seeds": ["hub"], "max_hops": 1, "limit": 0, "facets": ["salary"]}
    async with open_graph(await opened(records), hooks=[HidingSalaries()]) as graph:
        await bfs_query(graph.db, BfsQuery(seeds=["hub"], max_hops=1, limit=1))
        answer = await graph.call("bfs_query", call)
        assert answer.content["facets"]["salary"]["count"] == 0


async def test_a_name_of_many_that_is_asked_twice_is_ambiguous_and_not_damage(tmp_path):
    namesakes = [NodeRecord(f"m{i}", "T", {"name": "Ada"}) for i in range(12)]
    edges = [EdgeRecord(f"m{i}", "IN", f"p{i}") for i in range(12)]
    places = [NodeRecord(f"p{i}", "Place", {"name": f"place {i}"}) for i in range(12)]
    path = tmp_path / "graph.db"
    await load_graph(SqliteSettings(path=path), [*namesakes, *places, *edges])
    async with open_graph("sqlite", path=path) as graph:
        answer = await graph.describe_entities(["Ada", "T: Ada"])
    assert "damaged" not in answer.text
