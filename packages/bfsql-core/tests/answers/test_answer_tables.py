"""Answers in Python: as networkx graphs and as data frames."""

import sys

import pytest

from bfsql.answers import Answer
from bfsql.graph import open_graph
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, NodeRecord

HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>&lt;\u202e]]>"
RECORDS = [
    NodeRecord("film:1", "Film", {"name": "Alien", "entity_type": "odd", "year": 1979}),
    NodeRecord("film:2", "Film", {"name": HOSTILE, HOSTILE: HOSTILE}),
    NodeRecord(HOSTILE, HOSTILE, {"name": "x" * 10_000}),
    NodeRecord("person:1", "Person", {"name": "Sigourney Weaver"}),
    EdgeRecord("person:1", "ACTED_IN", "film:1", {"role": "Ripley"}),
    EdgeRecord("person:1", "ACTED_IN", "film:2"),
    EdgeRecord("person:1", "LIKES", "film:1"),
    EdgeRecord(HOSTILE, HOSTILE, "film:2", {"predicate": HOSTILE}),
]


async def answer(tool: str, **arguments: object) -> Answer:
    async with open_graph(MemoryBackend(RECORDS)) as graph:
        return await graph.call(tool, arguments)


async def test_a_traversal_is_a_graph_of_networkx():
    graph = (await answer("bfs_query", seeds=["person:1"], max_hops=1)).to_networkx()
    assert set(graph) == {"person:1", "film:1", "film:2"}
    assert graph.nodes["person:1"] == {
        "entity_type": "Person",
        "seed": True,
        "name": "Sigourney Weaver",
    }
    assert graph.nodes["film:1"]["metadata.entity_type"] == "odd"
    assert graph.nodes["film:1"]["year"] == 1979
    assert set(graph.edges(keys=True)) == {
        ("person:1", "film:1", "ACTED_IN"),
        ("person:1", "film:2", "ACTED_IN"),
        ("person:1", "film:1", "LIKES"),
    }
    assert graph.edges["person:1", "film:1", "ACTED_IN"] == {
        "predicate": "ACTED_IN",
        "role": "Ripley",
    }


async def test_entities_without_edges_are_nodes_too():
    assert set((await answer("search_entities", query="alien")).to_networkx()) == {"film:1"}
    described = await answer("describe_entity", id="film:1")
    assert described.to_networkx().nodes["film:1"]["year"] == 1979
    assert len((await answer("describe_schema")).to_networkx()) == 0


async def test_a_traversal_is_two_data_frames():
    found = await answer("bfs_query", seeds=["person:1"], max_hops=1)
    nodes, edges = found.to_pandas(), found.to_pandas("edges")
    assert list(nodes.columns[:3]) == ["id", "entity_type", "seed"]
    assert nodes.set_index("id").loc["film:1", "year"] == 1979
    assert list(edges.columns) == ["subject", "predicate", "object", "role"]
    assert edges["role"].dropna().tolist() == ["Ripley"]
    with pytest.raises(ValueError, match="'nodes' or 'edges', not 'rows'"):
        found.to_pandas("rows")  # type: ignore[arg-type]


async def test_a_frame_without_rows_has_its_columns():
    schema = await answer("describe_schema")
    assert list(schema.to_pandas().columns) == ["id", "entity_type"]
    assert list(schema.to_pandas("edges").columns) == ["subject", "predicate", "object"]


def test_a_record_with_keys_of_other_answers_is_one_row():
    record = {"id": "match:1", "entity_type": "Match", "nodes": 3, "result": "won"}
    assert Answer("", record).to_pandas().to_dict("records") == [record]


@pytest.mark.parametrize("name", ["networkx", "pandas"])
async def test_a_library_that_is_missing_is_named(monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=rf"not installed: pip install {name}$"):
        getattr(await answer("describe_schema"), f"to_{name}")()
