"""Answers are byte-identical for stores that return integers, typed rows or plain strings."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bfsql import Graph, Limits, MemoryBackend, open_graph
from bfsql.models import GraphRecord
from bfsql_test_support import graph_strategies, tool_calls
from bfsql_test_support.backends.columns import ColumnsOverMemory, TypedStream
from bfsql_test_support.oracles.traversals import Oracle
from bfsql_test_support.suites.agreement import assert_same_answers

HOPS = st.integers(1, 5)
BATCHES = st.sampled_from([1, 2, 3, 7, 1000])
"""Batch sizes in edges, mostly so small that every ring comes in several batches."""
BUDGETS = st.sampled_from([0, 500, 700, 1200, 20_000])


@asynccontextmanager
async def every_way(records: Sequence[GraphRecord], batch: int) -> AsyncIterator[list[Graph]]:
    """The graph in strings, in columns and in typed rows, each with and without a cache."""
    backends = [
        MemoryBackend(records),
        ColumnsOverMemory(records, batch),
        TypedStream(records, batch),
    ]
    async with AsyncExitStack() as stack:
        cached = [await stack.enter_async_context(open_graph(db)) for db in backends]
        yield [*cached, *(Graph(db, "", Limits(), None) for db in backends)]


@given(
    case=graph_strategies.graphs_with_seeds(seeds=2) | graph_strategies.hubs_with_seeds(),
    depth=HOPS,
    filters=graph_strategies.narrowing(),
    limit=st.integers(1, 8),
    offset=st.integers(0, 8),
    max_tokens=BUDGETS,
    batch=BATCHES,
)
async def test_every_way_gives_the_same_bytes_for_every_graph_and_call(
    *, case, depth, filters, limit, offset, max_tokens, batch
):
    graph, seeds = case
    walk: dict[str, Any] = {"seeds": seeds, "max_hops": depth, **filters}
    shared: dict[str, Any] = {"seeds": seeds, "k": depth, **filters}
    async with every_way(graph.records, batch) as graphs:
        await assert_same_answers(graphs, "bfs_query", **walk)
        await assert_same_answers(graphs, "bfs_query", **walk, max_tokens=max_tokens)
        await assert_same_answers(graphs, "bfs_query", **walk, limit=limit, offset=offset)
        await assert_same_answers(graphs, "intersect_subgraphs", **shared, max_tokens=max_tokens)


@settings(max_examples=20)
@given(graph_strategies.hubs_with_seeds(), st.integers(1, 3), st.integers(3, 8), BATCHES)
async def test_every_way_gives_the_same_pages(case, hops, limit, batch):
    graph, seeds = case
    async with every_way(graph.records, batch) as graphs:
        following: dict[str, int] = {"offset": 0, "limit": limit}
        while following:
            arguments: dict[str, Any] = {"seeds": seeds, "max_hops": hops, **following}
            await assert_same_answers(graphs, "bfs_query", **arguments)
            page = await tool_calls.read(graphs[0], "bfs_query", **arguments)
            following = tool_calls.continuation(page)


@given(graph_strategies.hubs_with_seeds(), HOPS, graph_strategies.removing(), BATCHES)
async def test_columns_are_walked_as_networkx_walks(case, hops, removing, batch):
    graph, seeds = case
    oracle = Oracle(graph)
    union = oracle.bfs(seeds, hops, **removing)
    columns = Graph(ColumnsOverMemory(graph.records, batch), "", Limits(max_tokens=0), None)
    answer = await tool_calls.read(columns, "bfs_query", seeds=seeds, max_hops=hops, **removing)
    assert parts(answer) == (union.ids, union.triples)
    assert (answer["node_count"], answer["edge_count"]) == (len(union.ids), len(union.triples))
    answer = await tool_calls.read(columns, "intersect_subgraphs", seeds=seeds, k=hops, **removing)
    assert parts(answer) == oracle.intersection(seeds, hops, **removing)


def parts(answer: dict[str, Any]) -> tuple[list[str], list[tuple[str, str, str]]]:
    """Ids and triples of an answer, in the answer's order."""
    triples = [(e["subject"], e["predicate"], e["object"]) for e in answer["edges"]]
    return [node["id"] for node in answer["nodes"]], triples
