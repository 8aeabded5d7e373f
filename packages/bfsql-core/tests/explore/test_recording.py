"""The recording of tool calls, and the reading of recorded calls."""

import asyncio
import json
import logging
import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from bfsql.answers import encode
from bfsql.call import Caller, Limits
from bfsql.errors import ConfigurationError, ToolError
from bfsql.explore import replay
from bfsql.explore.record import Recorder
from bfsql.graph import Graph, open_graph
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, NodeRecord
from bfsql.settings import ServeSettings

RECORDS = [
    NodeRecord("film:1", "Film", {"name": "Alien"}),
    NodeRecord("person:1", "Person", {"name": "Sigourney Weaver \u202e"}),
    EdgeRecord("person:1", "ACTED_IN", "film:1"),
]
FIELDS = {
    *("time", "request_id", "session", "client", "tool", "arguments", "answer", "content"),
    *("graph", "error", "ms", "tokens"),
}


async def calls_recorded_in(file, *calls, answer_format="json"):
    """Make calls on a recorded graph, and return the recorded lines."""
    limits = Limits(answer_format=answer_format)
    backend, observers = MemoryBackend(RECORDS), [Recorder(file)]
    async with open_graph(backend, limits=limits, observers=observers) as graph:
        for tool, arguments in calls:
            await called(graph, tool, arguments)
    return lines_of(file)


def lines_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


async def called(graph: Graph, tool: str, arguments: Any) -> str:
    """The text that the client receives."""
    caller = Caller(client="test", session="s-1")
    try:
        return (await graph.call(tool, arguments, caller=caller, request_id="r-1")).text
    except ToolError as error:
        return str(error)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "calls.jsonl"


async def test_a_line_has_the_call_and_the_answer_as_it_was_sent(file):
    [line] = await calls_recorded_in(file, ("bfs_query", {"seeds": "Alien", "max_hops": 1}))
    async with open_graph(MemoryBackend(RECORDS)) as graph:
        answer = await graph.bfs_query("Alien", 1)
    assert set(line) == FIELDS
    assert line["answer"] == answer.text
    assert line["tool"] == "bfs_query"
    assert line["arguments"] == {"seeds": "Alien", "max_hops": 1}
    assert (line["request_id"], line["session"], line["client"]) == ("r-1", "s-1", "test")
    assert line["error"] is None
    assert line["tokens"] > 0
    assert line["ms"] > 0


async def test_the_content_of_an_answer_in_lines_is_recorded_beside_its_text(file, tmp_path):
    calls: list[tuple[str, Any]] = [
        ("bfs_query", {"seeds": "Alien", "max_hops": 1}),
        ("search_entities", {"query": "zzz"}),
        ("describe_entity", {"id": "film:1"}),
        ("describe_entity", {"id": "nobody"}),
    ]
    lines = await calls_recorded_in(file, *calls, answer_format="lines")
    in_json = await calls_recorded_in(tmp_path / "json.jsonl", *calls)
    assert lines[0]["answer"].startswith("from film:1 (Film)\n")
    assert lines[0]["content"] == json.loads(in_json[0]["answer"])
    [note] = lines[1]["content"]["notes"]
    assert lines[1]["content"]["result"] == []
    assert in_json[1]["answer"] == f"[]\n{note}"
    assert lines[2]["content"] == json.loads(in_json[2]["answer"])
    assert lines[3]["content"] is None
    assert [line["content"] for line in in_json] == [None] * 4  # it is the answer itself
    assert replay.read(file)["calls"] == lines


async def test_notes_beside_a_list_are_recorded(file):
    [line] = await calls_recorded_in(file, ("search_entities", {"query": "zzz"}))
    assert line["answer"].startswith("[]\nNothing matches")


@pytest.mark.parametrize(
    ("tool", "arguments", "kind"),
    [
        ("describe_entity", {"id": "nobody"}, "unknown_entity"),
        ("bfs_query", {"seed": "x"}, "unknown_argument"),
        ("drop_graph", {}, "unknown_tool"),
        ("describe_entity", ["no object"], "bad_value"),
        ("describe_entity", {"id": "\ud800", "more": float("nan")}, "unknown_argument"),
    ],
)
async def test_errors_are_recorded_with_their_sentence(file, tool, arguments, kind):
    [line] = await calls_recorded_in(file, (tool, arguments))
    assert line["error"] == kind
    assert line["tokens"] >= len(line["answer"]) / 3 > 0
    assert replay.read(file)["calls"] == [line]


