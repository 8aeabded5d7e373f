"""`bfsql check` on correct and broken backends, unusual stores and missing stores."""

import json

import pytest

from bfsql.memory import MemoryBackend
from bfsql.models import Edge
from bfsql_test_support.backends import toy

CHECK = ("check",)
"""Without the pauses that spare a real store."""


@pytest.fixture
def broken(monkeypatch):
    """The toy backend with an `edges_to` that contradicts `edges_from`."""

    async def edges_to(self, entity_id):
        return [Edge("p:1", "ACTED_IN", entity_id)]

    monkeypatch.setattr(MemoryBackend, "edges_to", edges_to)


@pytest.mark.slow
def test_a_right_backend_passes(loaded):
    result = loaded("check", "--backend", "toy", "--word", "Tom")
    assert result.exit_code == 0, result.output
    assert "ok         both directions of an edge agree" in result.output
    assert "The backend satisfies the rules." in result.output


@pytest.mark.slow
def test_a_program_reads_json(loaded):
    result = loaded(*CHECK, "--json", "--id", "f:1", "--id", "p:1")
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert report["passed"]
    abilities = ("columns-", "stream-", "outline-")  # of which this backend has none
    abilities += ("edge-metadata-keys",)  # the edges of these two nodes have no metadata
    untried = [rule["id"] for rule in report["rules"] if rule["outcome"] == "untried"]
    assert [rule for rule in untried if not rule.startswith(abilities)] == []
    assert all(rule["outcome"] in {"holds", "untried"} for rule in report["rules"])


@pytest.mark.slow
def test_a_broken_backend_fails_and_the_rule_is_named(loaded, broken):
    result = loaded(*CHECK, "--id", "f:1", "--id", "p:2")
    assert result.exit_code == 1
    assert "BROKEN     both directions of an edge agree" in result.output
    assert "rule both-directions; the backend contract" in result.output
    assert "The backend is broken" in result.output


@pytest.mark.slow
def test_a_convention_that_is_not_kept_is_advice(loaded, monkeypatch):
    async def entity_types(self):
        return ["Person", "Film"]

    async def metadata_for_node(self, entity_id):
        return dict(self._node_metadata.get(entity_id, {}))

    monkeypatch.setattr(MemoryBackend, "entity_types", entity_types)
    monkeypatch.setattr(MemoryBackend, "metadata_for_node", metadata_for_node)
    result = loaded(*CHECK, "--id", "f:1", "--id", "p:1")
    assert result.exit_code == 0, result.output
    assert "convention entity_types is sorted" in result.output
    assert "convention the metadata of something unknown" in result.output
    assert "The backend satisfies the rules." in result.output
    assert "(2 convention" in result.output or ", 2 convention" in result.output


@pytest.mark.slow
def test_a_search_that_takes_spelling_literally_gets_advice(loaded, monkeypatch):
    every = MemoryBackend.search_entities

    async def search_entities(self, query, node_types=None):
        found = await every(self, query, node_types)
        return [stub for stub in found if query in (stub.id, stub.name)]

    monkeypatch.setattr(MemoryBackend, "search_entities", search_entities)
    result = loaded(*CHECK, "--id", "f:1", "--id", "p:1")
    assert result.exit_code == 0, result.output
    assert "advice     search finds a name with a typing error in it" in result.output
    assert "rule search-misspelt; the backend contract" in result.output
    assert "What is marked as advice would make answers better" in result.output
    assert "convention" not in result.output


def test_the_time_is_a_bound(loaded):
    result = loaded("check", "--seconds", "0.01", "--json")
    report = json.loads(result.stdout)
    assert "The time limit of the whole check was reached." in {
        one["reason"] for one in report["rules"]
    }


def test_a_store_that_is_not_there_is_a_sentence(run):
    result = run("check")
    assert result.exit_code == 2
    assert "There is no toy graph toy.json." in result.stderr


def test_the_options_of_the_backend_are_options_of_the_check(run):
    result = run("check", "--help-all")
    assert "Options of the backend toy" in result.output
    assert "--retries" in result.output
    assert toy.plugin.summary == "a toy"
