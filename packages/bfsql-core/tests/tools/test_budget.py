"""max_tokens: answers stay within it, report what they omit, and omit the least important first."""

import re
from math import inf

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bfsql import Limits, MemoryBackend, ToolError, open_graph
from bfsql.models import EdgeRecord, NodeRecord
from bfsql.tools import third_of_bytes
from bfsql.tools.budget import largest
from bfsql_test_support import graph_strategies, tool_calls

ESTIMATORS = st.sampled_from([third_of_bytes, len])
BUDGETS = st.integers(500, 4000)
FILTERS = graph_strategies.filtering()
BARE = re.compile(
    r"^(?:(\d+) nodes?)?(?: and )?(?:(\d+) edges?)? (?:was|were) left without metadata"
)
CUT = re.compile(r"^(\d+) nodes? did not fit the token budget")
JOINING = re.compile(r"^(\d+) edges? joins? this page")


def numbers(pattern, document):
    """The numbers in the one note that matches a pattern; zeros if there is none."""
    found = [match for note in document.get("notes", ()) if (match := pattern.match(note))]
    assert len(found) <= 1
    return [int(n or 0) for n in found[0].groups()] if found else [0] * pattern.groups


def full(things):
    return [thing for thing in things if "metadata" in thing]


def check_what_was_dropped(answer, whole):
    """Omissions begin with metadata of edges, then of nodes, then nodes; each from the last on."""
    known = {(e["subject"], e["predicate"], e["object"]): e for e in whole["edges"]}
    place = {node["id"]: position for position, node in enumerate(whole["nodes"])}
    first = place[answer["nodes"][0]["id"]]
    nodes = whole["nodes"][first : first + len(answer["nodes"])]
    edges = [known[e["subject"], e["predicate"], e["object"]] for e in answer["edges"]]
    assert [n["id"] for n in answer["nodes"]] == [n["id"] for n in nodes]
    due_nodes, due_edges = full(nodes), full(edges)
    have_nodes, have_edges = full(answer["nodes"]), full(answer["edges"])
    assert have_nodes == due_nodes[: len(have_nodes)], "nodes keep metadata from the first on"
    assert have_edges == due_edges[: len(have_edges)], "edges keep metadata from the first on"
    if have_edges:
        assert have_nodes == due_nodes, "no node loses its metadata before every edge has"
    bare = [len(due_nodes) - len(have_nodes), len(due_edges) - len(have_edges)]
    assert numbers(BARE, answer) == bare, "the note tells how many"
    if numbers(CUT, answer) != [0]:
        assert not have_nodes, "no node is cut before all have lost their metadata"


def fitted(answer, whole, estimator, max_tokens):
    """Check an answer's size and omissions; return whether there is an answer."""
    fits = estimator(whole.text.encode()) <= max_tokens
    if answer is None:
        assert not fits
        return False
    assert estimator(answer.text.encode()) <= max_tokens
    assert (answer.text == whole.text) == fits
    if answer.content["nodes"]:
        check_what_was_dropped(answer.content, whole.content)
    return True


@given(
    case=graph_strategies.graphs_with_seeds(least=6),
    hops=st.integers(1, 4),
    filters=FILTERS,
    max_tokens=BUDGETS,
    estimator=ESTIMATORS,
    limit=st.none() | st.integers(1, 12),
    offset=st.integers(0, 3),
)
async def test_a_traversal_keeps_within_its_budget_and_says_what_it_left_out(
    *, case, hops, filters, max_tokens, estimator, limit, offset
):
    graph, seeds = case
    arguments = {"seeds": seeds, "max_hops": hops, "offset": offset, **filters}
    if limit is not None:
        arguments["limit"] = limit
    async with open_graph(
        MemoryBackend(graph.records), limits=Limits(estimator=estimator)
    ) as opened:
        whole = await tool_calls.asked(opened, "bfs_query", **arguments, max_tokens=0)
        answer = await tool_calls.if_it_fits(
            opened, "bfs_query", **arguments, max_tokens=max_tokens
        )
    if not fitted(answer, whole, estimator, max_tokens):
        return
    if answer.content["nodes"]:
        left = len(whole.content["nodes"]) - len(answer.content["nodes"])
        assert numbers(CUT, answer.content) == [left]


@given(graph_strategies.graphs_with_seeds(2, 6), st.integers(2, 5), FILTERS, BUDGETS, ESTIMATORS)
async def test_an_intersection_keeps_within_its_budget_and_counts_what_is_missing_by_type(
    case, k, filters, max_tokens, estimator
):
    graph, seeds = case
    arguments = {"seeds": seeds, "k": k, **filters}
    async with open_graph(
        MemoryBackend(graph.records), limits=Limits(estimator=estimator)
    ) as opened:
        whole = await tool_calls.asked(opened, "intersect_subgraphs", **arguments, max_tokens=0)
        answer = await tool_calls.if_it_fits(
            opened, "intersect_subgraphs", **arguments, max_tokens=max_tokens
        )
    if not fitted(answer, whole, estimator, max_tokens):
        return
    cut = whole.content["nodes"][len(answer.content["nodes"]) :]
    assert numbers(CUT, answer.content) == [len(cut)]
    for entity_type in {node["entity_type"] for node in cut}:
        count = sum(node["entity_type"] == entity_type for node in cut)
        assert any(f"{count} {entity_type}" in note for note in answer.notes)