async def test_calls_without_a_session_are_distinguished_by_run_and_caller(file, monkeypatch):
    for run in ("1", "2"):  # which the workers of a server have in common
        monkeypatch.setattr("bfsql.explore.record._RUN", run)
        async with open_graph(MemoryBackend(RECORDS), observers=[Recorder(file)]) as graph:
            for subject in ("ada", "bob", "ada"):
                await graph.call("describe_schema", caller=Caller(subject=subject))
    sessions = [call["session"] for call in replay.read(file)["calls"]]
    assert sessions[0] == sessions[2] != sessions[1]
    assert len(set(sessions)) == 4


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other rights")
def test_the_file_is_for_its_owner_alone(file):
    before = os.umask(0)
    try:
        Recorder(file)
    finally:
        os.umask(before)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("missing/calls.jsonl", "No such file or directory. Name a file"),
        (".", "Is a directory"),
        ("a\0b", "embedded null"),
        ("films.db", "holds something other than recorded calls"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="Windows words it otherwise")
def test_a_file_that_cannot_be_written_is_refused(tmp_path, name, says):
    (tmp_path / "films.db").write_bytes(b"SQLite format 3\0")
    with pytest.raises(ConfigurationError, match=says):
        Recorder(tmp_path / name)
    assert (tmp_path / "films.db").read_bytes() == b"SQLite format 3\0"


@pytest.fixture
def cut_off(file: Path) -> Path:
    """A file whose last line is incomplete."""
    file.write_text('{"tool":"bfs_query","argum', encoding="utf-8")
    return file


async def test_a_line_that_was_cut_off_is_not_continued(cut_off):
    async with open_graph(MemoryBackend(RECORDS), observers=[Recorder(cut_off)]) as graph:
        await called(graph, "describe_schema", {})
    found = replay.read(cut_off)
    assert [call["tool"] for call in found["calls"]] == ["describe_schema"]
    assert found["broken_lines"] == 1


