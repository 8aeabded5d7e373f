"""Entries of `bfsql install`: a third-party schema accepts them, and their commands start."""

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from mcp import Client, StdioServerParameters

from bfsql.cli import bfsql
from bfsql.cli.clients import CLIENTS
from bfsql_test_support.commands import output

ORACLE = """
import { MCPConfigRegistry, validateGeneratedConfig } from "@gleanwork/mcp-config-schema";
import { readFileSync } from "node:fs";

const registry = new MCPConfigRegistry();
const results = {};
for (const [client, text] of Object.entries(JSON.parse(readFileSync(0, "utf8")))) {
  const { configFormat, configPath, configStructure } = registry.getConfig(client);
  const is_json = configFormat === "json";
  const checked = is_json ? validateGeneratedConfig(JSON.parse(text), client) : null;
  results[client] = { configFormat, configPath, configStructure, checked };
}
console.log(JSON.stringify(results));
"""

NAMES = {"gemini-cli": "gemini"}
"""The oracle's names of clients, where they differ from ours."""

UNKNOWN = {"zed", "lm-studio", "cline"}
"""Clients that the oracle does not know."""


def install(home: Path, client: str, *options: str) -> None:
    moved = dict.fromkeys(("XDG_CONFIG_HOME", "CODEX_HOME", "CLINE_DIR"))
    env = {"HOME": str(home), "PATH": str(home), **moved}
    done = CliRunner().invoke(bfsql, ["install", client, *options], env=env)
    assert done.exit_code == 0, done.output


def text_of(home: Path, client: str) -> str:
    return CLIENTS[client].path(home, {}).read_text(encoding="utf-8")


def test_the_oracle_takes_every_entry(tmp_path: Path, films_db: Path, node_programs: Any) -> None:
    known = {NAMES.get(name, name): CLIENTS[name] for name in CLIENTS if name not in UNKNOWN}
    texts = {}
    for name, client in known.items():
        install(tmp_path, client.name, "--path", str(films_db))
        texts[name] = text_of(tmp_path, client.name)
    script = node_programs.modules / "oracle.mjs"
    script.write_text(ORACLE, encoding="utf-8")
    found = json.loads(output(node_programs.node, script, stdin=None, input=json.dumps(texts)))
    for name, client in known.items():
        oracle = found[name]
        structure = oracle["configStructure"]
        assert structure["serversPropertyName"] == client.key
        if remote := structure.get("httpPropertyMapping"):
            assert remote["urlProperty"] == client.url
        assert oracle["checked"] is None or oracle["checked"]["success"], oracle["checked"]
        places = {
            place.replace("$HOME", str(tmp_path)).replace("\\", "/")
            for system, place in oracle["configPath"].items()
            if system == "linux"
        }
        if name != "antigravity":  # it has moved its file since
            assert places == {CLIENTS[client.name].path(tmp_path, {}).as_posix()}


async def test_the_command_of_an_entry_starts_a_server(tmp_path: Path, films_db: Path) -> None:
    in_json, in_toml = (command_of(name, tmp_path, films_db) for name in ("cursor", "codex"))
    assert in_json == in_toml
    command, *arguments = in_json
    server = StdioServerParameters(command=command, args=arguments, cwd="/")
    async with Client(server) as client:
        answer = await client.call_tool("search_entities", {"query": "Tom Hanks"})
    assert "Person:TomHanks" in answer.content[0].text


def command_of(name: str, home: Path, graph: Path) -> list[str]:
    """The command of a client's entry for a graph."""
    install(home, name, "--path", str(graph), "--no-skill")  # which needs an event loop of its own
    entry = CLIENTS[name].servers(text_of(home, name))[graph.stem]
    return [entry["command"], *entry["args"]]
