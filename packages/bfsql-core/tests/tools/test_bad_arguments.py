"""What cannot mean anything is refused, in a sentence that says what would be right."""

from __future__ import annotations

import pytest

BFS = {"seeds": ["RxNorm:3251"], "max_hops": 1}
BOTH = {"seeds": ["RxNorm:3251", "MeSH:D003480"], "k": 1}


@pytest.mark.parametrize(
    ("tool", "arguments", "wrong", "parts"),
    [
        ("bfs", BFS, ("unknown_tool", None), ["bfs_query", "describe_schema", '"bfs"']),
        ("bfs_query", {**BFS, "depth": 2}, ("unknown_argument", "depth"), ['"depth"', "max_hops"]),
        ("bfs_query", {**BFS, "Max-Hops": 2}, ("unknown_argument", "Max-Hops"), ["mean max_hops?"]),
        ("bfs_query", {**BFS, "k": 2}, ("unknown_argument", "k"), ["Its arguments are: seeds"]),
        ("describe_schema", {"x": 1}, ("unknown_argument", "x"), ["takes no arguments"]),
        ("intersect_subgraphs", {**BOTH, "limit": 5}, ("unknown_argument", "limit"), ["limit"]),
        (
            "bfs_query",
            {"seeds": ["a"]},
            ("missing_argument", "max_hops"),
            ["max_hops", "Start with"],
        ),
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
        ("bfs_query", {**BFS, "limit": 0}, ("bad_value", "limit"), ["at least 1", "not 0"]),
        ("bfs_query", {**BFS, "limit": -1}, ("bad_value", "limit"), ["at least 1", "not -1"]),
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
        ({"max_tokens": "0"}, {"max_tokens": 0}),
    ],
)
async def test_what_can_only_mean_one_thing_is_taken(graph, given, meant):
    assert await graph.call("bfs_query", {**BFS, **given}) == await graph.call(
        "bfs_query", {**BFS, **meant}
    )


async def test_a_list_of_one_is_taken_where_one_string_is_due(graph):
    assert await graph.call("describe_entity", {"id": ["7"]}) == await graph.describe_entity("7")
    assert await graph.call("describe_entity", {"id": 7}) == await graph.describe_entity("7")
