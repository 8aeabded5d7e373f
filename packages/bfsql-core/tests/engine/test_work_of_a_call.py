"""Work on many nodes: how often values are read and compared, and that it ends with its call."""

import asyncio
from collections import Counter
from threading import Event

import pytest

from bfsql import Graph, Limits, MemoryBackend, ToolError, call, open_graph
from bfsql.engine.thresholds import PART
from bfsql.models import EdgeRecord, NodeRecord
from bfsql.models.condition import Condition
from bfsql.workers import off_loop
from bfsql_test_support import tool_calls
from bfsql_test_support.backends.recording import watched


def hub(size, **metadata):
    """A node `hub` with edges to other nodes; metadata has a function of their number by key."""
    yield NodeRecord("hub", "Hub")
    for number in range(size):
        known = {key: value(number) for key, value in metadata.items()}
        yield NodeRecord(f"n{number}", "Gene", known)
        yield EdgeRecord("hub", "r", f"n{number}")


@pytest.fixture
def compared(monkeypatch):
    """How often values were compared, by condition and values."""
    found, met_by = Counter(), Condition.met_by

    def counted(one, values):
        found[one.text, tuple(values)] += 1
        return met_by(one, values)

    monkeypatch.setattr(Condition, "met_by", counted)
    return found


async def test_conditions_compare_each_value_of_a_property_once(compared):
    graph = Graph(MemoryBackend(hub(PART + 10, score=lambda n: n % 50)), "", Limits(), None)
    where = [f"score!={number}" for number in range(20)]
    answer = await tool_calls.read(
        graph, "bfs_query", seeds=["hub"], max_hops=1, where=where, limit=0
    )
    assert answer["node_count"] == 1 + sum(n % 50 >= 20 for n in range(PART + 10))
    assert set(compared.values()) == {1}
    assert len(compared) == 20 * 50


async def test_properties_of_many_nodes_and_edges_are_read_in_parts():
    backend, watch = watched(MemoryBackend)(list(hub(PART + 10, score=lambda n: n)))
    graph = Graph(backend, "", Limits(), None)
    await tool_calls.asked(
        graph, "bfs_query", seeds=["hub"], max_hops=1, where=["score!=1"], sort_by="-score", limit=0
    )
    for method, parts in (("metadata_for_nodes_batch", 4), ("metadata_for_edges_batch", 2)):
        sizes = [len(asked[0]) for name, asked in watch.calls if name == method]
        assert len(sizes) == parts
        assert max(sizes) <= PART


@pytest.mark.slow
async def test_a_call_with_many_conditions_ends_at_its_deadline_and_its_work_with_it(compared):
    # Each comparison folds the long text; all of them take more than twenty seconds.
    backend = MemoryBackend(hub(5_000, note=lambda n: f"{n} " + 500 * "é"))
    where = [f"note~{n} e" for n in range(200)]
    async with open_graph(backend, limits=Limits(deadline=1.0)) as graph:
        with pytest.raises(ToolError) as late:
            await graph.bfs_query(seeds=["hub"], max_hops=1, where=where, limit=1)
        assert late.value.kind == "deadline"
        before = 0
        while before != (before := len(compared)):  # noqa: ASYNC110 - until the threads have ended
            await asyncio.sleep(0.5)
        assert 0 < before < 5_000 * 200 / 2


@pytest.mark.parametrize("cancelled", [False, True], ids=["late", "cancelled"])
async def test_work_in_a_thread_ends_with_its_call(cancelled):
    began, ended = Event(), Event()

    def work():
        began.set()
        try:
            while True:
                call.check()
        finally:
            ended.set()

    async def one_call():
        with call.scope(seconds=None if cancelled else 0.1):
            await off_loop(10**9, work)

    task = asyncio.create_task(one_call())
    assert await asyncio.to_thread(began.wait, 30)
    if cancelled:
        task.cancel()
    with pytest.raises(asyncio.CancelledError if cancelled else TimeoutError):
        await task
    assert await asyncio.to_thread(ended.wait, 30)


async def test_work_that_never_looks_at_the_deadline_is_not_waited_for():
    released = Event()
    with call.scope(seconds=0.1), pytest.raises(TimeoutError):
        await off_loop(10**9, lambda: released.wait(60))
    released.set()
