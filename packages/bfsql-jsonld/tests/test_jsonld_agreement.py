"""The backend over the web API answers with the same bytes as the graph behind it."""

import json
from contextlib import asynccontextmanager
from unittest.mock import ANY

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bfsql import MemoryBackend, open_graph
from bfsql.models import EdgeRecord, NodeRecord, PropertyCondition, outline_of
from bfsql_jsonld import JsonLdBackend
from bfsql_test_support import graph_strategies
from bfsql_test_support.hooks import Failing, Hiding
from bfsql_test_support.suites.agreement import assert_same_answers


@asynccontextmanager
async def both(server, records, hooks=()):
    """The graph in memory, and the same graph through the web API; hooks run beside the graph."""

    @asynccontextmanager
    async def memory():
        yield MemoryBackend(records)

    async with server.offering(memory, hooks) as url:
        backend = await JsonLdBackend.create(url)
        try:
            async with (
                open_graph(MemoryBackend(records), hooks=hooks) as first,
                open_graph(backend, hooks=()) as second,
            ):
                yield first, second
        finally:
            await backend.close()


@settings(max_examples=12, suppress_health_check=list(HealthCheck))
@given(
    case=graph_strategies.graphs_with_seeds(seeds=2),
    depth=st.integers(1, 3),
    filters=graph_strategies.filtering(),
    max_tokens=st.sampled_from([0, 700, 20_000]),
)
async def test_the_chain_gives_the_same_bytes_for_every_graph_and_call(
    web, case, depth, filters, max_tokens
):
    graph, seeds = case
    async with both(web, graph.records) as graphs:
        schema, from_api = [(await graph.describe_schema()).content for graph in graphs]
        calls = {"tool_usage_notes": ANY}  # the API cleans values, so its calls may have others
        assert {**from_api, **calls} == {**schema, **calls}
        asked = {**filters, "max_tokens": max_tokens}
        await assert_same_answers(graphs, "bfs_query", seeds=seeds, max_hops=depth, **asked)
        await assert_same_answers(graphs, "intersect_subgraphs", seeds=seeds, k=depth, **asked)
        await assert_same_answers(
            graphs, "describe_entities", ids=[*graph.ids, *graph_strategies.GONE]
        )
        for entity_id in graph.ids:
            await assert_same_answers(graphs, "describe_entity", id=entity_id)
            await assert_same_answers(graphs, "search_entities", query=entity_id)


VALUES = (None, 3, "3", "abc", "\u00c1bc", "b d", "a|b", "x]y", "'q'", True, [3, "abc"], "-1", -1)


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(
    values=st.lists(st.sampled_from(VALUES), min_size=1, max_size=8),
    types=st.sampled_from(["*", "T", "T|a b"]),
    operator=st.sampled_from(["=", "!=", "<", "<=", ">", ">=", "~"]),
    written=st.sampled_from(
        ["3", "abc", "'b d'", "'a|b'", "'x]y'", "\"'q'\"", "true", "-1", "3|abc"]
    ),
    more=st.sampled_from(["", f"[key!={'y' * 5_000}]"]),  # too long for a URL, so compared here
)
async def test_patterns_are_the_same_sets(web, values, more, **pattern):
    records = [
        NodeRecord(f"n:{n}", ("T", "U", "a b")[n % 3], {} if value is None else {"key": value})
        for n, value in enumerate(values)
    ]
    records += [EdgeRecord("n:0", "p", f"n:{n}") for n in range(len(values))]
    seeds = ["{types}[key{operator}{written}]".format(**pattern) + more]
    async with both(web, records) as graphs:
        await assert_same_answers(graphs, "bfs_query", seeds=seeds, facets=["key"])
        await assert_same_answers(graphs, "bfs_query", seeds=seeds, path=["-p- *[key]"])


async def test_a_list_takes_as_many_pages_as_it_needs(web, monkeypatch):
    monkeypatch.setattr("bfsql_jsonld.listings.PAGE", 4)
    monkeypatch.setattr("bfsql_jsonld.listings.TYPES", 1)
    async with both(web, TRIALS) as graphs:
        await assert_same_answers(graphs, "bfs_query", seeds=["Trial|Disease:*"])
        recent = PropertyCondition("year", ">=", ("2002",))
        pages = graphs[1].db.nodes_stream(entity_types=["Trial", "X"], conditions=[recent])
        assert [len(nodes) async for nodes in pages] == [4, 3]


async def test_metadata_that_the_other_server_withholds_is_noted_here(web):
    records = [
        NodeRecord("a", "T", {"name": "Ada"}),
        NodeRecord("b", "T", {"name": "Ben"}),
        EdgeRecord("a", "knows", "b", {"since": 3}),
    ]
    async with both(web, records, hooks=[Failing()]) as graphs:
        for _ in ("cold", "warm"):
            await assert_same_answers(graphs, "bfs_query", seeds=["a"], max_hops=1)
            await assert_same_answers(graphs, "describe_entities", ids=["a", "b"])
        note = json.loads((await graphs[1].call("describe_entity", {"id": "a"})).text)["notes"]
        assert "the server's redaction of it failed" in note[0]


TRIALS = [
    *(NodeRecord(f"t:{n}", "Trial", {"year": 2000 + n, "phase": str(n % 3)}) for n in range(9)),
    NodeRecord("d:1", "Disease", {"name": "Flu"}),
    *(EdgeRecord(f"t:{n}", "studies", "d:1", {"weight": n / 8}) for n in range(9)),
]


class Outlined(MemoryBackend):
    """A store that knows how many edges there are by itself."""

    def __init__(self, outline):
        super().__init__(TRIALS)
        self.known = outline

    async def outline(self):
        return self.known


STUDIES = ("Trial", "studies", "Disease")


@pytest.mark.parametrize(
    ("outline", "source", "relation"),
    [
        (outline_of({}, {STUDIES: 5}, sampled=True), "sample", "Trial -studies-> Disease"),
        (
            outline_of({}, {STUDIES: 5}, ended={STUDIES: 2}),
            "all",
            "Trial -studies-> Disease (5, 2 with an end)",
        ),
    ],
)
async def test_what_a_server_knows_of_relations_is_passed_on(web, outline, source, relation):
    @asynccontextmanager
    async def outlined():
        yield Outlined(outline)

    async with web.offering(outlined, ()) as url:
        backend = await JsonLdBackend.create(url)
        try:
            async with open_graph(backend, hooks=()) as graph:
                schema = json.loads((await graph.describe_schema()).text)
        finally:
            await backend.close()
    assert (schema["relations_from"], schema["relations"]) == (source, [relation])


async def test_what_a_server_redacts_is_in_no_outline(web):
    hooks = [Hiding(lambda kind, key, metadata: {k: v for k, v in metadata.items() if k != "year"})]
    async with both(web, TRIALS, hooks) as (_, behind):
        schema = json.loads((await behind.describe_schema()).text)
    assert schema["relations"] == ["Trial -studies-> Disease (9)"]
    assert "properties" not in schema
