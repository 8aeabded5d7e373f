"""Patterns, conditions on relations and comparisons of steps, against brute force."""

import json
import operator
from collections import Counter
from collections.abc import AsyncGenerator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bfsql import Graph, Limits, MemoryBackend
from bfsql.call import omitted
from bfsql.engine import executor
from bfsql.errors import ToolError
from bfsql.models import EdgeRecord, Node, NodeRecord, Omission, PropertyCondition
from bfsql_test_support import graph_strategies, tool_calls
from bfsql_test_support.backends.columns import ColumnsOverMemory
from bfsql_test_support.oracles import walking
from bfsql_test_support.oracles.walking import Walker, node_at, on_them

K_IS_1 = PropertyCondition("k", "=", ("1",))
NUMBERS = {"=": operator.eq, "!=": operator.ne, "<": operator.lt, ">=": operator.ge}
VALUES = (None, 3, 3.0, "3", 12, "12", "abc", "Ábc", "b d", True, [3, "abc"], [], "2010-05-01", -1)
WRITTEN = ("3", "12", "abc", '"b d"', "true", "2010", "3|abc", "-1")


def over(backend):
    return Graph(backend, "", Limits(max_tokens=0), None)


class Careless(MemoryBackend):
    """Lists all entities of a type, some of them twice, and leaves conditions to core."""

    async def nodes_stream(self, *, entity_types=None, conditions=()) -> AsyncGenerator:
        found = [n async for part in super().nodes_stream(entity_types=entity_types) for n in part]
        keys = {one.key for one in conditions}
        known = [
            Node(
                n.id,
                n.entity_type,
                {k: v for k, v in self._node_metadata[n.id].items() if k in keys},
            )
            for n in found
        ]
        yield found[:3]
        yield known if keys else found
        yield []

    def filters_exactly(self, condition):
        return False


def stores(records):
    return [MemoryBackend(records), Careless(records), ColumnsOverMemory(records, 3)]


async def same(records, **call):
    """The answer that all stores give."""
    answers = [await tool_calls.read(over(one), "bfs_query", **call) for one in stores(records)]
    assert all(json.dumps(one) == json.dumps(answers[0]) for one in answers)
    return answers[0]


@st.composite
def described(draw):
    """Nodes of two types with one property of mixed values."""
    values = draw(st.lists(st.sampled_from(VALUES), min_size=1, max_size=8))
    return [
        NodeRecord(f"n:{n}", ("A", "B")[n % 2], {} if value is None else {"key": value})
        for n, value in enumerate(values)
    ] + [NodeRecord("z:a", "A", {}), NodeRecord("z:b", "B", {})]


@settings(max_examples=40)
@given(
    records=described(),
    condition=st.tuples(
        st.sampled_from(["=", "!=", "<", "<=", ">", ">=", "~"]), st.sampled_from(WRITTEN)
    ).map("key{0[0]}{0[1]}".format)
    | st.sampled_from(["key", "no key", "id=n:1|n:2", "id~n:"]),
    types=st.sampled_from(["A", "B", "A|B", "*"]),
)
async def test_a_pattern_is_what_where_keeps_of_its_types(records, condition, types):
    answer = await same(records, seeds=[f"{types}[{condition}]"])
    kept = {node["id"] for node in answer["nodes"]}
    assert answer["seed_count"] == answer["node_count"] == len(kept)
    every = await same(records, seeds=["A:*", "B:*"], where=[f"A.{condition}", f"B.{condition}"])
    among = {"A", "B"} if types == "*" else set(types.split("|"))
    assert kept == {n["id"] for n in every["nodes"] if n["entity_type"] in among}
    if condition in {"key", "no key"}:
        has = {r.id for r in records if r.metadata and r.entity_type in among}
        lacks = {r.id for r in records if not r.metadata and r.entity_type in among}
        assert kept == (has if condition == "key" else lacks)


@settings(max_examples=40)
@given(
    graph=walking.tangles(),
    steps=walking.steps(most=2),
    number=st.integers(0, 3),
    comparison=st.sampled_from(sorted(NUMBERS)),
)
async def test_a_relation_counts_the_different_nodes_at_its_end(graph, steps, number, comparison):
    walker = Walker.of(graph)
    ends = {i: {node_at(*w, len(steps)) for w in walker.walks([i], steps)} for i in walker.types}
    wanted = {i for i, reached in ends.items() if NUMBERS[comparison](len(reached), number)}
    relation = " ".join(step.text for step in steps) + f" {comparison} {number}"
    for call in ({"seeds": [f"*[{relation}]"]}, {"seeds": ["*:*"], "where": [relation]}):
        answer = await same(graph.records, **call, limit=100)
        assert {node["id"] for node in answer["nodes"]} == wanted


