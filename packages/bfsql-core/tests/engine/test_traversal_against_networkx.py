"""bfs_query and intersect_subgraphs on drawn graphs, with networkx as the oracle."""

import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfsql import MemoryBackend, open_graph
from bfsql.engine import bfs_query, neighborhood_intersection
from bfsql.models import BfsQuery, EdgeRecord, IntersectionQuery, NodeRecord
from bfsql.tools import Limits
from bfsql_test_support import graph_strategies, tool_calls
from bfsql_test_support.oracles.traversals import Oracle

NO_BUDGET = Limits(max_tokens=0)
JOINING = re.compile(r"^(\d+) edges? joins? this page")
HOPS = st.integers(1, 5)


def triples(answer: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(e["subject"], e["predicate"], e["object"]) for e in answer["edges"]]


def ids(answer: dict[str, Any]) -> list[str]:
    return [node["id"] for node in answer["nodes"]]


def joining(answer: dict[str, Any]) -> int:
    """The number of edges to earlier pages, according to the page's note."""
    found = [JOINING.match(note) for note in answer.get("notes", ())]
    return sum(int(match[1]) for match in found if match)


@given(
    graph_strategies.graphs_with_seeds(),
    HOPS,
    graph_strategies.removing(),
    graph_strategies.detailing(),
)
async def test_a_traversal_is_what_networkx_says(case, hops, removing, detailing):
    graph, seeds = case
    expected = Oracle(graph).bfs(seeds, hops, **removing)
    async with open_graph(MemoryBackend(graph.records), limits=NO_BUDGET) as opened:
        answer = await tool_calls.read(
            opened, "bfs_query", seeds=seeds, max_hops=hops, **removing, **detailing
        )
    assert answer["seeds"] == seeds
    assert ids(answer) == expected.ids
    assert triples(answer) == expected.triples
    assert (answer["node_count"], answer["edge_count"]) == (
        len(expected.ids),
        len(expected.triples),
    )
    types = Counter(node["entity_type"] for node in answer["nodes"])
    predicates = Counter(predicate for _, predicate, _ in expected.triples)
    assert answer["schema_summary"] == {
        "entity_types_found": sorted(types),
        "predicates_found": sorted(predicates),
        "node_counts": types,
        "edge_counts": predicates,
    }


@given(graph_strategies.graphs_with_seeds(), HOPS)
async def test_edges_to_ends_without_a_node_are_left_out_and_counted(case, hops):
    graph, seeds = case
    expected = Oracle(graph).bfs(seeds, hops)
    result = await bfs_query(MemoryBackend(graph.records), BfsQuery(seeds=seeds, max_hops=hops))
    assert result.facts.dangling_edges == expected.dangling_edges
    assert result.facts.dangling_ids == expected.dangling_ids


@given(graph_strategies.graphs_with_seeds(), HOPS, graph_strategies.detailing())
async def test_filters_of_detail_choose_what_is_full_and_nothing_else(case, hops, detailing):
    graph, seeds = case
    async with open_graph(MemoryBackend(graph.records), limits=NO_BUDGET) as opened:
        answer = await tool_calls.read(opened, "bfs_query", seeds=seeds, max_hops=hops, **detailing)
    bare = detailing.get("topology_only", False)
    wanted = detailing.get("node_types", graph_strategies.TYPES)
    for node in answer["nodes"]:
        assert ("metadata" in node) == (not bare and node["entity_type"] in wanted)
    wanted = detailing.get("predicates", graph_strategies.PREDICATES)
    for edge in answer["edges"]:
        assert ("metadata" in edge) == (not bare and edge["predicate"] in wanted)


@given(graph_strategies.graphs_with_seeds(), HOPS, graph_strategies.removing())
async def test_a_removed_seed_is_named(case, hops, removing):
    graph, seeds = case
    result = await bfs_query(
        MemoryBackend(graph.records), BfsQuery(seeds=seeds, max_hops=hops, **removing)
    )
    kept = {node.id for node in result.nodes}
    assert result.facts.removed_seeds == tuple(s for s in seeds if s not in kept)


@given(
    graph_strategies.graphs_with_seeds(seeds=2),
    HOPS,
    graph_strategies.removing(),
    graph_strategies.detailing(),
)
async def test_an_intersection_is_what_networkx_says(case, k, removing, detailing):
    graph, seeds = case
    nodes, edges = Oracle(graph).intersection(seeds, k, **removing)
    async with open_graph(MemoryBackend(graph.records), limits=NO_BUDGET) as opened:
        answer = await tool_calls.read(
            opened, "intersect_subgraphs", seeds=seeds, k=k, **removing, **detailing
        )
    assert ids(answer) == nodes
    assert triples(answer) == edges
    assert (answer["node_count"], answer["edge_count"]) == (len(nodes), len(edges))


