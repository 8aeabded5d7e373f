"""The embedded store, its string path and the reference in memory return the same bytes."""

import random
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from bfsql import Graph, Limits, MemoryBackend, open_graph
from bfsql.models import EdgeRecord, NodeRecord
from bfsql_sqlite import SqliteBackend, SqliteSettings, load_graph
from bfsql_test_support import graph_strategies, tool_calls
from bfsql_test_support.backends.columns import Strings
from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.oracles import walking
from bfsql_test_support.suites.agreement import assert_same_answers

BUDGETS = st.sampled_from([0, 500, 700, 1200, 20_000])
WAYS = 3
ENTITIES = 60 if THOROUGH else 10
"""Entities of medlit that calls begin at."""


@asynccontextmanager
async def every_way(records, **limits) -> AsyncIterator[list[Graph]]:
    """The graph in memory, in a file, and in the file with its columns hidden."""
    with tempfile.TemporaryDirectory() as folder:
        place = SqliteSettings(path=Path(folder) / "graph.db", connections=1)
        await load_graph(place, records)
        file = await SqliteBackend.open(place)
        bounds = Limits(**limits)
        try:
            async with (
                open_graph(MemoryBackend(records), limits=bounds) as memory,
                open_graph(file, limits=bounds) as embedded,
                open_graph(Strings(file), limits=bounds) as strings,
            ):
                yield [memory, embedded, strings]
        finally:
            await file.close()


@given(
    case=graph_strategies.graphs_with_seeds(seeds=2) | graph_strategies.hubs_with_seeds(),
    depth=st.integers(1, 4),
    filters=graph_strategies.narrowing(),
    limit=st.integers(1, 8),
    offset=st.integers(0, 8),
    max_tokens=BUDGETS,
)
@settings(max_examples=12)
async def test_every_way_gives_the_same_bytes_for_every_graph_and_call(
    *, case, depth, filters, limit, offset, max_tokens
):
    graph, seeds = case
    traversal = {"seeds": seeds, "max_hops": depth, **filters}
    async with every_way(graph.records) as graphs:
        await assert_same_answers(graphs, "describe_schema")
        await assert_same_answers(graphs, "bfs_query", **traversal, max_tokens=max_tokens)
        await assert_same_answers(graphs, "bfs_query", **traversal, limit=limit, offset=offset)
        await assert_same_answers(
            graphs, "intersect_subgraphs", seeds=seeds, k=depth, **filters, max_tokens=max_tokens
        )
        await assert_same_answers(
            graphs, "describe_entities", ids=[*graph.ids, *graph_strategies.GONE]
        )
        for entity_id in graph.ids:
            await assert_same_answers(graphs, "describe_entity", id=entity_id)
            if entity_id in graph_strategies.BLANK:
                continue
            # Stores may rank candidates differently, but an id must find its node.
            found = [
                await tool_calls.read(opened, "search_entities", query=entity_id)
                for opened in graphs
            ]
            assert [hits[0]["id"] for hits in found] == [entity_id] * WAYS


@given(
    case=graph_strategies.graphs_with_seeds(seeds=2, least=2) | graph_strategies.hubs_with_seeds(),
    steps=walking.steps(),
    filters=graph_strategies.filtering(),
    ends=st.booleans(),
    limit=st.integers(0, 4),
)
@settings(max_examples=12)
async def test_every_way_gives_the_same_bytes_for_every_path(*, case, steps, filters, ends, limit):
    graph, seeds = case
    path = {"seeds": seeds[:1], **walking.arguments(steps), **filters}
    if ends:
        path["to"] = seeds[1:]
    async with every_way(graph.records) as graphs:
        await assert_same_answers(graphs, "bfs_query", **path)
        await assert_same_answers(graphs, "bfs_query", **path, limit=limit, offset=1)
        await assert_same_answers(graphs, "bfs_query", **path, show="ends", count_distinct=1)


async def test_every_way_gives_the_same_bytes_for_every_entity_of_medlit(medlit_records):
    async with every_way(medlit_records) as graphs:
        await assert_same_answers(graphs, "describe_schema")
        ids = sorted({record.id for record in medlit_records if hasattr(record, "entity_type")})
        chosen = random.Random(11).sample(ids, ENTITIES)
        await assert_same_answers(graphs, "describe_entities", ids=chosen)
        for one, other in zip(
            chosen, ["RxNorm:3251", "MeSH:D003480"] * (ENTITIES // 2), strict=True
        ):
            await assert_same_answers(graphs, "describe_entity", id=one)
            await assert_same_answers(graphs, "bfs_query", seeds=[one, other], max_hops=2)
            await assert_same_answers(graphs, "intersect_subgraphs", seeds=[one, other], k=2)


async def test_every_way_gives_the_same_bytes_when_thousands_of_ids_are_asked_at_once():
    draw = random.Random(5)
    ids = [f"n:{number}" for number in range(5000)]
    records = [
        *(
            NodeRecord(
                i, draw.choice(graph_strategies.TYPES), {"total_mentions": draw.randint(1, 4)}
            )
            for i in ids
        ),
        *(EdgeRecord("n:0", "TREATS", i, {"confidence": 0.5}) for i in ids),
        *(EdgeRecord(draw.choice(ids), "causes", draw.choice(ids)) for _ in range(5000)),
    ]
    async with every_way(records, max_tokens=0) as graphs:
        for arguments in ({}, {"topology_only": True}, {"min_mentions": 3}, {"limit": 50}):
            await assert_same_answers(graphs, "bfs_query", seeds=["n:0"], max_hops=2, **arguments)
        await assert_same_answers(graphs, "intersect_subgraphs", seeds=["n:0", "n:1"], k=2)
