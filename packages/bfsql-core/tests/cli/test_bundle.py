"""What `bfsql bundle` packs, asks for and refuses."""

import json
from pathlib import Path
from zipfile import ZipFile

import pytest

from bfsql.cli import bundle as module
from bfsql.loading.folders import LOADS, working_folder
from bfsql.plugins import Hooks


def manifest(place: str) -> dict:
    with ZipFile(place) as archive:
        return json.loads(archive.read("manifest.json"))


def test_a_file_goes_into_the_bundle_with_the_settings_of_its_server(loaded, folder):
    options = ["--retries", "5", "--headers", "a=b", "--max-tokens", "900", "--out", "o.mcpb"]
    made = loaded("bundle", "toy.json", *options)
    assert made.exit_code == 0, made.output
    of = manifest("o.mcpb")
    assert of["_meta"]["bfsql"]["arguments"] == [
        *("--backend", "toy", "--path", "graph.json", "--retries", "5"),
        *("--headers", "a=b", "--max-tokens", "900"),
    ]
    assert (of["user_config"], of["name"], len(of["tools"])) == ({}, "toy", 6)
    with ZipFile("o.mcpb") as archive:
        assert archive.read("graph.json") == Path("toy.json").read_bytes()
        project = archive.read("pyproject.toml").decode()
    assert '"bfsql-core==' in project
    assert '"bfsql-toy==' in project
    assert not list(folder.glob(".*.part"))


def test_for_a_store_the_host_asks_for_what_was_given_here(loaded, monkeypatch):
    monkeypatch.setattr(module, "_MOST_BYTES", 1_000)
    monkeypatch.setenv("TOY_PASSWORD", "s3cret-word")
    options = ["--backend", "frozen", "--path", "toy.json", "--retries", "5", "--name", "a/b\\c"]
    made = loaded("bundle", *options)
    assert (made.exit_code, "Hosts may refuse more than 200 MB." in made.output) == (0, True)
    with ZipFile("a-b-c.mcpb") as archive:
        assert not any(b"s3cret" in archive.read(name) for name in archive.namelist())
        assert not any(name.startswith("graph") for name in archive.namelist())
    of = manifest("a-b-c.mcpb")
    assert of["display_name"] == "a/b\\c"
    assert of["server"]["mcp_config"]["env"] == {
        "BFSQL_FROZEN_PATH": "${user_config.path}",
        "BFSQL_FROZEN_PASSWORD": "${user_config.password}",
        "BFSQL_FROZEN_RETRIES": "${user_config.retries}",
    }
    asked = of["user_config"].values()
    assert [(one["type"], one.get("default"), one["sensitive"]) for one in asked] == [
        *(("file", None, False), ("string", None, True), ("string", "5", False))
    ]


WRONG = {
    "missing.json": "There is no graph at missing.json",
    "folder.json": "is a folder",
    "toy.json --out toy.json": "has to end with .mcpb",
}


@pytest.mark.parametrize("given", WRONG)
def test_what_cannot_be_bundled_leaves_nothing_behind(loaded, folder, given):
    (folder / "folder.json").mkdir()
    before = {path.name: path.stat().st_size for path in folder.iterdir()}
    refused = loaded("bundle", *given.split())
    assert (refused.exit_code, WRONG[given] in refused.output) == (2, True)
    assert {path.name: path.stat().st_size for path in folder.iterdir()} == before


def test_a_graph_that_is_loaded_or_has_hidden_metadata_is_refused(loaded, folder, monkeypatch):
    for name in ("toy.json", "new.json"):
        with working_folder(folder, LOADS, name):
            refused = loaded("bundle", name)
        assert refused.exit_code == 2
        assert f"{name} is being loaded. Bundle it afterwards." in refused.output
    monkeypatch.setattr(Hooks, "redacts", True)
    assert "Hooks hide metadata" in loaded("bundle", "toy.json").output
