"""How hits with the same name and type are distinguished."""

import json

import pytest

import bfsql
from bfsql.errors import ToolError
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, NodeRecord
from bfsql.tools.namesakes import MOST_EDGES
from bfsql_test_support import tool_calls
from bfsql_test_support.backends.recording import watched
from bfsql_test_support.hooks import Hiding

PEOPLE = [NodeRecord(f"p:{i}", "Person", {"name": "Ada Lind"}) for i in range(3)]
PLACES = [NodeRecord(f"c:{i}", "Centre", {"name": f"Centre {i}"}) for i in range(3)]
RECORDS = [
    *PEOPLE,
    *PLACES,
    NodeRecord("t:1", "Topic", {"name": "Sleep"}),
    *(EdgeRecord(f"p:{i}", "member_of", f"c:{i}") for i in range(3)),
    *(EdgeRecord(f"p:{i}", "studies", "t:1") for i in range(3)),
    EdgeRecord("p:0", "wrote", "gone"),
    EdgeRecord("p:0", "knows", "p:0"),
    EdgeRecord("p:1", "knows", "c:0"),
]


async def contexts_of(graph, query):
    hits = await tool_calls.read(graph, "search_entities", query=query)
    return {hit["id"]: hit.get("context") for hit in hits}


async def test_namesakes_carry_what_the_others_lack(over):
    assert await contexts_of(over(MemoryBackend(RECORDS)), "ada lind") == {
        "p:0": ["member_of Centre 0"],
        "p:1": ["member_of Centre 1", "knows Centre 0"],
        "p:2": ["member_of Centre 2"],
    }


async def test_others_carry_none(over):
    backend, watch = watched(MemoryBackend)(RECORDS)
    assert set((await contexts_of(over(backend), "centre")).values()) == {None}
    assert not watch.count("edges_batch")


async def test_one_ring_and_one_batch_of_names(over):
    backend, watch = watched(MemoryBackend)(RECORDS)
    await contexts_of(over(backend), "ada lind")
    assert watch.count("edges_batch") == 1
    assert watch.count("metadata_for_nodes_batch") == 1


async def test_an_error_that_lists_candidates_tells_them_apart(over):
    with pytest.raises(ToolError) as caught:
        await over(MemoryBackend(RECORDS)).describe_entity("Ada Lind")
    assert "p:1 (Ada Lind, Person, member_of Centre 1, knows Centre 0); p:2" in str(caught.value)


async def test_a_hub_among_them_is_left_without(over):
    crowd = [NodeRecord(f"x:{i}", "X", {"name": f"X {i}"}) for i in range(MOST_EDGES + 1)]
    edges = [EdgeRecord(f"x:{i}", "visited", "p:0") for i in range(MOST_EDGES + 1)]
    found = await contexts_of(over(MemoryBackend([*RECORDS, *crowd, *edges])), "ada lind")
    assert found["p:0"] is None
    assert found["p:2"] == ["member_of Centre 2"]


async def test_names_that_are_hidden_stay_hidden():
    hiding = Hiding(lambda kind, key, metadata: {} if str(key).startswith("c:") else metadata)
    async with bfsql.open_graph(MemoryBackend(RECORDS), hooks=[hiding]) as graph:
        answer = await graph.search_entities("Ada Lind")
    assert json.loads(answer.text)[0]["context"] == ["member_of c:0"]
    assert "Centre" not in answer.text
