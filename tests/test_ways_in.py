"""Sets, relations, groups, measures and walks are answered alike in every way in."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import jsonschema
import pytest
from click.testing import CliRunner
from mcp import Client

from bfsql import Limits, MemoryBackend, open_graph
from bfsql.cli import bfsql
from bfsql.errors import ToolError
from bfsql.rest import application
from bfsql.server import create_server
from bfsql.settings import ServeSettings
from bfsql_sqlite import load_graph
from bfsql_sqlite.settings import SqliteSettings
from bfsql_test_support import compact_parser, tool_calls
from bfsql_test_support.raw_mcp import INITIALIZE, INITIALIZED, message
from bfsql_test_support.ways_in import CALLS, RECORDS, WRONG

FORMATS = ("json", "lines")
LISTS = ("search_entities", "describe_entities")
"""Tools whose answer is a list, which stands in `result` where its notes are beside it."""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The graph in a file."""
    path = tmp_path_factory.mktemp("asking") / "trials.db"
    asyncio.run(load_graph(SqliteSettings(path=path), RECORDS))
    return path


@pytest.fixture(scope="module")
def answers() -> dict[str, dict[str, str]]:
    """By format and label, the answers of the tools over a graph in memory."""

    async def answered(answer_format: Any) -> dict[str, str]:
        limits = Limits(answer_format=answer_format)
        async with open_graph(MemoryBackend(RECORDS), limits=limits) as graph:
            await graph.counted()
            return {label: (await graph.call(*call)).text for label, call in CALLS.items()}

    return {answer_format: asyncio.run(answered(answer_format)) for answer_format in FORMATS}


@pytest.fixture(scope="module")
def errors() -> dict[str, str]:
    """By label, the errors of the tools over a graph in memory."""

    async def refused() -> dict[str, str]:
        found = {}
        async with open_graph(MemoryBackend(RECORDS)) as graph:
            await graph.counted()
            for label, (arguments, argument, part) in WRONG.items():
                with pytest.raises(ToolError) as error:
                    await graph.call("bfs_query", arguments)
                found[label] = str(error.value)
                assert part in found[label], label
                assert error.value.argument == argument, label
        return found

    return asyncio.run(refused())


