"""`bfsql stats` has the same counts as networkx, and `bfsql completion` completes."""

import json
import os
import random
import subprocess
import sys
from collections import Counter

import networkx as nx
import pytest

from bfsql.cli.stats import HUBS, show_stats, stats_of
from bfsql.graph import open_graph
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, NodeRecord, Outline, outline_of
from bfsql.models.outline import Relation
from bfsql_test_support.backends.columns import ColumnsOverMemory


async def test_degrees_are_those_of_networkx():
    random.seed(7)
    nodes = [NodeRecord(f"n{i:02}", "AB"[i % 2], {"name": f"N {i}"}) for i in range(30)]
    edges = {
        (f"n{random.randrange(20):02}", random.choice("pq"), f"n{random.randrange(20):02}")
        for _ in range(60)
    }
    edges |= {("n00", "p", f"n{i:02}") for i in range(20)} | {("n03", "q", "nobody")}
    records = [*nodes, *(EdgeRecord(*edge) for edge in edges)]
    async with open_graph(ColumnsOverMemory(records), hooks=()) as graph:
        found = await stats_of(graph)
    oracle = nx.MultiGraph()
    oracle.add_nodes_from(node.id for node in nodes)
    oracle.add_edges_from((s, o) for s, _, o in edges if o != "nobody")
    loops = Counter(s for s, _, o in edges if s == o)
    degrees = {id_: degree - loops[id_] for id_, degree in oracle.degree}
    assert found.degrees is not None
    assert found.degrees.dangling_edges == 1
    assert found.degrees.largest == max(degrees.values())
    assert found.degrees.isolated == sum(not degree for degree in degrees.values())
    assert found.degrees.mean == pytest.approx(sum(degrees.values()) / len(degrees), abs=0.01)
    due = sorted(degrees.items(), key=lambda one: (-one[1], one[0]))[:HUBS]
    assert [(hub.id, hub.degree) for hub in found.degrees.hubs] == due
    assert found.degrees.hubs[0].name == f"N {int(due[0][0][1:])}"


async def test_an_empty_graph_has_counts():
    async with open_graph(ColumnsOverMemory([]), hooks=()) as graph:
        found = await stats_of(graph)
    assert (found.nodes, found.outline.edge_counts) == ({}, {})
    assert found.degrees is None or found.degrees.hubs == ()


def test_counts_of_a_store_without_columns(loaded):
    told = loaded("stats", "toy.json")
    assert told.exit_code == 0, told.output
    found = json.loads(told.stdout)
    assert found["degrees"] is None
    assert isinstance(found["nodes"], dict)


async def test_a_store_without_columns_has_means_from_its_counts():
    nodes = [NodeRecord("g", "Genre"), *(NodeRecord(f"f{i}", "Film") for i in range(4))]
    edges = [EdgeRecord(f"f{i}", "HAS_GENRE", "g") for i in range(3)]

    class Counted(MemoryBackend):
        async def outline(self) -> Outline:
            relation = Relation("Film", "HAS_GENRE", "Genre", 3)
            return Outline(node_counts={"Film": 4, "Genre": 1}, relations=(relation,))

    async with open_graph(Counted([*nodes, *edges]), hooks=()) as graph:
        found = await stats_of(graph)
    assert found.degrees is None
    assert list((found.outline.mean_degrees or {}).items()) == [("Genre", 3.0), ("Film", 0.75)]


async def test_counts_of_a_sample_are_not_given(capsys):
    class Sampled(MemoryBackend):
        async def outline(self) -> Outline:
            return outline_of({}, {("Film", "HAS_GENRE", "Genre"): 7}, sampled=True)

    async with open_graph(Sampled([NodeRecord("f", "Film")]), hooks=()) as graph:
        found = await stats_of(graph)
    document = found.document()
    assert [document[key] for key in ("nodes", "edges", "mean_degrees")] == [{}, {}, None]
    relation = {"subject_type": "Film", "predicate": "HAS_GENRE", "object_type": "Genre"}
    assert (document["relations_from"], document["relations"]) == ("sample", [relation])
    show_stats(found)
    text = capsys.readouterr().out
    assert "7" not in text
    assert "nodes not counted, edges not counted: the relations come from a sample" in text
    assert "HAS_GENRE" in text


async def test_a_store_that_does_not_count_says_so(capsys):
    class Uncounted(MemoryBackend):
        async def outline(self) -> None:
            return None

    class Related(MemoryBackend):
        async def outline(self) -> Outline:
            return Outline(relations=(Relation("Film", "HAS_GENRE", "Genre", 3),))

    for backend, text in (
        (Uncounted, "Nodes and edges are not counted: the backend has no outline of its graph."),
        (Related, "nodes not counted, 3 edges"),
    ):
        async with open_graph(backend([NodeRecord("f", "Film")]), hooks=()) as graph:
            show_stats(await stats_of(graph))
        assert capsys.readouterr().out.splitlines()[0] == text


def test_a_shell_completes_a_command():
    def completed(words: str) -> str:
        env = {"COMP_WORDS": words, "COMP_CWORD": "1", "_BFSQL_COMPLETE": "bash_complete"}
        done = subprocess.run(
            [sys.executable, "-c", "from bfsql.cli import main; main()"],
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, **env},
        )
        return done.stdout

    assert completed("bfsql st").split() == ["plain,stats"]
    assert "plain,--version" in completed("bfsql --v")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_of_the_shell(run, shell):
    told = run("completion", shell)
    assert told.exit_code == 0
    assert f"_BFSQL_COMPLETE={shell}_complete" in told.stdout
