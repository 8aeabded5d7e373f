"""Rings: one request a chunk of ids, what the server filters, hubs, many ids, and search."""

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from bfsql import call
from bfsql.abc import normalized
from bfsql.errors import StoreError
from bfsql.graph import open_graph
from bfsql.models import EdgeRecord, GraphRecord, NodeRecord
from bfsql_gremlin import GremlinBackend, GremlinSettings, outline
from bfsql_gremlin.load.loader import load_graph
from bfsql_gremlin.rings import ring_batches
from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.suites.gremlin import watched

# More edges than a batch has, and than the loader deletes in one request.
LEAVES, AT_ONCE = 100_000 if THOROUGH else 12_000, 4_000
HUB = (
    "h = g.V().has('entity_id', 'hub').next(); "
    "(low..high).each { n -> l = graph.addVertex(label, 'Leaf', 'entity_id', 'leaf' + n); "
    "n % 2 ? h.addEdge('to', l) : l.addEdge('of', h) }; 1"
)
GRAPH: list[GraphRecord] = [
    NodeRecord("hub", "Hub", {"name": "The Hub"}),
    *(
        NodeRecord(f"n{i}", "T", {"name": f"Number {i}", "synonyms": [f"no. {i}"]})
        for i in range(9)
    ),
    *(EdgeRecord(f"n{i}", ("even", "odd")[i % 2], f"n{(i + 1) % 9}") for i in range(9)),
]


@pytest.fixture(scope="module", params=["tinkergraph", "janusgraph"])
def settings(request):
    """Settings of each engine, with `GRAPH` loaded."""
    settings = GremlinSettings(uri=[request.getfixturevalue(request.param).uri])
    asyncio.run(load_graph(settings, GRAPH))
    return settings


@pytest.fixture
async def opened(settings):
    """A backend on `GRAPH`."""
    opened = await GremlinBackend.open(settings)
    yield opened
    await opened.close()


async def test_a_ring_is_one_request_with_the_types_of_both_ends(opened):
    sent = watched(opened)
    found = [row async for rows in opened.edges_stream(["n0", "n1"]) for row in rows]
    assert set(found) == {
        ("n0", "even", "n1", "T", "T"),
        ("n1", "odd", "n2", "T", "T"),
        ("n8", "even", "n0", "T", "T"),
    }
    assert len(sent) == 1


async def test_predicates_and_direction_are_decided_by_the_server(opened, monkeypatch):
    """Rows of other edges never arrive."""
    got: list[Any] = []
    stream = opened._client.stream

    async def noted(traversal, **rest):
        async with aclosing(stream(traversal, **rest)) as parts:
            async for part in parts:
                got.extend(part)
                yield part

    monkeypatch.setattr(opened._client, "stream", noted)
    assert await opened.edges_batch(["n1"], predicates=["odd"]) == [("n1", "odd", "n2")]
    assert len(got) == 2
    got.clear()
    assert await opened.edges_batch(["n1"], direction="in") == [("n0", "even", "n1")]
    assert len(got) == 2
    got.clear()
    assert await opened.edges_batch(["n1"], predicates=["no such"]) == []
    assert await opened.edges_batch(["n1"], predicates=[]) == []


async def test_a_tool_call_takes_few_round_trips(opened):
    async with open_graph(opened) as graph:
        await graph.describe_schema()
        sent = watched(opened)
        for hops in (1, 2, 3):
            sent.clear()
            await graph.bfs_query([f"n{hops}"], max_hops=hops)
            assert len(sent) <= hops + 6


async def test_ten_thousand_ids_are_looked_up_in_chunks(opened):
    sent = watched(opened)
    ids = [*(f"unknown {i}" for i in range(10_000)), "n3", "hub"]
    assert {node.id for node in await opened.get_nodes_batch(ids)} == {"n3", "hub"}
    assert len(sent) == 5
    assert len(await opened.edges_batch(ids)) == 2


async def test_a_far_end_that_is_missing_is_an_error(opened, monkeypatch):
    """As if a member of the cluster lagged behind."""
    stream = opened._client.stream

    async def lagging(traversal, **rest):
        async with aclosing(stream(traversal, **rest)) as parts:
            async for part in parts:
                yield part[:-1]

    monkeypatch.setattr(opened._client, "stream", lagging)
    with pytest.raises(StoreError, match=r"left 1 far ends .* by quorum"):
        [rows async for rows in ring_batches(opened._client, opened._schema, ["n0"])]