def differing(found: dict[str, Any], wanted: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    assert found.keys() == wanted.keys()
    return [
        (label, found[label], wanted[label]) for label in wanted if found[label] != wanted[label]
    ]


async def test_answers_have_their_exact_shape_and_lines_say_the_same(
    answers: dict[str, dict[str, str]],
) -> None:
    async with open_graph(MemoryBackend(RECORDS)) as graph:
        await graph.counted()
        for label, (tool, arguments) in CALLS.items():
            answer = await tool_calls.asked(graph, tool, **arguments)
            if tool in ("bfs_query", "intersect_subgraphs"):
                read = compact_parser.read(answers["lines"][label])
                assert read == compact_parser.left_out(answer.content), label


@pytest.mark.parametrize("answer_format", FORMATS)
async def test_over_mcp(path: Path, answers: Any, errors: Any, answer_format: Any) -> None:
    server = create_server("sqlite", path=path, limits=Limits(answer_format=answer_format))
    async with Client(server) as client:
        given = {label: await client.call_tool(*call) for label, call in CALLS.items()}
        wrong = {
            label: await client.call_tool("bfs_query", one) for label, (one, *_) in WRONG.items()
        }
    assert not any(one.is_error for one in given.values())
    assert all(one.is_error for one in wrong.values())
    texts = {label: one.content[0].text for label, one in given.items()}
    assert differing(texts, answers[answer_format]) == []
    assert differing({k: one.content[0].text for k, one in wrong.items()}, errors) == []
    if answer_format == "json":
        for label, one in given.items():
            content = json.loads(texts[label])
            structured = one.structured_content
            assert structured.get("result", structured) == content
            if CALLS[label][0] in LISTS:
                notes = [note for block in one.content[1:] for note in block.text.splitlines()]
                assert structured.get("notes", []) == notes, label


@asynccontextmanager
async def web(path: Path, answer_format: Any) -> AsyncIterator[httpx2.AsyncClient]:
    settings = ServeSettings(rest=True, answer_format=answer_format)
    async with open_graph("sqlite", path=path, limits=settings.limits) as graph:
        transport = httpx2.ASGITransport(application(graph, settings))
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            yield client


def check_described(document: dict[str, Any], tool: str, arguments: Any, answer: Any) -> None:
    """Check a call and its answer by the schemas of a tool's route in the OpenAPI document."""
    route = document["paths"][f"/tools/{tool}"]["post"]
    for part, value in ((route["requestBody"], arguments), (route["responses"]["200"], answer)):
        schema = part["content"]["application/json"]["schema"]
        jsonschema.validate(value, {**schema, "components": document["components"]})


@pytest.mark.parametrize("answer_format", FORMATS)
async def test_over_the_web_api_always_in_json(
    path: Path, answers: Any, errors: Any, answer_format: Any
) -> None:
    async with web(path, answer_format) as client:
        document = (await client.get("/openapi.json")).json()
        given, wrong = {}, {}
        for label, (tool, arguments) in CALLS.items():
            answer = await client.post(f"/tools/{tool}", json=arguments)
            assert answer.headers["content-type"] == "application/json"
            found = answer.json()
            check_described(document, tool, arguments, found)
            given[label] = found["result"] if tool in LISTS else found
            if tool not in (*LISTS, "describe_schema"):
                assert answer.text == answers["json"][label], label
        for label, (arguments, argument, _) in WRONG.items():
            answer = await client.post("/tools/bfs_query", json=arguments)
            assert 400 <= answer.status_code < 500
            assert answer.json()["argument"] == argument
            wrong[label] = answer.json()["detail"]
    wanted = {label: json.loads(text) for label, text in answers["json"].items()}
    for one in (given, wanted):
        usage = one["the schema"].pop("tool_usage_notes"), one["the schema around an entity"]
        assert usage[0]
        usage[1].pop("tool_usage_notes", None)
    assert differing(given, wanted) == []
    assert differing(wrong, errors) == []


def options(arguments: dict[str, Any]) -> list[str]:
    """The arguments of a call as options of a command."""
    written = []
    for name, value in arguments.items():
        flag = "--step" if name == "path" else f"--{name.replace('_', '-')}"
        values = value if isinstance(value, list) else [value]
        written += [flag if one is True else f"{flag}={one}" for one in values]
    return written


@pytest.mark.parametrize("answer_format", FORMATS)
def test_on_the_command_line(path: Path, answers: Any, errors: Any, answer_format: Any) -> None:
    run = CliRunner().invoke
    ending = ["--path", str(path), "--answer-format", answer_format]
    given = {}
    for label, (tool, arguments) in CALLS.items():
        result = run(bfsql, [tool.replace("_", "-"), *options(arguments), *ending])
        assert result.exit_code == 0, result.output
        assert tool in LISTS or not result.stderr, label
        given[label] = result.stdout.removesuffix("\n")
    assert differing(given, answers[answer_format]) == []
    if answer_format == "json":
        wrong = {
            label: run(bfsql, ["bfs-query", *options(arguments), *ending])
            for label, (arguments, *_) in WRONG.items()
        }
        assert {(one.exit_code, one.stdout) for one in wrong.values()} == {(2, "")}
        on_it = " On the command line, path is --step."  # said where an error speaks of path
        told = {label: one.stderr.removesuffix("\n") for label, one in wrong.items()}
        assert any(on_it in error for error in told.values())
        told = {label: error.replace(on_it, "") for label, error in told.items()}
        assert differing(told, errors) == []


START = """
import gc, sys
from bfsql.cli import main
sys.argv[:1] = ["bfsql", "serve", "--path"]
try: main()
except SystemExit: pass
late = "rich duckdb pyoxigraph networkx pandas pyarrow bfsql.sources bfsql.loading bfsql.rest"
late += " bfsql.explore bfsql.embedding bfsql.http bfsql.memory bfsql.cli.clients bfsql.cli.render"
print(sys.modules.keys() & set(late.split()), gc.get_stats()[2]["collections"], file=sys.stderr)
"""


def test_a_server_answers_without_modules_of_other_commands_and_full_collections(
    path: Path,
) -> None:
    search = {"name": "search_entities", "arguments": {"query": "a trial"}}
    asked = (INITIALIZE, INITIALIZED, message(1, "tools/list"), message(2, "tools/call", search))
    command = [sys.executable, "-c", START, str(path)]
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **streams, text=True) as server:
        assert server.stdin
        assert server.stdout
        server.stdin.write("".join(f"{json.dumps(one)}\n" for one in asked))
        server.stdin.flush()
        # A client that leaves before is not answered.
        answered = {json.loads(server.stdout.readline())["id"] for _ in range(3)}
        _, errors = server.communicate(timeout=60)
    assert answered == {0, 1, 2}
    assert errors.splitlines()[-1] == "set() 0"
