"""A class with the eight methods of the contract alone runs unchanged."""

import json
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from bfsql.abc import GraphDbInterface
from bfsql.models import GraphRecord
from bfsql.server import create_server
from bfsql_test_support.backends.author_style import RestBackend, Service
from bfsql_test_support.distributions import install
from bfsql_testing import BackendSuite


async def answer(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result
    return json.loads(result.content[0].text)  # type: ignore[union-attr]


async def all_six(client: Client) -> None:
    schema = await answer(client, "describe_schema")
    assert (schema["entity_types"], schema["predicates"]) == (["Drink", "Ingredient"], ["made_of"])
    [tea] = await answer(client, "search_entities", query="tea", node_types=["Drink"])
    assert tea == {"id": "tea", "entity_type": "Drink", "name": "Tea", "match": "id", "score": None}
    assert await answer(client, "search_entities", query="tea", node_types=["Ingredient"]) == []
    walked = await answer(client, "bfs_query", seeds=["tea"], max_hops=2)
    assert [node["id"] for node in walked["nodes"]] == ["tea", "water", "coffee"]
    assert walked["edges"][0]["metadata"] == {"confidence": 0.5}
    assert (await answer(client, "describe_entity", id="tea"))["name"] == "Tea"
    assert len(await answer(client, "describe_entities", ids=["tea", "water", "gone"])) == 2
    shared = await answer(client, "intersect_subgraphs", seeds=["tea", "coffee"], k=1)
    assert [node["id"] for node in shared["nodes"]] == ["water"]


def test_it_has_nothing_but_the_eight():
    own = {name for name in vars(RestBackend) if not name.startswith("_")}
    assert own == GraphDbInterface.__abstractmethods__


@pytest.mark.parametrize("backend", [RestBackend, RestBackend()], ids=["class", "instance"])
async def test_create_server_serves_it(backend):
    async with Client(create_server(backend)) as client:
        await all_six(client)


@pytest.mark.slow
async def test_an_entry_point_that_names_the_class_is_served_over_stdio(tmp_path):
    install(tmp_path, "bfsql-shop", shop="bfsql_test_support.backends.author_style:RestBackend")
    command = ["-m", "bfsql", "serve", "--backend", "shop"]
    server = StdioServerParameters(
        command=sys.executable, args=command, env={**os.environ, "PYTHONPATH": str(tmp_path)}
    )
    async with Client(server) as client:
        await all_six(client)


class TestEightMethods(BackendSuite):
    """The kit requires nothing more of it than of other backends."""

    @asynccontextmanager
    async def backend_with(self, records: Sequence[GraphRecord]) -> AsyncIterator[GraphDbInterface]:
        yield RestBackend(Service(records))
