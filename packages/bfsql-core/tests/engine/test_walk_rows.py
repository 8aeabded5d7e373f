"""`show: "walks"`: rows compared with individually listed walks, and offsets into very many."""

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bfsql import CachedGraphDb, Graph, Limits, MemoryBackend, open_graph
from bfsql.engine.walks import layers_of
from bfsql.errors import ToolError
from bfsql.models import MOST_PATHS, EdgeRecord, NodeRecord
from bfsql_test_support import tool_calls
from bfsql_test_support.backends.columns import ColumnsOverMemory
from bfsql_test_support.oracles import walking
from bfsql_test_support.oracles.walking import Walker, node_at

NO_BUDGET = Limits(max_tokens=0)


def hops_of(seed, walk, steps):
    """Each edge of a walk: the node before it, predicate, whether it leaves, the node behind it,
    and the layer of its step."""
    layers = {(one.step, one.time): n for n, one in enumerate(layers_of(steps))}
    at, hops = seed, []
    for step, (nodes, edges) in enumerate(walk):
        for number, (node, (subject, predicate, _)) in enumerate(zip(nodes, edges, strict=True), 1):
            hops.append((at, predicate, subject == at, node, layers[step, number]))
            at = node
    return hops


def row_of(hops, walk, steps):
    """The row of a walk as the answer has it."""
    by_step = [step for step, (nodes, _) in zip(steps, walk, strict=True) for _ in nodes]
    edges = [
        ("" if step.direction else ">" if out else "<") + predicate
        for step, (_, predicate, out, _, _) in zip(by_step, hops, strict=True)
    ]
    chosen = any(step.direction is None or len(step.predicates or ()) != 1 for step in steps)
    return {"nodes": [hops[0][0], *(hop[3] for hop in hops)]} | ({"edges": edges} if chosen else {})


def expected(walks, steps, by=0, place=lambda node: node):
    """The rows of all walks, in order of the nodes of a step, which `place` puts in order."""
    keyed = []
    for seed, walk in walks:
        hops = hops_of(seed, walk, steps)
        split = sum(len(nodes) for nodes, _ in walk[:by])
        middle = hops[split - 1][3] if split else seed
        back = [
            (before, predicate, out and before != node, layer)
            for before, predicate, out, node, layer in reversed(hops[:split])
        ]
        forth = [
            (node, predicate, not out, layer) for _, predicate, out, node, layer in hops[split:]
        ]
        keyed.append(((place(middle), middle, back, forth), row_of(hops, walk, steps)))
    keyed.sort(key=lambda one: one[0])
    return [row for _, row in keyed]


async def rows(backend, **arguments) -> Any:
    served = Graph(backend, "", NO_BUDGET, None)
    return await tool_calls.read(served, "bfs_query", show="walks", **arguments)


@settings(max_examples=100)
@given(graph=walking.tangles(), steps=walking.steps(), data=st.data())
async def test_rows_are_all_walks_in_order(graph, steps, data):
    seeds = data.draw(st.lists(st.sampled_from(graph.ids), min_size=1, max_size=2, unique=True))
    to = data.draw(st.none() | st.lists(st.sampled_from(graph.ids), min_size=1, unique=True))
    walks = Walker.of(graph).walks(seeds, steps, to=to)
    by = data.draw(st.none() | st.integers(0, len(steps)), label="ordered by step")
    call = {"seeds": seeds, **walking.arguments(steps)} | ({"to": to} if to else {})
    if by is not None:
        call["sort_by"] = f"{by}.nothing"  # which no node has, so that ids decide
    wanted = expected(walks, steps, by or 0)
    offset = data.draw(st.integers(0, len(wanted) + 1), label="offset")
    limit = data.draw(st.integers(0, 5), label="limit")
    answers = set()
    for backend in (
        MemoryBackend(graph.records),
        ColumnsOverMemory(graph.records, 3),
        CachedGraphDb(MemoryBackend(graph.records)),
    ):
        whole = await rows(backend, **call, limit=len(wanted) + 1)
        assert whole["walks"] == wanted
        assert whole["walk_count"] == len(wanted)
        assert [n["id"] for n in whole["nodes"]] == list(
            dict.fromkeys(i for row in wanted for i in row["nodes"])
        )
        page = await rows(backend, **call, offset=offset, limit=limit)
        assert page["walks"] == wanted[offset : offset + limit]
        assert page["walk_count"] == len(wanted)
        answers.add(str(page))
    assert len(answers) == 1