@settings(max_examples=40)
@given(graph=walking.tangles(), steps=walking.steps(most=2), data=st.data())
async def test_no_and_nothing_are_number_conditions(graph, steps, data):
    walker = Walker.of(graph)
    kind = data.draw(st.sampled_from(graph_strategies.TYPES))
    has = {i for i in walker.types if walker.walks([i], steps) and walker.types[i] == kind}
    relation = " ".join(step.text for step in steps)
    answer = await same(graph.records, seeds=[f"{kind}[{relation}]"])
    assert {node["id"] for node in answer["nodes"]} == has
    answer = await same(graph.records, seeds=[f"{kind}:*"], where=[f"no {relation}"])
    others = {i for i, known in walker.types.items() if known == kind} - has
    assert {node["id"] for node in answer["nodes"]} == others


@settings(max_examples=40)
@given(graph=walking.tangles(), steps=walking.steps(), data=st.data())
async def test_steps_are_compared_walk_by_walk(graph, steps, data):
    numbers = st.integers(0, len(steps))
    shared, shown = data.draw(numbers, label="shared"), data.draw(numbers, label="shown")
    other = numbers.filter(lambda number: number != shared)
    others = data.draw(st.dictionaries(other, st.booleans(), min_size=1, max_size=2))
    targets = data.draw(st.none() | st.lists(st.sampled_from(graph.ids), min_size=1, unique=True))
    walks = [
        walk
        for walk in Walker.of(graph).walks(graph.ids, steps, to=targets)
        if all(
            (node_at(*walk, other) == node_at(*walk, shared)) == equal
            for other, equal in others.items()
        )
    ]
    nodes, edges = on_them(walks)
    call = {"seeds": graph.ids, **walking.arguments(steps)} | ({"to": targets} if targets else {})
    call["where"] = [f"{o} {'=' if equal else '!='} {shared}" for o, equal in others.items()]
    answer = await same(graph.records, **call)
    assert {node["id"] for node in answer["nodes"]} == nodes
    assert {(e["subject"], e["predicate"], e["object"]) for e in answer["edges"]} == edges
    counted = data.draw(numbers, label="counted")
    answer = await same(graph.records, **call, show=str(shown), count_distinct=counted)
    paths = Counter(node_at(*walk, shown) for walk in walks)
    pairs = Counter(a for a, _ in {(node_at(*w, shown), node_at(*w, counted)) for w in walks})
    found = {node["id"]: (node["paths"], node["distinct"]) for node in answer["nodes"]}
    assert found == {i: (number, pairs[i]) for i, number in paths.items()}


@given(graph=walking.tangles(), steps=walking.steps(), data=st.data())
async def test_sets_at_both_ends_walk_like_their_entities(graph, steps, data):
    start, end = (data.draw(st.sampled_from(graph_strategies.TYPES)) for _ in range(2))
    types = Walker.of(graph).types
    ids = {kind: sorted(i for i, known in types.items() if known == kind) for kind in (start, end)}
    call = walking.arguments(steps)
    sets = await same(graph.records, seeds=[f"{start}:*"], to=[f"{end}:*"], **call)
    named = await same(graph.records, seeds=ids[start], to=ids[end], **call)
    assert (sets["nodes"], sets["edges"]) == (named["nodes"], named["edges"])


@given(graph=walking.tangles(), steps=walking.steps(), data=st.data())
async def test_answers_do_not_depend_on_the_end_that_is_read_first(graph, steps, data):
    values = st.sampled_from([None, 1, 2])
    records = [
        replace(one, metadata={"k": data.draw(values)}) if isinstance(one, NodeRecord) else one
        for one in graph.records
    ]
    last = replace(steps[-1], end=replace(steps[-1].end, conditions=(K_IS_1,)))
    path = [*(step.text for step in steps[:-1]), last.text]
    number = data.draw(st.sampled_from(["", " = 0", " >= 2"]))
    for call in (
        {"seeds": ["*:*"], "path": path, "show": data.draw(st.sampled_from(["all", "0", "ends"]))},
        {"seeds": [f"*[{' '.join(path)}{number}]"]},
    ):
        answers = []
        for few in (0, 10**6):
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(executor, "FEW_STARTS", few)
                answers.append(await same(records, **call))
        assert answers[0] == answers[1]


