"""Memory of calls: what is counted, what a call and all calls may take, and what is given back."""

import asyncio
import re

import pytest

from bfsql import Graph, Limits, MemoryBackend, ToolError, call
from bfsql.cache import CachedGraphDb
from bfsql.errors import Busy, CallMemoryMet
from bfsql.memory_account import (
    MemoryAccount,
    available,
    default_of_a_call,
    default_of_all_calls,
    size_of,
    size_of_json,
)
from bfsql.models import EdgeRecord, NodeRecord
from bfsql_test_support import tool_calls
from bfsql_test_support.backends.columns import ColumnsOverMemory
from bfsql_test_support.gallery import Eight

pytestmark = pytest.mark.slow

MB = 1_000_000


def ladder(width: int = 300, rungs: int = 4):
    """Rows of nodes with names; each node has edges to five of the next row."""
    for rung in range(rungs):
        for number in range(width):
            yield NodeRecord(f"r{rung}n{number:04d}", f"Row{rung}", {"name": f"node {number}"})
    for rung in range(rungs - 1):
        for number in range(width):
            for step in range(5):
                end = f"r{rung + 1}n{(number * 5 + step) % width:04d}"
                yield EdgeRecord(f"r{rung}n{number:04d}", "to", end)


@pytest.fixture(params=[MemoryBackend, ColumnsOverMemory])
def bounded(request):
    """A function that opens the ladder with a bound of a call, in bytes."""
    return lambda most: Graph(
        request.param(ladder()), "", Limits(max_call_memory=most, max_tokens=0), None
    )


WORST = {
    "path": {"seeds": ["Row0:*"], "path": ["-to->", "-to->", "-to->"], "limit": 1},
    "repeated step": {"seeds": ["Row0:*"], "path": ["--{1,6}"], "limit": 1},
    "comparison": {
        "seeds": ["Row0:*"],
        "path": ["-to->", "-to->", "<-to-"],
        "where": ["3 != 1"],
        "limit": 1,
    },
    "distinct": {"seeds": ["Row0:*"], "path": ["-to->", "-to->"], "measure": "count 0", "limit": 1},
    "rings": {"seeds": ["Row0:*"], "max_hops": 3, "limit": 1},
    "order": {"seeds": ["Row0:*"], "sort_by": "name", "limit": 1},
    "groups": {"seeds": ["Row0:*"], "facets": ["name"], "limit": 0},
    "set": {"seeds": ["*[name~node]"], "limit": 0},
}


@pytest.mark.parametrize("arguments", WORST.values(), ids=WORST)
async def test_a_call_ends_at_its_bound_with_what_narrows_it(bounded, arguments):
    with pytest.raises(ToolError, match=r"MB of memory a call|max_call_memory") as raised:
        await bounded(9_000).call("bfs_query", arguments)
    assert raised.value.kind == "too_large"
    assert "Start from" in str(raised.value) or "Name a" in str(raised.value)


@pytest.mark.parametrize("arguments", WORST.values(), ids=WORST)
async def test_within_its_bound_a_call_is_answered_and_leaves_nothing(bounded, arguments):
    graph, unbounded = bounded(50 * MB), bounded(None)
    answer = await tool_calls.read(graph, "bfs_query", **arguments)
    assert answer == await tool_calls.read(unbounded, "bfs_query", **arguments)
    assert graph.memory.held == 0
    assert graph.memory.peak > 9_000


async def test_a_traversal_stops_after_the_last_ring_that_fits(bounded):
    graph, seeds = bounded(4_000), ["r0n0000"]
    answer = await tool_calls.read(graph, "bfs_query", seeds=seeds, max_hops=4, limit=0)
    (note,) = [n for n in answer["notes"] if "limit on memory" in n]
    depth = int(note.split("max_hops=")[1].split()[0])
    assert 0 < depth < 4
    exact = await tool_calls.read(bounded(None), "bfs_query", seeds=seeds, max_hops=depth, limit=0)
    assert answer["node_count"] == exact["node_count"]


async def test_after_a_refusal_the_next_call_is_answered(bounded):
    graph = bounded(9_000)
    with pytest.raises(ToolError):
        await graph.call("bfs_query", WORST["path"])
    assert graph.memory.held == 0
    answer = await tool_calls.read(graph, "bfs_query", seeds=["r0n0000"], max_hops=1)
    assert answer["node_count"] == 6


