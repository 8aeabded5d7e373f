"""`to`, `connect` and an omitted `k` on drawn graphs, with networkx as the oracle."""

import json
import math
from itertools import pairwise, product
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bfsql import Graph, Limits, MemoryBackend, open_graph
from bfsql.errors import ToolError
from bfsql.models import EdgeRecord, NodeRecord, Triple
from bfsql_test_support import graph_strategies, tool_calls
from bfsql_test_support.backends.columns import ColumnsOverMemory, TypedStream
from bfsql_test_support.oracles.traversals import Oracle

NO_BUDGET = Limits(max_tokens=0)


def connected(graph, ends, pairs, most, **removed):
    """Nodes, edges and lengths of all shortest connections between some pairs."""
    oracle = Oracle(graph)
    kept = {i for i in oracle.nodes if i in ends or oracle.stays(i, **removed)}
    whole = {t for t in oracle.whole if kept.issuperset((t[0], t[2]))}
    simple: Any = nx.Graph()
    simple.add_nodes_from(kept)
    simple.add_edges_from((s, o) for s, _, o in whole)
    nodes: set[str] = set()
    steps: set[frozenset[str]] = set()
    lengths: list[int] = []
    for one, other in pairs:
        if not nx.has_path(simple, one, other):
            continue
        length = nx.shortest_path_length(simple, one, other)
        if length <= most:
            lengths.append(length)
            for way in nx.all_shortest_paths(simple, one, other):
                nodes.update(way)
                steps.update(map(frozenset, pairwise(way)))
    return nodes, {t for t in whole if frozenset((t[0], t[2])) in steps and t[0] != t[2]}, lengths


def by_distance(nodes: set[str], edges: set[Triple], seeds: list[str]) -> list[str]:
    """The nodes in the order of their distance from a seed within the answer, then by id."""
    simple: Any = nx.Graph()
    simple.add_nodes_from(nodes)
    simple.add_edges_from((s, o) for s, _, o in edges)
    starts = nodes.intersection(seeds)
    far = nx.multi_source_dijkstra_path_length(simple, starts) if starts else {}
    return sorted(nodes, key=lambda node: (far[node], node))


def triples(answer: dict[str, Any]) -> set[Triple]:
    return {(e["subject"], e["predicate"], e["object"]) for e in answer["edges"]}


@given(
    graph_strategies.graphs_with_seeds(2) | graph_strategies.hubs_with_seeds(),
    st.integers(1, 3),
    st.none() | st.integers(1, 5),
    graph_strategies.removing(),
)
async def test_shortest_connections_of_every_pair(case, starts, hops, removed):
    graph, ends = case
    seeds, to = ends[:starts], ends[min(starts, len(ends) - 1) :]
    pairs = list(product(seeds, to))
    nodes, edges, lengths = connected(graph, ends, pairs, hops or 5, **removed)
    answers = []
    for db in (MemoryBackend, ColumnsOverMemory, TypedStream):
        served = Graph(db(graph.records), "", NO_BUDGET, None)
        asked: dict[str, Any] = {"seeds": seeds, "to": to, "topology_only": True, **removed}
        if hops:
            asked["max_hops"] = hops
        answers.append((await tool_calls.asked(served, "bfs_query", **asked)).text)
    assert len(set(answers)) == 1
    answer = json.loads(answers[0])
    assert [node["id"] for node in answer["nodes"]] == by_distance(nodes, edges, seeds)
    assert triples(answer) == edges
    assert answer["max_hops"] == (hops or 5)
    notes = " ".join(answer.get("notes", ()))
    assert all(str(length) in notes for length in lengths)
    assert ("Not connected within" in notes) == (len(lengths) < len(pairs))


@settings(max_examples=40)
@given(
    graph_strategies.graphs_with_seeds(2) | graph_strategies.hubs_with_seeds(),
    st.integers(1, 3),
    graph_strategies.narrowing(),
)
async def test_pages_of_shortest_connections_are_parts_of_the_whole(case, limit, filters):
    graph, (seed, *to) = case
    backend = MemoryBackend(graph.records)
    asked = {"seeds": [seed], "to": to, **filters}
    served = Graph(backend, "", NO_BUDGET, None)
    whole, offset = await tool_calls.read(served, "bfs_query", **asked), 0
    ids = [node["id"] for node in whole["nodes"]]
    while True:
        page = await tool_calls.read(served, "bfs_query", **asked, limit=limit, offset=offset)
        assert page["nodes"] == whole["nodes"][offset : offset + limit]
        here = set(ids[offset : offset + limit])
        inside = [e for e in whole["edges"] if {e["subject"], e["object"]} <= here]
        assert page["edges"] == inside
        assert page["schema_summary"] == whole["schema_summary"]
        further = tool_calls.continuation(page)
        assert bool(further) == (offset + limit < len(ids))
        if not further:
            break
        offset = further["offset"]


@given(
    graph_strategies.graphs_with_seeds(2) | graph_strategies.hubs_with_seeds(),
    st.integers(1, 4),
    graph_strategies.removing(),
)
async def test_connect_adds_the_shortest_connections_to_every_seed(case, k, removed):
    graph, seeds = case
    common, induced = Oracle(graph).intersection(seeds, k, **removed)
    pairs = list(product(common, seeds))
    nodes, edges, _ = connected(graph, seeds, pairs, k, **removed)
    for db in (MemoryBackend, ColumnsOverMemory):
        served = Graph(db(graph.records), "", NO_BUDGET, None)
        answer = await tool_calls.read(
            served, "intersect_subgraphs", seeds=seeds, k=k, connect=True, **removed
        )
        assert [n["id"] for n in answer["nodes"] if "via" not in n] == common
        assert answer["common_count"] == len(common)
        assert {n["id"] for n in answer["nodes"]} == nodes | set(common)
        assert triples(answer) == edges | set(induced)


