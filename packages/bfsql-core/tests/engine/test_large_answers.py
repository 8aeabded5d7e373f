"""Answers with more nodes and edges than are processed at once."""

import re

import pytest

from bfsql import Limits, MemoryBackend, open_graph
from bfsql.engine.thresholds import PLACED
from bfsql.models import EdgeRecord, NodeRecord
from bfsql.workers import LARGE
from bfsql_test_support import tool_calls
from bfsql_test_support.backends.columns import ColumnsOverMemory

LEAVES = LARGE + 5_000
PAGE = 2 * PLACED


def wheel():
    """A hub with many neighbours, each of which has an edge to the seventh after it."""
    yield NodeRecord("hub", "Hub")
    for number in range(LEAVES):
        yield NodeRecord(f"n{number:05d}", "Leaf")
        yield EdgeRecord("hub", "has", f"n{number:05d}")
        yield EdgeRecord(f"n{number:05d}", "near", f"n{(number + 7) % LEAVES:05d}")


@pytest.fixture(scope="module")
def wheels():
    """The wheel in strings and in columns."""
    return {kind: kind(wheel()) for kind in (MemoryBackend, ColumnsOverMemory)}


@pytest.mark.slow
@pytest.mark.parametrize("kind", [MemoryBackend, ColumnsOverMemory])
async def test_pages_of_thousands_hold_every_node_and_edge_once(wheels, kind):
    ids, inside, to_earlier = [], 0, 0
    async with open_graph(wheels[kind], limits=Limits(max_tokens=0)) as graph:
        for offset in range(0, LEAVES + 1, PAGE):
            page = await tool_calls.read(
                graph, "bfs_query", seeds=["hub"], max_hops=2, limit=PAGE, offset=offset
            )
            ids += [node["id"] for node in page["nodes"]]
            edges = [(e["subject"], e["predicate"], e["object"]) for e in page["edges"]]
            assert edges == sorted(edges)
            inside += len(edges)
            notes = " ".join(page["notes"])
            to_earlier += sum(map(int, re.findall(r"(\d+) edges? joins? this page", notes)))
    assert ids == ["hub", *(f"n{number:05d}" for number in range(LEAVES))]
    assert page["edge_count"] == inside + to_earlier == 2 * LEAVES


@pytest.mark.slow
async def test_a_budget_cuts_a_large_answer_alike_in_columns_and_in_strings(wheels):
    answers = []
    for backend in wheels.values():
        async with open_graph(backend, limits=Limits(max_tokens=200_000)) as graph:
            answers.append(await tool_calls.asked(graph, "bfs_query", seeds=["hub"], max_hops=2))
    one, other = (answer.text for answer in answers)
    assert one == other
    assert f'"node_count":{LEAVES + 1}' in one
    assert "did not fit the token budget" in one
