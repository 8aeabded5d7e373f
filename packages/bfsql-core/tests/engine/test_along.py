"""`along`: only some steps, in any order, compared with searches over individually listed arcs."""

from collections import defaultdict
from itertools import pairwise, product
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bfsql import CachedGraphDb, Graph, Limits, MemoryBackend, open_graph
from bfsql.errors import ToolError
from bfsql.models import EdgeRecord, NodeRecord, Path, Pattern, Triple
from bfsql_test_support import graph_strategies, tool_calls
from bfsql_test_support.backends.columns import ColumnsOverMemory
from bfsql_test_support.oracles import walking
from bfsql_test_support.oracles.traversals import Oracle
from bfsql_test_support.oracles.walking import Walker

NO_BUDGET = Limits(max_tokens=0)
STARTS = st.none() | st.none() | st.frozensets(st.sampled_from(graph_strategies.TYPES), min_size=1)


@st.composite
def relations(draw: st.DrawFn) -> list[Path]:
    """Single steps, some with types in front."""
    steps = draw(walking.steps(times=False))
    return list(dict.fromkeys(Path((step,), Pattern(draw(STARTS))) for step in steps))


class Arcs:
    """By node, the edges that some relations follow from there, and where they lead."""

    def __init__(self, graph: graph_strategies.Drawn, along: list[Path]) -> None:
        walker = Walker.of(graph)
        self.out: dict[str, set[tuple[Triple, str]]] = defaultdict(set)
        for node, kind in walker.types.items():
            for one in along:
                if one.start.types is None or kind in one.start.types:
                    self.out[node] |= set(walker._arcs(node, one.steps[0]))

    def around(self, seeds: list[str], hops: int) -> tuple[dict[str, int], set[Triple]]:
        """The distance of each node from the seeds, and the edges followed from those within."""
        far, edges = dict.fromkeys(seeds, 0), set[Triple]()
        for level in range(hops):
            for node in [one for one, distance in far.items() if distance == level]:
                for edge, end in self.out[node]:
                    edges.add(edge)
                    far.setdefault(end, level + 1)
        return far, edges

    def graph(self, kept: set[str]) -> Any:
        made: Any = nx.DiGraph()
        made.add_nodes_from(kept)
        made.add_edges_from(
            (node, end) for node in kept for _, end in self.out[node] if end in kept
        )
        return made


def call_of(along: list[Path]) -> dict[str, Any]:
    return {"along": [one.text for one in along]}


def triples(answer: dict[str, Any]) -> set[Triple]:
    return {(e["subject"], e["predicate"], e["object"]) for e in answer["edges"]}


def stores(graph: graph_strategies.Drawn) -> list[Any]:
    return [
        MemoryBackend(graph.records),
        ColumnsOverMemory(graph.records, 3),
        CachedGraphDb(MemoryBackend(graph.records)),
    ]


@settings(max_examples=150)
@given(walking.tangles(), relations(), st.integers(1, 4), graph_strategies.removing(), st.data())
async def test_only_these_edges_are_followed(graph, along, hops, removed, data):
    seeds = data.draw(st.lists(st.sampled_from(graph.ids), min_size=1, max_size=2, unique=True))
    far, edges = Arcs(graph, along).around(seeds, hops)
    oracle = Oracle(graph)
    kept = {i for i in far if oracle.stays(i, **removed)}
    answers = []
    for backend in stores(graph):
        served = Graph(backend, "", NO_BUDGET, None)
        arguments = {"seeds": seeds, "max_hops": hops, **call_of(along), **removed}
        answer = await tool_calls.read(served, "bfs_query", **arguments)
        assert [n["id"] for n in answer["nodes"]] == sorted(kept, key=lambda i: (far[i], i))
        assert triples(answer) == {t for t in edges if t[0] in kept and t[2] in kept}
        assert answer["along"] == [one.text for one in along]
        ended = [
            note
            for note in answer["notes"]
            if note.startswith(("along was followed", "along found"))
        ]
        assert bool(ended) == (max(far.values()) < hops)
        assert any("along may lead further" in note for note in answer["notes"]) != bool(ended)
        answers.append(answer)
    assert answers[0] == answers[1] == answers[2]


