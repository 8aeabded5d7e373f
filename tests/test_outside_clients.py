"""Third-party clients and testers, in another language, against `bfsql serve`."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

BASELINE = Path(__file__).parent / "conformance-baseline.yml"
INSPECTOR = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
CONFORMANCE = "@modelcontextprotocol/conformance/dist/index.js"

MEANT_FOR_ANY_SERVER = {
    "server-initialize",
    "ping",
    "tools-list",
    "resources-list",
    "prompts-list",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
}
"""Scenarios that prove something even if a server lacks the runner's own fixtures."""

PROVE_NOTHING = {"tools-call-simple-text", "tools-call-error", "resources-list"}
"""Scenarios that any server passes."""

TOOL_IS_ERROR = 5
"""The inspector's exit code for a call that the tool refused."""


@pytest.fixture(params=["stdio", "http"])
def server(request: pytest.FixtureRequest) -> list[str]:
    """The inspector's arguments that name the server."""
    if request.param == "http":
        return [request.getfixturevalue("films_url")]
    command: list[str] = request.getfixturevalue("films_on_stdio")
    return command


@pytest.fixture
def inspect(node_programs: Any, server: list[str]) -> Any:
    """Runs the inspector's command line; returns its exit code and its decoded JSON output."""

    def run(*arguments: str) -> tuple[int, Any]:
        ended = node_programs.run(INSPECTOR, "--cli", *server, *arguments)
        return ended.returncode, json.loads(ended.stdout or "null")

    return run


def called(tool: str, **arguments: object) -> list[str]:
    given = [f"{name}={json.dumps(value)}" for name, value in arguments.items()]
    flags = [part for one in given for part in ("--tool-arg", one)]
    return ["--method", "tools/call", "--tool-name", tool, *flags]


def test_the_inspector_lists_six_tools_with_the_graphs_schema(inspect: Any) -> None:
    code, listed = inspect("--method", "tools/list")
    assert code == 0
    tools = {tool["name"]: tool for tool in listed["tools"]}
    assert len(tools) == 6
    assert "ACTED_IN" in tools["bfs_query"]["description"]
    assert all(tool["annotations"]["readOnlyHint"] for tool in tools.values())


@pytest.mark.parametrize("server", ["http"], indirect=True)  # the other two cover stdio
def test_the_inspector_walks_from_a_name_to_what_two_people_share(inspect: Any) -> None:
    ids = []
    for name in ("Tom Hanks", "Meg Ryan"):
        code, found = inspect(*called("search_entities", query=name, node_types=["Person"]))
        assert code == 0
        ids.append(found["structuredContent"]["result"][0]["id"])
    code, shared = inspect(
        *called("intersect_subgraphs", seeds=ids, k=1, node_types=["Movie"], topology_only=True)
    )
    assert code == 0
    assert json.loads(shared["content"][0]["text"]) == shared["structuredContent"]
    titles = {node["id"] for node in shared["structuredContent"]["nodes"]}
    assert any("Sleepless" in title for title in titles)


def test_the_inspector_is_told_what_was_wrong(inspect: Any) -> None:
    code, refused = inspect(*called("bfs_query", seeds=["Person:TomHank"], max_hops=1))
    assert code == TOOL_IS_ERROR
    assert refused["isError"] is True
    assert "Person:TomHanks" in refused["content"][0]["text"]


def test_the_conformance_suite_fails_only_where_it_wants_fixtures_of_its_own(
    node_programs: Any, films_url: str
) -> None:
    ended = node_programs.run(
        CONFORMANCE, "server", "--url", films_url, "--expected-failures", str(BASELINE)
    )
    passed = set(re.findall(r"^✓ ([\w-]+): ", ended.stdout, re.MULTILINE))
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-1000:]
    assert passed == MEANT_FOR_ANY_SERVER | PROVE_NOTHING
