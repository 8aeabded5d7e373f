"""The operator's bounds hold over HTTP, whatever a caller requests."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import mcp
import pytest
from click.testing import CliRunner

import bfsql
from bfsql.cli.command import bfsql as command_line
from bfsql_test_support.commands import output
from bfsql_test_support.servers.serve_process import Served, serving

LEAVES = 4_000
TOKENS = 2_000
LARGE = 300_000
"""Size of one value in bytes."""
MOST_BYTES = 100_000
ERAS = ("auto", "legacy")


@pytest.fixture(scope="module")
def hub_db(tmp_path_factory: pytest.TempPathFactory, programs: Path) -> Path:
    """A hub with many neighbours and a large value, as an embedded file."""
    folder = tmp_path_factory.mktemp("hub")
    nodes, edges = folder / "nodes.jsonl", folder / "edges.jsonl"
    hub = {"id": "hub", "type": "Hub", "name": "hub", "note": "short", "text": "x" * LARGE}
    leaves = ({"id": f"leaf:{n}", "type": "Leaf", "name": f"leaf {n}"} for n in range(LEAVES))
    nodes.write_text("".join(f"{json.dumps(node)}\n" for node in (hub, *leaves)))
    pairs = ({"from": "hub", "type": "has", "to": f"leaf:{n}"} for n in range(LEAVES))
    edges.write_text("".join(f"{json.dumps(edge)}\n" for edge in pairs))
    path = folder / "hub.db"
    output(programs / "bfsql", "load", nodes, edges, "--path", path)
    return path


@pytest.fixture(scope="module")
def bounded(hub_db: Path) -> Iterator[Served]:
    """An MCP server with a bound on tokens."""
    with serving("--path", str(hub_db), "--max-tokens", str(TOKENS)) as served:
        yield served


@pytest.fixture(scope="module")
def unbudgeted(hub_db: Path) -> Iterator[Served]:
    """An MCP server without a bound on tokens, but with bounds on bytes and nodes."""
    options = ("--max-tokens", "0", "--max-answer-bytes", str(MOST_BYTES), "--max-nodes", "4500")
    with serving("--path", str(hub_db), *options) as served:
        yield served


@pytest.fixture(scope="module")
def web_api(hub_db: Path) -> Iterator[Served]:
    """The web API with bounds on tokens and bytes."""
    options = ("--rest", "--max-tokens", str(TOKENS), "--max-answer-bytes", str(MOST_BYTES))
    with serving("--path", str(hub_db), *options) as served:
        yield served


async def text_of(served: Served, tool: str, mode: str = "auto", **arguments: Any) -> str:
    """The text of an answer."""
    async with mcp.Client(f"{served.url}/mcp", mode=mode) as client:
        answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content
    return "".join(block.text for block in answer.content)


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("asked", [0, 10_000_000])
async def test_attack_2_a_caller_cannot_lift_the_bound_of_tokens(bounded, mode, asked):
    text = await text_of(bounded, "bfs_query", mode, seeds=["hub"], max_hops=1, max_tokens=asked)
    answer = json.loads(text)
    assert len(text.encode()) <= 3 * TOKENS
    assert answer["node_count"] == LEAVES + 1, "the counts are those of the whole answer"
    [note] = [note for note in answer["notes"] if note.startswith("max_tokens:")]
    assert f"reduced to {TOKENS}, the maximum of this server, from {asked}" in note
    assert "limit, offset" in note


async def test_a_caller_may_ask_for_less(bounded):
    text = await text_of(bounded, "bfs_query", seeds=["hub"], max_hops=1, max_tokens=600)
    assert len(text.encode()) <= 3 * 600
    assert not any(note.startswith("max_tokens:") for note in json.loads(text)["notes"])


async def test_an_intersection_is_held_to_it_too(bounded):
    seeds = ["leaf:1", "leaf:2"]
    text = await text_of(bounded, "intersect_subgraphs", seeds=seeds, k=2, max_tokens=0)
    assert len(text.encode()) <= 3 * TOKENS
    [note] = [note for note in json.loads(text)["notes"] if note.startswith("max_tokens:")]
    assert "limit" not in note, "it has no pages"


@pytest.mark.parametrize("tool", ["describe_entity", "describe_entities"])
async def test_a_record_that_is_larger_than_the_bound_loses_its_largest_values(bounded, tool):
    wanted = {"id": "hub"} if tool == "describe_entity" else {"ids": ["hub", "leaf:1"]}
    text = await text_of(bounded, tool, **wanted)
    assert len(text.encode()) <= 3 * TOKENS
    assert "short" in text, "small values stay"
    assert "text did not fit the token budget" in text


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("bfs_query", {"seeds": ["hub"], "max_hops": 1, "max_tokens": 0}),
        ("bfs_query", {"seeds": ["hub"], "path": ["-has->"], "max_tokens": 0}),
        ("intersect_subgraphs", {"seeds": ["leaf:1", "leaf:2"], "k": 2}),
        ("describe_entity", {"id": "hub"}),
        ("describe_entities", {"ids": ["hub", "leaf:1"]}),
    ],
)
async def test_without_a_bound_of_tokens_that_of_bytes_holds(unbudgeted, tool, arguments):
    text = await text_of(unbudgeted, tool, **arguments)
    assert MOST_BYTES / 2 < len(text.encode()) <= MOST_BYTES or "text did not fit" in text
    assert f"this server's limit of {MOST_BYTES:,} bytes" in text


async def test_on_stdio_an_argument_replaces_the_default(hub_db, programs):
    query = {"seeds": ["hub"], "max_hops": 1, "max_tokens": 0}
    options = ["--path", str(hub_db), "--max-tokens", str(TOKENS)]
    serve = mcp.StdioServerParameters(
        command=str(programs / "bfsql"), args=["serve", *options, "--max-answer-bytes", "10000"]
    )
    async with mcp.Client(serve) as client:
        answer = await client.call_tool("bfs_query", query)
    assert len(json.loads(answer.content[0].text)["nodes"]) == LEAVES + 1


def test_on_ones_own_command_line_an_argument_replaces_the_default(hub_db):
    """A configuration may set a server's transport, but a command is not a server."""
    arguments = ["bfs-query", "hub", "--max-hops", "1", "--max-tokens", "0", "--path", str(hub_db)]
    environment = {"BFSQL_TRANSPORT": "http", "BFSQL_MAX_TOKENS": str(TOKENS)}
    done = CliRunner().invoke(command_line, arguments, env=environment)
    assert done.exit_code == 0
    assert len(json.loads(done.stdout)["nodes"]) == LEAVES + 1