@given(
    graph_strategies.graphs_with_seeds(least=6),
    st.integers(1, 4),
    graph_strategies.detailing(),
    st.integers(500, 1500),
    st.none() | st.integers(1, 12),
)
async def test_following_the_notes_leads_to_every_node(case, hops, detailing, max_tokens, limit):
    graph, seeds = case
    arguments = {"seeds": seeds, "max_hops": hops, **detailing}
    pages, following = [], {"offset": 0} | ({} if limit is None else {"limit": limit})
    async with open_graph(MemoryBackend(graph.records), limits=Limits(estimator=len)) as opened:
        whole = await tool_calls.read(opened, "bfs_query", **arguments, max_tokens=0)
        while following:
            page = await tool_calls.if_it_fits(
                opened, "bfs_query", **arguments, **following, max_tokens=max_tokens
            )
            assume(page)
            pages.append(page.content)
            following = tool_calls.continuation(page.content)
    found = [node["id"] for page in pages for node in page["nodes"]]
    assert found == [node["id"] for node in whole["nodes"]]
    joined = sum(len(page["edges"]) + numbers(JOINING, page)[0] for page in pages)
    assert joined == whole["edge_count"]


@given(graph_strategies.graphs_with_seeds(least=6), st.integers(1, 4), BUDGETS, st.integers(0, 500))
async def test_a_larger_budget_never_shows_less(case, hops, max_tokens, more):
    graph, seeds = case

    def shown(document):
        return [len(document["nodes"]), len(full(document["nodes"])), len(full(document["edges"]))]

    async with open_graph(MemoryBackend(graph.records), limits=Limits(estimator=len)) as opened:
        arguments = {"seeds": seeds, "max_hops": hops}
        less = await tool_calls.if_it_fits(opened, "bfs_query", **arguments, max_tokens=max_tokens)
        assume(less)
        rich = await tool_calls.asked(
            opened, "bfs_query", **arguments, max_tokens=max_tokens + more
        )
    assert shown(less.content) <= shown(rich.content)


@pytest.mark.slow
async def test_every_budget_around_every_threshold_is_kept():
    ids = [f"n:{number}" for number in range(12)]
    records = [
        *(NodeRecord(i, "Gene", {"name": i * 3}) for i in ids),
        *(EdgeRecord("n:0", "TREATS", i, {"confidence": 0.5, "note": "w" * 9}) for i in ids[1:]),
    ]
    sizes = set()
    async with open_graph(MemoryBackend(records), limits=Limits(estimator=len)) as opened:
        calls = [("bfs_query", {"max_hops": 1}), ("intersect_subgraphs", {"k": 2})]
        for tool, arguments in calls:
            given_now = {"seeds": ["n:0", "n:1"], **arguments}
            whole = await tool_calls.asked(opened, tool, **given_now, max_tokens=0)
            answer = await tool_calls.asked(
                opened, tool, **given_now, max_tokens=len(whole.text) + 1
            )
            assert answer.text == whole.text
            while (size := len(answer.text)) > 800:
                exact = await tool_calls.asked(opened, tool, **given_now, max_tokens=size)
                assert exact.text == answer.text, "between two thresholds the answer is the same"
                answer = await tool_calls.asked(opened, tool, **given_now, max_tokens=size - 1)
                assert len(answer.text.encode()) < size
                check_what_was_dropped(answer.content, whole.content)
                sizes.add(size)
    assert len(sizes) > 30


async def test_a_budget_without_room_for_one_node_is_refused_with_the_way_out():
    seeds = [f"{number}:{'x' * 900}" for number in range(3)]
    records = [NodeRecord(seed, "Gene") for seed in seeds]
    async with open_graph(MemoryBackend(records)) as opened:
        with pytest.raises(ToolError, match="max_tokens=500 is too small") as refused:
            await tool_calls.asked(opened, "bfs_query", seeds=seeds, max_hops=1, max_tokens=500)
    assert (refused.value.kind, refused.value.argument) == ("too_large", "max_tokens")


@given(
    st.integers(-1, 5_000).flatmap(lambda n: st.tuples(st.just(n), st.integers(-1, n))),
    st.sampled_from([1, 2, 0.5, 0, inf]),
    st.booleans(),
)
def test_the_largest_number_is_found_and_none_is_tried_twice(case, power, coarse):
    (count, most), tried = case, []

    def share_of(number):
        tried.append(number)
        share = ((number + 10) / (most + 10)) ** power if power != inf else inf
        return min(share, 1) if number <= most else max(share, 1.001)

    found = largest(count, share_of, coarse=coarse)
    assert most - (max(most, 0) // 16 if coarse else 0) <= found <= most
    assert len(tried) == len(set(tried)) <= (8 if power == 1 and not coarse else 30)
    assert all(0 <= number <= count for number in tried)


async def test_a_page_that_the_budget_cuts_counts_the_edges_of_its_own_nodes_to_earlier_pages():
    records = [NodeRecord("hub", "Hub"), *(NodeRecord(f"n{n:03}", "Leaf") for n in range(200))]
    records += [EdgeRecord("hub", "has", f"n{n:03}") for n in range(200)]
    async with open_graph(MemoryBackend(records)) as graph:
        for max_tokens in (700, 900, 1200):
            page = await graph.bfs_query("hub", max_hops=1, offset=1, max_tokens=max_tokens)
            assert numbers(CUT, page.content) != [0]
            assert numbers(JOINING, page.content) == [len(page.content["nodes"])]
