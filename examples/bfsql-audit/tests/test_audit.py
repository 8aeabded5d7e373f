"""The lines that real calls write, over a graph in memory."""

import json
import logging
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from bfsql_audit import Audit
from bfsql_audit.command import audit
from bfsql_audit.settings import Settings
from click.testing import CliRunner

import bfsql
from bfsql.call import Caller
from bfsql.models import EdgeRecord, GraphRecord, NodeRecord

GRAPH: list[GraphRecord] = [
    NodeRecord("film:1", "Film", {"name": "Metropolis"}),
    NodeRecord("person:1", "Person", {"name": "Brigitte Helm"}),
    EdgeRecord("person:1", "ACTED_IN", "film:1"),
]
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("bfs_query", {"seeds": ["film:1"], "max_hops": 1}),
    ("search_entities", {"query": "Metropolis"}),
    ("describe_entity", {"id": "film:2"}),
    ("bfs_query", {"secret": "xyzzy"}),
    ("xyzzy", {}),
]


async def calls(settings: Settings) -> None:
    async with bfsql.open_graph(bfsql.MemoryBackend(GRAPH), hooks=[Audit(settings)]) as graph:
        for tool, arguments in CALLS:
            with suppress(bfsql.ToolError):
                await graph.call(tool, arguments, caller=Caller("a client"))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_every_call_is_a_line_with_its_outcome_and_without_values(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    await calls(Settings(file))
    lines = [json.loads(line) for line in file.read_text("ascii").splitlines()]
    outcomes = ["ok", "ok", "unknown_entity", "unknown_argument", "unknown_tool"]
    assert [line["outcome"] for line in lines] == outcomes
    first = lines[0]
    assert first["caller"]["client"] == "a client"
    assert first["caller"].keys() == {"client", "subject", "session", "address", "role"}
    assert first["rows"] == {"nodes": 2, "edges": 1}
    assert first["sizes"]["seeds"] == len('["film:1"]')
    assert first["bytes"] > 0 <= first["seconds"]
    assert not {"Metropolis", "film:", "xyzzy", "secret"} & set(file.read_text("ascii").split('"'))
    assert set(first) == set(json.loads((Path(__file__).parents[1] / "example.json").read_text()))


async def test_values_are_written_where_they_are_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    await calls(Settings(file, values=True))
    assert json.loads(file.read_text("ascii").splitlines()[1])["arguments"]["query"] == "Metropolis"


async def test_a_full_file_is_put_aside_and_the_oldest_goes(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    await calls(Settings(file, size=1, keep=2))
    assert names(tmp_path) == ["audit.jsonl", "audit.jsonl.1", "audit.jsonl.2"]


async def test_a_file_that_cannot_be_written_is_reported_and_breaks_no_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings(tmp_path / "nowhere" / "audit.jsonl")
    async with bfsql.open_graph(bfsql.MemoryBackend(GRAPH), hooks=[Audit(settings)]) as graph:
        with caplog.at_level(logging.ERROR):
            assert "Metropolis" in (await graph.describe_entity("film:1")).text
    assert "The hook watch_call of the plugin Audit failed: FileNotFoundError" in caplog.text


def test_nothing_is_set_in_an_empty_environment_and_everything_can_be() -> None:
    assert Settings.read({}) == Settings()
    assert Settings.read(
        {
            "BFSQL_AUDIT_FILE": "a",
            "BFSQL_AUDIT_VALUES": "1",
            "BFSQL_AUDIT_BYTES": "9",
            "BFSQL_AUDIT_KEEP": "1",
        }
    ) == Settings(Path("a"), values=True, size=9, keep=1)


async def test_the_command_sums_up_and_shows_the_last(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    await calls(Settings(file))
    told = CliRunner().invoke(audit, [str(file)]).stdout.splitlines()
    assert told[0].split() == ["tool", "calls", "failed", "seconds", "bytes"]
    assert told[2].split()[:3] == ["bfs_query", "1", "0"]
    last = CliRunner().invoke(audit, [str(file), "--last", "1"]).stdout.splitlines()
    assert last == file.read_text("ascii").splitlines()[-1:]
    missing = CliRunner().invoke(audit, [str(tmp_path / "none")])
    assert (missing.exit_code, "no audit file" in missing.stderr) == (2, True)
