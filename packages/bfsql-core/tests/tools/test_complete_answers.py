"""What an answer leaves out is said, and what it says is true."""

import pytest

from bfsql.call import Limits
from bfsql.graph import Graph, open_graph
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, NodeRecord
from bfsql_test_support.backends.in_memory import CountingBackend
from bfsql_test_support.tool_calls import worked_calls

BIG = 1915883588174806058
STAFF = [
    *(NodeRecord(f"e{i}", "Employee", {"name": f"E{i}"}) for i in range(4)),
    EdgeRecord("e1", "hasManager", "e0"),
]
WIDE = [
    *(
        NodeRecord(f"n{i:03}", "T", {"name": f"N{i}", "year": i, "text": f"{i}" + "x" * 40})
        for i in range(90)
    ),
    *(EdgeRecord("n000", "p", f"n{i:03}", {"year": i}) for i in range(1, 90)),
]


@pytest.mark.parametrize("answer_format", ["json", "lines"])
@pytest.mark.parametrize("written", [f"id_number={BIG}", f'id_number="{BIG}"'])
async def test_a_big_whole_number_is_text_in_answers_and_a_number_in_conditions(
    written, answer_format
):
    nodes = [
        NodeRecord("a", "T", {"id_number": BIG, "nested": {"of": [BIG, 2**53, -BIG]}}),
        NodeRecord("b", "T", {"id_number": BIG + 1}),
    ]
    limits = Limits(answer_format=answer_format)
    async with open_graph(MemoryBackend(nodes), limits=limits) as graph:
        answer = await graph.bfs_query([f"T[{written}]"], facets=["id_number"])
    [node], facet = answer.content["nodes"], answer.content["facets"]["id_number"]
    assert node["metadata"] == {
        "id_number": str(BIG),
        "nested": {"of": [str(BIG), 2**53, str(-BIG)]},
    }
    assert (facet["min"], facet["max"], facet["sum"]) == (str(BIG),) * 3
    assert f'"{BIG}"' in answer.text


async def test_a_measure_writes_a_big_whole_number_as_text():
    records = [*STAFF, NodeRecord("f", "Firm", {"size": BIG}), EdgeRecord("f", "has", "e0")]
    async with open_graph(MemoryBackend(records)) as graph:
        answer = await graph.bfs_query(["f"], path=["-has->"], measure=["max 0.size"])
    assert answer.content["nodes"][0]["measure"] == str(BIG)


class Uncounted(MemoryBackend):
    async def outline(self) -> None:
        return None


@pytest.mark.parametrize(
    ("condition", "note"),
    [
        ("no <-hasManager-", None),
        ("<-hasManager-", "from the nodes read here, so it holds for none of them."),
        ("no <-hasManager- Employee[name=X]", "holds for all of them. Check the names and values"),
    ],
)
@pytest.mark.parametrize("store", [MemoryBackend, Uncounted])
async def test_a_relation_that_stands_elsewhere_raises_no_alarm(condition, note, store):
    async with open_graph(store(STAFF)) as graph:
        answer = await graph.bfs_query(["e3"], where=[condition])
    notes = [one for one in answer.notes if "Nothing was found" in one]
    assert not any("anywhere" in one for one in notes)
    assert bool(notes) == (note is not None)
    assert note is None or note in notes[0]


@pytest.mark.parametrize(
    ("most", "said"),
    [
        ("", '20 of 90 values; "year:90" shows all'),
        (":3", '3 of 90 values; "year:90" shows all'),
        (":90", None),
    ],
)
async def test_a_facet_that_is_cut_says_how_many_values_there_are(most, said):
    async with open_graph(MemoryBackend(WIDE)) as graph:
        notes = (await graph.bfs_query(["T:*"], facets=[f"year{most}"], limit=0)).notes
    cut = [one for one in notes if one.startswith("facets:")]
    assert len(cut) == (said is not None)
    assert said is None or f'"year" shows {said}.' in cut[0]


async def test_a_condition_that_nothing_meets_counts_the_values_that_it_does_not_list():
    async with open_graph(MemoryBackend(WIDE)) as graph:
        notes = (await graph.bfs_query(["T:*"], where=["year=9999"])).notes
    assert any('Values found: "0", "1", "10", "11", "12" and 85 more.' in one for one in notes)


@pytest.mark.parametrize("answer_format", ["json", "lines"])
@pytest.mark.parametrize(
    "arguments",
    [
        {"seeds": ["T:*"], "limit": 90},
        {"seeds": ["n000"], "max_hops": 1},
        {"seeds": ["n000"], "path": ["-p->"]},
        {"seeds": ["n000"], "path": ["-p->"], "show": "walks", "limit": 90},
        {"seeds": ["T:*"], "sort_by": "-year", "limit": 90},
    ],
)
async def test_a_budget_takes_rows_before_it_takes_requested_fields(arguments, answer_format):
    limits = Limits(answer_format=answer_format)
    async with open_graph(MemoryBackend(WIDE), limits=limits) as graph:
        answer = await graph.bfs_query(**arguments, fields=["year", "text"], max_tokens=1_500)
    nodes = answer.content["nodes"]
    assert 1 < len(nodes) < 90
    assert all({"year", "text"} <= node["metadata"].keys() for node in nodes)
    assert all("year" in edge["metadata"] for edge in answer.content["edges"])
    assert any("did not fit the token budget. Continue with offset=" in n for n in answer.notes)
    assert not any("without metadata" in one for one in answer.notes)


async def test_an_intersection_keeps_requested_fields_in_a_budget():
    more = [EdgeRecord("n001", "p", f"n{i:03}") for i in range(2, 90)]
    async with open_graph(MemoryBackend([*WIDE, *more])) as graph:
        answer = await graph.intersect_subgraphs(
            ["n000", "n001"], k=1, fields=["text"], max_tokens=1_500
        )
    assert 1 < len(answer.content["nodes"]) < 90
    assert all("text" in node["metadata"] for node in answer.content["nodes"])


async def test_fields_of_which_not_even_one_node_has_room_are_read_once():
    long = [NodeRecord(f"n{i}", "T", {"text": "word " * 1_000}) for i in range(9)]
    backend = CountingBackend([*long, *(EdgeRecord("n0", "p", node.id) for node in long)])
    graph = Graph(backend, "", Limits(), None)  # without a cache
    answer = await graph.bfs_query(["n0"], 1, fields=["text"], max_tokens=800)
    assert len(answer.content["nodes"]) == 9
    assert any("9 nodes and 9 edges were left without metadata" in one for one in answer.notes)
    assert backend.calls["metadata_for_nodes_batch"] == 1


@pytest.mark.parametrize(
    ("values", "facets"), [([5, 5], ["weight"]), ([1, 2], ["weight"]), (["a", "b"], None)]
)
async def test_the_example_of_groups_has_a_facet_or_is_left_out(values, facets):
    nodes = [NodeRecord(f"t{i}", "T", {"weight": one}) for i, one in enumerate(values)]
    async with open_graph(MemoryBackend(nodes)) as graph:
        calls = await worked_calls(graph)
    groups = {"groups": {"seeds": ["T:*"], "facets": facets, "limit": 0}} if facets else {}
    assert calls == {
        "how many": calls["how many"],
        **groups,
        "neighbours": {"seeds": ["T: NAME"], "path": ["--"]},
    }
