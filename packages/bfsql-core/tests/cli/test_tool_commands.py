"""The six tools as commands: exact output, error messages, and their display in a terminal."""

import json
import re
from pathlib import Path

import pytest

from bfsql.cli.command import explained
from bfsql.errors import StoreError, ToolError
from bfsql.memory import MemoryBackend
from bfsql.tools.parameters import PARAMETERS
from bfsql_test_support.case_table import case_table
from bfsql_test_support.compact_parser import left_out, read


def test_the_first_argument_stands_alone_or_by_its_name(loaded):
    by_place = loaded("intersect-subgraphs", "p:1", "p:2", "--k", "1")
    by_name = loaded("intersect-subgraphs", "--seeds", "p:1", "--seeds", "p:2", "--k", "1")
    assert [node["id"] for node in json.loads(by_place.stdout)["nodes"]] == ["f:1", "f:2"]
    assert by_place.stdout == by_name.stdout
    assert (
        loaded("search-entities", "meg").stdout == loaded("search-entities", "--query=meg").stdout
    )
    twice = loaded("search-entities", "meg", "--query", "tom")
    assert (twice.exit_code, "given twice" in twice.stderr) == (2, True)


def test_notes_of_a_list_go_to_standard_error(loaded):
    shown = loaded("describe-entities", "p:1", "p:99")
    assert len(json.loads(shown.stdout)) == 1
    assert "p:99" in shown.stderr


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["bfs-query", "p:1", "--max-hops", "2.5"], "max_hops must be"),
        (["bfs-query", "p:1", "--max-hops", "6"], "max_hops must be"),
        (["bfs-query", "--max-hops", "1"], "Missing argument SEEDS. Name, id or pattern: "),
        (["bfs-query", "p:1", "--step", "[x"], "On the command line, path is --step."),
        (["bfs-query", "p:1", "--show", "all"], "Give path as well, or leave show out. On the"),
        (["search-entities"], "Missing argument QUERY. "),
        (["describe-entity", "p:99"], "search_entities"),
        (["bfs-query", "p:1", "--max-hops", "1", "--limit", "-1"], "limit"),
    ],
)
def test_the_tools_own_sentence_comes_with_exit_code_2(args, words, loaded):
    wrong = loaded(*args)
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert words in wrong.stderr
    assert "Traceback" not in wrong.stderr


def test_a_fault_of_the_store_or_of_the_program_tells_its_cause(loaded, monkeypatch):
    async def broken(*_: object) -> None:
        raise StoreError("The file toy.json is full of holes.")

    monkeypatch.setattr(MemoryBackend, "edges_batch", broken)
    failed = loaded("bfs-query", "p:1", "--max-hops", "1")
    assert (failed.exit_code, failed.stdout) == (2, "")
    assert failed.stderr == "The file toy.json is full of holes.\n"

    async def away(*_: object) -> None:
        driver = OSError("connection refused by ('10.0.0.1', 1)")
        raise StoreError("The store does not answer. Start it.") from driver

    monkeypatch.setattr(MemoryBackend, "edges_batch", away)
    sentence, cause = (
        "The store does not answer. Start it.\n",
        "The cause is OSError: connection ref",
    )
    assert loaded("bfs-query", "p:1").stderr == sentence
    for verbose in (("-v", "bfs-query", "p:1"), ("bfs-query", "p:1", "--verbose")):
        assert loaded(*verbose).stderr.startswith(sentence + cause)

    async def faulty(*_: object) -> None:
        raise RuntimeError("odd")

    monkeypatch.setattr(MemoryBackend, "edges_batch", faulty)
    failed = loaded("bfs-query", "p:1", "--max-hops", "1")
    assert failed.exit_code == 1
    assert "The cause is RuntimeError: odd" in failed.stderr


def test_failures_inside_a_task_group_are_found():
    group = ExceptionGroup("tasks", [ExceptionGroup("more", [ToolError("late", kind="deadline")])])
    assert explained(group) == ("late", 1)
    with pytest.raises(ZeroDivisionError):
        explained(ExceptionGroup("tasks", [ZeroDivisionError()]))


def test_an_answer_may_come_in_lines(loaded):
    call = ("bfs-query", "p:1", "--max-hops", "1")
    lines = loaded(*call, "--answer-format", "lines").stdout
    assert read(lines.rstrip("\n")) == left_out(json.loads(loaded(*call).stdout))
    assert loaded(*call, "--answer-format", "lines", "--json").stdout == loaded(*call).stdout


def test_help_has_nothing_that_was_written_for_a_model(run):
    for tool, parameters in PARAMETERS.items():
        text = " ".join(run(tool.replace("_", "-"), "--help-all").output.split())
        assert all(p.help for p in parameters if p.is_listed)
        assert all(" ".join(p.help.split()) in text for p in parameters if p.is_listed)
        assert not re.search(r"\b(DETAIL|REMOVE|ONLY|stubs?|seeds'|max_hops|node_types)\b", text)


@case_table(
    ("claims", "code", "lines"),
    [
        ("p:1 -ACTED_IN-> f:1", 0, ["1: stored: p:1 -ACTED_IN-> f:1", "p:1 -ACTED_IN-> f:1"]),
        ("So\n[[p:9 --> f:1]].", 1, ["2: not stored: p:9 --> f:1"]),
        ("f:1 <-- p:9\nHe did. \x1b[2J", 2, ["1: not stored: f:1 <-- p:9"]),
        ("", 2, []),
        ("\x89PNG", 2, []),
    ],
)
def test_verify_prints_a_verdict_on_each_claim(claims, code, lines, loaded):
    Path("claims.md").write_bytes(claims.encode("latin-1"))
    shown = loaded("verify", "--path", "toy.json", "claims.md")
    data = loaded("verify", "--json", "--path", "toy.json", "claims.md")
    assert shown.exit_code == data.exit_code == code
    assert [line.strip() for line in shown.stdout.splitlines()][: len(lines)] == lines
    assert bool(shown.stderr) == (not lines)
    assert "\x1b" not in shown.stdout
    numbers = [int(line.split(":")[0]) for line in shown.stdout.splitlines() if line[0] != " "]
    assert [one["line"] for one in json.loads(data.stdout or "[]")] == numbers