@settings(max_examples=150)
@given(walking.tangles(), relations(), st.none() | st.integers(1, 4), st.data())
async def test_shortest_chains_follow_only_these_edges(graph, along, hops, data):
    drawn = st.lists(st.sampled_from(graph.ids), min_size=1, max_size=2, unique=True)
    seeds, to = data.draw(drawn, label="seeds"), data.draw(drawn, label="to")
    removed = data.draw(graph_strategies.removing())
    oracle, arcs = Oracle(graph), Arcs(graph, along)
    whole = arcs.graph({i for i in oracle.nodes if i in seeds + to or oracle.stays(i, **removed)})
    nodes, edges, lengths = set(), set(), []
    for one, other in product(seeds, to):
        if nx.has_path(whole, one, other):
            length = nx.shortest_path_length(whole, one, other)
            if length > (hops or 20):
                continue
            lengths.append(length)
            for way in nx.all_shortest_paths(whole, one, other):
                nodes |= set(way)
                steps = set(pairwise(way))
                edges |= {e for a, b in steps for e, end in arcs.out[a] if end == b}
    answers = []
    for backend in stores(graph):
        arguments = {"seeds": seeds, "to": to, **call_of(along), **removed}
        if hops:
            arguments["max_hops"] = hops
        served = Graph(backend, "", NO_BUDGET, None)
        answer = await tool_calls.read(served, "bfs_query", **arguments)
        assert {n["id"] for n in answer["nodes"]} == nodes
        assert triples(answer) == edges
        assert answer["max_hops"] == (hops or 20)
        notes = " ".join(answer["notes"])
        assert all(f" {length}" in notes for length in lengths)
        apart = "Not connected along these steps" in notes
        assert apart == (len(lengths) < len(seeds) * len(to))
        answers.append(answer)
    assert answers[0] == answers[1] == answers[2]


CHAIN = [
    *(
        NodeRecord(f"n:{number:02}", "T" if number else "Root", {"n": number})
        for number in range(25)
    ),
    *(EdgeRecord(f"n:{number + 1:02}", "is_a", f"n:{number:02}") for number in range(24)),
    *(EdgeRecord(f"n:{number:02}", "near", "n:24") for number in range(5)),
]


async def test_a_hierarchy_is_followed_up_to_20_edges_and_the_answer_says_where_it_ends():
    async with open_graph(MemoryBackend(CHAIN)) as graph:
        up = await tool_calls.read(graph, "bfs_query", seeds=["n:12"], along=["-is_a->"])
        assert (up["max_hops"], up["node_count"], up["edge_count"]) == (20, 13, 12)
        assert up["notes"] == ["along was followed to its end, 12 edges away."]
        cut = await tool_calls.read(graph, "bfs_query", seeds=["n:24"], along=["-is_a->"])
        assert cut["node_count"] == 21
        [note] = cut["notes"]
        assert note == "along may lead further from the 1 node at max_hops=20: start from these."
        cut = await tool_calls.read(
            graph, "bfs_query", seeds=["n:24"], along=["-is_a->"], max_hops=2
        )
        assert cut["notes"][0].endswith("at max_hops=2: raise max_hops, or start from these.")
        none = await tool_calls.read(graph, "bfs_query", seeds=["n:00"], along=["-is_a->"])
        assert none["notes"] == [
            "along found nothing: none of its steps matches an edge of the seeds."
        ]


async def test_conditions_in_brackets_hold_wherever_the_step_is_taken():
    async with open_graph(MemoryBackend(CHAIN)) as graph:
        call = {"seeds": ["n:12"], "topology_only": True}
        answer = await tool_calls.read(graph, "bfs_query", **call, along=["-is_a-> T[n>=9]"])
        assert [node["id"] for node in answer["nodes"]] == ["n:12", "n:11", "n:10", "n:09"]
        answer = await tool_calls.read(graph, "bfs_query", **call, along=["T[n>=9] -is_a->"])
        assert [node["id"] for node in answer["nodes"]][-1] == "n:08"
        assert answer["along"] == ["T[n>=9] -is_a->"]


async def test_a_note_on_a_relation_in_brackets_is_in_every_answer_to_the_same_call():
    async with open_graph(ColumnsOverMemory(CHAIN)) as graph:
        call = {"seeds": ["n:12"], "along": ["-is_a-> T[-is_a-> T[n>=99]]"]}
        first, again = [await tool_calls.read(graph, "bfs_query", **call) for _ in range(2)]
        assert any("n>=99" in note for note in first["notes"])
        assert again == first


class Recording(ColumnsOverMemory):
    """Columns that record which parts of rings are read."""

    def __init__(self, records: Any) -> None:
        super().__init__(records)
        self.asked: set[tuple[Any, Any]] = set()

    def columns(self) -> Any:
        made, asked = super().columns(), self.asked
        rings = made.rings

        def recorded(handles: Any, *, predicates: Any = None, direction: Any = None) -> Any:
            asked.add((predicates and tuple(sorted(predicates)), direction))
            return rings(handles, predicates=predicates, direction=direction)

        made.rings = recorded
        return made