async def test_far_ends_may_arrive_first(opened, monkeypatch):
    stream = opened._client.stream

    async def reversed_(traversal, **rest):
        async with aclosing(stream(traversal, **rest)) as parts:
            async for part in parts:
                yield part[::-1]

    wanted = set(await opened.edges_batch(["n0", "n5"]))
    monkeypatch.setattr(opened._client, "stream", reversed_)
    assert set(await opened.edges_batch(["n0", "n5"])) == wanted


# --- search -----------------------------------------------------------------------


async def test_ids_names_and_aliases_are_found(each, opened):
    for query, found in [
        ("n4", "n4"),
        ("number 4", "n4"),
        ("NUMBER 4", "n4"),
        ("no. 4", "n4"),
        ("the hub", "hub"),
    ]:
        with each(query, found):
            assert (await opened.search_entities(query))[0].id == found


@pytest.mark.parametrize("settings", ["janusgraph"], indirect=True)
async def test_a_misspelt_name_is_found_by_a_mixed_index(opened):
    assert len(await opened.search_entities("numbre")) == 9


@pytest.mark.parametrize("settings", ["tinkergraph"], indirect=True)
async def test_a_search_without_an_index_says_when_time_was_too_short(opened, monkeypatch):
    with call.scope(seconds=30) as scope:
        assert (await opened.search_entities("umber 4"))[0].id == "n4"
        assert not scope.omissions
    exact = await GremlinBackend.open(opened._settings.model_copy(update={"search": "exact"}))
    assert [stub.id for stub in await exact.search_entities("Number 4")] == ["n4"]
    assert await exact.search_entities("umber 4") == []
    await exact.close()
    monkeypatch.setattr("bfsql_gremlin.search.SHARE", 0.0)
    with call.scope(seconds=30) as scope:
        assert [stub.id for stub in await opened.search_entities("Number 4")] == ["n4"]
        assert [one.direction for one in scope.omissions] == ["search"]


# --- the schema ---------------------------------------------------------------------


async def test_a_large_graph_is_counted_by_the_server_and_its_properties_sampled(
    opened, monkeypatch
):
    whole = await opened.outline()
    monkeypatch.setattr(outline, "MOST_NODES", 4)
    monkeypatch.setattr(outline, "MOST_EDGES", 3)
    sampled = await opened.outline()
    assert sampled.node_counts == whole.node_counts == {"Hub": 1, "T": 9}
    assert sampled.relations == whole.relations
    assert await opened.comprehensive()

    async def too_slow(counting, _):
        counting.close()

    monkeypatch.setattr(outline, "counted_in_time", too_slow)
    assert (await opened.outline()).sampled
    assert set(await opened.entity_types()) <= {"Hub", "T"}
    assert {"even", "odd"} >= set(await opened.predicates()) - set(opened._schema.labels)
    assert not await opened.comprehensive()


async def test_nodes_are_listed_with_the_properties_of_conditions(opened):
    db = normalized(opened)
    rows = [node async for part in db.nodes_stream(entity_types=["T"]) for node in part]
    assert sorted(node.id for node in rows) == [f"n{i}" for i in range(9)]
    assert [part async for part in db.nodes_stream(entity_types=[])] == []


# The last test, since it adds to the graph.
async def test_a_hub_arrives_in_batches_and_whole(opened, script):
    for low in range(1, LEAVES, AT_ONCE):
        await script(opened._settings, HUB, low=low, high=low + AT_ONCE - 1)
    batches = [len(rows) async for rows in opened.edges_stream(["hub"])]
    assert sum(batches) == LEAVES
    assert len(batches) > 1
    with call.scope(seconds=300) as scope:
        assert len(await opened.edges_batch(["hub"], direction="out")) == LEAVES // 2
        assert not scope.omissions
    some = [("hub", "to", f"leaf{n}") for n in range(1, 600, 2)]
    assert len(await opened.metadata_for_edges_batch(some)) == len(some)
