"""Paths compared with individually listed walks, on small graphs with loops and parallel edges."""

from collections import Counter, defaultdict
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bfsql import Graph, Limits, MemoryBackend
from bfsql.engine.thresholds import BUSY, PAIRS
from bfsql.models import EdgeRecord, NodeRecord
from bfsql_test_support import tool_calls
from bfsql_test_support.backends.columns import ColumnsOverMemory
from bfsql_test_support.oracles import walking
from bfsql_test_support.oracles.walking import Walker, node_at, on_them

SEEDS = st.sets(st.integers(0, 4), min_size=1, max_size=2)


def over(backend):
    return Graph(backend, "", Limits(max_tokens=0), None)


def wanted(walks, step):
    """The nodes and edges on some walks, and the number of walks by shown node."""
    nodes, edges = on_them(walks)
    return nodes, edges, Counter(node_at(seed, walk, step) for seed, walk in walks)


def given_by(answer):
    nodes = {node["id"] for node in answer["nodes"]}
    edges = {(e["subject"], e["predicate"], e["object"]) for e in answer["edges"]}
    shown = [(node["id"], node["paths"]) for node in answer["nodes"] if "paths" in node]
    return nodes, edges, shown


@settings(max_examples=150)
@given(graph=walking.tangles(), steps=walking.steps(), seeds=SEEDS, data=st.data())
async def test_a_path_is_what_lies_on_complete_walks(graph, steps, seeds, data):
    names = [graph.ids[number % len(graph.ids)] for number in sorted(seeds)]
    names = list(dict.fromkeys(names))
    targets = data.draw(st.none() | st.lists(st.sampled_from(graph.ids), min_size=1, unique=True))
    walks = Walker.of(graph).walks(names, steps, to=targets)
    nodes, edges, paths = wanted(walks, len(steps))
    call = {"seeds": names, **walking.arguments(steps)} | ({"to": targets} if targets else {})
    for backend in (MemoryBackend(graph.records), ColumnsOverMemory(graph.records, 3)):
        answer = await tool_calls.read(over(backend), "bfs_query", **call)
        assert given_by(answer) == (nodes, edges, sorted(paths.items()))
        assert answer["shown_count"] == len(paths)
        assert answer["max_hops"] == sum(step.most for step in steps)
        assert (answer["node_count"], answer["edge_count"]) == (len(nodes), len(edges))


@settings(max_examples=150)
@given(graph=walking.tangles(), steps=walking.steps(), data=st.data())
async def test_steps_are_compared_with_one_of_them_wherever_walks_end(graph, steps, data):
    common = data.draw(st.sampled_from([0, len(steps)]) | st.integers(0, len(steps)))
    others = data.draw(
        st.sets(st.integers(0, len(steps)).filter(lambda step: step != common), min_size=1)
    )
    equal = {other: data.draw(st.booleans()) for other in sorted(others)}
    targets = data.draw(st.none() | st.just(graph.ids[:2]))
    walks = [
        one
        for one in Walker.of(graph).walks(graph.ids[:3], steps, to=targets)
        if all((node_at(*one, common) == node_at(*one, n)) == same for n, same in equal.items())
    ]
    where = [f"{common} {'=' if same else '!='} {n}" for n, same in equal.items()]
    call = {"seeds": graph.ids[:3], **walking.arguments(steps), "where": where}
    call |= {"to": targets} if targets else {}
    answer = await tool_calls.read(over(MemoryBackend(graph.records)), "bfs_query", **call)
    nodes, edges, paths = wanted(walks, len(steps))
    assert given_by(answer) == (nodes, edges, sorted(paths.items()))


@settings(max_examples=150)
@given(graph=walking.tangles(), steps=walking.steps(), data=st.data())
async def test_different_nodes_of_another_step_are_counted(graph, steps, data):
    step, counted = (data.draw(st.integers(0, len(steps))) for _ in range(2))
    call = {**walking.arguments(steps), "show": step, "count_distinct": counted}
    others = defaultdict(set)
    for one in Walker.of(graph).walks(graph.ids[:3], steps):
        others[node_at(*one, step)].add(node_at(*one, counted))
    wanted = {name: len(nodes) for name, nodes in others.items()}
    # With low limits, even small graphs have busy junctions, and pairs are made in several parts.
    few, busy = data.draw(st.sampled_from([1, 3, PAIRS])), data.draw(st.sampled_from([0, 2, BUSY]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bfsql.engine.step_pairs.PAIRS", few)
        patch.setattr("bfsql.engine.step_pairs.BUSY", busy)
        answer = await tool_calls.read(
            over(MemoryBackend(graph.records)), "bfs_query", seeds=graph.ids[:3], **call
        )
    assert {node["id"]: node["distinct"] for node in answer["nodes"]} == wanted


@pytest.mark.parametrize(
    ("where", "to", "ends"),
    [
        (["0 != 2"], ["d"], {"d": 1}),
        (["0 != 2", "1 != 2"], None, {"c": 1, "d": 1}),
        (["0 != 2", "1 != 2"], ["c"], {"c": 1}),
        (["2 = 0"], None, {}),
    ],
)
async def test_walks_of_compared_steps_end_where_the_last_step_may(where, to, ends):
    nodes = [NodeRecord(name, "T", {}) for name in "abcd"]
    edges = [EdgeRecord(one, "p", other) for one, other in pairwise("abcd")]
    call = {"seeds": ["a"], "path": ["-p->", "-p->{1,2}"], "where": where}
    call |= {"to": to} if to else {}
    answer = await tool_calls.read(over(MemoryBackend([*nodes, *edges])), "bfs_query", **call)
    assert dict(given_by(answer)[2]) == ends
