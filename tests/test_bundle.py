"""A bundle is what MCPB's own program takes, and runs as its manifest says; so does a skill."""

import json
import os
import re
import shutil
import sys
import tomllib
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from bfsql_test_support.commands import output

ROOT = Path(__file__).parent.parent
MCPB = "@anthropic-ai/mcpb/dist/cli/cli.js"


@pytest.fixture
def graph(films_db: Path, tmp_path: Path) -> Path:
    """The films in a folder of their own, which no other test watches."""
    return Path(shutil.copy(films_db, tmp_path / "films.db"))


@pytest.fixture
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with nothing in it, in which the bundle is made."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(tmp_path)
    return home


async def directors(client: Client) -> str:
    calls = {"seeds": ["Tom Hanks"], "path": ["-ACTED_IN->", "<-DIRECTED-"], "show": "ends"}
    answer = await client.call_tool("bfs_query", calls)
    assert not answer.is_error
    return answer.content[0].text


@pytest.fixture
def unpacked(programs: Path, graph: Path, clean: Path, node_programs) -> Path:
    """A folder with what is in the bundle, made by MCPB's program, which finds it valid."""
    options = ["--name", "films/2024 ü", "--graph-description", "Films\nand people"]
    said = output(programs / "bfsql", "bundle", graph, *options)
    place, folder = clean.parent / "films-2024.mcpb", clean / "bundle"
    assert said.startswith(f"{place.name} has ")
    done = node_programs.run(MCPB, "unpack", str(place), str(folder))
    assert done.returncode == 0, done.stderr
    valid = node_programs.run(MCPB, "validate", str(folder / "manifest.json"))
    assert "schema validation passes" in valid.stdout, valid.stdout
    assert (folder / "graph.db").read_bytes() == graph.read_bytes()
    assert not (folder / "graph.db").stat().st_mode & 0o222
    return folder


async def test_a_bundle_is_run_as_its_manifest_says(
    unpacked: Path, clean: Path, wheels: Path, films_on_stdio: list[str]
):
    manifest = json.loads((unpacked / "manifest.json").read_text("utf-8"))
    assert (manifest["name"], manifest["display_name"]) == ("films-2024", "films/2024 ü")
    assert manifest["description"] == "Films and people"
    launch = manifest["server"]["mcp_config"]
    assert launch["command"] == "uv"
    # A cache of its own: what the wheels contain changes, and their versions do not.
    uv = {
        "UV_FIND_LINKS": str(wheels),
        "UV_CACHE_DIR": str(clean / "cache"),
        "UV_SYSTEM_CERTS": "1",
    }
    kept = {k: v for k, v in os.environ.items() if k.startswith(("UV_", "SSL_", "HTTP", "PATH"))}
    server = StdioServerParameters(
        command=str(Path(sys.executable).with_name("uv")),
        args=[one.replace("${__dirname}", str(unpacked)) for one in launch["args"]],
        env={**kept, "HOME": str(clean), **uv, **launch["env"]},
    )
    command, *arguments = [*films_on_stdio, "--answer-format", "lines"]
    async with Client(server, read_timeout_seconds=300) as client:
        found = await directors(client)
        tools = (await client.list_tools()).tools
    async with Client(StdioServerParameters(command=command, args=arguments)) as client:
        assert found == await directors(client)
    assert [one["name"] for one in manifest["tools"]] == [one.name for one in tools]


async def test_install_on_a_clean_home_gives_a_server_and_a_skill_that_it_answers(
    programs: Path, graph: Path, clean: Path
):
    output(programs / "bfsql", "install", "cursor", graph)
    entry = json.loads((clean / ".cursor/mcp.json").read_text("utf-8"))["mcpServers"]["films"]
    page = (clean / ".cursor/skills/ask-films/SKILL.md").read_text("utf-8")
    calls = re.findall(r"`bfs_query` `(.*)`$", page, re.MULTILINE)
    assert len(calls) == 6
    server = StdioServerParameters(command=entry["command"], args=entry["args"])
    async with Client(server) as client:
        for call in calls:
            answer = await client.call_tool("bfs_query", json.loads(call))
            assert not answer.is_error
        own = (await client.read_resource("skill://ask-this-graph/SKILL.md")).contents[0].text
    assert own.replace("ask-this-graph", "ask-films", 1) == page
    removed = output(programs / "bfsql", "install", "cursor", graph, "--remove")
    assert "SKILL.md is gone" in removed
    assert not (clean / ".cursor/skills/ask-films").exists()


def test_the_entry_for_the_registry_is_that_of_this_version():
    entry = json.loads((ROOT / "server.json").read_text("utf-8"))
    project = tomllib.loads((ROOT / "packages/bfsql-core/pyproject.toml").read_text("utf-8"))[
        "project"
    ]
    [package] = entry["packages"]
    assert entry["version"] == package["version"] == project["version"]
    assert package["identifier"] == project["name"]
    assert f"mcp-name: {entry['name']}" in (ROOT / "packages/bfsql-core/README.md").read_text(
        "utf-8"
    )
    assert len(entry["description"]) <= 100