@given(graph=walking.tangles(), data=st.data())
async def test_a_set_is_one_place_of_a_connection(graph, data):
    start, end = (data.draw(st.sampled_from(graph_strategies.TYPES)) for _ in range(2))
    types = Walker.of(graph).types
    sets = await same(graph.records, seeds=[f"{start}:*"], to=[f"{end}:*"])
    ids = {kind: [i for i, known in types.items() if known == kind] for kind in (start, end)}
    lengths = []
    for one in ids[start]:
        answer = await same(graph.records, seeds=[one], to=ids[end])
        lengths += [answer["edge_count"]] if answer["edge_count"] else []
    if start == end:
        assert {node["id"] for node in sets["nodes"]} == set(ids[start])
    else:
        assert bool(lengths) == bool(sets["edge_count"])


@given(st.permutations(["n:2", "A:*", "called", "B[key=1]", "n:1", "*[key=9]"]))
async def test_seeds_are_in_the_order_of_the_request_and_sets_in_that_of_their_ids(seeds):
    records = [NodeRecord(f"n:{n}", ("A", "B")[n % 2], {"key": n}) for n in (5, 1, 3, 0, 2, 4)]
    records[0] = NodeRecord("n:5", "B", {"key": 5, "name": "called"})
    answer = await same(records, seeds=seeds)
    ids = ["n:5" if seed == "called" else seed for seed in seeds]
    assert answer["seeds"] == ids
    assert [node["id"] for node in answer["nodes"]] == [f"n:{n}" for n in (0, 1, 2, 4, 5)]
    answer = await same([*records, NodeRecord("z", "Z")], seeds=seeds, to=["z"])
    assert "; ".join(f"{one} and z" for one in ids[:5]) in str(answer["notes"])


async def test_a_set_above_the_bound_is_counted_and_its_nodes_are_refused():
    records = [NodeRecord(f"n:{n:02}", "A", {"key": n % 3}) for n in range(30)]
    graph = Graph(MemoryBackend(records), "", Limits(max_nodes=20), None)
    counted = await tool_calls.read(graph, "bfs_query", seeds=["A:*"], limit=0, facets=["key"])
    assert (counted["seed_count"], counted["node_count"], counted["nodes"]) == (30, 30, [])
    assert counted["facets"]["key"]["values"] == [[key, 10, 0.3333] for key in "012"]
    message = "A:\\* has 30 nodes, more than this server's limit of 20 nodes .*limit=0 and facets"
    with pytest.raises(ToolError, match=message):
        await graph.bfs_query(seeds=["A:*"])
    with pytest.raises(ToolError, match="before its conditions on relations, has 30 nodes"):
        await graph.bfs_query(seeds=["A[no --> A]"])
    some = await tool_calls.read(graph, "bfs_query", seeds=["A[key=1]"])
    assert some["node_count"] == 10


class OutOfTime(MemoryBackend):
    """The deadline passes while it lists its entities."""

    async def nodes_stream(self, *, entity_types=None, conditions=()) -> AsyncGenerator:
        async for nodes in super().nodes_stream(entity_types=entity_types, conditions=conditions):
            yield nodes
        if not conditions:  # with some, whether anything is called like the pattern is read
            raise TimeoutError


async def test_a_set_that_cannot_be_counted_in_time_is_refused_without_its_size():
    records = [NodeRecord(f"n:{n:02}", "A", {"key": n % 3}) for n in range(30)]
    graph = Graph(OutOfTime(records), "", Limits(max_nodes=20), None)
    with pytest.raises(ToolError, match=r"A:\* has more nodes than this server's limit of 20"):
        await graph.bfs_query(seeds=["A:*"])


async def test_an_answer_that_comparisons_empty_says_so():
    records = [NodeRecord(i, "A", {}) for i in "ab"] + [EdgeRecord("a", "to", "b", {})]
    answer = await same(records, seeds=["a"], path=["-to->"], where=["1 = 0"])
    assert answer["notes"] == [
        "Walks were found, but none of them meets the comparisons of steps in where."
    ]


class Forgetful(MemoryBackend):
    """Leaves out all edges of `b`, and lists all entities but `d`."""

    async def edges_batch(self, ids, *, predicates=None, direction=None):
        if "b" in ids:
            omitted(Omission("b", "out", 1, "the row limit"))
        ring = await super().edges_batch(ids, predicates=predicates, direction=direction)
        return [edge for edge in ring if "b" not in edge]

    async def nodes_stream(self, *, entity_types=None, conditions=()) -> AsyncGenerator:
        omitted(Omission("A", "nodes", 1, "the page limit"))
        async for nodes in super().nodes_stream(entity_types=entity_types, conditions=conditions):
            yield [node for node in nodes if node.id != "d"]


