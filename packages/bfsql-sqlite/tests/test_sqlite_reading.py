"""Ids of any spelling, deadlines, cancellation and concurrent calls."""

import asyncio
import gc
import sqlite3
import threading

import pytest
from pydantic import ValidationError

from bfsql import call, workers
from bfsql.cache import CircuitBreakerBackend, breaker
from bfsql.errors import StoreUnavailable
from bfsql.models import Edge, EdgeRecord, NodeRecord
from bfsql.plugins import BackendPlugin
from bfsql.settings import options
from bfsql_sqlite import SqliteBackend, SqliteSettings, load_graph
from bfsql_sqlite.connection import Pool
from bfsql_sqlite.plugin import plugin
from bfsql_test_support.case_table import case_table

ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"


@case_table("unknown", ["b", "\ud800", "a\udfff", "a\0", "A"])
async def test_an_unknown_id_is_a_key_error_alone_and_nothing_in_a_batch(opened, unknown):
    backend = await opened([NodeRecord("a", "thing"), EdgeRecord("a", "KNOWS", "a")])
    for ask in (backend.get_node, backend.edges_from, backend.edges_to, backend.metadata_for_node):
        with pytest.raises(KeyError):
            await ask(unknown)
    for edge in (Edge(unknown, "KNOWS", "a"), Edge("a", unknown, "a"), Edge("a", "KNOWS", unknown)):
        with pytest.raises(KeyError):
            await backend.metadata_for_edge(edge)
    assert [n.id for n in await backend.get_nodes_batch([unknown, "a"])] == ["a"]
    assert set(await backend.edges_batch([unknown])) == set()
    assert await backend.metadata_for_nodes_batch([unknown]) == {}
    assert await backend.provenance_for_node(unknown, 5) == {"total": 0, "items": []}


@case_table("number", [0, 1, 2, 8, 9, 64, 65, 511, 512, 513, 1_500])
async def test_batches_of_any_size_are_whole(opened, number):
    ids = [f"n{i}" for i in range(number)]
    backend = await opened(
        [
            *(NodeRecord(i, "thing", {"i": i}) for i in ids),
            *(EdgeRecord(i, "SELF", i, {"e": i}) for i in ids),
        ]
    )
    assert sorted(n.id for n in await backend.get_nodes_batch(ids)) == sorted(ids)
    ring = set(await backend.edges_batch(ids))
    assert len(ring) == number
    assert await backend.metadata_for_nodes_batch(ids) == {i: {"i": i} for i in ids}
    assert len(await backend.metadata_for_edges_batch(ring)) == number


async def test_a_cancelled_call_frees_its_thread(opened):
    backend = await opened([NodeRecord("a", "thing")])
    begun, loop = asyncio.Event(), asyncio.get_running_loop()

    def endless(reader):
        loop.call_soon_threadsafe(begun.set)
        reader.execute(ENDLESS).fetchone()

    for _ in range(6):  # more often than there are threads
        begun.clear()
        work = asyncio.ensure_future(backend._pool.run(endless))
        await begun.wait()
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
    assert (await backend.get_node("a")).id == "a"


async def test_the_deadline_of_a_call_stops_its_statement(opened):
    backend = await opened([NodeRecord("a", "thing")])
    for _ in range(4):
        with call.scope(seconds=0.05), pytest.raises(TimeoutError):
            await backend._pool.run(lambda reader: reader.execute(ENDLESS).fetchone())
    with call.scope(seconds=0), pytest.raises(TimeoutError):
        await backend.get_node("a")
    with call.scope(seconds=30):
        assert (await backend.get_node("a")).id == "a"


async def endless_calls(backend, number):
    """Start calls that do not end by themselves, and return them when all are running."""
    begun = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def endless(reader):
        loop.call_soon_threadsafe(begun.put_nowait, None)
        reader.execute(ENDLESS).fetchone()

    calls = [asyncio.ensure_future(backend._pool.run(endless)) for _ in range(number)]
    for _ in calls:
        await begun.get()
    return calls