@pytest.mark.parametrize(
    ("along", "forth"),
    [
        (["-is_a->"], {(("is_a",), "out")}),
        (["-is_a->", "<-near-"], {(("is_a",), "out"), (("near",), "in")}),
        (["-is_a->", "<-is_a-", "-near-> T"], {(("is_a",), None), (("near",), "out")}),
        (["-->", "-near->"], {(None, "out")}),
        (["-->", "<-near-"], {(None, None)}),
    ],
)
async def test_only_these_predicates_and_directions_are_asked_of_the_store(along, forth):
    turned = {(names, {"in": "out", "out": "in"}.get(way)) for names, way in forth}
    for to, wanted in ((None, forth), (["n:00"], forth | turned)):
        backend = Recording(CHAIN)
        async with open_graph(backend) as graph:
            await graph.bfs_query(["n:12"], along=along, **({"to": to} if to else {}))
        assert backend.asked <= wanted
        assert backend.asked & forth == forth


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"path": ["-is_a->"]}, "along cannot be combined with path"),
        ({"max_hops": 21}, "a whole number from 1 to 20"),
        ({"along": ["-is_a->{1,3}"]}, "more than one step"),
        ({"along": ["-is_a-> T -is_a->"]}, "more than one step"),
        ({"along": ["-is_b->"]}, "along: step 1 .* names a predicate that this graph does not"),
        ({"along": ["->->"]}, "cannot be read"),
        ({"show": "walks"}, "show refers to the steps of a path"),
    ],
)
async def test_what_along_cannot_be_asked_is_refused(arguments, message):
    async with open_graph(MemoryBackend(CHAIN)) as graph:
        with pytest.raises(ToolError, match=message):
            await graph.call("bfs_query", {"seeds": ["n:12"], "along": ["-is_a->"], **arguments})


async def test_more_than_5_hops_are_taken_along_steps_alone():
    async with open_graph(MemoryBackend(CHAIN)) as graph:
        with pytest.raises(ToolError, match="a whole number from 1 to 5"):
            await graph.bfs_query(["n:12"], max_hops=6)
        answer = await graph.bfs_query(["n:12"], max_hops=6, along=["-is_a->"])
        assert answer.content["node_count"] == 7


PAIRS = [
    *(NodeRecord(one, "T", {"n": number}) for number, one in enumerate("abcde")),
    EdgeRecord("a", "p", "b", {"w": "three"}),
    EdgeRecord("b", "p", "c", {"w": "four"}),
    *(EdgeRecord("a", "p", end, {"w": 1}) for end in "cde"),
]


async def answers_of(call: dict[str, Any], limits: Limits) -> list[str]:
    """What every store says, without a cache, with a cold one and with a warm one."""
    told = []
    for backend in stores(graph_strategies.Drawn(tuple(PAIRS), (), frozenset())):
        graph = Graph(backend, "", limits, None)
        for _ in range(2):
            try:
                told.append((await tool_calls.asked(graph, "bfs_query", **call)).text)
            except ToolError as refused:
                told.append(str(refused))
    return told


@pytest.mark.parametrize(
    "call",
    [
        {"along": ["-p[w<3]-"], "max_hops": 2},
        {"along": ["-p[w<3]-"], "to": ["d", "e"]},
        {"where": ["p.w<3"], "to": ["d", "e"]},
    ],
)
async def test_a_note_counts_each_edge_once_however_often_it_is_read(call):
    told = await answers_of({"seeds": ["a", "b"], **call}, NO_BUDGET)
    assert '2 values cannot be compared with \\"' in told[0]
    assert told == told[:1] * len(told)


@pytest.mark.parametrize(
    ("call", "bound"),
    [
        ({"along": ["-p[w=3]->"]}, "edges"),
        ({"along": ["-- T[n=1]"]}, "nodes"),
        ({"along": ["-p[w=3]->"], "to": ["e"]}, "edges"),
        ({"where": ["p.w=3"], "to": ["e"]}, "edges"),
        ({"where": ["p.w=3"], "to": ["e"]}, "nodes"),
    ],
)
async def test_bounds_hold_for_what_is_read_whatever_is_kept_of_it(call, bound):
    limits = Limits(max_tokens=0, **{f"max_{bound}": 3})
    told = await answers_of({"seeds": ["a"], **call}, limits)
    assert f"limit of 3 {bound}" in told[0]
    assert told == told[:1] * len(told)
