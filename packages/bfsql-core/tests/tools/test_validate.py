"""Meaningless arguments, and ids and types that the graph does not have."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bfsql import open_graph
from bfsql.errors import ToolError
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, EntityStub, Node, NodeRecord
from bfsql.tools.validate import matched

BFS = {"seeds": ["RxNorm:3251"], "max_hops": 1}
OPTIONAL = [
    *("node_types", "predicates", "exclude_node_types", "fields", "facets", "where", "measure"),
    *("path", "along", "show", "sort_by", "limit", "offset", "max_tokens", "min_mentions"),
]
BOTH = {"seeds": ["RxNorm:3251", "MeSH:D003480"], "k": 1}


@pytest.mark.parametrize(
    ("tool", "arguments", "wrong", "parts"),
    [
        ("bfs", BFS, ("unknown_tool", None), ["bfs_query", "describe_schema", '"bfs"']),
        ("bfs_query", {**BFS, "depth": 2}, ("unknown_argument", "depth"), ['"depth"', "max_hops"]),
        ("bfs_query", {**BFS, "Max-Hops": 2}, ("unknown_argument", "Max-Hops"), ["mean max_hops?"]),
        (
            "bfs_query",
            {**BFS, "max_depth": 2},
            ("unknown_argument", "max_depth"),
            ["mean max_hops?"],
        ),
        (
            "bfs_query",
            {**BFS, "edge_types": 2},
            ("unknown_argument", "edge_types"),
            ["predicates?"],
        ),
        ("describe_entity", {"name": "a"}, ("unknown_argument", "name"), ["mean id?"]),
        ("search_entities", {"name": "a"}, ("unknown_argument", "name"), ["mean query?"]),
        ("bfs_query", {**BFS, "k": 2}, ("unknown_argument", "k"), ["Its arguments are: seeds"]),
        ("describe_schema", {"x": 1}, ("unknown_argument", "x"), ["arguments are: seeds."]),
        ("intersect_subgraphs", {**BOTH, "limit": 5}, ("unknown_argument", "limit"), ["limit"]),
        ("bfs_query", {"max_hops": 1}, ("missing_argument", "seeds"), ["needs seeds"]),
        ("bfs_query", None, ("missing_argument", "seeds"), ["needs seeds"]),
        ("bfs_query", {**BFS, "seeds": None}, ("missing_argument", "seeds"), ["needs seeds"]),
        ("bfs_query", [1], ("bad_value", None), ["an object", "[1]"]),
        ("bfs_query", {**BFS, "max_hops": 0}, ("bad_value", "max_hops"), ["1 to 5", "not 0"]),
        ("bfs_query", {**BFS, "max_hops": 6}, ("bad_value", "max_hops"), ["1 to 5", "not 6"]),
        ("bfs_query", {**BFS, "max_hops": 2.5}, ("bad_value", "max_hops"), ["whole", "not 2.5"]),
        ("bfs_query", {**BFS, "max_hops": True}, ("bad_value", "max_hops"), ["whole", "not true"]),
        ("bfs_query", {**BFS, "max_hops": "two"}, ("bad_value", "max_hops"), ['not "two"']),
        ("bfs_query", {**BFS, "max_hops": "nan"}, ("bad_value", "max_hops"), ['not "nan"']),
        ("bfs_query", {**BFS, "max_hops": float("inf")}, ("bad_value", "max_hops"), ["1 to 5"]),
        ("bfs_query", {**BFS, "max_hops": 10**400}, ("bad_value", "max_hops"), ["1 to 5", "..."]),
        ("bfs_query", {**BFS, "max_hops": -(10**5000)}, ("bad_value", "max_hops"), ["type int"]),
        ("bfs_query", {**BFS, "max_hops": [1]}, ("bad_value", "max_hops"), ["not [1]"]),
        ("bfs_query", {**BFS, "max_hops": {"a": 1}}, ("bad_value", "max_hops"), ["whole"]),
        ("intersect_subgraphs", {**BOTH, "k": 0}, ("bad_value", "k"), ["1 to 5"]),
        ("intersect_subgraphs", {**BOTH, "k": 6}, ("bad_value", "k"), ["1 to 5"]),
        ("bfs_query", {**BFS, "limit": -1}, ("bad_value", "limit"), ["at least 0", "not -1"]),
        ("bfs_query", {**BFS, "offset": -1}, ("bad_value", "offset"), ["at least 0", "not -1"]),
        ("bfs_query", {**BFS, "min_mentions": 0}, ("bad_value", "min_mentions"), ["at least 1"]),
        ("bfs_query", {**BFS, "max_tokens": -1}, ("bad_value", "max_tokens"), ["500", "-1"]),
        ("bfs_query", {**BFS, "max_tokens": 499}, ("bad_value", "max_tokens"), ["500", "499"]),
        ("bfs_query", {**BFS, "topology_only": "yes"}, ("bad_value", "topology_only"), ["true or"]),
        ("bfs_query", {**BFS, "topology_only": 2}, ("bad_value", "topology_only"), ["true or"]),
        ("bfs_query", {**BFS, "seeds": []}, ("bad_value", "seeds"), ["at least one", "search_ent"]),
        ("bfs_query", {**BFS, "seeds": "[]"}, ("bad_value", "seeds"), ["at least one"]),
        ("bfs_query", {**BFS, "seeds": ""}, ("bad_value", "seeds"), ["not blank"]),
        ("bfs_query", {**BFS, "seeds": [" \n"]}, ("bad_value", "seeds"), ["not blank"]),
        ("bfs_query", {**BFS, "seeds": [None]}, ("bad_value", "seeds"), ["not null"]),
        ("bfs_query", {**BFS, "seeds": [True]}, ("bad_value", "seeds"), ["not true"]),
        ("bfs_query", {**BFS, "seeds": [1.5]}, ("bad_value", "seeds"), ["not 1.5"]),
        ("bfs_query", {**BFS, "seeds": [["a", "b"]]}, ("bad_value", "seeds"), ['["a", "b"]']),
        ("bfs_query", {**BFS, "seeds": {"a": 1}}, ("bad_value", "seeds"), ["a list of strings"]),
        ("bfs_query", {**BFS, "seeds": True}, ("bad_value", "seeds"), ["a list of strings"]),
        (
            "bfs_query",
            {**BFS, "seeds": [{"id": "n:1"}]},
            ("bad_value", "seeds"),
            ['a list of strings, not {"id": "n:1"}'],
        ),
        ("search_entities", {"query": ["é", "ü"]}, ("bad_value", "query"), ['not ["é", "ü"]']),
        ("bfs_query", {**BFS, "node_types": 2.5}, ("bad_value", "node_types"), ["not 2.5"]),
        (
            "bfs_query",
            {**BFS, "seeds": [f"n:{i}" for i in range(10_000)]},
            ("too_large", "seeds"),
            ["10000 values", "100", "several calls"],
        ),
        (
            "describe_entities",
            {"ids": [f"n:{i}" for i in range(201)]},
            ("too_large", "ids"),
            ["201 values", "200"],
        ),
        ("describe_entity", {"id": "x" * 100_000}, ("too_large", "id"), ["100000 bytes", "16384"]),
        ("bfs_query", {**BFS, "seeds": ["x" * 16_385]}, ("too_large", "seeds"), ["16385 bytes"]),
        ("search_entities", {"query": "\u00e9" * 8_193}, ("too_large", "query"), ["16386 bytes"]),
        ("search_entities", {"query": ""}, ("bad_value", "query"), ["not blank"]),
        ("search_entities", {"query": ["a", "b"]}, ("bad_value", "query"), ["one string"]),
        ("describe_entity", {"id": True}, ("bad_value", "id"), ["one string", "not true"]),
        (
            "intersect_subgraphs",
            {**BOTH, "seeds": ["RxNorm:3251"]},
            ("bad_value", "seeds"),
            ["a list of 2 or more, not", "Ids come from search_entities."],
        ),
        (
            "intersect_subgraphs",
            {**BOTH, "seeds": ["RxNorm:3251", "RxNorm:3251"]},
            ("bad_value", "seeds"),
            ["different", '"RxNorm:3251"', "bfs_query"],
        ),
    ],
)
async def test_a_bad_argument_is_refused_by_name(refusal, tool, arguments, wrong, parts):
    kind, argument = wrong
    error = await refusal(tool, arguments)
    assert (error.kind, error.argument) == (kind, argument)
    for part in parts:
        assert part in str(error)
    if argument is not None:
        assert argument in str(error)


@pytest.mark.parametrize("depth", [2_000, 100_000])
async def test_brackets_without_end_are_an_unknown_id_or_too_large(refusal, depth):
    error = await refusal("bfs_query", {**BFS, "seeds": "[" * depth})
    assert error.kind in ("unknown_entity", "too_large")


async def test_a_value_nested_without_end_is_refused(refusal):
    deep: list[object] = []
    for _ in range(5_000):
        deep = [deep]
    assert (await refusal("bfs_query", {**BFS, "limit": deep})).argument == "limit"


async def test_a_refused_call_never_reaches_the_store(refusal, store):
    await refusal("bfs_query", {**BFS, "max_hops": 9})
    await refusal("bfs_query", {**BFS, "hops": 1})
    assert store[1].calls == []


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"max_hops": "1"}, {"max_hops": 1}),
        ({"max_hops": 1.0}, {"max_hops": 1}),
        ({"max_hops": "1.0"}, {"max_hops": 1}),
        ({"max_hops": " 1 "}, {"max_hops": 1}),
        ({"seeds": "RxNorm:3251"}, {}),
        ({"seeds": '["RxNorm:3251"]'}, {}),
        ({"seeds": ("RxNorm:3251",)}, {}),
        ({"seeds": [["RxNorm:3251"]]}, {}),
        ({"seeds": ["RxNorm:3251", "RxNorm:3251"]}, {}),
        ({"seeds": 7}, {"seeds": ["7"]}),
        ({"seeds": [7]}, {"seeds": ["7"]}),
        ({"seeds": "[7]"}, {"seeds": ["7"]}),
        ({"node_types": "Drug"}, {"node_types": ["Drug"]}),
        ({"predicates": '["TREATS", "CAUSES"]'}, {"predicates": ["TREATS", "CAUSES"]}),
        ({"topology_only": "true"}, {"topology_only": True}),
        ({"topology_only": " False "}, {}),
        ({"topology_only": 1}, {"topology_only": True}),
        ({"limit": "2"}, {"limit": 2}),
        ({"limit": 10**400}, {}),
        ({"limit": None, "offset": None, "node_types": None, "max_tokens": None}, {}),
        ({"node_types": [], "predicates": [], "exclude_node_types": []}, {}),
        ({"node_types": "", "predicates": "[]", "exclude_node_types": " []"}, {}),
        *(
            (dict.fromkeys(OPTIONAL, unset), {})
            for unset in ("", " ", "null", "None", [""], ["null"], ["None"], [None], '["null"]')
        ),
        ({"max_tokens": "0"}, {"max_tokens": 0}),
    ],
)
async def test_what_can_only_mean_one_thing_is_taken(graph, given, meant):
    assert await graph.call("bfs_query", {**BFS, **given}) == await graph.call(
        "bfs_query", {**BFS, **meant}
    )


async def test_null_is_a_name_where_the_graph_has_it():
    records = [
        NodeRecord("a", "null", {"None": 1}),
        NodeRecord("b", "T"),
        EdgeRecord("a", "p", "b"),
    ]
    async with open_graph(MemoryBackend(records)) as graph:
        await graph.describe_schema()
        answer = await graph.call(
            "bfs_query", {"seeds": ["a"], "max_hops": 1, "node_types": "null", "sort_by": "None"}
        )
    assert [node["id"] for node in answer.content["nodes"] if "metadata" in node] == ["a"]


async def test_a_list_of_one_is_taken_where_one_string_is_due(graph):
    assert await graph.call("describe_entity", {"id": ["7"]}) == await graph.describe_entity("7")
    assert await graph.call("describe_entity", {"id": 7}) == await graph.describe_entity("7")


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
async def test_an_unknown_id_that_is_no_name_names_the_closest_by_its_last_segment(
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
    assert list(dict.fromkeys(searches)) == [(wrong,), ("Cushing",)]
    assert store[1].count("edges_batch") <= 1  # started while the ids are looked up


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
    """Also knows its nodes by short ids, and answers with the canonical ones."""

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


KNOWN = ["Disease", "Drug", "Gene", "gene"]


async def notes_of(graph, **filters):
    answer = await graph.bfs_query("RxNorm:3251", 1, **filters)
    document = json.loads(answer.text)
    assert tuple(document.get("notes", ())) == answer.notes
    return document, list(answer.notes)


@pytest.mark.parametrize("argument", ["node_types", "exclude_node_types"])
async def test_an_unknown_type_is_named_with_the_closest(graph, argument):
    document, notes = await notes_of(graph, **{argument: ["Drugs", "Gene"]})
    assert document["node_count"] == 3
    [note] = notes
    assert argument in note
    assert '"Drugs"' in note
    assert "Drug" in note.split("closest")[1]


async def test_an_unknown_predicate_is_named_with_the_closest(graph):
    document, [note] = await notes_of(graph, predicates=["TREAT"])
    assert document["edge_count"] == 2
    assert all("metadata" not in edge for edge in document["edges"])
    assert "predicates" in note
    assert "TREATS" in note.split("closest")[1]


async def test_a_value_like_nothing_in_the_graph_points_to_where_values_are_listed(graph):
    _, [note] = await notes_of(graph, node_types=["zzzzzz"])
    assert "describe_schema" in note


async def test_a_unique_match_apart_from_case_is_taken_and_said(graph):
    document, notes = await notes_of(graph, node_types=["drug"], predicates=["treats"])
    assert notes == ['node_types: read "drug" as "Drug".', 'predicates: read "treats" as "TREATS".']
    assert [n["id"] for n in document["nodes"] if "metadata" in n] == ["RxNorm:3251"]
    assert all("metadata" in edge for edge in document["edges"])


async def test_known_values_and_empty_lists_make_no_notes(graph):
    for filters in ({"node_types": ["Drug"], "predicates": ["TREATS"]}, {"node_types": []}):
        assert await notes_of(graph, **filters) == (
            json.loads((await graph.bfs_query("RxNorm:3251", 1, **filters)).text),
            [],
        )


def test_a_match_that_is_not_unique_is_not_taken():
    taken, [note] = matched("node_types", ["GENE"], KNOWN, complete=True)
    assert taken == ["GENE"]
    assert "Gene, gene" in note


def test_an_exact_match_wins_over_others_apart_from_case():
    assert matched("node_types", ["gene", "Gene"], KNOWN, complete=True) == (["gene", "Gene"], [])


def test_the_note_on_a_partial_schema_does_not_claim_that_there_is_nothing():
    _, [partial] = matched("node_types", ["Paper"], KNOWN, complete=False)
    assert "sample" in partial


def test_many_and_long_unknown_values_make_a_few_short_notes():
    values = [f"{i}" + "x" * 16_000 for i in range(1_000)]
    taken, notes = matched("node_types", values, KNOWN * 3_000, complete=True)
    assert taken == values
    assert len(notes) == 6
    assert "995 more" in notes[-1]
    assert all(len(note) < 300 for note in notes)


def test_hidden_characters_in_a_value_are_shown_as_escapes():
    _, [note] = matched("node_types", ["D\u202erug\ud800"], KNOWN, complete=True)
    assert note.isprintable()


async def test_a_search_takes_the_graphs_spelling_and_notes_unknown_types(graph):
    answer = await graph.search_entities("Cushing", node_types=["disease", "Papers"])
    assert len(answer.content["result"]) == 2
    assert answer.notes[0] == 'node_types: read "disease" as "Disease".'
    assert '"Papers"' in answer.notes[1]


async def test_a_schema_of_every_case_of_a_word_is_matched_exactly(over):
    graph = over(MemoryBackend([NodeRecord("a", "gene"), NodeRecord("b", "GENE")]))
    answer = await graph.bfs_query(["a", "b"], 1, exclude_node_types=["GENE"])
    assert [n["id"] for n in answer.content["nodes"]] == ["a"]


def test_known_values_joined_by_commas_are_taken_apart():
    one, other = KNOWN[:2]
    assert matched("node_types", [f"{one}, {other}"], KNOWN, complete=True) == ([one, other], [])
    joined = f"{one},nothing"
    taken, notes = matched("node_types", [joined], KNOWN, complete=True)
    assert taken == [joined]
    assert len(notes) == 1
