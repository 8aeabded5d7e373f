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
        ("toy.json", "--port", "1"),
        ("--port", "1", "toy.json"),
        ("--stateless", "toy.json"),
        ("--no-stateless", "toy.json", "--port", "1"),
        ("--port=1", "toy.json"),
        ("--backend", "toy", "toy.json"),
        ("--path", "toy.json"),
        ("--path=toy.json",),
    ],
)
def test_the_backend_follows_from_the_file(
    run: Run, toy_json: Path, arguments: tuple[str, ...]
) -> None:
    found = args(run, *arguments)
    assert found[found.index("--backend") + 1] == "toy"
    assert found[found.index("--path") + 1] == str(toy_json)


def test_a_file_among_the_values_of_a_list_is_no_graph(run: Run, folder: Path) -> None:
    (folder / "graph.db").touch()
    assert "--backend" not in args(run, "--allowed-hosts", "a.example", "toy.json")


def test_the_file_counts_before_the_configuration(run: Run, folder: Path) -> None:
    (folder / "bfsql.toml").write_text('[backend]\nname = "frozen"\n')
    found = args(run, "toy.json")
    assert found[found.index("--backend") + 1] == "toy"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nodes.csv",), "Load it first: bfsql load nodes.csv --path graph.db"),
        (("toy.json", "nodes.csv"), "unexpected extra argument (nodes.csv)"),
        (
            ("toy.json", "--backend", "frozen"),
            "The backend frozen cannot serve toy.json directly",
        ),
    ],
)
def test_a_file_that_cannot_be_served(run: Run, arguments: tuple[str, ...], sentence: str) -> None:
    refused = run("serve", *arguments)
    assert refused.exit_code == 2
    assert sentence in refused.output
