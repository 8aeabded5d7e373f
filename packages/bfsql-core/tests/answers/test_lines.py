"""Answers in lines: read back by their grammar they are the JSON answer."""

from bfsql_trials import drawn
from bfsql_trials.agreement import values
from bfsql_trials.reading_lines import read
from hypothesis import given, settings
from hypothesis import strategies as st

from bfsql import Limits, MemoryBackend, open_graph
from bfsql.answers import in_lines
from bfsql.models import EdgeRecord, NodeRecord

LINES = Limits(answer_format="lines")

TEXTS = st.text(max_size=8) | st.sampled_from(
    ["a; b=c", "12", "true", "NaN", "#1", "a|b", "{", "x}", "[1]", '"q"', "two words", " edge "]
)
METADATA = st.dictionaries(TEXTS.filter(bool), values(TEXTS, null=False), max_size=3)


@settings(max_examples=25)
@given(drawn.graphs_with_seeds(seeds=2), st.integers(1, 3), drawn.narrowing())
async def test_every_answer_is_read_back(case, hops, filters):
    graph, seeds = case
    backend = MemoryBackend(graph.records)
    calls = [
        ("bfs_query", {"seeds": seeds, "max_hops": hops, "limit": 4, **filters}),
        ("bfs_query", {"seeds": seeds, "path": ["--{1,2}"]}),
        ("intersect_subgraphs", {"seeds": seeds, "k": hops, "connect": True, **filters}),
        ("describe_entities", {"ids": [*seeds, "no such id"]}),
        ("describe_entity", {"id": seeds[0]}),
        ("search_entities", {"query": "n"}),
        ("describe_schema", {}),
    ]
    async with open_graph(backend) as one, open_graph(backend, limits=LINES) as other:
        for tool, arguments in calls:
            wanted, found = await one.call(tool, arguments), await other.call(tool, arguments)
            assert read(found.text) == wanted.content
            assert found.content == wanted.content
            assert found.blocks == (found.text,)


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(TEXTS.filter(bool), TEXTS.filter(bool), METADATA),
        max_size=4,
        unique_by=lambda node: node[0],
    )
)
def test_whatever_text_an_answer_holds_is_read_back(drawn_nodes):
    nodes = [{"id": i, "entity_type": t, "metadata": m} for i, t, m in drawn_nodes]
    edges = [
        {"subject": one["id"], "predicate": one["entity_type"], "object": other["id"]}
        | ({"metadata": one["metadata"]} if one is other else {})
        for one in nodes
        for other in nodes
    ]
    content = {"seeds": [], "nodes": nodes, "edges": edges}
    assert read(in_lines(content)) == content
    listed = {"result": [{"id": n["id"], "entity_type": n["entity_type"]} for n in nodes]}
    assert read(in_lines(listed)) == listed


RECORDS = [
    NodeRecord("film:1", "Film", {"name": "Le Jour se l\u00e8ve", "year": 1939}),
    NodeRecord("person:1", "Person", {"name": "Arletty"}),
    NodeRecord("person:2", "Person", {"name": "Jean Gabin"}),
    EdgeRecord("person:1", "acted in", "film:1", {"confidence": 0.9}),
    EdgeRecord("person:2", "acted in", "film:1"),
]


async def test_an_answer_in_lines_looks_like_this():
    async with open_graph(MemoryBackend(RECORDS), limits=LINES) as graph:
        answer = await graph.bfs_query("film:1", 1)
    assert answer.text.split("\n") == [
        'seeds: ["film:1"]',
        "max_hops: 1",
        "node_count: 3",
        "edge_count: 2",
        "node_counts: Film=1; Person=2",
        'edge_counts: "acted in"=2',
        "nodes:",
        "#1 film:1 Film | name=Le Jour se l\u00e8ve; year=1939",
        "#2 person:1 Person | name=Arletty",
        "#3 person:2 Person | name=Jean Gabin",
        "edges:",
        '#2 "acted in" #1{confidence=0.9}',
        '#3 "acted in" #1{}',
    ]


async def test_a_budget_counts_what_is_sent():
    nodes = [NodeRecord(f"n:{i:04}", "Thing", {"name": f"thing {i}"}) for i in range(400)]
    edges = [EdgeRecord("n:0000", "near", n.id) for n in nodes]
    backend = MemoryBackend([*nodes, *edges])
    shown = []
    for answer_format in ("json", "lines"):
        limits = Limits(max_tokens=3_000, answer_format=answer_format)
        async with open_graph(backend, limits=limits) as graph:
            answer = await graph.bfs_query("n:0000", 1, topology_only=True)
        assert len(answer.text.encode()) <= 3 * 3_000
        shown.append(len(answer.content["nodes"]))
    assert shown[1] > 1.5 * shown[0]