@given(
    graph_strategies.graphs_with_seeds(2) | graph_strategies.hubs_with_seeds(),
    graph_strategies.removing(),
)
async def test_k_left_out_is_the_smallest_with_another_node_in_common(case, removed):
    graph, seeds = case
    oracle = Oracle(graph)
    smallest = next(
        (
            k
            for k in range(1, 6)
            if not set(oracle.intersection(seeds, k, **removed)[0]) <= set(seeds)
        ),
        None,
    )
    served = Graph(MemoryBackend(graph.records), "", NO_BUDGET, None)
    answer = await tool_calls.read(served, "intersect_subgraphs", seeds=seeds, **removed)
    ids, edges = oracle.intersection(seeds, smallest or 5, **removed)
    assert ([node["id"] for node in answer["nodes"]], triples(answer)) == (ids, set(edges))
    assert answer["k"] == (smallest or 5)
    [note] = [n for n in answer["notes"] if "in common" in n]
    assert note.startswith(f"k={smallest} is" if smallest else "The seeds have no other node")
    joined = any(s != o and {s, o} <= set(seeds) for s, _, o in oracle.whole)
    assert any(n.startswith("Seeds connected by an edge") for n in answer["notes"]) == joined


CHAIN = [NodeRecord(f"n:{number}", "T") for number in range(8)] + [
    EdgeRecord(f"n:{number}", "next", f"n:{number + 1}") for number in range(7)
]


@pytest.mark.parametrize(
    ("edges", "tied"),
    [
        ("ab bc", False),
        ("ab bd ac cd", True),
        ("ab ab:other bd", True),
        ("ab bd ac ce", False),
        ("ab bc cd ae ef fd gd", True),
    ],
)
async def test_connections_say_whether_several_are_equally_short(edges, tied):
    walks = [(*edge[:2], edge[3:] or "p") for edge in edges.split()]
    records = [NodeRecord(one, "T") for one in "abcdefg"]
    records += [EdgeRecord(one, predicate, other) for one, other, predicate in walks]
    target = "d" if "d" in edges else "c"
    many = nx.MultiGraph((one, other) for one, other, _ in walks)
    ways = [*nx.all_shortest_paths(many, "a", target)]
    number = sum(math.prod(map(many.number_of_edges, way, way[1:])) for way in ways)
    said = f"{len(ways[0]) - 1} edges{', and several are equally short' * (number > 1)}."
    async with open_graph(MemoryBackend(records)) as graph:
        answer = await tool_calls.read(graph, "bfs_query", seeds=["a"], to=[target])
    assert (number > 1, answer["notes"]) == (tied, [f"Shortest connections: {said}"])


async def test_more_pairs_than_a_call_connects_are_refused():
    ids = [f"n:{number}" for number in range(8)]
    records = [NodeRecord(f"x:{number}", "T") for number in range(13)]
    async with open_graph(MemoryBackend([*CHAIN, *records])) as graph:
        with pytest.raises(ToolError, match=r"104 pairs; the limit is 100"):
            await graph.bfs_query(ids, to=[record.id for record in records])


async def test_a_target_that_is_not_there_is_named_by_its_argument():
    async with open_graph(MemoryBackend(CHAIN)) as graph:
        with pytest.raises(ToolError, match=r"^to: "):
            await graph.bfs_query("n:0", to=["nowhere"])


async def test_an_edge_that_is_read_from_both_ends_counts_once_towards_the_bound():
    ids = ["a", "b", "c", "d", "e"]
    records = [EdgeRecord(one, "p", other) for one, other in pairwise(ids)]
    records += [NodeRecord(one, "T") for one in ids]
    for backend in (MemoryBackend(records), TypedStream(records, 1), ColumnsOverMemory(records, 1)):
        async with open_graph(backend, limits=Limits(max_edges=4)) as graph:
            answer = await graph.bfs_query(["a"], to=["e"])
            assert answer.content["edge_count"] == 4


async def test_a_seed_that_a_connection_leads_to_is_not_said_to_be_removed():
    records = [NodeRecord("a", "T"), NodeRecord("b", "U"), EdgeRecord("a", "p", "b")]
    async with open_graph(MemoryBackend(records)) as graph:
        for connect, removed in ((False, True), (True, False)):
            answer = await graph.intersect_subgraphs(
                ["a", "b"], k=1, connect=connect, exclude_node_types=["T"]
            )
            assert ("a was removed" in str(answer.content["notes"])) is removed
            assert ("a" in [node["id"] for node in answer.content["nodes"]]) is not removed


async def test_an_edge_of_what_is_shared_to_an_id_without_a_node_is_said_to_be_left_out():
    records = [*(NodeRecord(one, "T") for one in "abc"), EdgeRecord("c", "p", "nowhere")]
    records += [EdgeRecord(one, "p", "c") for one in "ab"]
    for backend in (MemoryBackend(records), ColumnsOverMemory(records, 1)):
        async with open_graph(backend) as graph:
            answer = await graph.intersect_subgraphs(["a", "b"], k=2)
            assert "1 edge was left out: the graph has no node for" in str(answer.content["notes"])
