"""The results of calls, through real clients."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult, TextContent

from bfsql.memory import MemoryBackend
from bfsql.server import create_server
from bfsql.tools import Limits

pytestmark = pytest.mark.slow

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("describe_schema", {}),
    ("search_entities", {"query": "für dich"}),
    ("bfs_query", {"seeds": ["film:1"], "max_hops": 2}),
    ("bfs_query", {"seeds": ["film:1"], "max_hops": 2, "limit": 2, "predicates": ["directed"]}),
    ("describe_entity", {"id": "film:2"}),
    ("bfs_query", {"seeds": ["Film:*"], "where": ["no <-DIRECTED-"], "facets": ["name"]}),
    ("bfs_query", {"seeds": ["*[name]"], "path": ["--"], "measure": "count 1", "limit": 2}),
    (
        "bfs_query",
        {"seeds": ["Film:*"], "path": ["--", "--"], "show": "walks", "where": ["2 != 0"]},
    ),
    ("bfs_query", {"seeds": ["film:1"], "along": ["--"]}),
    ("bfs_query", {"seeds": ["film:1"], "along": ["--"], "to": ["Film[name]"]}),
    ("bfs_query", {"seeds": ["film:1"], "max_hops": 2, "sort_by": "-degree", "facets": ["name"]}),
    ("describe_schema", {"seeds": ["film:1"]}),
    ("search_entities", {"query": "slepless"}),
    ("describe_entities", {"ids": ["person:1", "nobody"]}),
    ("intersect_subgraphs", {"seeds": ["person:1", "person:2"], "k": 1}),
    ("describe_entity", {"id": "film:3"}),
]


Ask = Callable[..., Awaitable[CallToolResult]]


@pytest.fixture
def ask(films: MemoryBackend) -> Ask:
    """Calls a tool with a client that connects for this one call."""

    async def call(tool: str, arguments: dict[str, Any] | None = None) -> CallToolResult:
        async with Client(create_server(films), mode="legacy") as client:
            return await client.call_tool(tool, arguments)

    return call


def texts(result: CallToolResult) -> list[str]:
    return [block.text for block in result.content if isinstance(block, TextContent)]


async def test_a_null_score_stays_in_the_structured_content(ask):
    result = await ask("search_entities", {"query": "Meg Ryan"})
    assert result.structured_content["result"][0]["score"] is None


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("bfs_query", {"seeds": ["film:1"], "max_hops": True}, "max_hops"),
        ("bfs_query", {"seeds": ["film:1"], "max_hops": 9}, "max_hops"),
        ("bfs_query", {"seeds": ["film:1"], "max_hops": 1, "max_hop": 2}, "max_hop"),
        ("bfs_query", {"seeds": ["film:9"], "max_hops": 1}, "film:9"),
        ("bfs_query", {"max_hops": 1}, "seeds"),
        ("no_such_tool", {}, "bfs_query"),
    ],
)
async def test_what_cannot_be_answered_is_refused_in_a_sentence(ask, tool, arguments, says):
    result = await ask(tool, arguments)
    assert result.is_error
    assert result.structured_content is None
    (sentence,) = texts(result)
    assert says in sentence
    assert "Traceback" not in sentence


@pytest.mark.parametrize("seeds", ["film:1", '["film:1"]', ["film:1"]])
@pytest.mark.parametrize("hops", [1, "1", 1.0])
async def test_what_can_only_mean_one_thing_is_taken(ask, seeds, hops):
    result = await ask("bfs_query", {"seeds": seeds, "max_hops": hops})
    assert not result.is_error
    assert result.structured_content["node_count"] == 4


async def test_a_tool_without_arguments_may_be_called_without_any(ask):
    assert not (await ask("describe_schema")).is_error


async def test_an_unexpected_fault_shows_an_id_and_no_internals():
    class Broken(MemoryBackend):
        async def edges_batch(self, ids: object) -> list[Any]:
            raise RuntimeError("secret dsn")

        async def get_nodes_batch(self, ids: object) -> list[Any]:
            raise RuntimeError("secret dsn")

    async with Client(create_server(Broken())) as client:
        result = await client.call_tool("bfs_query", {"seeds": ["x"], "max_hops": 1})
    assert result.is_error
    assert "secret" not in texts(result)[0]


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_the_same_call_gives_the_same_bytes_on_every_transport(era, stdio, over_http):
    async with Client(stdio(), mode=era) as client:
        on_stdio = [texts(await client.call_tool(*call)) for call in CALLS]
    async with Client(over_http().url, mode=era) as client:
        on_http = [texts(await client.call_tool(*call)) for call in CALLS]
    async with Client(over_http(stateless=True).url, mode=era) as client:
        stateless = [texts(await client.call_tool(*call)) for call in CALLS]
    assert on_stdio == on_http == stateless
    assert "e-m@il für Dich" in on_stdio[4][0]


async def test_answers_in_lines_come_without_structured_content_and_schemas(films):
    server = create_server(films, limits=Limits(answer_format="lines"))
    async with Client(server) as client:
        listed = await client.list_tools()
        result = await client.call_tool("bfs_query", {"seeds": ["film:1"], "max_hops": 1})
    assert {tool.output_schema for tool in listed.tools} == {None}
    assert result.structured_content is None
    assert texts(result)[0].startswith("hops 1; nodes 4: ")