def test_the_web_apis_tools_are_held_to_it(web_api):
    query = {"seeds": ["hub"], "max_hops": 1, "max_tokens": 0}
    answer = httpx2.post(f"{web_api.url}/tools/bfs_query", json=query)
    assert answer.status_code == 200
    assert len(answer.content) <= 3 * TOKENS
    assert "the maximum of this server" in answer.text


@pytest.mark.parametrize(
    ("route", "body"),
    [
        ("/entities/hub", None),
        ("/entities/hub/relations?limit=10000", None),
        ("/entities/batch", {"ids": ["hub", "leaf:1"], "metadata": True}),
        ("/relations/batch", {"ids": ["hub"]}),
    ],
)
def test_the_web_apis_resources_are_refused_where_they_are_too_large(web_api, route, body):
    address = f"{web_api.url}{route}"
    answer = httpx2.get(address) if body is None else httpx2.post(address, json=body)
    assert answer.status_code == 400
    assert answer.json()["kind"] == "too_large"
    assert f"this server's limit of {MOST_BYTES:,}" in answer.json()["detail"]


def test_parts_of_them_are_given(web_api):
    assert httpx2.get(f"{web_api.url}/entities/hub?keys=note").json()["note"] == "short"
    page = httpx2.get(f"{web_api.url}/entities/hub/relations?limit=1000").json()
    assert len(page["relations"]) == 1000
    assert page["next"]


async def test_a_client_of_the_web_api_asks_for_less_at_once(web_api):
    leaves = [f"leaf:{number}" for number in range(LEAVES)]
    async with bfsql.open_graph("jsonld", base_url=web_api.url) as graph:
        ring = await graph.db.edges_batch(leaves)
    assert sorted(ring) == sorted(("hub", "has", leaf) for leaf in leaves)
