"""The six tools as commands: exact output, error messages, and their display in a terminal."""

import asyncio
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from rich.console import Console

import bfsql
from bfsql.answers import Answer
from bfsql.cli.command import escape, explained
from bfsql.cli.render import show
from bfsql.errors import StoreError, ToolError
from bfsql.memory import MemoryBackend
from bfsql_test_support.compact_parser import read

Run = Callable[..., Result]


def test_piped_output_is_the_bytes_of_the_tool(loaded: Run, folder: Path) -> None:
    shown = loaded("bfs-query", "p:1", "--max-hops", "2", "--node-types", "Film")

    async def asked() -> Answer:
        async with bfsql.open_graph("toy", path="toy.json") as graph:
            return await graph.bfs_query(seeds=["p:1"], max_hops=2, node_types=["Film"])

    answer = asyncio.run(asked())
    assert shown.stdout_bytes == answer.text.encode() + b"\n"
    assert shown.stderr == ""


def test_the_first_argument_stands_alone_or_by_its_name(loaded: Run) -> None:
    by_place = loaded("intersect-subgraphs", "p:1", "p:2", "--k", "1")
    by_name = loaded("intersect-subgraphs", "--seeds", "p:1", "--seeds", "p:2", "--k", "1")
    assert [node["id"] for node in json.loads(by_place.stdout)["nodes"]] == ["f:1", "f:2"]
    assert by_place.stdout == by_name.stdout
    assert (
        loaded("search-entities", "meg").stdout == loaded("search-entities", "--query=meg").stdout
    )
    twice = loaded("search-entities", "meg", "--query", "tom")
    assert (twice.exit_code, "given twice" in twice.stderr) == (2, True)


def test_every_tool_answers(loaded: Run) -> None:
    assert json.loads(loaded("describe-schema").stdout)["entity_types"] == ["Film", "Person"]
    assert json.loads(loaded("describe-entity", "p:1").stdout)["name"] == "Tom Hanks"
    assert len(json.loads(loaded("describe-entities", "p:1", "p:2", "--json").stdout)) == 2
    topology = json.loads(loaded("bfs-query", "p:1", "--max-hops=1", "--topology-only").stdout)
    assert topology["nodes"][0] == {"id": "p:1", "entity_type": "Person"}


def test_notes_of_a_list_go_to_standard_error(loaded: Run) -> None:
    shown = loaded("describe-entities", "p:1", "p:99")
    assert len(json.loads(shown.stdout)) == 1
    assert "p:99" in shown.stderr


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["bfs-query", "p:1", "--max-hops", "2.5"], "--max-hops must be"),
        (["bfs-query", "p:1", "--max-hops", "6"], "--max-hops must be"),
        (["bfs-query", "--max-hops", "1"], "seeds"),
        (["search-entities"], "query"),
        (["describe-entity", "p:99"], "`bfsql search-entities`"),
        (["bfs-query", "p:1", "--max-hops", "1", "--limit", "-1"], "limit"),
    ],
)
def test_the_tools_own_sentence_comes_with_exit_code_2(
    args: list[str], words: str, loaded: Run
) -> None:
    wrong = loaded(*args)
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert words in wrong.stderr
    assert "Traceback" not in wrong.stderr


