"""Meaningless arguments, and ids and types that the graph does not have."""

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
MANY = [f"n:{number}" for number in range(201)]
TWICE = ["different", '"7"', "bfs_query"]


@pytest.mark.parametrize(
    ("argument", "value", "parts"),
    [
        ("max_hops", 0, ["1 to 5", "not 0"]),
        ("max_hops", 6, ["1 to 5", "not 6"]),
        ("max_hops", 2.5, ["whole", "not 2.5"]),
        ("max_hops", True, ["whole", "not true"]),
        ("max_hops", "nan", ['not "nan"']),
        ("max_hops", float("inf"), ["1 to 5"]),
        ("max_hops", 10**400, ["1 to 5", "..."]),
        pytest.param("max_hops", -(10**5000), ["type int"], id="enormous"),
        ("max_hops", [1], ["not [1]"]),
        ("limit", -1, ["at least 0", "not -1"]),
        ("offset", -1, ["at least 0", "not -1"]),
        ("min_mentions", 0, ["at least 1"]),
        ("max_tokens", -1, ["500", "-1"]),
        ("max_tokens", 499, ["500", "499"]),
        ("topology_only", "yes", ["true or"]),
        ("topology_only", 2, ["true or"]),
        ("seeds", "[]", ["at least one", "search_ent"]),
        ("seeds", [" \n"], ["not blank"]),
        ("seeds", [None], ["not null"]),
        ("seeds", [True], ["not true"]),
        ("seeds", [["a", "b"]], ['["a", "b"]']),
        ("seeds", [{"id": "n:1"}], ['a list of strings, not {"id": "n:1"}']),
        ("seeds", True, ["a list of strings"]),
        ("node_types", 2.5, ["not 2.5"]),
    ],
)
async def test_a_wrong_value_is_refused_by_name(refusal, argument, value, parts):
    error = await refusal("bfs_query", {**BFS, argument: value})
    assert (error.kind, error.argument) == ("bad_value", argument)
    assert all(part in str(error) for part in [argument, *parts])