@given(graph=walking.tangles(), steps=walking.steps(), data=st.data())
async def test_rows_go_by_a_property_of_any_step(graph, steps, data):
    by = data.draw(st.integers(0, len(steps)))
    years = {i: data.draw(st.integers(0, 2)) for i in graph.ids}
    records = [
        NodeRecord(one.id, one.entity_type, {"year": years[one.id]})
        if isinstance(one, NodeRecord) and one.id in years
        else one
        for one in graph.records
    ]
    walks = Walker.of(graph).walks(graph.ids[:2], steps)
    call = {"seeds": graph.ids[:2], **walking.arguments(steps), "limit": len(walks)}
    answer = await rows(MemoryBackend(records), **call, sort_by=f"-{by}.year")
    assert answer["walks"] == expected(walks, steps, by, lambda node: -years[node])


def layered(width: int, depth: int) -> list[Any]:
    """Layers of nodes, each joined with all nodes of the next: `width ** depth` walks in all."""
    nodes = [f"{level}:{number:03}" for level in range(depth) for number in range(width)]
    edges = [
        EdgeRecord(f"{level}:{one:03}", "to", f"{level + 1}:{other:03}")
        for level in range(depth - 1)
        for one in range(width)
        for other in range(width)
    ]
    return [*(NodeRecord(i, "T") for i in nodes), *edges]


async def test_any_page_of_very_many_walks_begins_at_once():
    width, depth = 60, 7
    seeds = [f"0:{number:03}" for number in range(width)]
    call = {"seeds": seeds, "path": ["-to->"] * (depth - 1), "fields": ["name"], "limit": 3}
    backend = ColumnsOverMemory(layered(width, depth))
    first = await rows(backend, **call)
    assert first["walk_count"] == width**depth
    took = []
    for offset in (0, 1, width**3 + 5, width**depth // 2, width**depth - 2):
        begun = time.process_time()
        for by in (None, "3.name"):
            answer = await rows(backend, **call, offset=offset, **({"sort_by": by} if by else {}))
            assert len(answer["walks"]) == min(3, width**depth - offset)
            if by is None:
                digits = offset
                numbers = []
                for _ in range(depth):
                    digits, number = divmod(digits, width)
                    numbers.append(number)
                nodes = [f"{n}:{number:03}" for n, number in enumerate(reversed(numbers))]
                assert answer["walks"][0]["nodes"] == nodes
        took.append(time.process_time() - begun)
    assert max(took) < 10 * took[0]


async def test_more_walks_than_a_number_holds_are_said_to_be_that_many():
    records = [NodeRecord("a", "T"), *(NodeRecord(f"b:{n:03}", "T") for n in range(110))]
    records += [EdgeRecord("a", f"p{p}", f"b:{n:03}") for n in range(110) for p in range(10)]
    answer = await rows(MemoryBackend(records), seeds=["a"], path=["--"] * 4, limit=1)
    assert answer["walk_count"] == 1100 * 9 * 1099 * 9
    call = {"seeds": ["a"], "path": ["--"] * 8, "limit": 1}
    answer = await rows(MemoryBackend(records), **call, offset=MOST_PATHS - 1)
    assert (answer["walk_count"], len(answer["walks"])) == (MOST_PATHS, 1)
    assert f"walk_count={MOST_PATHS} stands for that many walks or more." in answer["notes"]
    answer = await rows(MemoryBackend(records), **call, offset=MOST_PATHS)
    assert answer["walks"] == []
    assert f"offset={MOST_PATHS} is past the end: there are {MOST_PATHS} walks." in str(answer)


async def test_a_budget_cuts_walks_from_the_end():
    seeds = [f"0:{number:03}" for number in range(9)]
    call = {"seeds": seeds, "path": ["-to->", "-to->"], "limit": 700}
    async with open_graph(MemoryBackend(layered(9, 3))) as graph:
        whole = await tool_calls.read(graph, "bfs_query", show="walks", **call, max_tokens=0)
        cut = await tool_calls.read(graph, "bfs_query", show="walks", **call, max_tokens=1000)
        assert 0 < len(cut["walks"]) < len(whole["walks"]) == 700
        assert cut["walks"] == whole["walks"][: len(cut["walks"])]
        shown = len(cut["walks"])
        left = f"{700 - shown} walks did not fit the token budget."
        assert cut["notes"][0] == f"{left} Continue with offset={shown}, limit={shown}."
        more = await tool_calls.read(
            graph, "bfs_query", show="walks", **(call | {"limit": shown}), offset=shown
        )
        assert more["walks"] == whole["walks"][shown : 2 * shown]


async def test_a_page_of_too_many_walks_is_refused_where_no_budget_cuts_it():
    seeds = [f"0:{number:03}" for number in range(60)]
    call = {"seeds": seeds, "path": ["-to->"] * 6}
    served = Graph(MemoryBackend(layered(60, 7)), "", Limits(max_tokens=0), None)
    with pytest.raises(ToolError, match=r"1000000000000 walks have more nodes .*limit=0"):
        await served.bfs_query(**call, show="walks", limit=10**12)
    cut = await served.bfs_query(**call, show="walks", limit=10**12, max_tokens=5000)
    assert len(cut.content["walks"]) > 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_hops": 1}, "show refers to the steps of a path. Give path as well"),
        ({"path": ["-to->"], "count_distinct": 0}, 'show="walks" shows walks. Leave one'),
        ({"path": ["-to->"], "sort_by": "2.year"}, "path has 1 step. Give a number from 0"),
        ({"path": ["-to->"], "sort_by": "1.distinct"}, "needs measure"),
        ({"path": ["-to->"], "fields": ["x = 2.id - 0.id"]}, "its steps are 1 to 1"),
        ({"path": ["-to->"], "fields": ["x = 1.nme * 2"]}, 'the property "nme", which no node'),
        ({"path": ["-to->"], "fields": ["x = 1.id"]}, "needs an operator, and a step"),
        ({"path": ["-to->"], "fields": ["x = 1.id - name"]}, "a step before each property"),
        (
            {"path": ["-to->"], "fields": ["x = 1.id - 0.id"], "show": "all"},
            "expressions over steps need path",
        ),
        ({"fields": ["x = 1.id - 0.id"], "show": None}, 'need path and show="walks"'),
        ({"path": ["-to->"], "show": "0", "measure": ["count 1[1 = 1]"]}, "two different steps"),
        ({"path": ["-to->"], "show": "0", "measure": ["count 1[2 = 0]"]}, "to 1"),
        ({"path": ["-to->"], "show": "0", "measure": ["count 1[1 > 0]"]}, "have only = and !="),
        (
            {"path": ["-to->"], "show": "0", "measure": ["count 1[1 = 0]"], "where": ["1 != 0"]},
            "where names two steps, too",
        ),
    ],
)
async def test_what_walks_cannot_be_asked_is_refused(arguments, message):
    async with open_graph(MemoryBackend(layered(2, 2))) as graph:
        with pytest.raises(ToolError, match=message):
            await graph.bfs_query(["0:000"], **{"show": "walks"} | arguments)