def test_a_fault_of_the_store_or_of_the_program_tells_its_cause(
    loaded: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> None:
        raise StoreError("The file toy.json is full of holes.")

    monkeypatch.setattr(MemoryBackend, "edges_batch", broken)
    failed = loaded("bfs-query", "p:1", "--max-hops", "1")
    assert (failed.exit_code, failed.stdout) == (2, "")
    assert "The store says: The file toy.json is full of holes." in failed.stderr
    assert "Traceback" not in failed.stderr

    async def faulty(*_: object) -> None:
        raise RuntimeError("odd")

    monkeypatch.setattr(MemoryBackend, "edges_batch", faulty)
    failed = loaded("bfs-query", "p:1", "--max-hops", "1")
    assert failed.exit_code == 1
    assert "The cause is RuntimeError: odd" in failed.stderr


def test_failures_inside_a_task_group_are_found() -> None:
    group = ExceptionGroup("tasks", [ExceptionGroup("more", [ToolError("late", kind="deadline")])])
    assert explained(group) == ("late", 1)
    with pytest.raises(ZeroDivisionError):
        explained(ExceptionGroup("tasks", [ZeroDivisionError()]))


# --- display ------------------------------------------------------------------


def _picture(
    tool: str, content: dict, notes: tuple[str, ...] = (), *, colours: bool = False
) -> str:
    out = io.StringIO()
    console = Console(file=out, width=100, force_terminal=colours, highlight=False)
    show(tool, Answer(json.dumps(content), content, notes), console=console)
    return out.getvalue()


def _subgraph(**changes: object) -> dict:
    return {
        "seeds": ["p:1"],
        "node_count": 2,
        "edge_count": 2,
        "nodes": [
            {"id": "p:1", "entity_type": "Person", "metadata": {"name": "Tom [red]Hanks[/red]"}},
            {"id": "f:1", "entity_type": "Film"},
        ],
        "edges": [
            {"subject": "p:1", "predicate": "ACTED_IN", "object": "f:1"},
            {"subject": "p:1", "predicate": "LIKED", "object": "f:1"},
        ],
    } | changes


def test_a_subgraph_is_a_table_of_nodes_and_a_tree_of_edges() -> None:
    shown = _picture("bfs_query", _subgraph(), ("Cut: 5 nodes.",))
    assert "entity_type" in shown
    assert shown.count("Tom [red]Hanks[/red] p:1\n") == 1  # a single branch for both edges
    assert "-ACTED_IN-> f:1" in shown
    assert "2 nodes, 2 edges" in shown
    assert "Cut: 5 nodes." in shown


def test_walks_are_a_table_with_a_column_for_each_node() -> None:
    walks = [
        {"nodes": ["p:1", "f:1"], "edges": [">ACTED_IN"]},
        {"nodes": ["p:1", "f:1", "p:1"], "edges": ["LIKED", "<LIKED"]},
    ]
    shown = _picture("bfs_query", _subgraph(walks=walks, edges=[]))
    rows = [re.split(r"\s{2,}", line.strip()) for line in shown.splitlines()]
    assert ["0", "1", "2"] in rows
    name = "Tom [red]Hanks[/red]"
    assert [name, ">ACTED_IN f:1"] in rows
    assert [name, "LIKED f:1", f"<LIKED {name}"] in rows
    bare = _picture("bfs_query", _subgraph(walks=[{"nodes": ["p:1", "f:1"]}], edges=[]))
    assert re.search(r"Hanks\[/red\] +f:1", bare)


def test_a_tree_begins_at_the_seed_and_follows_both_directions() -> None:
    nodes = [
        {"id": i, "entity_type": "T", "metadata": {"name": i.upper(), "year": 7}} for i in "abc"
    ]
    nodes.append({"id": "lonely", "entity_type": "T"})
    edges = [
        {"subject": "b", "predicate": "p", "object": "a"},
        {"subject": "b", "predicate": "q", "object": "c"},
        {"subject": "c", "predicate": "r", "object": "c"},
    ]
    found = _subgraph(seeds=["a"], nodes=nodes, edges=edges)
    out = io.StringIO()
    console = Console(file=out, width=100, highlight=False)
    show("bfs_query", Answer("", found, ()), ["year", "name"], console)
    tree = out.getvalue().partition("\nA a")[2].splitlines()
    assert tree[:4] == [
        " (year: 7)",
        "└── <-p- B b (year: 7)",
        "    └── -q-> C c (year: 7)",
        "        └── -r-> C c (year: 7)",
    ]
    assert "year" in out.getvalue().splitlines()[1]


def test_a_traversal_goes_one_hop_where_nothing_else_is_asked(loaded: Run) -> None:
    near, one = loaded("bfs-query", "p:1"), loaded("bfs-query", "p:1", "--max-hops", "1")
    assert near.exit_code == 0
    assert near.stdout == one.stdout


def test_notes_are_yellow() -> None:
    assert "\x1b[33mCut: 5 nodes." in _picture(
        "bfs_query", _subgraph(), ("Cut: 5 nodes.",), colours=True
    )


def test_text_of_a_graph_is_neither_markup_nor_a_command_to_the_terminal() -> None:
    assert "Tom [red]Hanks[/red]" in _picture("bfs_query", _subgraph())
    evil = [{"id": "x\x1b]0;owned\x07", "entity_type": "T\u202e", "name": "[bold]:smile:"}]
    shown = _picture("search_entities", {"result": evil}, ("\x1b[2J",))
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "\u202e" not in shown
    assert "x\\u001b]0;owned\\u0007" in shown
    assert "[bold]:smile:" in shown


def test_visible_keeps_tabs_newlines_and_every_script() -> None:
    assert escape("a\tb\nc é 漢 \r") == "a\tb\nc é 漢 \\u000d"


@pytest.mark.parametrize(
    ("tool", "content", "words"),
    [
        (
            "describe_schema",
            {"entity_types": ["Film", "Person"], "comprehensive": True},
            "Film, Per",
        ),
        ("search_entities", {"result": [{"id": "a", "name": "N", "score": 0.5}]}, "score"),
        ("describe_entities", {"result": [{"id": "a", "born": 1956}]}, "1956"),
        (
            "describe_entity",
            {
                "id": "a",
                "more": {"x": 1},
                "provenance": {"total": 1, "items": [{"subject": "s", "text_span": "so it is"}]},
            },
            "so it is",
        ),
    ],
)
def test_every_other_answer_is_a_table(tool: str, content: dict, words: str) -> None:
    assert words in _picture(tool, content)


def test_the_steps_of_a_path_are_options_of_their_own(loaded: Run) -> None:
    steps = ("--step", "-->", "--step", "<-- Person", "--show", "ends")
    shown = json.loads(loaded("bfs-query", "p:1", *steps).stdout)
    assert {node["id"] for node in shown["nodes"]} >= {"p:2"}
    assert shown["max_hops"] == 2


def test_relations_in_any_order_and_walks_are_options(loaded: Run) -> None:
    shown = json.loads(loaded("bfs-query", "p:1", "--along", "--> Film").stdout)
    assert (shown["along"], shown["max_hops"]) == (["--> Film"], 20)
    walk = ("bfs-query", "p:1", "--step", "--> Film", "--show", "walks")
    assert json.loads(loaded(*walk).stdout)["walks"][0]["nodes"] == ["p:1", "f:1"]


def test_what_an_answer_keeps_and_shows_and_how_it_is_sorted_are_options(loaded: Run) -> None:
    walk = ("bfs-query", "p:1", "--step", "--> Film", "--show", "ends", "--fields", "name")
    found = json.loads(loaded(*walk, "--sort-by", "-name", "--where", "name~e").stdout)
    assert [node["metadata"]["name"] for node in found["nodes"]] == [
        "You've Got Mail",
        "Sleepless in Seattle",
    ]
    kept = json.loads(loaded(*walk, "--where", "name~sea", "--where", "name~leep").stdout)
    assert [node["id"] for node in kept["nodes"]] == ["f:1"]
    ways = json.loads(loaded("bfs-query", "p:1", "--to", "p:2").stdout)
    assert {node["id"] for node in ways["nodes"]} >= {"p:1", "p:2"}
    shared = loaded("intersect-subgraphs", "p:1", "p:2", "--connect", "--topology-only")
    assert json.loads(shared.stdout)["common_count"]


def test_an_answer_may_come_in_lines(loaded: Run) -> None:
    call = ("bfs-query", "p:1", "--max-hops", "1")
    lines = loaded(*call, "--answer-format", "lines").stdout
    assert read(lines.rstrip("\n")) == json.loads(loaded(*call).stdout)
    assert loaded(*call, "--answer-format", "lines", "--json").stdout == loaded(*call).stdout


def test_help_names_only_options_that_the_command_has(run: Run) -> None:
    """The texts are those that models read, where `path` and `connect` are arguments."""
    walk, shared = (
        " ".join(run(command, "--help").output.partition("Options of the backend")[0].split())
        for command in ("bfs-query", "intersect-subgraphs")
    )
    assert "Leave it out with --step and for patterns alone." in walk
    assert "except with --step and --to:" in walk
    assert "except with --connect:" in shared
    assert "To follow only some: `bfsql bfs-query --step`." in shared
    for text in (walk, shared):
        assert not re.search(r"\bpath\b|(?<!-)\bconnect\b|max_hops|\[.name", text)
    assert "--connect" not in walk