@pytest.mark.parametrize(
    ("tool", "arguments", "wrong", "parts"),
    [
        ("bfs", BFS, ("unknown_tool", None), ["bfs_query", "describe_schema", '"bfs"']),
        ("bfs_query", {**BFS, "Max-Hops": 2}, ("unknown_argument", "Max-Hops"), ["mean max_hops?"]),
        ("bfs_query", {**BFS, "depth": 2}, ("unknown_argument", "depth"), ["mean max_hops?"]),
        ("search_entities", {"name": "a"}, ("unknown_argument", "name"), ["mean query?"]),
        ("describe_schema", {"x": 1}, ("unknown_argument", "x"), ["arguments are: seeds."]),
        ("intersect_subgraphs", {**BOTH, "limit": 5}, ("unknown_argument", "limit"), ["limit"]),
        ("bfs_query", None, ("missing_argument", "seeds"), ["needs seeds"]),
        ("bfs_query", {**BFS, "seeds": None}, ("missing_argument", "seeds"), ["needs seeds"]),
        ("bfs_query", [1], ("bad_value", None), ["an object", "[1]"]),
        ("intersect_subgraphs", {**BOTH, "k": 6}, ("bad_value", "k"), ["1 to 5"]),
        (
            "search_entities",
            {"query": ["é", "ü"]},
            ("bad_value", "query"),
            ['one string, not ["é"'],
        ),
        ("search_entities", {"query": ""}, ("bad_value", "query"), ["not blank"]),
        ("describe_entity", {"id": True}, ("bad_value", "id"), ["one string", "not true"]),
        ("bfs_query", {"seeds": MANY}, ("too_large", "seeds"), ["201 values", "100", "several"]),
        ("describe_entities", {"ids": MANY}, ("too_large", "ids"), ["201 values", "limit is 200"]),
        ("describe_entity", {"id": "x" * 16_385}, ("too_large", "id"), ["16385 bytes", "16384"]),
        ("search_entities", {"query": "\u00e9" * 8_193}, ("too_large", "query"), ["16386 bytes"]),
        ("intersect_subgraphs", {"seeds": "7", "k": 1}, ("bad_value", "seeds"), ["2 or more, not"]),
        ("intersect_subgraphs", {"seeds": ["7"] * 2, "k": 1}, ("bad_value", "seeds"), TWICE),
    ],
)
async def test_a_call_that_is_no_call_is_refused_by_name(refusal, tool, arguments, wrong, parts):
    error = await refusal(tool, arguments)
    assert (error.kind, error.argument) == wrong
    assert all(part in str(error) for part in [*parts, wrong[1] or ""])


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
        ({"max_hops": " 1 "}, {"max_hops": 1}),
        ({"max_hops": "1.0"}, {"max_hops": 1}),
        ({"seeds": "RxNorm:3251"}, {}),
        ({"seeds": '["RxNorm:3251"]'}, {}),
        ({"seeds": ("RxNorm:3251",)}, {}),
        ({"seeds": [["RxNorm:3251"]]}, {}),
        ({"seeds": ["RxNorm:3251", "RxNorm:3251"]}, {}),
        ({"seeds": 7}, {"seeds": ["7"]}),
        ({"seeds": "[7]"}, {"seeds": ["7"]}),
        ({"predicates": '["TREATS", "CAUSES"]'}, {"predicates": ["TREATS", "CAUSES"]}),
        ({"topology_only": "true"}, {"topology_only": True}),
        ({"topology_only": " False "}, {}),
        ({"topology_only": 1}, {"topology_only": True}),
        ({"limit": 10**400}, {}),
        ({"limit": None, "offset": None, "node_types": [], "predicates": " []"}, {}),
        *((dict.fromkeys(OPTIONAL, unset), {}) for unset in (" ", "None", [None], '["null"]')),
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
    *("nul\x00byte", "quo\"te'\\", "new\nline", "\u202eevil", "\U0001f600"),
    *("x" * 16_384, "::::", "[1", "lone\ud800surrogate"),
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


async def test_of_several_unknown_ids_one_is_named_and_the_others_counted(refusal):
    error = await refusal("bfs_query", {"seeds": ["x:zz", "x:yy", "RxNorm:3251"], "max_hops": 1})
    assert '"x:zz"' in str(error)
    assert "1 more" in str(error)
    assert "Nothing similar" in str(error)


@pytest.mark.parametrize("hostile", HOSTILE)
async def test_a_hostile_text_is_unknown_and_breaks_nothing(refusal, graph, hostile):
    error = await refusal("bfs_query", {"seeds": [hostile], "max_hops": 1})
    assert (error.kind, error.argument) == ("unknown_entity", "seeds")
    str(error).encode()
    assert (await refusal("describe_entity", {"id": hostile})).kind == "unknown_entity"
    answer = await graph.describe_entities([hostile, "7"])
    assert [record["id"] for record in answer.content["result"]] == ["7"]
    assert "search_entities" in answer.notes[0]
    "".join(answer.blocks).encode()
    json.dumps(answer.content, ensure_ascii=False).encode()
    answer = await graph.search_entities(hostile)
    assert answer.text == "[]"
    assert "Nothing" in answer.notes[0]
    "".join(answer.blocks).encode()


@pytest.mark.parametrize("hostile", HOSTILE[:-1])
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


async def test_ids_are_echoed_in_their_canonical_spelling_each_once_in_order(aliased):
    wanted = ["RxNorm:2", "RxNorm:1", "RxNorm:0"]
    for _ in range(2):
        asked = ["rx:2", "RxNorm:1", "rx:1", "rx:0"]
        assert json.loads((await aliased.bfs_query(asked, 1)).text)["seeds"] == wanted
        records = await aliased.describe_entities(asked)
        assert [record["id"] for record in records.content["result"]] == wanted
        assert records.notes == ()
    with pytest.raises(ToolError, match="different entities"):
        await aliased.intersect_subgraphs(["rx:1", "RxNorm:1"], 1)
    with pytest.raises(ToolError, match='"nobody"'):
        await aliased.bfs_query(["rx:1", "nobody"], 1)


