"""A real graph behind the web API, with the figures published by the protocol's author."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest

from bfsql import open_graph
from bfsql.memory import MemoryBackend
from bfsql_jsonld import JsonLdBackend
from bfsql_test_support.servers.web import WebServer


@pytest.fixture
async def url(web, medlit_records):
    @asynccontextmanager
    async def memory():
        yield MemoryBackend(medlit_records)

    async with web.offering(memory) as address:
        yield address


async def test_a_cold_traversal_of_two_hops_takes_at_most_its_hops_and_six_requests(url, web):
    hops = 2
    async with open_graph("jsonld", base_url=url, hooks=()) as graph:
        answer = await graph.bfs_query(seeds=["RxNorm:3251"], max_hops=hops)
    assert json.loads(answer.text)["node_count"] == 84
    assert len(web.requests) <= hops + 6, web.requests


async def test_two_chained_servers_give_the_bytes_of_the_graph_itself(url, medlit_records):
    with WebServer() as second:

        @asynccontextmanager
        async def first():
            backend = await JsonLdBackend.create(url)
            try:
                yield backend
            finally:
                await backend.close()

        async with (
            second.offering(first) as further,
            open_graph("jsonld", base_url=further, hooks=()) as chained,
            open_graph(MemoryBackend(medlit_records), hooks=()) as memory,
        ):
            await asyncio.gather(chained.counted(), memory.counted())
            for tool, arguments in (
                ("describe_schema", {}),
                ("bfs_query", {"seeds": ["RxNorm:3251"], "max_hops": 2}),
                ("bfs_query", {"seeds": ["paper[usage_count>=3]"], "facets": ["usage_count"]}),
                ("describe_entity", {"id": "MeSH:D003480"}),
                ("search_entities", {"query": "cushing"}),
                ("intersect_subgraphs", {"seeds": ["RxNorm:3251", "MeSH:D003480"], "k": 1}),
            ):
                expected = await memory.call(tool, arguments)
                answer = await chained.call(tool, arguments)
                assert answer.blocks == expected.blocks


async def test_a_server_that_is_killed_and_comes_back_costs_one_error_at_most(
    url, web, medlit_records
):
    async with (
        open_graph(MemoryBackend(medlit_records), hooks=()) as memory,
        open_graph("jsonld", base_url=url, retries=0, cache_records=0, hooks=()) as graph,
    ):
        question = {"seeds": ["RxNorm:3251"], "max_hops": 3}
        expected = await memory.call("bfs_query", question)
        for fatal in range(1, 6):
            errors = await asked_while_killed(graph, web, question, expected, fatal)
            assert len(errors) <= 1, errors
            assert all(error.startswith("ToolError: The graph") for error in errors), errors


async def asked_while_killed(graph, web, question, expected, fatal):
    """The texts of the errors; the server is killed at its request number `fatal`."""
    serve, before = web._app, len(web.requests)

    async def dying(scope, receive, send):
        if len(web.requests) - before == fatal:
            web.kill()
            while (await receive())["type"] != "http.disconnect":
                pass
            return
        await serve(scope, receive, send)

    web.serve(dying)
    errors = []
    for _ in range(3):
        try:
            answer = await graph.call("bfs_query", question)
        except Exception as error:  # noqa: BLE001 - its type is tested
            errors.append(f"{type(error).__name__}: {error}")
            await asyncio.to_thread(web.stop)
            web.serve(serve)
            await asyncio.to_thread(web.start)
        else:
            assert answer.blocks == expected.blocks
    web.serve(serve)
    return errors