async def test_all_calls_together_stay_within_their_bound():
    everything = MemoryAccount(10 * MB)
    with call.scope(memory=everything.of_call(8 * MB)):
        call.hold(6 * MB)
        with call.scope(memory=everything.of_call(8 * MB)), pytest.raises(Busy, match="again in"):
            call.hold(6 * MB)
        with pytest.raises(CallMemoryMet, match=r"8 MB of memory a call \(max_call_memory\)"):
            call.hold(3 * MB)
        call.hold(2 * MB)
        assert everything.held == 8 * MB
    assert everything.held == 0
    assert everything.peak == 8 * MB


async def test_what_is_borrowed_is_released_at_the_end_of_its_context():
    everything = MemoryAccount(None)
    with call.scope(memory=everything.of_call(10 * MB)):
        call.hold(MB)
        with call.borrowed():
            call.hold(5 * MB)
            assert call.room(MB, 100) == 4
        assert everything.held == MB
        assert call.room(MB, 100) == 9
    assert call.room(MB, 100) == 100, "there is no bound outside of a call"


async def test_of_two_readers_at_once_each_releases_what_it_took():
    account = MemoryAccount(None)
    with call.scope(memory=account.of_call(1_000)):
        first, second = asyncio.Event(), asyncio.Event()

        async def read(size: int, until: asyncio.Event):
            with call.borrowed():
                call.hold(size)
                await until.wait()

        reading = [asyncio.ensure_future(read(*one)) for one in ((100, first), (200, second))]
        await asyncio.sleep(0)
        assert account.held == 300
        first.set()
        await reading[0]
        assert account.held == 200
        second.set()
        await reading[1]
        assert account.held == 0


async def test_calls_at_once_are_counted_together_and_released():
    graph = Graph(ColumnsOverMemory(ladder()), "", Limits(max_tokens=0), None)
    await graph.call("bfs_query", WORST["path"])
    one = graph.memory.peak
    await asyncio.gather(*(graph.call("bfs_query", WORST["rings"]) for _ in range(8)))
    assert graph.memory.peak >= one
    assert graph.memory.held == 0


def test_the_defaults_are_shares_of_what_the_process_may_have():
    assert 0 < default_of_a_call() <= 1_000_000_000
    assert default_of_a_call() <= default_of_all_calls() == available() // 2


def test_a_system_that_does_not_report_its_memory_has_defaults_as_well(monkeypatch):
    monkeypatch.delattr("os.sysconf")
    assert default_of_a_call() == 1_000_000_000
    assert default_of_all_calls() == 2_000_000_000


def test_a_bound_of_all_calls_below_that_of_one_call_is_the_bound_of_both():
    limits = Limits(max_call_memory=20 * MB, max_memory=MB)
    graph = Graph(MemoryBackend(ladder()), "", limits, None)
    with graph.scope(None, None), pytest.raises(CallMemoryMet, match="1 MB"):
        call.hold(2 * MB)


LARGEST = MB // 16
"""Most characters of a value in a call that may take a megabyte."""


@pytest.mark.parametrize("cached", [True, False], ids=["cached", "uncached"])
@pytest.mark.parametrize("backend", [Eight, MemoryBackend])
async def test_a_value_of_exactly_the_limit_is_shown_and_a_larger_one_is_named(cached, backend):
    texts = {"fits": "x" * LARGEST, "large": "x" * (LARGEST + 1), "list": ["y" * LARGEST, "z"]}
    db = backend([NodeRecord(i, "T", {"name": i, "note": texts[i]}) for i in texts])
    limits = Limits(max_tokens=0, max_call_memory=MB)
    graph = Graph(CachedGraphDb(db) if cached else db, "", limits, None)
    for _ in range(2):
        assert (await graph.describe_entity("fits")).content["note"] == texts["fits"]
        for i in ("large", "list"):
            known = (await graph.describe_entity(i)).content
            assert known["name"] == i
            assert "note" not in known
            assert re.search(rf"note of {i} \(at least 62,5\d\d bytes\)", known["notes"][0])
    assert graph.memory.held == 0


async def test_conditions_read_values_in_parts_of_which_a_call_holds_one_at_a_time():
    note = "x" * 60_000
    nodes = [NodeRecord(f"n{i}", "T", {"note": f"{note}{i % 2}"}) for i in range(2)]
    graph = Graph(CachedGraphDb(MemoryBackend(nodes)), "", Limits(max_call_memory=MB), None)
    answer = await graph.bfs_query(["T[note ~ x1]"], topology_only=True)
    assert [one["id"] for one in answer.content["nodes"]] == ["n1"]


def test_sizes_of_values_are_those_of_their_texts_and_items():
    assert size_of("x" * 1_000) == 1_000
    assert size_of({"a": ["x" * 1_000, 1, None]}) == 1_000 + 5 * 8
    assert size_of(memoryview(bytes(1_000))) == 1_000
    assert size_of_json('{"a": [1, 2]}') == 13 + 3 * 8
