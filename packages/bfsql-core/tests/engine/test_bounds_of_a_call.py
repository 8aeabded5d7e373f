"""The deadline and the node bound stop after a whole ring, with a note (`protocol.md` 10)."""

import asyncio

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bfsql import Graph, Limits, MemoryBackend, ToolError, open_graph
from bfsql.models import EdgeRecord, NodeRecord
from bfsql_test_support import graph_strategies, tool_calls
from bfsql_test_support.backends.in_memory import LateBackend

NO_BUDGET = Limits(max_tokens=0)


def chain(length: int = 6):
    nodes = [NodeRecord(f"n:{i}", "Gene", {"name": f"node {i}"}) for i in range(length)]
    edges = [
        EdgeRecord(f"n:{i}", "TREATS", f"n:{i + 1}", {"confidence": 0.5}) for i in range(length - 1)
    ]
    return [*nodes, *edges]


def without(answer, *keys):
    return {key: value for key, value in answer.items() if key not in keys}


def stopped(answer, depth, finished, asked):
    """Check that the answer says it was stopped; return it without the depth and that note."""
    found = [n for n in answer.get("notes", ()) if n.startswith(f"Stopped at {depth}={finished} ")]
    assert len(found) == 1
    assert f"of {asked}" in found[0]
    assert answer[depth] == asked
    rest = [note for note in answer["notes"] if note not in found]
    return without(answer, depth, "notes") | ({"notes": rest} if rest else {})


@given(graph_strategies.graphs_with_seeds(), st.integers(2, 5), st.data())
async def test_a_ring_too_late_leaves_exactly_the_answer_of_the_depth_before(case, hops, data):
    graph, seeds = case
    late = data.draw(st.integers(2, hops))
    wanted = Graph(MemoryBackend(graph.records), "", NO_BUDGET, None)
    backend = LateBackend(graph.records, {"edges_batch": late})
    async with open_graph(backend, limits=NO_BUDGET) as opened:
        answer = await tool_calls.read(opened, "bfs_query", seeds=seeds, max_hops=hops)
    exact = await tool_calls.read(wanted, "bfs_query", seeds=seeds, max_hops=late - 1)
    whole = await tool_calls.read(wanted, "bfs_query", seeds=seeds, max_hops=hops)
    if "Stopped" in str(answer.get("notes")):
        assert stopped(answer, "max_hops", late - 1, hops) == without(exact, "max_hops", "complete")
    else:
        assert answer == whole, "all rings there are were read before"


@given(graph_strategies.graphs_with_seeds(seeds=2), st.integers(2, 5), st.data())
async def test_an_intersection_too_late_is_exactly_that_of_a_smaller_k(case, k, data):
    graph, seeds = case
    late = data.draw(st.integers(3, k + 1))
    wanted = Graph(MemoryBackend(graph.records), "", NO_BUDGET, None)
    backend = LateBackend(graph.records, {"edges_batch": late})
    async with open_graph(backend, limits=NO_BUDGET) as opened:
        answer = await tool_calls.read(opened, "intersect_subgraphs", seeds=seeds, k=k)
    whole = await tool_calls.read(wanted, "intersect_subgraphs", seeds=seeds, k=k)
    notes = [n for n in answer.get("notes", ()) if n.startswith("Stopped at k=")]
    if not notes:
        assert answer == whole
        return
    finished = int(notes[0].removeprefix("Stopped at k=").split()[0])
    assert late - 2 <= finished < k
    exact = await tool_calls.read(wanted, "intersect_subgraphs", seeds=seeds, k=finished)
    assert without(stopped(answer, "k", finished, k), "notes") == without(
        exact, "k", "notes", "complete"
    )


@given(graph_strategies.graphs_with_seeds(), st.integers(1, 5), st.integers(1, 25))
async def test_the_bound_on_nodes_stops_before_the_ring_that_passes_it(case, hops, max_nodes):
    graph, seeds = case
    assume(max_nodes >= len(seeds))  # a lower bound refuses edges between the seeds as well
    wanted = Graph(MemoryBackend(graph.records), "", NO_BUDGET, None)
    limits = Limits(max_tokens=0, max_nodes=max_nodes)
    async with open_graph(MemoryBackend(graph.records), limits=limits) as opened:
        ring = await tool_calls.read(wanted, "bfs_query", seeds=seeds, max_hops=1)
        dangling = "no node for" in str(ring.get("notes"))
        if ring["node_count"] > max_nodes and not dangling:
            with pytest.raises(ToolError, match=f"limit of {max_nodes} nodes") as refused:
                await tool_calls.read(opened, "bfs_query", seeds=seeds, max_hops=hops)
            assert refused.value.kind == "too_large"
            return
        assume(not dangling)
        answer = await tool_calls.read(opened, "bfs_query", seeds=seeds, max_hops=hops)
    notes = [n for n in answer.get("notes", ()) if n.startswith("Stopped at max_hops=")]
    if not notes:
        assert answer == await tool_calls.read(wanted, "bfs_query", seeds=seeds, max_hops=hops)
        return
    finished = int(notes[0].removeprefix("Stopped at max_hops=").split()[0])
    assert "limit on nodes" in notes[0]
    exact = await tool_calls.read(wanted, "bfs_query", seeds=seeds, max_hops=finished)
    assert stopped(answer, "max_hops", finished, hops) == without(exact, "max_hops", "complete")


