"""An id that the graph does not have is an error with the closest known ones."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bfsql.errors import ToolError
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, EntityStub, Node, NodeRecord

HOSTILE = [
    "nul\x00byte",
    "quo\"te'\\",
    "new\nline",
    "'; DROP TABLE nodes; --",
    "\u202eevil",
    "lone\ud800surrogate",
    "\ud800",
    "x" * 16_384,
    "::::",
    "[1",
    "\U0001f600",
]


@pytest.mark.parametrize(
    ("tool", "arguments", "argument"),
    [
        ("bfs_query", {"max_hops": 1}, "seeds"),
        ("intersect_subgraphs", {"k": 1}, "seeds"),
        ("describe_entity", {}, "id"),
    ],
)
async def test_an_unknown_id_names_the_closest_from_one_search_on_its_last_segment(
    refusal, store, tool, arguments, argument
):
    wrong = "DBPedia:disease/Cushing"
    given = ["RxNorm:3251", wrong] if argument == "seeds" else wrong
    error = await refusal(tool, {argument: given, **arguments})
    assert (error.kind, error.argument) == ("unknown_entity", argument)
    sentence = str(error)
    assert f'"{wrong}"' in sentence
    assert "MeSH:D003480 (Cushing Syndrome, Disease)" in sentence
    assert "MeSH:D047748" in sentence
    assert "search_entities" in sentence
    searches = [asked for method, asked in store[1].calls if method == "search_entities"]
    assert searches == [("Cushing",)]
    assert not store[1].count("edges_batch")


async def test_ids_are_exact_and_a_near_miss_is_no_match(refusal):
    error = await refusal("bfs_query", {"seeds": ["mesh:d003480"], "max_hops": 1})
    assert "MeSH:D003480" in str(error)


async def test_of_several_unknown_ids_one_is_named_and_the_others_counted(refusal):
    error = await refusal("bfs_query", {"seeds": ["x:zz", "x:yy", "RxNorm:3251"], "max_hops": 1})
    assert '"x:zz"' in str(error)
    assert "1 more" in str(error)
    assert "Nothing similar" in str(error)


@pytest.mark.parametrize("hostile", HOSTILE)
async def test_a_hostile_id_is_unknown_and_breaks_nothing(refusal, graph, hostile):
    error = await refusal("bfs_query", {"seeds": [hostile], "max_hops": 1})
    assert (error.kind, error.argument) == ("unknown_entity", "seeds")
    str(error).encode()
    assert (await refusal("describe_entity", {"id": hostile})).kind == "unknown_entity"
    answer = await graph.describe_entities([hostile, "7"])
    assert [record["id"] for record in answer.content["result"]] == ["7"]
    assert "search_entities" in answer.notes[0]
    "".join(answer.blocks).encode()
    json.dumps(answer.content, ensure_ascii=False).encode()


@pytest.mark.parametrize("hostile", HOSTILE)
async def test_a_hostile_query_finds_nothing_and_says_so(graph, hostile):
    answer = await graph.search_entities(hostile)
    assert answer.text == "[]"
    assert "Nothing" in answer.notes[0]
    "".join(answer.blocks).encode()


@pytest.mark.parametrize("hostile", HOSTILE[:5] + HOSTILE[7:])
async def test_a_hostile_id_that_exists_comes_back_unaltered(over, hostile):
    graph = over(MemoryBackend([NodeRecord(hostile, "T"), EdgeRecord(hostile, "p", hostile)]))
    answer = await graph.bfs_query([hostile], 1, max_tokens=0)
    document = json.loads(answer.text)
    assert document["seeds"] == [hostile]
    assert document["nodes"][0]["id"] == hostile
    assert document["edges"][0]["subject"] == document["edges"][0]["object"] == hostile
    assert answer.text.isprintable()
    assert answer.content == document


async def test_a_lone_surrogate_that_a_backend_lets_through_stops_nothing(over):
    records = [
        NodeRecord("a", "T", {"text\udfff": "\ud800"}),
        NodeRecord("b\ud800", "T\ud800", {"name": "\ud800"}),
        EdgeRecord("a", "p", "b\ud800"),
    ]
    graph = over(MemoryBackend(records))
    for answer in (
        await graph.bfs_query("a", 1),
        await graph.search_entities("b"),
        await graph.describe_entity("a"),
        await graph.describe_schema(),
    ):
        document = json.loads(answer.text.encode())
        assert document == answer.content.get("result", answer.content)
        json.dumps(answer.content, ensure_ascii=False).encode()
        "".join(answer.blocks).encode()


async def test_candidates_in_an_error_hide_no_text(over):
    class Hostile(MemoryBackend):
        async def search_entities(self, query, node_types=None):
            return [EntityStub("x\u202e\n:1", "T", "na\x00me\u202e"), EntityStub("y\ud800", "T")]

    with pytest.raises(ToolError) as caught:
        await over(Hostile()).describe_entity("nobody")
    assert str(caught.value).isprintable()
    assert '"x\\u202e\\n:1" (name, T)' in str(caught.value)
    str(caught.value).encode()


class Aliasing(MemoryBackend):
    """Knows its nodes by short names, too, and answers with the canonical ones."""

    def canonical(self, entity_id: str) -> str:
        return entity_id.replace("rx:", "RxNorm:")

    async def get_nodes_batch(self, ids):
        return await super().get_nodes_batch(list(dict.fromkeys(map(self.canonical, ids))))

    async def get_node(self, entity_id: str) -> Node:
        return await super().get_node(self.canonical(entity_id))


@pytest.fixture
def aliased(over: Any) -> Any:
    nodes = [NodeRecord(f"RxNorm:{i}", "Drug") for i in range(4)]
    return over(Aliasing([*nodes, EdgeRecord("RxNorm:0", "p", "RxNorm:1")]))


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        (["rx:1"], ["RxNorm:1"]),
        (["rx:1", "RxNorm:1"], ["RxNorm:1"]),
        (["RxNorm:1", "rx:1"], ["RxNorm:1"]),
        (["rx:2", "RxNorm:1", "rx:0"], ["RxNorm:2", "RxNorm:1", "RxNorm:0"]),
    ],
)
async def test_ids_are_echoed_in_their_canonical_spelling_each_once_in_order(
    aliased, asked, wanted
):
    for _ in range(2):
        document = json.loads((await aliased.bfs_query(asked, 1)).text)
        assert document["seeds"] == wanted
        records = await aliased.describe_entities(asked)
        assert [record["id"] for record in records.content["result"]] == wanted
        assert records.notes == ()


async def test_two_spellings_of_one_entity_are_no_intersection(aliased):
    with pytest.raises(ToolError, match="different entities"):
        await aliased.intersect_subgraphs(["rx:1", "RxNorm:1"], 1)


async def test_an_unknown_id_beside_respelled_ones_is_still_unknown(aliased):
    with pytest.raises(ToolError) as caught:
        await aliased.bfs_query(["rx:1", "nobody"], 1)
    assert '"nobody"' in str(caught.value)