KNOWN = ["Disease", "Drug", "Gene", "gene"]


async def notes_of(graph, **filters):
    answer = await graph.bfs_query("RxNorm:3251", 1, **filters)
    document = json.loads(answer.text)
    assert tuple(document.get("notes", ())) == answer.notes
    return document, list(answer.notes)


@pytest.mark.parametrize(
    ("argument", "value", "parts"),
    [
        ("node_types", "Drugs", ['"Drugs"', "The closest are: Drug"]),
        ("exclude_node_types", "Drugs", ['"Drugs"', "The closest are: Drug"]),
        ("predicates", "TREAT", ["The closest are: TREATS"]),
        ("node_types", "zzzzzz", ["describe_schema"]),
    ],
)
async def test_an_unknown_name_is_noted_with_the_closest(graph, argument, value, parts):
    document, [note] = await notes_of(graph, **{argument: [value]})
    assert (document["node_count"], document["edge_count"]) == (3, 2)
    assert all(part in note for part in [argument, *parts])
    full = [one for one in document["edges"] if "metadata" in one]
    assert len(full) == (0 if argument == "predicates" else 2)


async def test_a_unique_match_apart_from_case_is_taken_and_said(graph):
    document, notes = await notes_of(graph, node_types=["drug"], predicates=["treats"])
    assert notes == ['node_types: read "drug" as "Drug".', 'predicates: read "treats" as "TREATS".']
    assert [n["id"] for n in document["nodes"] if "metadata" in n] == ["RxNorm:3251"]
    assert all("metadata" in edge for edge in document["edges"])


@pytest.mark.parametrize(
    ("given", "taken", "parts"),
    [
        (["GENE"], ["GENE"], ["Gene, gene"]),
        (["gene", "Gene"], ["gene", "Gene"], []),
        (["Disease, Drug"], ["Disease", "Drug"], []),
        (["Disease,nothing"], ["Disease,nothing"], ['"Disease,nothing"']),
        (["D\u202erug\ud800"], ["D\u202erug\ud800"], ['"D\\u202erug']),
    ],
    ids=["of two", "exact", "joined", "joined to nothing", "hidden characters"],
)
def test_a_name_is_taken_where_it_can_mean_one_thing(given, taken, parts):
    found, notes = matched("node_types", given, KNOWN, complete=True)
    assert (found, len(notes)) == (taken, len(parts))
    assert all(part in notes[0] and notes[0].isprintable() for part in parts)
    _, partial = matched("node_types", given, KNOWN, complete=False)
    assert all("sample" in note for note in partial)


def test_many_and_long_unknown_values_make_a_few_short_notes():
    values = [f"{i}" + "x" * 16_000 for i in range(1_000)]
    taken, notes = matched("node_types", values, KNOWN * 3_000, complete=True)
    assert taken == values
    assert len(notes) == 6
    assert "995 more" in notes[-1]
    assert all(len(note) < 300 for note in notes)


async def test_a_search_takes_the_graphs_spelling_and_notes_unknown_types(graph):
    answer = await graph.search_entities("Cushing", node_types=["disease", "Papers"])
    assert len(answer.content["result"]) == 2
    assert answer.notes[0] == 'node_types: read "disease" as "Disease".'
    assert '"Papers"' in answer.notes[1]


async def test_a_schema_of_every_case_of_a_word_is_matched_exactly(over):
    graph = over(MemoryBackend([NodeRecord("a", "gene"), NodeRecord("b", "GENE")]))
    answer = await graph.bfs_query(["a", "b"], 1, exclude_node_types=["GENE"])
    assert [n["id"] for n in answer.content["nodes"]] == ["a"]
