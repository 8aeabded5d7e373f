"""Paths on realistic graphs: removal, notes, numbers, bounds, and requests to the store."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfsql import CachedGraphDb, Graph, Limits, MemoryBackend, ToolError, call, open_graph
from bfsql.models import EdgeRecord, NodeRecord, Omission
from bfsql_test_support import graph_strategies, tool_calls
from bfsql_test_support.backends.columns import ColumnsOverMemory, TypedStream
from bfsql_test_support.backends.in_memory import CountingBackend
from bfsql_test_support.backends.recording import watched
from bfsql_test_support.oracles import walking
from bfsql_test_support.suites.agreement import assert_same_answers

NO_BUDGET = Limits(max_tokens=0)
TRIALS = [
    NodeRecord("t:1", "Trial", {"name": "One", "year": 2001, "status": "open"}),
    NodeRecord("t:2", "Trial", {"name": "Two", "year": 2010, "total_mentions": 1}),
    NodeRecord("t:3", "Trial", {"name": "Three", "year": 2020}),
    NodeRecord("d:1", "Disease", {"name": "Flu"}),
    NodeRecord("d:2", "Disease", {"name": "Cold", "total_mentions": 1}),
    NodeRecord("p:1", "Protein", {"name": "P"}),
    EdgeRecord("t:1", "studies", "d:1", {"confidence": 0.9}),
    EdgeRecord("t:2", "studies", "d:1", {"confidence": 0.2}),
    EdgeRecord("t:2", "studies", "d:2", {"confidence": 0.9}),
    EdgeRecord("t:3", "studies", "d:2", {"confidence": 0.9}),
    EdgeRecord("t:1", "tests", "p:1"),
    EdgeRecord("d:1", "gone", "no:node"),
]


def over(records, **limits):
    return Graph(MemoryBackend(records), "", Limits(**{"max_tokens": 0, **limits}), None)


async def asked(*path, records=TRIALS, seeds=("t:1",), limits=None, **arguments):
    arguments = {"seeds": list(seeds), "path": list(path), **arguments}
    return await tool_calls.read(over(records, **(limits or {})), "bfs_query", **arguments)


def ids(answer):
    return [node["id"] for node in answer["nodes"]]


# --- removed nodes do not connect others ----------------------------------------------


@pytest.mark.parametrize(
    ("removal", "left"),
    [
        ({}, ["t:3"]),
        ({"exclude_node_types": ["Disease"]}, []),
        ({"exclude_node_types": ["Trial"]}, []),
        ({"min_mentions": 2}, []),
        ({"where": ["Disease.name=Flu"]}, []),
        ({"where": ["year>2015"]}, ["t:3"]),
        ({"where": ["2.name=Cold"]}, []),
        ({"where": ["2.year>2005"]}, ["t:3"]),
        ({"where": ["2.year>2015"]}, []),
        ({"where": ["studies.confidence>0.5"]}, []),
        ({"where": ["1.studies.confidence>0.5"]}, ["t:3"]),
        ({"where": ["2.studies.confidence>0.5"]}, []),
    ],
)
async def test_removed_nodes_and_edges_end_a_walk(removal, left):
    steps = ("-studies->", "<-studies-", "-studies->", "<-studies-")
    answer = await asked(*steps, **removal)
    assert ids(answer)[: answer["shown_count"]] == left


CIRCLE = [
    *(
        NodeRecord(i, kind, {"c": c, "total_mentions": mentions})
        for i, kind, c, mentions in (
            ("a", "Seed", "red", 1),
            ("b", "Other", "blue", 9),
            ("d", "Other", "blue", 9),
        )
    ),
    EdgeRecord("a", "k", "b"),
    EdgeRecord("b", "j", "a"),
    EdgeRecord("b", "j", "d"),
    EdgeRecord("a", "j", "d"),
]


@pytest.mark.parametrize(
    "removal",
    [
        {"where": ["2.c=blue"]},
        {"where": ["c=blue"]},
        {"where": ["Seed.c=blue"]},
        {"where": ["2.Seed.c=blue"]},
        {"exclude_node_types": ["Seed"]},
        {"min_mentions": 5},
    ],
)
async def test_a_seed_that_a_walk_comes_back_to_meets_the_conditions_of_that_step(removal):
    async def back(*path, **arguments):
        return await asked(*path, records=CIRCLE, seeds=["a"], **removal, **arguments)

    for show in ("ends", "all"):
        answer = await back("-k->", "-j->", show=show, count_distinct=0)
        assert ids(answer)[: answer["shown_count"]] == ["d"]
    assert ids(await back("-k->", "-j->{1,2}", show="ends")) == ["d"]
    assert ids(await back("-k->", "-j->{2,2}", show="ends")) == [], "a is between b and d"
    assert ids(await back("-k->", "-j->{1,2}", show="ends", to=["d"])) == ["d"]
    assert (await back("-k->", "-j->{1,2}", to=["d"]))["edge_count"] == 2


async def test_named_nodes_meet_only_the_conditions_on_the_step_where_they_are_named():
    async def shown(*path, seeds=("t:1",), **arguments):
        answer = await asked(*path, seeds=seeds, **arguments)
        return ids(answer)[: answer["shown_count"]]

    steps, both = ("-studies->", "<-studies-"), {"to": ["t:2", "t:3"], "seeds": ["t:1", "t:2"]}
    elsewhere = {"exclude_node_types": ["Trial"], "where": ["Trial.year>2050"]}
    assert await shown(*steps, **both, **elsewhere) == ["t:2", "t:3"]
    assert await shown(*steps, to=["t:2"], min_mentions=5) == ["t:2"]
    assert await shown(*steps, **both, where=["2.year>2015"]) == ["t:3"]
    assert await shown(*steps, **both, where=["year>2015"]) == ["t:3"]
    assert await shown(*steps, **both, where=["year>2005"], show="0") == ["t:2"]
    none = await asked(*steps, to=["t:2"], where=["2.year>2050"])
    assert none["notes"][0] == "No node of to meets the conditions of where on step 2."
    none = await asked("-studies-> Trial", to=["d:1", "p:1"])
    assert none["notes"][0] == "No node of to has the type after the last step."


@pytest.mark.parametrize("seeds", [["s"], ["s", "x", "y"]], ids=["forwards", "backwards"])
async def test_a_target_may_end_a_repeated_step_and_is_passed_only_as_the_conditions_allow(seeds):
    records = [
        *(NodeRecord(i, "Trial" if i == "t" else "Other") for i in ("s", "x", "y", "t", "u")),
        *(EdgeRecord(i, "j", "t") for i in ("s", "x", "y")),
        EdgeRecord("t", "j", "u"),
    ]
    for to, filters, expected in (
        (["t", "u"], {}, {"t", "u"}),
        (["t", "u"], {"exclude_node_types": ["Trial"]}, {"t"}),
        (["u"], {"exclude_node_types": ["Trial"]}, set()),
    ):
        answer = await asked(
            "-j->{1,2}", records=records, seeds=seeds, to=to, show="ends", **filters
        )
        assert set(ids(answer)) == expected


# --- notes -----------------------------------------------------------------------------


async def test_a_dead_end_has_the_relations_by_which_a_walk_could_go_on():
    cached, notes = CachedGraphDb(MemoryBackend(TRIALS)), []
    for backend in (MemoryBackend(TRIALS), ColumnsOverMemory(TRIALS, 3), cached, cached):
        served = Graph(backend, "", NO_BUDGET, None)
        path = ["-studies->", "-tests->"]
        answer = await tool_calls.read(served, "bfs_query", seeds=["t:2"], path=path)
        notes.append(answer["notes"])
    step = "Step 2 (-tests->) found nothing from 2 nodes."
    assert notes == [[step, 'Relations there: "<-studies- Trial".']] * 4


async def test_relations_that_are_many_or_take_long_are_no_part_of_a_dead_end():
    cites = [NodeRecord(f"x:{n}", "Paper") for n in range(2_001)]
    cites += [EdgeRecord("t:1", "cites", f"x:{n}") for n in range(2_001)]
    hub = await asked("<-studies- Trial", records=[*TRIALS, *cites])
    assert hub["notes"] == ["Step 1 (<-studies- Trial) found nothing from 1 node."]

    class Hanging(MemoryBackend):
        async def edges_batch(self, ids, *, predicates=None, direction=None):
            call.omitted(*([] if predicates else [Omission("t:1", "out", at_least=9)]))
            if predicates is None and ids == ["t:1"]:
                await asyncio.Event().wait()
            return await super().edges_batch(ids, predicates=predicates, direction=direction)

    graph = Graph(Hanging(TRIALS), "", Limits(deadline=1.0), None)
    arguments = {"seeds": ["t:1"], "path": ["<-studies- Trial"]}
    answer = await tool_calls.read(graph, "bfs_query", **arguments)
    assert answer["notes"] == hub["notes"]
    arguments["seeds"] = ["t:1", "t:2"]
    answer = await tool_calls.read(graph, "bfs_query", **arguments)
    there = 'Relations there: "-studies-> Disease", "-tests-> Protein".'
    assert answer["notes"] == ["Step 1 (<-studies- Trial) found nothing from 2 nodes.", there]


@pytest.mark.parametrize(
    ("path", "step"),
    [(["-p->"], "Step 1 (-p->)"), (["-->", "<--"], "Step 2 (<--)"), (["-p->", "-q->"], "Step 1")],
)
async def test_a_dead_end_is_that_of_existing_nodes_whatever_the_store_has_of_others(path, step):
    records = [NodeRecord("a", "T"), EdgeRecord("a", "r", "a")]
    records += [EdgeRecord("a", predicate, "gone") for predicate in "pq"]
    memory, notes = MemoryBackend(records), []
    for backend in (memory, ColumnsOverMemory(records, 3), CachedGraphDb(memory)):
        served = Graph(backend, "", NO_BUDGET, None)
        answer = await tool_calls.read(served, "bfs_query", seeds=["a"], path=path)
        assert not answer["nodes"]
        notes.append(answer["notes"])
    assert notes[0] == notes[1] == notes[2]
    [said] = [note for note in notes[0] if "found nothing from 1 node." in note]
    assert said.startswith(step)


async def test_an_empty_answer_between_two_sets_tells_what_was_found_from_the_seeds():
    answer = await asked("-studies-> Disease[name=Cold]", seeds=["Trial[name=One]"])
    named = await asked("-studies-> Disease[name=Cold]")
    assert answer["notes"] == named["notes"]
    assert named["notes"][-1] == 'where: nothing reached meets "1.name=Cold". Values found: "Flu".'


async def test_a_walk_between_two_sets_begins_at_the_smaller_one_and_judges_no_node_again():
    papers = [NodeRecord(f"x:{n}", "Paper", {"year": n}) for n in range(500)]
    cites = [EdgeRecord(f"x:{n}", "cites", f"x:{n // 2}") for n in range(1, 500)]
    backend = CountingBackend([*papers, *cites])
    asked = {"seeds": ["Paper:*"], "path": ["-cites-> Paper[year=7]"], "show": "0"}
    related = {"seeds": ["Paper[-cites-> Paper[year=7]]"]}
    for arguments in (asked, related):
        async with open_graph(backend) as graph:
            answer = await tool_calls.read(graph, "bfs_query", topology_only=True, **arguments)
        assert ids(answer) == ["x:14", "x:15"]
    assert {one for one in backend.asked["edges_batch"] if one.startswith("x:")} == {"x:7"}
    assert backend.asked["metadata_for_nodes_batch"] == set()


async def test_what_the_store_left_out_is_no_proof_of_absence():
    class Omitting(MemoryBackend):
        async def edges_batch(self, ids, **part):
            call.omitted(Omission("t:1", "out", at_least=9))
            return await super().edges_batch(ids, **part)

    graph = Graph(Omitting(TRIALS), "", NO_BUDGET, None)
    answer = await tool_calls.read(graph, "bfs_query", seeds=["d:1"], path=["-tests->"])
    assert "The store left out edges, so there may be matches nevertheless." in answer["notes"]


# --- numbers and pages ---------------------------------------------------------------------


def loops(count):
    nodes = [NodeRecord("a", "A", {}), NodeRecord("b", "A", {})]
    spins = [EdgeRecord("a", f"p{number:03}", "a") for number in range(count)]
    return [*nodes, *spins, EdgeRecord("a", "to", "b")]


async def test_walks_are_counted_exactly_and_above_2_to_the_53rd_said_to_be_more():
    few = await asked(*["--"] * 7, "-to->", records=loops(30), seeds=["a"])
    assert few["nodes"][0]["paths"] == 30 * 29**6
    exact = await asked(*["--"] * 8, records=loops(30), seeds=["a"], show="ends")
    numbers = {node["id"]: node["paths"] for node in exact["nodes"]}
    # A walk can take the edge to b only last, since b has no other edge by which to leave.
    assert numbers["b"] == 30 * 29**6
    many = await asked(*["--"] * 8, records=loops(110), seeds=["a"], show="ends")
    numbers = {node["id"]: node["paths"] for node in many["nodes"]}
    assert numbers == {"a": 2**53, "b": 110 * 109**6}
    assert many["notes"] == ["paths=9007199254740992 stands for that many walks or more."]


async def test_walks_that_do_not_fit_leave_the_shown_nodes_alone():
    records = [NodeRecord(i, "A", {}) for i in ("a", "z", *(f"m{n:03}" for n in range(300)))]
    for number in range(300):
        records += [EdgeRecord("a", "r", f"m{number:03}"), EdgeRecord(f"m{number:03}", "r", "z")]
    answer = await asked("-r->", "-r->", records=records, seeds=["a"], max_tokens=600)
    assert ids(answer) == ["z"]
    assert answer["nodes"][0]["paths"] == 300
    assert answer["edges"] == []
    assert any("did not fit the token budget" in note for note in answer["notes"])


async def test_max_tokens_counts_shown_nodes_and_the_note_continues():
    records = [NodeRecord("a", "A", {})]
    for number in range(100):
        records += [NodeRecord(f"b{number:03}", "B", {}), EdgeRecord("a", "r", f"b{number:03}")]
    seen, further = [], {}
    while True:
        answer = await asked("-r->", records=records, seeds=["a"], max_tokens=900, **further)
        seen += [node["id"] for node in answer["nodes"] if "paths" in node]
        further = tool_calls.continuation(answer)
        if not further:
            break
    assert seen == [f"b{number:03}" for number in range(100)]


# --- errors ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "argument", "part"),
    [
        ({"path": ["-studies->"], "max_hops": 2}, "max_hops", "does not agree"),
        ({"path": ["-studies->"], "show": "2"}, "show", "path has 1 step"),
        ({"path": ["-studies->"], "show": "some"}, "show", '"ends"'),
        ({"path": ["-studies->"], "count_distinct": 3}, "count_distinct", "path has 1 step"),
        ({"max_hops": 1, "show": "ends"}, "show", "Give path as well"),
        ({"max_hops": 1, "count_distinct": 1}, "count_distinct", "Give path as well"),
        ({"path": ["-studies->"] * 9}, "path", "the limit is 8"),
        ({"path": ["-study->"]}, "path", "The nearest: studies"),
        ({"path": ["-studies->"], "to": ["no such"]}, "to", "no such"),
    ],
)
async def test_what_does_not_agree_is_an_error(arguments, argument, part):
    with pytest.raises(ToolError) as caught:
        await over(TRIALS).call("bfs_query", {"seeds": ["t:1"], **arguments})
    assert caught.value.argument == argument
    assert part in str(caught.value)


async def test_as_many_hops_as_a_long_path_has_steps_agree():
    answer = await asked(*["--"] * 6, max_hops=6, show="ends")
    assert answer["max_hops"] == 6


@pytest.mark.parametrize("limits", [{"max_nodes": 1}, {"max_edges": 1}])
async def test_a_bound_met_is_an_error_that_names_the_step(limits):
    with pytest.raises(ToolError) as caught:
        await asked("-studies->", "<-studies-", limits=limits, seeds=["t:1"])
    assert caught.value.kind == "too_large"
    assert str(caught.value).startswith("Step 2 (<-studies-) from 1 node exceeds")


async def test_a_deadline_is_an_error_that_names_the_step():
    class Slow(MemoryBackend):
        async def edges_batch(self, ids, **part):
            if "d:1" in ids:
                await asyncio.sleep(30)
            return await super().edges_batch(ids, **part)

    graph = Graph(Slow(TRIALS), "", Limits(deadline=0.3), None)
    with pytest.raises(ToolError) as caught:
        await graph.call("bfs_query", {"seeds": ["t:1"], "path": ["-studies->", "<-studies-"]})
    assert caught.value.kind == "deadline"
    assert "Step 2 (<-studies-) from 1 node could not be finished within 0.3 s" in str(caught.value)


# --- the store -------------------------------------------------------------------------------


async def test_a_step_reads_only_the_edges_that_it_names():
    backend, watch = watched(MemoryBackend)(TRIALS)
    graph = Graph(backend, "", NO_BUDGET, None)
    await tool_calls.asked(
        graph, "bfs_query", seeds=["t:1"], path=["-studies->", "<-studies-"], topology_only=True
    )
    rings = [asked for name, asked in watch.calls if name == "edges_batch"]
    assert len(rings) == 2
    assert watch.count("get_nodes_batch") == 2, "the seeds, and the types of the answer"


@pytest.mark.parametrize("steps", [1, 3, 8])
async def test_a_step_takes_three_round_trips_at_the_most(steps):
    nodes = [NodeRecord(f"n:{n}", "Gene", {"year": 2000}) for n in range(steps + 1)]
    edges = [EdgeRecord(f"n:{n}", "r", f"n:{n + 1}") for n in range(steps)]
    backend, watch = watched(MemoryBackend)([*nodes, *edges])
    graph = Graph(backend, "", NO_BUDGET, None)
    await tool_calls.asked(
        graph,
        "bfs_query",
        seeds=["n:0"],
        path=["-r-> Gene"] * steps,
        where=["Gene.year>=2000"],
        topology_only=True,
    )
    trips = [name for name, _ in watch.calls if name.endswith("_batch")]
    assert len(trips) <= 3 * steps + 2


@given(
    case=graph_strategies.graphs_with_seeds(seeds=2, least=2) | graph_strategies.hubs_with_seeds(),
    steps=walking.steps(),
    filters=graph_strategies.filtering(),
    page=st.tuples(st.integers(0, 4), st.integers(0, 4)),
    ends=st.booleans(),
    batch=st.sampled_from([1, 3, 1000]),
)
async def test_every_way_gives_the_same_bytes(*, case, steps, filters, page, ends, batch):
    graph, seeds = case
    asked = {"seeds": seeds[:1], **walking.arguments(steps), **filters}
    if ends:
        asked["to"] = seeds[1:]
    backends = [kind(graph.records) for kind in (MemoryBackend, TypedStream)]
    backends.append(ColumnsOverMemory(graph.records, batch))
    async with open_graph(backends[0]) as one, open_graph(backends[1]) as two:
        graphs = [one, two, *(Graph(db, "", Limits(), None) for db in backends)]
        await assert_same_answers(graphs, "bfs_query", **asked)
        await assert_same_answers(graphs, "bfs_query", **asked, limit=page[0], offset=page[1])
        await assert_same_answers(graphs, "bfs_query", **asked, max_tokens=700)