async def test_a_sort_key_names_the_step_of_the_shown_nodes():
    async with open_graph(MemoryBackend(layered(2, 3))) as graph:
        call = {"seeds": ["0:000"], "path": ["-to->", "-to->"]}
        one = await graph.bfs_query(**call, show=1, sort_by="-1.paths")
        assert one.content == (await graph.bfs_query(**call, show=1, sort_by="-paths")).content
        with pytest.raises(ToolError, match=r"step 2, and names step 1. Give show=1"):
            await graph.bfs_query(**call, sort_by="1.paths")


@settings(max_examples=100)
@given(graph=walking.tangles(), steps=walking.steps(), data=st.data())
async def test_rows_meet_comparisons_of_steps(graph, steps, data):
    number = st.integers(0, len(steps))
    two = st.lists(number, min_size=2, max_size=2, unique=True)
    one, other = data.draw(two, label="compared steps")
    equal = data.draw(st.booleans(), label="equal")
    walks = [
        (seed, walk)
        for seed, walk in Walker.of(graph).walks(graph.ids[:2], steps)
        if (node_at(seed, walk, one) == node_at(seed, walk, other)) == equal
    ]
    call = {"seeds": graph.ids[:2], **walking.arguments(steps)}
    call["where"] = [f"{one} {'=' if equal else '!='} {other}"]
    by = data.draw(number, label="ordered by step")
    offset = data.draw(st.integers(0, len(walks)), label="offset")
    answers = []
    for backend in (MemoryBackend(graph.records), ColumnsOverMemory(graph.records, 3)):
        whole = await rows(backend, **call, sort_by=f"{by}.nothing", limit=len(walks) + 1)
        assert sorted(whole["walks"], key=str) == sorted(expected(walks, steps), key=str)
        assert whole["walk_count"] == len(walks)
        page = await rows(backend, **call, sort_by=f"{by}.nothing", limit=3, offset=offset)
        assert page["walks"] == whole["walks"][offset : offset + 3]
        answers.append(whole)
        if all(step.most == 1 for step in steps):
            at_shared = await rows(
                backend, **call, sort_by=f"{min(one, other)}.nothing", limit=len(walks) + 1
            )
            assert at_shared["walks"] == expected(walks, steps, min(one, other))
    assert answers[0] == answers[1]


async def test_a_predicate_that_begins_like_a_direction_has_one():
    records = [NodeRecord("a", "T"), NodeRecord("b", "T"), EdgeRecord("a", "<p", "b")]
    async with open_graph(MemoryBackend(records)) as graph:
        answer = await graph.bfs_query(["a"], path=["-->"], show="walks")
        assert answer.content["walks"] == [{"nodes": ["a", "b"], "edges": ["><p"]}]
    async with open_graph(MemoryBackend(records), limits=Limits(answer_format="lines")) as graph:
        lines = await graph.bfs_query(["a"], path=["-->"], show="walks")
        assert 'a -"<p"-> b' in lines.text