@pytest.mark.skipif(sys.platform == "win32", reason="Windows renames no open file")
def test_after_a_rotation_calls_go_into_the_new_file(file):
    recorder, first, second = Recorder(file), file.with_suffix(".1"), file.with_suffix(".2")

    async def record(tool: str, arguments: Any) -> None:
        async with open_graph(MemoryBackend(RECORDS), observers=[recorder]) as graph:
            await called(graph, tool, arguments)

    asyncio.run(record("describe_schema", {}))
    file.rename(first)
    recorder.reopen()
    asyncio.run(record("describe_entity", {"id": "film:1"}))
    file.rename(second)
    file.mkdir()
    with pytest.raises(ConfigurationError, match="Is a directory"):
        recorder.reopen()
    asyncio.run(record("search_entities", {"query": "Alien"}))
    assert [line["tool"] for line in lines_of(first)] == ["describe_schema"]
    assert [line["tool"] for line in lines_of(second)] == ["describe_entity", "search_entities"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux alone has a full device")
async def test_calls_go_on_while_the_disk_is_full(caplog):
    full = Recorder(Path("/dev/full"))
    with caplog.at_level(logging.ERROR):
        async with open_graph(MemoryBackend(RECORDS), observers=[full]) as graph:
            texts = [await called(graph, "describe_schema", {}) for _ in range(3)]
    assert all("Film" in text for text in texts)
    [said] = caplog.messages
    assert "cannot be recorded in /dev/full, 1 so far: No space left on device" in said


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such pipes")
async def test_a_pipe_that_nobody_reads_holds_up_no_call(tmp_path, caplog):
    os.mkfifo(tmp_path / "pipe")
    recorder = Recorder(tmp_path / "pipe")
    async with open_graph(MemoryBackend(RECORDS), observers=[recorder]) as graph:
        async with asyncio.timeout(60):
            for _ in range(200):  # more than a pipe's buffer holds
                await called(graph, "describe_schema", {})
    reading = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    first, *_ = os.read(reading, 1_000_000).splitlines()
    os.close(reading)
    assert json.loads(first)["tool"] == "describe_schema"
    [said] = caplog.messages
    assert "cannot be recorded in" in said


# Reading


def call(**fields: Any) -> str:
    return json.dumps({"tool": "bfs_query", "arguments": {}, **fields})


def test_lines_that_are_no_calls_are_counted(file):
    lines = [
        call(answer="1"),
        "hello",
        "[]",
        '{"tool": 1, "arguments": {}}',
        '{"tool": "bfs_query"}',
        '{"tool": "bfs_query", "arguments": {"k": NaN}}',
        "[" * 10_000,
        "",
        "\ufeff",
        call(answer="2", more=True),
        call(answer="3")[:-4],
    ]
    file.write_bytes("\n".join(lines).encode() + b"\n\xff\xfe\n")
    found = replay.read(file)
    assert [one["answer"] for one in found["calls"]] == ["1", "2"]
    assert all(set(one) == FIELDS for one in found["calls"])
    assert found["broken_lines"] == 9


def test_an_empty_file_has_no_calls(file):
    file.touch()
    assert replay.read(file) == {"calls": [], "broken_lines": 0}


def test_fields_of_another_kind_are_unknown(file):
    file.write_text(
        call(answer=1, content=[], ms="2", tokens=True, client=[], error={}), encoding="utf-8"
    )
    [one] = replay.read(file)["calls"]
    assert {name: one[name] for name in FIELDS - {"tool", "arguments"}} == dict.fromkeys(
        FIELDS - {"tool", "arguments"}
    )


def test_lines_of_the_audit_hook_are_calls_without_answers(file):
    line = {
        "time": "2026-01-31T12:00:00.123+00:00",
        "caller": {"client": "c", "subject": "ada", "session": None, "address": "127.0.0.1"},
        "tool": "describe_entity",
        "sizes": {"id": 5},
        "outcome": "unknown_entity",
        "seconds": 0.0015,
        "bytes": 0,
        "rows": {},
        "arguments": {"id": "x"},
    }
    without_values = {name: value for name, value in line.items() if name != "arguments"}
    file.write_text(f"{json.dumps(line)}\n{json.dumps(without_values)}\n", encoding="utf-8")
    found = replay.read(file)
    assert found["broken_lines"] == 1
    [one] = found["calls"]
    assert (one["session"], one["client"], one["error"]) == ("ada", "c", "unknown_entity")
    assert (one["answer"], one["ms"], one["tokens"]) == (None, 1.5, None)


def test_of_many_short_lines_the_last_calls_fit_an_answer(file):
    line = '{"tool":"t","arguments":{}}\n'
    file.write_text(line * 400_000 + call(answer="last") + "\n", encoding="utf-8")
    found = replay.read(file)
    assert len(found["calls"]) == replay.MAX_CALLS
    assert found["calls"][-1]["answer"] == "last"
    assert f"the last {replay.MAX_CALLS:,} calls of " in found["note"]
    assert len(encode(found)) < ServeSettings().max_answer_bytes


def test_of_a_large_file_the_end_is_read(file):
    with file.open("wb") as large:
        large.write(b"{")
        large.seek(1_000_000_000)  # a hole, which takes no disk space
        large.write(b"\n" + call(answer="last").encode() + b"\n")
    found = replay.read(file)
    assert [one["answer"] for one in found["calls"]] == ["last"]
    assert found["note"].startswith("The file has 1,000,000,0")
    assert "the last 8,000,000 are shown" in found["note"]


def test_the_first_line_of_the_end_is_read_if_it_is_whole(file, monkeypatch):
    lines = [call(answer=str(number)) for number in range(3)]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    monkeypatch.setattr(replay, "MAX_BYTES", 2 * len(lines[0]) + 2)
    assert [one["answer"] for one in replay.read(file)["calls"]] == ["1", "2"]
    monkeypatch.setattr(replay, "MAX_BYTES", 2 * len(lines[0]) + 1)
    assert [one["answer"] for one in replay.read(file)["calls"]] == ["2"]
    assert "note" in replay.read(file)


def test_a_file_that_cannot_be_read_is_refused_at_the_start(tmp_path):
    with pytest.raises(ConfigurationError, match=r"calls\.jsonl cannot be read: No such file"):
        replay.route(tmp_path / "calls.jsonl")
