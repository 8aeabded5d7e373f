"""A graph file as an argument or as the value of `--path`, which determines the backend."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Run = Callable[..., Result]


def args(run: Run, *arguments: str) -> list[str]:
    """The arguments with which `bfsql install` would start the server."""
    shown = run("install", "cursor", *arguments, "--print")
    assert shown.exit_code == 0, shown.output
    [entry] = json.loads(shown.stdout)["mcpServers"].values()
    return list(entry["args"])


@pytest.fixture
def loaded(run: Run, toy_json: Path) -> Run:
    """Like `run`, after loading the two tables into toy.json."""
    toy_json.unlink()
    made = run("load", "nodes.csv", "edges.csv", "--backend", "toy", "--allow-refused")
    assert made.exit_code == 0, made.output
    return run


@pytest.fixture(autouse=True)
def toy_json(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("BFSQL_BACKEND")
    path = folder / "toy.json"
    path.write_text("{}")
    return path


@pytest.mark.parametrize(
    "arguments",
    [
        ("toy.json",),
        ("toy.json", "--deadline", "9"),
        ("--deadline", "9", "toy.json"),
        ("--stateless", "toy.json"),
        ("--no-stateless", "toy.json", "--deadline", "9"),
        ("--deadline=9", "toy.json"),
        ("--backend", "toy", "toy.json"),
        ("--path", "toy.json"),
        ("--path=toy.json",),
    ],
)
def test_the_backend_follows_from_the_file(run, toy_json, arguments):
    found = args(run, *arguments)
    assert found[found.index("--backend") + 1] == "toy"
    assert found[found.index("--path") + 1] == str(toy_json)


def test_a_file_that_is_the_value_of_an_option_is_no_graph(run, folder):
    (folder / "graph.db").touch()
    assert "--backend" not in args(run, "--allowed-hosts", "toy.json")


def test_the_file_counts_before_the_configuration(run, folder):
    (folder / "bfsql.toml").write_text('[backend]\nname = "frozen"\n')
    found = args(run, "toy.json")
    assert found[found.index("--backend") + 1] == "toy"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nothing.nt.csv",), "There is no file nothing.nt.csv. Check the path."),
        (("nodes.csv",), "Load it first: bfsql load nodes.csv --path graph.db"),
        (("toy.json", "nodes.csv"), "unexpected extra argument (nodes.csv)"),
        (("toy.json", "--backend", "frozen"), "The backend frozen cannot serve toy.json directly"),
    ],
)
def test_a_file_that_cannot_be_served(run, arguments, sentence):
    refused = run("serve", *arguments)
    assert refused.exit_code == 2
    assert sentence in refused.output


def test_the_first_argument_of_a_tool_is_a_graph_if_it_is_a_file(loaded, folder):
    by_option = loaded("bfs-query", "--path", "toy.json", "--backend", "toy", "p:1").stdout
    assert json.loads(by_option)["seeds"] == ["p:1"]
    assert loaded("bfs-query", "toy.json", "p:1").stdout == by_option
    assert loaded("bfs-query", "toy.json", "--max-hops", "1", "p:1").stdout == by_option
    assert loaded("bfs-query", "--max-hops", "1", "toy.json", "p:1").stdout == by_option
    several = loaded("bfs-query", "toy.json", "p:1", "--predicates", "ACTED_IN,LIKED")
    assert several.exit_code == 0
    for command in ("describe-schema", "config", "index"):
        assert loaded(command, "toy.json").exit_code == 0


def test_a_file_is_an_id_where_the_graph_is_an_option(loaded):
    for options in (("--path", "toy.json"), ("--path=toy.json",), ("--backend", "toy")):
        wrong = loaded("bfs-query", "nodes.csv", *options)
        assert (wrong.exit_code, '"nodes.csv"' in wrong.stderr) == (2, True)


def test_a_graph_that_does_not_exist_is_named(run):
    for command in ("describe-schema", "explore"):
        assert "There is no graph at films.db. Make one with:" in run(command, "films.db").stderr
    assert "No graph is given" in run("describe-schema").stderr


@pytest.mark.parametrize("steps", ["-HAS_GENRE-> Genre", "Film <-SAW- *", "-LIKED-", "-a- B"])
def test_steps_in_the_place_of_the_graph_are_led_to_their_option(loaded, steps):
    for arguments in (("toy.json", "p:1", "--path", steps), ("p:1", f"--path={steps}")):
        refused = loaded("bfs-query", *arguments)
        assert refused.exit_code == 2
        assert "--path names the graph's file" in refused.stderr
        assert f'--step "{steps}"' in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("Tom Hanks",), "No graph is given, and there is no graph.db here. Give a graph's file"),
        (("Tom Hanks", "toy.json"), "Put the graph first: bfsql bfs-query toy.json ..."),
        (("films.jsom",), "No graph is given"),
        (("films.db", "Tom Hanks"), "There is no file films.db. Check the path."),
    ],
)
def test_a_tool_without_a_graph_says_what_to_give(run, arguments, sentence):
    refused = run("bfs-query", *arguments)
    assert refused.exit_code == 2
    assert sentence in refused.stderr


@pytest.mark.parametrize("command", ["describe-entity", "search-entities", "bfs-query"])
def test_a_graph_behind_a_name_has_to_come_first(loaded, folder, command):
    (folder / "bfsql.toml").write_text("[backend]\nretries = 2\n", encoding="utf-8")
    refused = loaded(command, "Tom Hanks", "toy.json", "--verbose")
    assert refused.exit_code == 2
    assert f"Put the graph first: bfsql {command} toy.json ..." in refused.stderr


@pytest.mark.parametrize("command", ["describe-entity", "search-entities", "bfs-query"])
def test_a_graph_that_is_misspelt_is_no_name(loaded, command):
    refused = loaded(command, "tyo.json", "Ada")
    assert refused.exit_code == 2
    assert "There is no file tyo.json." in refused.output
