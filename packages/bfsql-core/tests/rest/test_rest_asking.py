"""Arguments that filter, follow or sort: the web API answers with the same bytes as the tools."""

import json
from typing import Any

import pytest

from bfsql import MemoryBackend, open_graph
from bfsql.models import NodeRecord, Outline, outline_of
from bfsql.tools.verify import Verdict
from bfsql_test_support import tool_calls

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("bfs_query", {"seeds": ["Tom Hanks"], "path": ["-ACTED_IN-> Film", "<-DIRECTED-"]}),
    ("bfs_query", {"seeds": ["person:1"], "path": [">acted_in"], "show": "ends"}),
    ("bfs_query", {"seeds": ["person:1"], "path": ["-->", "<--"], "show": 1}),
    ("bfs_query", {"seeds": ["film:1"], "path": ["<--", "-->"], "count_distinct": 1}),
    ("bfs_query", {"seeds": ["person:1"], "path": ["-ACTED_IN->"], "to": ["film:2"]}),
    ("bfs_query", {"seeds": ["person:1"], "to": ["person:3", "person:2"]}),
    ("bfs_query", {"seeds": ["film:1"], "max_hops": 1, "where": ["ACTED_IN.confidence>0.5"]}),
    ("bfs_query", {"seeds": ["person:1"], "path": ["-ACTED_IN->"], "where": ["year<2000"]}),
    ("bfs_query", {"seeds": ["film:1"], "max_hops": 2, "sort_by": "-degree"}),
    ("bfs_query", {"seeds": ["film:1"], "max_hops": 2, "order_by": "name desc"}),
    ("bfs_query", {"seeds": ["film:1"], "max_hops": 1, "fields": ["name"]}),
    ("bfs_query", {"seeds": ["film:1"], "max_hops": 2, "limit": 0}),
    ("bfs_query", {"seeds": ["Film[year=1993]"], "path": ["<-- Person"], "facets": ["name"]}),
    ("bfs_query", {"seeds": ["Person[no -DIRECTED->]"], "limit": 0, "facets": ["name"]}),
    ("bfs_query", {"seeds": ["Person:*"], "where": ["no -DIRECTED-> Film[year]"]}),
    ("bfs_query", {"seeds": ["film:1"], "along": ["<-ACTED_IN-", "-ACTED_IN->"], "to": ["film:2"]}),
    (
        "bfs_query",
        {
            "seeds": ["Film:*"],
            "path": ["<-ACTED_IN-", "-ACTED_IN->"],
            "where": ["2 != 0"],
            "measure": ["count 1", "max 1.ACTED_IN.confidence"],
            "sort_by": "-measure",
        },
    ),
    ("bfs_query", {"seeds": ["Film:*"], "path": ["<--"], "show": "walks", "sort_by": "1.name"}),
    ("intersect_subgraphs", {"seeds": ["person:1", "person:2"], "connect": True}),
    ("intersect_subgraphs", {"seeds": ["person:1", "person:3"], "k": 2, "connect": True}),
    ("intersect_subgraphs", {"seeds": ["film:1", "film:2"], "sort_by": "name", "fields": ["name"]}),
    ("describe_schema", {"seeds": ["Meg Ryan"]}),
    ("search_entities", {"query": "tom hnaks", "node_types": ["Person"]}),
    ("search_entities", {"query": "mge rayn"}),
]
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"path": ["studies"]}, "path"),
    ({"path": ["-ACTED_IN->"] * 9}, "path"),
    ({"path": ["-ACTED_IN->"], "max_hops": 3}, "max_hops"),
    ({"path": ["-ACTED_IN->"], "show": 2}, "show"),
    ({"path": ["-ACTED_IN->"], "count_distinct": 2}, "count_distinct"),
    ({"to": ["nobody"]}, "to"),
    ({"max_hops": 1, "where": ["year"]}, "where"),
    ({"max_hops": 1, "sort_by": "paths"}, "sort_by"),
    ({"seeds": ["Flm:*"]}, "seeds"),
    ({"max_hops": 1, "facets": ["1.year"]}, "facets"),
    ({"max_hops": 1, "measure": "count 1"}, "measure"),
    ({"path": ["<--"], "along": ["<--"]}, "along"),
    ({"max_hops": 1, "show": "walks"}, "show"),
    ({"max_hops": 1, "where": ["no <-ACTED- Person"]}, "where"),
    ({"path": ["no <-DIRECTED-"]}, "path"),
    ({"path": ["<--"], "measure": "mean 3.year"}, "measure"),
    ({"along": ["--"], "max_hops": 21}, "max_hops"),
]


async def test_an_answer_has_the_bytes_of_the_tool(web, records):
    for tool, arguments in CALLS:
        answer = await web.post(f"/tools/{tool}", json=arguments)
        assert answer.status_code == 200, answer.text
        async with open_graph(MemoryBackend(records)) as graph:
            wanted = await tool_calls.asked(graph, tool, **arguments)
        if tool == "search_entities":
            assert answer.json()["result"] == json.loads(wanted.text)
            assert answer.json()["notes"] == list(wanted.notes)
        else:
            assert answer.text == wanted.text, arguments


@pytest.mark.parametrize(("arguments", "argument"), WRONG)
async def test_what_cannot_be_asked_is_named(web, arguments, argument):
    answer = await web.post("/tools/bfs_query", json={"seeds": ["film:1"], **arguments})
    assert 400 <= answer.status_code < 500
    problem = answer.json()
    assert problem["argument"] == argument
    assert problem["detail"].startswith(argument)


async def test_the_outline_counts_relations_and_tells_properties(web):
    assert (await web.get("/schema")).json()["outline"] == "/outline"
    outline = (await web.get("/outline")).json()
    assert not outline["counting"]
    assert outline["relations_from"] == "all"
    assert outline["node_counts"] == {"Film": 2, "Person": 3}
    assert outline["relations"][0] == {
        "subject_type": "Person",
        "predicate": "ACTED_IN",
        "object_type": "Film",
        "edges": 4,
    }
    assert {
        key: value
        for key, value in outline["node_properties"]["Film"][1].items()
        if key not in ("values", "further_values")
    } == {"name": "year", "kind": "number", "minimum": 1993, "maximum": 1993}
    assert "ACTED_IN" in outline["edge_properties"]


async def test_the_outline_of_a_sample_has_no_numbers(served):
    class Sampling(MemoryBackend):
        async def outline(self) -> Outline:
            return outline_of({}, {("T", "p", "T"): 3}, sampled=True)

    outline = (await (await served(Sampling([NodeRecord("a", "T")]))).get("/outline")).json()
    assert outline["relations_from"] == "sample"
    assert outline["relations"] == [{"subject_type": "T", "predicate": "p", "object_type": "T"}]
    assert outline["node_counts"] == {}


async def test_claims_are_checked_as_in_python(web, records):
    text = "Tom Hanks -ACTED_IN-> Sleepless in Seattle\nMeg Ryan -DIRECTED-> film:1\nBravo!"
    async with open_graph(MemoryBackend(records)) as graph:
        verdicts = await graph.verify(text)
    answer = (await web.post("/verify", json={"text": text})).json()
    assert [Verdict.model_validate(one, strict=False) for one in answer["verdicts"]] == verdicts
    assert answer["verdicts"][0]["evidence"][0]["text_span"] == "They met."
    wrong = await web.post("/verify", json={"text": ["a"]})
    assert (wrong.status_code, wrong.json()["argument"]) == (400, "text")
    assert wrong.json()["detail"].startswith("text must be a string, not")
