"""The same call returns the same bytes, cold or warm, from any backend."""

from itertools import pairwise
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bfsql import CachedGraphDb, Graph, Limits, MemoryBackend, call, open_graph
from bfsql.abc import normalized
from bfsql.engine.numbered import NumberedGraph
from bfsql.models import EdgeRecord, EvidenceRecord, NodeRecord, Omission
from bfsql_test_support import graph_strategies, tool_calls
from bfsql_test_support.backends.in_memory import BareBackend


async def answers(graph, seeds, hops, filters):
    calls = [
        ("bfs_query", {"seeds": seeds, "max_hops": hops, **filters}),
        ("bfs_query", {"seeds": seeds, "max_hops": hops, "limit": 3, "offset": 2, **filters}),
        ("describe_entity", {"id": seeds[0]}),
        ("describe_entities", {"ids": seeds}),
        ("search_entities", {"query": "n"}),
    ]
    if len(seeds) > 1:
        calls.append(("intersect_subgraphs", {"seeds": seeds, "k": hops, **filters}))
    return [(await tool_calls.asked(graph, tool, **given)).blocks for tool, given in calls]


@given(
    graph_strategies.graphs_with_seeds(),
    st.integers(1, 4),
    st.one_of(graph_strategies.detailing(), graph_strategies.removing()),
)
async def test_a_bare_backend_and_one_with_batches_agree_cold_warm_and_without_a_cache(
    case, hops, filters
):
    drawn_graph, seeds = case
    # None of the eight methods tells which edges a document supplied.
    evidence = (one.item for one in drawn_graph.records if isinstance(one, EvidenceRecord))
    assume(not any(item.get("document_id") in drawn_graph.ids for item in evidence))
    wanted = None
    for backend in (MemoryBackend(drawn_graph.records), BareBackend(drawn_graph.records)):
        cached = Graph(CachedGraphDb(backend), "", Limits(), None)
        small = Graph(CachedGraphDb(backend, maxsize=10), "", Limits(), None)
        for graph in (Graph(backend, "", Limits(), None), cached, cached, small, small):
            given_now = await answers(graph, seeds, hops, filters)
            wanted = wanted or given_now
            assert given_now == wanted


@given(graph_strategies.graphs_with_seeds(), st.permutations(range(8)))
async def test_what_was_asked_before_changes_no_answer(case, order):
    drawn_graph, seeds = case
    warm = Graph(CachedGraphDb(MemoryBackend(drawn_graph.records)), "", Limits(), None)
    for number in order:
        given_now = await answers(warm, [seeds[number % len(seeds)]], 1 + number % 3, {})
        cold = Graph(MemoryBackend(drawn_graph.records), "", Limits(), None)
        assert given_now == await answers(cold, [seeds[number % len(seeds)]], 1 + number % 3, {})


class LeavesOut(MemoryBackend):
    """Reports omitted edges for every second node."""

    async def edges_batch(self, ids):
        for entity_id in reversed(ids):
            if int(entity_id[2:]) % 2:
                call.omitted(Omission(entity_id, at_least=4000, reason="a row limit"))
        return await super().edges_batch(ids)


@pytest.mark.parametrize("before", ["n:2", "n:5", "n:11"])
async def test_what_a_backend_left_out_is_said_in_one_order_whatever_is_cached(before):
    ids = [f"n:{number}" for number in range(12)]
    records = [
        *(NodeRecord(i, "Drug") for i in ids),
        *(EdgeRecord("n:0", "TREATS", i) for i in ids),
    ]
    cold = Graph(CachedGraphDb(LeavesOut(records)), "", Limits(), None)
    warm = Graph(CachedGraphDb(LeavesOut(records)), "", Limits(), None)
    without = Graph(LeavesOut(records), "", Limits(), None)
    await tool_calls.asked(warm, "bfs_query", seeds=[before], max_hops=1)
    told = [
        (await tool_calls.asked(graph, "bfs_query", seeds=["n:0"], max_hops=2)).notes
        for graph in (cold, warm, without)
    ]
    assert told[0]
    assert told[1:] == [told[0], told[0]]


async def test_nothing_is_reached_through_an_end_without_a_node_whatever_is_cached():
    records = [
        NodeRecord("n:0", "Drug"),
        NodeRecord("n:1", "Drug"),
        NodeRecord("n:2", "Drug"),
        EdgeRecord("n:0", "TREATS", "gone"),
        EdgeRecord("n:1", "TREATS", "gone"),
        EdgeRecord("n:1", "TREATS", "n:2"),
        EdgeRecord("n:2", "TREATS", "gone"),
    ]
    warm = Graph(CachedGraphDb(MemoryBackend(records)), "", Limits(), None)
    cold = Graph(MemoryBackend(records), "", Limits(), None)
    for seed in ("n:1", "n:0", "n:2"):
        asked = {"seeds": [seed], "max_hops": 4}
        answer = await tool_calls.read(warm, "bfs_query", **asked)
        assert answer == await tool_calls.read(cold, "bfs_query", **asked)
        assert answer["node_count"] == (1 if seed == "n:0" else 2)
        left_out = "1 edge was" if seed == "n:0" else "2 edges were"
        assert answer["notes"][0].startswith(f"{left_out} left out")


@given(st.lists(st.text(max_size=3), unique=True, max_size=60), st.randoms())
async def test_handles_are_ordered_by_name_in_parts_as_they_are_at_once(names, chance):
    graph = NumberedGraph(normalized(MemoryBackend([])))
    graph._numbering.of(names, len(names))
    handles = list(range(len(names)))
    chance.shuffle(handles)
    with patch.multiple("bfsql.workers", SMALL=2, LARGE=6):
        ordered = await graph.ordered(np.array(handles, np.int32))
    assert [names[handle] for handle in ordered] == sorted(names)


async def test_an_edge_without_a_node_in_the_cache_ends_no_search_early():
    ids = ["s", "1", "2", "3", "4", "t", "x"]
    nodes = [NodeRecord(one, "T") for one in ids]
    ends = [*pairwise(ids[:6]), ("x", "t"), ("s", "gone"), ("t", "gone"), ("x", "gone")]
    backend = MemoryBackend([*nodes, *(EdgeRecord(a, "p", b) for a, b in ends)])
    call = {"seeds": ["s"], "max_hops": 5, "topology_only": True}
    async with open_graph(backend) as cold, open_graph(backend) as warm:
        await warm.bfs_query(["x"], max_hops=2)  # reads the edges of "gone" with those of t
        whole = await cold.call("bfs_query", call)
        assert whole.content["node_count"] == 6
        assert (await warm.call("bfs_query", call)).text == whole.text
