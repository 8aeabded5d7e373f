"""The number of queries depends on depth, never on size (rule 2 of the architecture)."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfsql import Limits, MemoryBackend, open_graph
from bfsql.models import EdgeRecord, Node, NodeRecord
from bfsql_test_support import graph_strategies, tool_calls
from bfsql_test_support.backends.in_memory import CountingBackend

FILTERS = graph_strategies.filtering()


def tree(width: int, depth: int):
    """A tree with `width` children per node and `depth` levels, with metadata everywhere."""
    ring, records = ["0"], [NodeRecord("0", "Drug", {"name": "root", "total_mentions": 9})]
    for _ in range(depth):
        below = [f"{parent}.{child}" for parent in ring for child in range(width)]
        records += [NodeRecord(i, "Gene", {"name": i, "total_mentions": 2}) for i in below]
        records += [
            EdgeRecord(i.rpartition(".")[0], "TREATS", i, {"confidence": 0.5}) for i in below
        ]
        ring = below
    return records


async def batches(graph, tool, **arguments):
    """The number of batches that a call takes; it must make no single requests."""
    backend = CountingBackend(graph.records)
    async with open_graph(backend) as opened:
        await tool_calls.asked(opened, tool, **arguments)
    assert not backend.single
    return backend.batches


@given(graph_strategies.graphs_with_seeds(), st.integers(1, 5), FILTERS)
async def test_a_traversal_takes_at_most_four_batches_more_than_hops(case, hops, filters):
    graph, seeds = case
    assert await batches(graph, "bfs_query", seeds=seeds, max_hops=hops, **filters) <= hops + 4


@given(graph_strategies.graphs_with_seeds(seeds=2), st.integers(1, 5), FILTERS)
async def test_an_intersection_takes_at_most_five_batches_more_than_k(case, k, filters):
    graph, seeds = case
    assert await batches(graph, "intersect_subgraphs", seeds=seeds, k=k, **filters) <= k + 5


@pytest.mark.parametrize("filters", [{}, {"min_mentions": 2}, {"max_tokens": 500}, {"limit": 7}])
async def test_the_number_of_batches_does_not_grow_with_the_answer(filters):
    backend = CountingBackend(tree(60, 2))
    async with open_graph(backend, limits=Limits(max_tokens=0)) as opened:
        await tool_calls.asked(opened, "bfs_query", seeds=["0"], max_hops=2, **filters)
    assert backend.batches <= 2 + 4


@given(graph_strategies.graphs_with_seeds(), st.integers(1, 5))
async def test_the_same_call_again_takes_none(case, hops):
    graph, seeds = case
    backend = CountingBackend(graph.records)
    async with open_graph(backend) as opened:
        await tool_calls.asked(opened, "bfs_query", seeds=seeds, max_hops=hops)
        before = backend.batches
        await tool_calls.asked(opened, "bfs_query", seeds=seeds, max_hops=hops)
    assert backend.batches == before


@given(
    graph_strategies.graphs_with_seeds(),
    st.integers(1, 3),
    st.integers(1, 6),
    graph_strategies.detailing(),
)
async def test_metadata_is_read_of_what_the_page_shows_in_full_and_of_nothing_else(
    case, hops, limit, detailing
):
    graph, seeds = case
    backend = CountingBackend(graph.records)
    async with open_graph(backend, limits=Limits(max_tokens=0)) as opened:
        page = await tool_calls.read(
            opened, "bfs_query", seeds=seeds, max_hops=hops, limit=limit, **detailing
        )
    full = {node["id"] for node in page["nodes"] if "metadata" in node}
    assert backend.asked["metadata_for_nodes_batch"] == full
    full = {(e["subject"], e["predicate"], e["object"]) for e in page["edges"] if "metadata" in e}
    assert backend.asked["metadata_for_edges_batch"] == full


@given(graph_strategies.graphs_with_seeds(seeds=2), st.integers(1, 3))
async def test_a_survey_of_topology_reads_no_metadata(case, hops):
    graph, seeds = case
    backend = CountingBackend(graph.records)
    async with open_graph(backend) as opened:
        for tool, depth in (("bfs_query", "max_hops"), ("intersect_subgraphs", "k")):
            await tool_calls.asked(opened, tool, seeds=seeds, topology_only=True, **{depth: hops})
    assert not backend.asked["metadata_for_nodes_batch"]
    assert not backend.asked["metadata_for_edges_batch"]


async def test_a_page_of_stubs_that_is_too_large_reads_no_metadata():
    backend = CountingBackend(tree(200, 1))
    async with open_graph(backend) as opened:
        page = await tool_calls.read(opened, "bfs_query", seeds=["0"], max_hops=1, max_tokens=500)
    assert 0 < len(page["nodes"]) < 201
    assert not backend.asked["metadata_for_nodes_batch"]


async def test_mentions_are_read_in_one_batch_that_the_page_uses_again():
    backend = CountingBackend(tree(20, 2))
    async with open_graph(backend, limits=Limits(max_tokens=0)) as opened:
        page = await tool_calls.read(
            opened, "bfs_query", seeds=["0"], max_hops=2, min_mentions=3, topology_only=True
        )
        assert [node["id"] for node in page["nodes"]] == ["0"]
        assert backend.calls["metadata_for_nodes_batch"] == 1
        assert len(backend.asked["metadata_for_nodes_batch"]) == 421
        await tool_calls.read(opened, "bfs_query", seeds=["0"], max_hops=2, min_mentions=2)
    assert backend.calls["metadata_for_nodes_batch"] == 1


class TellsMentions(CountingBackend):
    """Returns nodes with `total_mentions` as their only metadata."""

    async def get_nodes_batch(self, ids):
        nodes = await super().get_nodes_batch(ids)
        known = await MemoryBackend.metadata_for_nodes_batch(self, ids)
        return [
            Node(n.id, n.entity_type, {"total_mentions": known[n.id]["total_mentions"]})
            for n in nodes
        ]


async def test_mentions_that_came_with_the_nodes_spare_the_batch_but_are_no_metadata():
    backend = TellsMentions(tree(3, 2))
    async with open_graph(backend) as opened:
        survey = await tool_calls.read(
            opened, "bfs_query", seeds=["0"], max_hops=2, min_mentions=3, topology_only=True
        )
        assert survey["node_count"] == 1
        assert not backend.asked["metadata_for_nodes_batch"]
        page = await tool_calls.read(opened, "bfs_query", seeds=["0"], max_hops=2, min_mentions=3)
    assert page["nodes"][0]["metadata"] == {"name": "root", "total_mentions": 9}
    assert backend.asked["metadata_for_nodes_batch"] == {"0"}


class TellsSomeMentions(CountingBackend):
    """Returns `total_mentions` only with its seed, and no other metadata."""

    async def get_nodes_batch(self, ids):
        brought = {"0": {"total_mentions": 1}}
        nodes = await super().get_nodes_batch(ids)
        return [Node(n.id, n.entity_type, brought.get(n.id, {})) for n in nodes]

    async def metadata_for_nodes_batch(self, ids):
        return {i: {} for i in ids}


async def test_mentions_that_came_with_one_node_count_where_others_have_to_be_read():
    async with open_graph(TellsSomeMentions(tree(3, 1))) as opened:
        page = await tool_calls.read(opened, "bfs_query", seeds=["0"], max_hops=1, min_mentions=2)
    assert "0" not in {node["id"] for node in page["nodes"]}
    assert page["node_count"] == 3


@pytest.mark.parametrize(("told", "stays"), [("2", False), ("3", True), ("NaN", True)])
async def test_mentions_may_be_decimals_and_nan_counts_as_absent(told, stays):
    records = [NodeRecord("0", "Drug", {"total_mentions": Decimal(told)})]
    async with open_graph(MemoryBackend(records)) as opened:
        page = await tool_calls.read(opened, "bfs_query", seeds=["0"], max_hops=1, min_mentions=3)
    assert page["node_count"] == stays