@pytest.mark.parametrize(
    ("tool", "depth"), [("bfs_query", "max_hops"), ("intersect_subgraphs", "k")]
)
async def test_a_first_ring_too_late_is_an_error_that_names_the_node(tool, depth):
    async with open_graph(LateBackend(chain(), {"edges_batch": 1})) as opened:
        with pytest.raises(ToolError, match="n:3 and 1 more") as refused:
            await tool_calls.asked(opened, tool, seeds=["n:3", "n:0"], **{depth: 3})
    assert refused.value.kind == "deadline"
    assert "60 s" in str(refused.value)


async def test_types_too_late_are_an_error_that_says_how_many():
    backend = LateBackend(chain(), {"get_nodes_batch": 2})
    async with open_graph(backend) as opened:
        with pytest.raises(ToolError, match="4 nodes reached") as refused:
            await tool_calls.asked(opened, "bfs_query", seeds=["n:0"], max_hops=3)
    assert refused.value.kind == "deadline"


@pytest.mark.slow
@given(
    graph_strategies.graphs_with_seeds(seeds=2),
    st.integers(1, 3),
    st.sampled_from(["nodes", "edges"]),
)
async def test_metadata_too_late_makes_stubs_of_all_and_never_of_some(case, hops, late):
    graph, seeds = case
    methods = {"nodes": "metadata_for_nodes_batch", "edges": "metadata_for_edges_batch"}
    calls = [("bfs_query", {"max_hops": hops}), ("intersect_subgraphs", {"k": hops})]
    for tool, depth in calls:
        backend = LateBackend(graph.records, {methods[late]: 1})
        async with open_graph(backend, limits=NO_BUDGET) as opened:
            answer = await tool_calls.read(opened, tool, seeds=seeds, **depth)
        if not answer[late]:  # an empty answer needs no metadata
            continue
        other = "edges" if late == "nodes" else "nodes"
        assert not any("metadata" in thing for thing in answer[late])
        assert all("metadata" in thing for thing in answer[other])
        assert sum(f"The metadata of all {late} is missing" in n for n in answer["notes"]) == 1


@given(
    graph_strategies.graphs_with_seeds(least=6),
    st.integers(1, 4),
    st.integers(500, 3000),
    st.booleans(),
)
async def test_an_answer_that_is_late_keeps_its_budget_too(case, hops, max_tokens, nodes_too):
    graph, seeds = case
    late = {"metadata_for_edges_batch": 1} | ({"metadata_for_nodes_batch": 1} if nodes_too else {})
    limits = Limits(max_tokens=max_tokens, estimator=len)
    async with open_graph(LateBackend(graph.records, late), limits=limits) as opened:
        answer = await tool_calls.if_it_fits(opened, "bfs_query", seeds=seeds, max_hops=hops)
    assume(answer)
    assert len(answer.text.encode()) <= max_tokens
    if any("metadata" not in e for e in answer.content["edges"]):
        assert answer.notes


async def test_mentions_too_late_are_an_error():
    backend = LateBackend(chain(), {"metadata_for_nodes_batch": 1})
    async with open_graph(backend) as opened:
        with pytest.raises(ToolError) as refused:
            await tool_calls.asked(opened, "bfs_query", seeds=["n:0"], max_hops=1, min_mentions=2)
    assert refused.value.kind == "deadline"


# With a hanging store: each test waits for the deadline, which leaves a fast store ample time.

PATIENCE = Limits(deadline=1.5)


async def test_a_ring_that_hangs_is_cancelled_and_the_answer_is_that_of_the_depth_before():
    backend = LateBackend(chain(), {"edges_batch": 3}, hangs=True)
    async with open_graph(backend, limits=PATIENCE) as opened:
        answer = await tool_calls.read(opened, "bfs_query", seeds=["n:0"], max_hops=5)
    assert answer["node_count"] == 3
    assert all("metadata" in node for node in answer["nodes"])
    assert any("max_hops=2 of 5, because this call" in note for note in answer["notes"])
    assert await backend.cancelled() == "edges_batch"


async def test_a_first_ring_that_hangs_is_cancelled_and_an_error():
    backend = LateBackend(chain(), {"edges_batch": 1}, hangs=True)
    async with open_graph(backend, limits=PATIENCE) as opened:
        with pytest.raises(ToolError, match=r"n:0 could not be read within 1\.5 s") as refused:
            await tool_calls.asked(opened, "bfs_query", seeds=["n:0"], max_hops=5)
    assert refused.value.kind == "deadline"
    assert await backend.cancelled() == "edges_batch"


async def test_metadata_that_hangs_is_cancelled_and_leaves_stubs():
    backend = LateBackend(chain(), {"metadata_for_nodes_batch": 1}, hangs=True)
    async with open_graph(backend, limits=PATIENCE) as opened:
        answer = await tool_calls.read(opened, "bfs_query", seeds=["n:0"], max_hops=2)
    assert answer["nodes"] == [{"id": f"n:{i}", "entity_type": "Gene"} for i in range(3)]
    assert any("metadata of all nodes is missing" in note for note in answer["notes"])
    assert await backend.cancelled() == "metadata_for_nodes_batch"


@pytest.mark.slow
@pytest.mark.parametrize("deadline", [0.8, 1.0])
async def test_a_store_of_even_latency_gives_the_depth_that_was_finished(deadline):
    class Even(MemoryBackend):
        async def edges_batch(self, ids, **filters):
            await asyncio.sleep(0.2)
            return await super().edges_batch(ids, **filters)

        async def get_nodes_batch(self, ids):
            await asyncio.sleep(0.2)
            return await super().get_nodes_batch(ids)

    async with open_graph(Even(chain()), limits=Limits(deadline=deadline)) as graph:
        answer = await graph.bfs_query(["n:0"], max_hops=5, topology_only=True)
    assert 2 <= answer.content["node_count"] < 6
    assert any(note.startswith("Stopped at max_hops=") for note in answer.content["notes"])
