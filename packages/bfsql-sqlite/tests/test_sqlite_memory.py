"""The memory that calls take in columns, compared with what their account says."""

import random
import tracemalloc

import pytest

from bfsql import Limits, open_graph
from bfsql.models import EdgeRecord, NodeRecord
from bfsql_sqlite import SqliteSettings, load_graph

NODES, EDGES = 10_000, 60_000
CALLS = {
    "rings": {"seeds": ["n0"], "max_hops": 4, "limit": 1},
    "path": {"seeds": ["n0"], "path": ["--"] * 5, "limit": 1},
    "repeated": {"seeds": ["n0"], "path": ["--{1,5}"], "limit": 1},
    "walks": {"seeds": ["n0"], "path": ["--"] * 3, "show": "walks", "sort_by": "2.note"},
    "set": {"seeds": ["T0:*"], "path": ["--", "--"], "measure": "max 1.score", "limit": 1},
}


def hubs():
    chance = random.Random(5)
    for number in range(NODES):
        known = {"score": number % 100, "note": f"note {number}"}
        yield NodeRecord(f"n{number}", f"T{number % 3}", known)
    for number in range(EDGES):
        one, other = (int(NODES * chance.random() ** power) for power in (4, 2))
        yield EdgeRecord(f"n{one}", f"p{number % 8}", f"n{other}")


@pytest.mark.slow
async def test_the_account_of_a_call_is_near_what_it_takes(tmp_path):
    settings = SqliteSettings(path=tmp_path / "hubs.db")
    await load_graph(settings, hubs())
    async with open_graph("sqlite", path=settings.path, limits=Limits(max_tokens=500)) as graph:
        await graph.call("bfs_query", {"seeds": ["n1"], "max_hops": 1, "limit": 1})
        for what, arguments in CALLS.items():
            graph.memory.peak = 0
            tracemalloc.start(1)
            try:
                before, _ = tracemalloc.get_traced_memory()
                await graph.call("bfs_query", arguments)
                _, peak = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
            took, counted = peak - before, graph.memory.peak
            assert took < 2 * counted + 2_000_000, what
            assert counted < 3 * took, what