@given(graph_strategies.graphs_with_seeds(), HOPS)
async def test_the_intersection_of_one_neighbourhood_is_the_neighbourhood(case, k):
    graph, seeds = case
    nodes, edges = Oracle(graph).intersection(seeds[:1], k)
    result = await neighborhood_intersection(
        MemoryBackend(graph.records), IntersectionQuery(seeds=seeds[:1], k=k)
    )
    assert [node.id for node in result.nodes] == nodes
    assert [tuple(edge) for edge in result.page.triples] == edges


@given(graph_strategies.graphs_with_seeds(), HOPS)
async def test_an_unknown_seed_shares_nothing_and_adds_nothing(case, hops):
    graph, seeds = case
    backend = MemoryBackend(graph.records)
    shared = await neighborhood_intersection(
        backend, IntersectionQuery(seeds=[*seeds, "gone:1"], k=hops)
    )
    assert (shared.nodes, shared.edges, shared.node_count) == ([], [], 0)
    assert shared.facts.unknown_seeds == ("gone:1",)
    union = await bfs_query(backend, BfsQuery(seeds=[*seeds, "gone:1"], max_hops=hops))
    assert union.page == (await bfs_query(backend, BfsQuery(seeds=seeds, max_hops=hops))).page


async def test_no_seeds_give_an_empty_answer():
    union = await bfs_query(MemoryBackend(), BfsQuery(seeds=[], max_hops=3))
    assert (union.nodes, union.edges) == ([], [])
    shared = await neighborhood_intersection(MemoryBackend(), IntersectionQuery(seeds=[], k=3))
    assert (shared.nodes, shared.edges) == ([], [])


@given(
    graph_strategies.graphs_with_seeds(),
    st.integers(1, 3),
    graph_strategies.removing(),
    st.integers(1, 9),
    st.integers(0, 9),
)
async def test_pages_make_up_the_whole(case, hops, removing, limit, first):
    graph, seeds = case
    arguments = {"seeds": seeds, "max_hops": hops, **removing}
    async with open_graph(MemoryBackend(graph.records), limits=NO_BUDGET) as opened:
        whole = await tool_calls.read(opened, "bfs_query", **arguments)
        pages = [
            await tool_calls.read(opened, "bfs_query", **arguments, limit=limit, offset=offset)
            for offset in range(0, max(1, whole["node_count"]), limit)
        ]
        rest = await tool_calls.read(opened, "bfs_query", **arguments, offset=first)
        beyond = await tool_calls.read(
            opened, "bfs_query", **arguments, offset=whole["node_count"] + first, limit=limit
        )
    assert [node for page in pages for node in page["nodes"]] == whole["nodes"]
    assert sum(len(page["edges"]) + joining(page) for page in pages) == whole["edge_count"]
    assert rest["nodes"] == whole["nodes"][first:]
    assert (beyond["nodes"], beyond["edges"]) == ([], [])
    for page in (*pages, rest, beyond):
        for key in ("node_count", "edge_count", "schema_summary"):
            assert page[key] == whole[key]
        shown = set(ids(page))
        inside = [e for e in whole["edges"] if e["subject"] in shown and e["object"] in shown]
        assert page["edges"] == inside
    if whole["node_count"]:
        assert any("past the end" in note for note in beyond["notes"])


@given(graph_strategies.graphs_with_seeds(), st.integers(1, 3), st.integers(1, 9))
async def test_every_page_but_the_last_names_the_next(case, hops, limit):
    graph, seeds = case
    async with open_graph(MemoryBackend(graph.records), limits=NO_BUDGET) as opened:
        whole = await tool_calls.read(opened, "bfs_query", seeds=seeds, max_hops=hops)
        nodes, following, calls = [], {"offset": 0, "limit": limit}, 0
        while following:
            page = await tool_calls.read(
                opened, "bfs_query", seeds=seeds, max_hops=hops, **following
            )
            nodes += page["nodes"]
            following = tool_calls.continuation(page)
            calls += 1
    assert nodes == whole["nodes"]
    assert calls == max(1, -(-whole["node_count"] // limit))


class Merges(MemoryBackend):
    """Finds an entity by the id that it had before it was merged, as some stores do."""

    async def get_nodes_batch(self, ids):
        return await super().get_nodes_batch(["kept:1" if i == "merged:1" else i for i in ids])


@pytest.mark.parametrize("also_kept", [True, False])
async def test_an_edge_to_an_id_of_before_a_merge_is_left_out_and_counted(also_kept):
    records = [
        NodeRecord("seed", "Drug"),
        NodeRecord("kept:1", "Gene"),
        EdgeRecord("seed", "TREATS", "merged:1"),
        *([EdgeRecord("seed", "TREATS", "kept:1")] if also_kept else []),
    ]
    async with open_graph(Merges(records)) as opened:
        answer = await tool_calls.read(opened, "bfs_query", seeds=["seed"], max_hops=2)
    assert ids(answer) == (["seed", "kept:1"] if also_kept else ["seed"])
    assert any(note.startswith("1 edge was left out") for note in answer["notes"])
