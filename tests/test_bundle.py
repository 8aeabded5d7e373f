"""A bundle is what MCPB's own program takes, and runs as its manifest says; so does a skill."""

import json
import os
import re
import sys
import tomllib
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from bfsql_test_support.commands import output

ROOT = Path(__file__).parent.parent
MCPB = "@anthropic-ai/mcpb/dist/cli/cli.js"
DIRECTORS = {"seeds": ["Tom Hanks"], "path": ["-ACTED_IN->", "<-DIRECTED-"], "show": "ends"}


@pytest.fixture
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with nothing in it; bundles are made beside it."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(tmp_path)
    return home


@pytest.fixture
def unpacked(programs: Path, films_db: Path, clean: Path, node_programs) -> Path:
    """A folder with what is in the bundle, unpacked by MCPB's program, which finds it valid."""
    options = ["--name", "films/2024 ü", "--graph-description", "Films\nand people"]
    assert output(programs / "bfsql", "bundle", films_db, *options).startswith(
        "films-2024.mcpb has"
    )
    folder = clean / "bundle"
    node_programs.run(MCPB, "unpack", str(clean.parent / "films-2024.mcpb"), str(folder))
    valid = node_programs.run(MCPB, "validate", str(folder / "manifest.json"))
    assert "schema validation passes" in valid.stdout, valid.stdout
    assert (folder / "graph.db").read_bytes() == films_db.read_bytes()
    assert not (folder / "graph.db").stat().st_mode & 0o222
    return folder


async def test_a_bundle_is_run_as_its_manifest_says(
    unpacked: Path, clean: Path, wheels: Path, films_on_stdio: list[str]
):
    manifest = json.loads((unpacked / "manifest.json").read_text("utf-8"))
    texts = [manifest[key] for key in ("name", "display_name", "description")]
    assert texts == ["films-2024", "films/2024 ü", "Films and people"]
    launch = manifest["server"]["mcp_config"]
    assert launch["command"] == "uv"
    # A cache of its own: what the wheels contain changes, and their versions do not.
    uv = {
        "UV_FIND_LINKS": str(wheels),
        "UV_CACHE_DIR": str(clean / "cache"),
        "UV_SYSTEM_CERTS": "1",
    }
    kept = {k: v for k, v in os.environ.items() if k.startswith(("UV_", "SSL_", "HTTP", "PATH"))}
    for ours in ("UV_PROJECT_ENVIRONMENT", "UV_PYTHON"):  # with them, uv installs into that of nox
        kept.pop(ours, None)
    bundled = StdioServerParameters(
        command=str(Path(sys.executable).with_name("uv")),
        args=[one.replace("${__dirname}", str(unpacked)) for one in launch["args"]],
        env={**kept, "HOME": str(clean), **uv, **launch["env"]},
    )
    command, *arguments = [*films_on_stdio, "--answer-format", "lines"]
    answers = []
    for server in (bundled, StdioServerParameters(command=command, args=arguments)):
        async with Client(server, read_timeout_seconds=300) as client:
            answers.append((await client.call_tool("bfs_query", DIRECTORS)).content[0].text)
            tools = [one.name for one in (await client.list_tools()).tools]
    assert answers[0] == answers[1]
    assert (unpacked / ".venv").is_dir()
    assert "Nora Ephron" in answers[0]
    assert [one["name"] for one in manifest["tools"]] == tools


async def test_install_on_a_clean_home_gives_a_server_and_a_skill_that_it_answers(
    programs: Path, films_db: Path, clean: Path
):
    output(programs / "bfsql", "install", "cursor", films_db)
    entry = json.loads((clean / ".cursor/mcp.json").read_text("utf-8"))["mcpServers"]["films"]
    page = (clean / ".cursor/skills/ask-films/SKILL.md").read_text("utf-8")
    calls = re.findall(r"`bfs_query` `(.*)`$", page, re.MULTILINE)
    server = StdioServerParameters(command=entry["command"], args=entry["args"])
    async with Client(server) as client:
        for call in calls:
            assert not (await client.call_tool("bfs_query", json.loads(call))).is_error
        own = (await client.read_resource("skill://ask-this-graph/SKILL.md")).contents[0].text
    assert (len(calls), own.replace("ask-this-graph", "ask-films", 1)) == (6, page)
    assert "is gone" in output(programs / "bfsql", "install", "cursor", films_db, "--remove")
    assert not (clean / ".cursor/skills/ask-films").exists()


def test_the_entry_for_the_registry_is_that_of_this_version():
    entry, core = (
        json.loads((ROOT / "server.json").read_text("utf-8")),
        ROOT / "packages/bfsql-core",
    )
    project = tomllib.loads((core / "pyproject.toml").read_text("utf-8"))["project"]
    [package] = entry["packages"]
    assert (package["identifier"], package["version"]) == (project["name"], project["version"])
    assert entry["version"] == project["version"]
    assert f"mcp-name: {entry['name']}" in (core / "README.md").read_text("utf-8")