async def test_what_the_store_leaves_out_makes_nodes_undecided_and_counts_bounds():
    edges = [("a", "to", "c"), ("b", "to", "c")]
    records = [NodeRecord(i, "A", {}) for i in "abcd"] + [EdgeRecord(*edge) for edge in edges]
    graph = over(Forgetful(records))
    answer = await tool_calls.read(graph, "bfs_query", seeds=["A:*"], where=["no -to->"])
    nodes = {node["id"]: node.get("undecided") for node in answer["nodes"]}
    assert nodes == {"b": True, "c": None}
    assert answer["notes"][0].startswith("1 node carries undecided=true: the store left out edges")
    assert any("did not list all entities of A (the page limit)" in one for one in answer["notes"])
    answer = await tool_calls.read(graph, "bfs_query", seeds=["A:*"], where=["-to-> < 1"])
    assert {node["id"] for node in answer["nodes"]} == {"b", "c"}
    answer = await tool_calls.read(graph, "bfs_query", seeds=["A:*"], where=["-to-> >= 1"])
    assert {node["id"]: node.get("undecided") for node in answer["nodes"]} == {"a": None, "b": True}


async def test_what_an_earlier_step_of_the_call_left_out_is_left_out_for_conditions_too():
    records = [NodeRecord(i, "A", {}) for i in "bc"] + [EdgeRecord("b", "to", "c")]
    where = ["-to-> >= 1", "-to-> >= 1"]
    for conditions in (where[:1], where):
        answer = await tool_calls.read(
            over(Forgetful(records)), "bfs_query", seeds=["b"], max_hops=1, where=conditions
        )
        assert [(node["id"], node.get("undecided")) for node in answer["nodes"]] == [("b", True)]


async def test_presence_is_a_condition_of_where_with_a_type_or_a_step():
    records = [
        NodeRecord("a", "A", {"year": 1}),
        NodeRecord("b", "A", {}),
        NodeRecord("c", "B", {}),
    ]
    records += [EdgeRecord("c", "to", "a"), EdgeRecord("c", "to", "b")]
    for where, wanted in (("A.year", {"a"}), ("no A.year", {"b"})):
        answer = await same(records, seeds=["A:*"], where=[where])
        assert {node["id"] for node in answer["nodes"]} == wanted
    for where, wanted in (("1.year", {"a"}), ("no 1.year", {"b"})):
        answer = await same(records, seeds=["c"], path=["-to->"], where=[where], show="ends")
        assert {node["id"] for node in answer["nodes"]} == wanted


TURNED_BACK = (
    "Only walks that turn back would be complete, and two consecutive edges of a walk are never "
    "the same edge."
)

APART = "No complete walk: those from the seeds and those to the nodes of to do not meet."


@pytest.mark.parametrize(
    ("path", "to", "first"),
    [
        (["-k->", "<-k-"], [], "Step 2 (<-k-) found nothing from 1 node."),
        (["-k->", "-k|m-", "-j->"], [], "Step 3 (-j->) found nothing from 1 node."),
        (["-k-{2}"], ["a"], APART),
        (["-j->", "<-j-{2}", "-k->"], [], "Step 2 (<-j-{2,2}) found nothing from 1 node."),
    ],
)
async def test_walks_that_end_since_no_edge_is_taken_twice_in_a_row_say_so(path, to, first):
    records = [NodeRecord(i, "A", {}) for i in "abcdz"]
    edges = [("a", "k", "b"), ("a", "k", "c"), ("c", "m", "d"), ("a", "j", "z")]
    records += [EdgeRecord(*edge, {}) for edge in edges]
    if path[0] == "-k->" and len(path) == 2:
        records = [r for r in records if not isinstance(r, EdgeRecord) or r.object == "b"]
    answer = await same(records, seeds=["a"], path=path, to=to)
    assert answer["notes"][0] == first
    assert (TURNED_BACK in answer["notes"]) == (path[0] != "-j->")


async def test_walks_that_end_for_another_reason_do_not_say_that_they_turn_back():
    records = [NodeRecord(i, "A", {}) for i in "abc"]
    records += [EdgeRecord("a", "k", "b", {}), EdgeRecord("b", "k", "c", {})]
    answer = await same(records, seeds=["a"], path=["-k->", "-k->", "-k->"])
    assert answer["notes"] == ["Step 3 (-k->) found nothing from 1 node."]