async def test_calls_that_are_slow_themselves_do_not_close_the_graph_to_others(opened):
    backend = await opened([NodeRecord("a", "thing")])
    breaking = CircuitBreakerBackend(backend, max_pause=1)
    busy = await endless_calls(backend, 2)
    with call.scope(seconds=0.05), pytest.raises(TimeoutError):
        await breaking.get_nodes_batch(["a"])
    async with asyncio.timeout(breaker.PROBE_SECONDS / 2):
        await backend.ping()
        while breaking.breaker.failures:  # noqa: ASYNC110 - the breaker has no event for it
            await asyncio.sleep(0)
    for work in busy:
        work.cancel()
    assert breaking.breaker.state == "closed"
    assert [node.id for node in await breaking.get_nodes_batch(["a"])] == ["a"]


async def test_calls_that_wait_for_a_thread_keep_their_deadline(opened):
    backend = await opened([NodeRecord("a", "thing")])
    busy = await endless_calls(backend, 2)
    with call.scope(seconds=0.05), pytest.raises(TimeoutError):
        await backend.get_node("a")
    for work in busy:
        work.cancel()
    await asyncio.gather(*busy, return_exceptions=True)
    assert (await backend.get_node("a")).id == "a"


async def test_closing_stops_what_is_under_way_and_leaves_no_thread(opened):
    backend = await opened([NodeRecord("a", "thing")])
    [work] = await endless_calls(backend, 1)
    await backend.close()
    with pytest.raises(StoreUnavailable, match="is closed"):
        await work
    await backend.close()
    with pytest.raises(StoreUnavailable, match="is closed"):
        await backend.get_node("a")
    assert not [t for t in threading.enumerate() if t.name.startswith("bfsql-sqlite")]
    del backend
    gc.collect()


async def test_closing_tells_those_who_wait_for_a_thread_and_cancels_none(opened):
    backend = await opened([NodeRecord("a", "thing")])
    calls = await endless_calls(backend, 2)
    waiting = [asyncio.ensure_future(backend.get_node("a")) for _ in range(3)]
    await asyncio.sleep(0)
    await backend.close()
    answers = await asyncio.gather(*calls, *waiting, return_exceptions=True)
    assert [type(answer) for answer in answers] == [StoreUnavailable] * 5


async def test_the_plugin_opens_loads_and_has_nothing_to_prepare(file):
    assert isinstance(plugin, BackendPlugin)
    settings = plugin.settings(path=file)
    assert (await plugin.load(settings, [NodeRecord("a", "thing")])).nodes == 1
    assert await plugin.prepare(settings, False) == []
    backend = await plugin.open(settings)
    assert isinstance(backend, SqliteBackend)
    await backend.close()


def test_every_setting_has_a_description_and_a_sensible_range():
    assert all(option.help for option in options(SqliteSettings))
    assert str(SqliteSettings().path) == "graph.db"
    for wrong in ({"connections": 0}, {"cache_mb": 0}, {"pth": "x"}):
        with pytest.raises(ValidationError):
            SqliteSettings(**wrong)


def is_open(connection):
    try:
        return connection.total_changes == 0
    except sqlite3.ProgrammingError:
        return False


@case_table("cancelled", {"whole": False, "cancelled": True})
async def test_a_file_is_closed_after_reads_of_cancelled_calls(tmp_path, cancelled):
    path = tmp_path / "g.db"
    await load_graph(SqliteSettings(path=path), [NodeRecord("a", "T")])
    pool = Pool.open(path, 2, 1)
    began, goes_on = threading.Event(), threading.Event()
    read = []

    def work(reader):
        began.set()
        goes_on.wait(60)
        read.append(reader.execute("SELECT 1").fetchone())

    reading = asyncio.create_task(pool.run(work, workers.LARGE + 1))
    await asyncio.to_thread(began.wait)
    reading.cancel()
    await asyncio.wait([reading])
    closing = asyncio.create_task(pool.close())
    await asyncio.sleep(0.05)
    assert not closing.done()
    if cancelled:
        closing.cancel()
    goes_on.set()
    await asyncio.wait([closing])
    async with asyncio.timeout(30):
        while any(map(is_open, pool._all)):  # noqa: ASYNC110 - no event says it
            await asyncio.sleep(0.01)
    assert read == [(1,)]
    with pytest.raises(StoreUnavailable, match="is closed"):
        await pool.run(work, workers.LARGE + 1)
