"""Traversals over a store's own columns are cached, within bounds."""

from collections.abc import AsyncGenerator
from contextlib import suppress

import pytest

from bfsql import Graph, Limits, call
from bfsql.cache import CachedGraphDb
from bfsql.engine import path
from bfsql.errors import ToolError
from bfsql.integers import IntArray, NodeBatch, Ring
from bfsql.models import EdgeRecord, NodeRecord, Omission
from bfsql_test_support.backends.columns import ColumnsOverMemory, PlainColumns

RECORDS = [
    *(NodeRecord(f"n{i}", "thing", {"name": f"name {i}", "rank": i}) for i in range(40)),
    *(EdgeRecord("n0", "knows", f"n{i}") for i in range(1, 40)),
]


class Counted(PlainColumns):
    """Columns that count how many rings and sets of nodes are read."""

    rings_read = sets_read = 0

    async def nodes(self, *selection) -> AsyncGenerator[NodeBatch]:
        Counted.sets_read += 1
        async for batch in super().nodes(*selection):
            yield batch

    async def rings(self, handles: IntArray, **part) -> AsyncGenerator[Ring]:
        Counted.rings_read += 1
        async for ring in super().rings(handles, **part):
            yield ring


class Watched(ColumnsOverMemory):
    kind = Counted


@pytest.fixture(autouse=True)
def nothing_read() -> None:
    Counted.rings_read = Counted.sets_read = 0


def opened(limits: Limits | None = None, **options) -> Graph:
    return Graph(CachedGraphDb(Watched(RECORDS), **options), "", limits or Limits(), None)


async def test_the_same_neighbourhood_is_searched_once_whatever_is_shown_of_it():
    graph, plain = opened(), Graph(Watched(RECORDS), "", Limits(), None)
    calls = [
        {},
        {"topology_only": True},
        {"limit": 5},
        {"limit": 5, "offset": 30},
        {"limit": 5, "offset": 30, "max_tokens": 500},
        {"node_types": ["other"]},
        {},
    ]
    for shown in calls:
        cached = await graph.bfs_query(seeds=["n0"], max_hops=1, **shown)
        read = Counted.rings_read
        assert cached.text == (await plain.bfs_query(seeds=["n0"], max_hops=1, **shown)).text
        Counted.rings_read = read
    assert Counted.rings_read == 1


async def test_the_same_path_is_walked_once_whatever_is_shown_of_it():
    graph, plain = opened(), Graph(Watched(RECORDS), "", Limits(), None)
    path = {"seeds": ["n1"], "path": ["<-knows-", "-knows->"]}
    calls = [
        {},
        {"topology_only": True},
        {"limit": 5},
        {"limit": 5, "offset": 30},
        {"limit": 5, "offset": 30, "show": "ends"},
        {"limit": 5, "offset": 30, "sort_by": "-rank"},
        {"limit": 5, "offset": 30, "max_tokens": 500},
        {"limit": 5, "show": "ends", "sort_by": "-rank"},
        {},
    ]
    await expect_walked_once(graph, plain, path, calls)


async def expect_walked_once(graph: Graph, plain: Graph, path: dict, calls: list[dict]) -> None:
    """Answers about a path are those without a cache, and its two steps are read once."""
    for shown in calls:
        cached = await graph.bfs_query(**path, **shown)
        read = Counted.rings_read
        assert cached.text == (await plain.bfs_query(**path, **shown)).text
        Counted.rings_read = read
    assert Counted.rings_read == 2


async def test_a_path_with_conditions_is_walked_once_whatever_is_shown_of_it():
    graph, plain = opened(), Graph(Watched(RECORDS), "", Limits(), None)
    path = {"seeds": ["n1"], "path": ["<-knows-", "-knows-> thing[rank<30]"], "where": ["1.rank<9"]}
    calls = [
        {},
        {"limit": 5, "offset": 20},
        {"limit": 5, "sort_by": "-rank"},
        {"show": "ends", "facets": ["rank"]},
        {"measure": ["max(1.rank)"]},
    ]
    await expect_walked_once(graph, plain, path, calls)


async def test_conditions_and_the_steps_that_they_apply_to_make_another_path():
    graph, plain = opened(), Graph(Watched(RECORDS), "", Limits(), None)
    for asked in (
        {},
        {"where": ["rank<9"]},
        {"where": ["rank<19"]},
        {"where": ["rank<9"], "show": "1"},
        {"where": ["rank<9"], "show": "walks"},
        {"where": ["1.rank<9"], "show": "walks"},
        {"exclude_node_types": ["other"]},
        {"exclude_node_types": ["thing"]},
        {"min_mentions": 2},
        {},
    ):
        path = {"seeds": ["n1"], "path": ["<-knows-", "-knows->"], **asked}
        for _ in range(2):
            assert (await graph.bfs_query(**path)).text == (await plain.bfs_query(**path)).text


async def test_what_the_store_left_out_is_noted_of_each_answer():
    class Forgetful(Watched):
        async def metadata_for_nodes_batch(self, ids, *keys):
            call.omitted(Omission("n5", "values", 9, "rank"))
            return await super().metadata_for_nodes_batch(ids, *keys)

    graph = Graph(CachedGraphDb(Forgetful(RECORDS)), "", Limits(), None)
    path = {"seeds": ["thing[name~1]"], "path": ["<-knows-"], "where": ["rank<9"]}
    path |= {"topology_only": True}
    first, again = [await graph.bfs_query(**path) for _ in range(2)]
    assert "n5" in " ".join(first.content["notes"])
    assert first.text == again.text
    assert Counted.sets_read == Counted.rings_read == 2


async def test_the_nodes_of_a_pattern_are_found_once_for_all_pages():
    graph, plain = opened(), Graph(Watched(RECORDS), "", Limits(), None)
    for page in ({"limit": 5}, {"limit": 5, "offset": 5}, {"max_hops": 1}):
        set_of = {"seeds": ["thing[name~1]"], **page}
        answer = await graph.bfs_query(**set_of)
        read = Counted.sets_read
        assert answer.text == (await plain.bfs_query(**set_of)).text
        Counted.sets_read = read
    assert Counted.sets_read == 1


@pytest.mark.parametrize("is_whole", [True, False], ids=["whole", "cut off"])
async def test_a_path_without_a_walk_is_held_unless_a_bound_cut_off_its_explanation(
    is_whole, monkeypatch
):
    if not is_whole:
        cut = property(lambda _: False, lambda *_: None)
        monkeypatch.setattr(path._DeadEndSearch, "is_whole", cut, raising=False)
    graph, texts = opened(), []
    for turn in range(2):
        before = Counted.rings_read
        found = await graph.bfs_query(seeds=["n1"], path=["-knows->"])
        assert found.content["node_count"] == 0
        assert (Counted.rings_read > before) == (not turn or not is_whole)
        texts.append(found.text)
    assert texts[0] == texts[1]


async def test_an_answer_is_good_for_the_time_to_live():
    now = [0.0]
    graph = opened(ttl=10.0, clock=lambda: now[0])
    for time, read in ((0.0, 1), (9.0, 1), (11.0, 2)):
        now[0] = time
        await graph.bfs_query(seeds=["n0"], max_hops=1)
        assert Counted.rings_read == read


async def test_an_answer_larger_than_half_of_the_cache_is_not_held():
    graph = opened(maxsize=16)  # 40 nodes and 39 edges, which take the memory of 10 records
    for read in (1, 2):
        await graph.bfs_query(seeds=["n0"], max_hops=1, topology_only=True)
        assert Counted.rings_read == read


async def test_an_answer_that_a_bound_cut_short_is_not_held():
    graph = opened(Limits(max_nodes=20))
    for read in (2, 4):
        found = await graph.bfs_query(seeds=["n1"], max_hops=2)
        assert found.content["node_count"] == 2
        assert Counted.rings_read == read


async def test_graphs_of_other_limits_over_one_cache_have_their_own_answers():
    held = CachedGraphDb(Watched(RECORDS))
    for most in (None, 20):
        graph = Graph(held, "", Limits(max_nodes=most), None)
        found = await graph.bfs_query(seeds=["n1"], max_hops=2)
        assert found.content["node_count"] == (2 if most else 40)


@pytest.mark.parametrize("asked", [{"max_hops": 1}, {"path": ["-knows->"]}, {"to": ["n2"]}])
async def test_what_columns_left_out_is_said_again(asked, monkeypatch):
    async def rings(self, handles: IntArray, **part) -> AsyncGenerator[Ring]:
        call.omitted(call.Omission("n0", "out", at_least=5, reason="the row limit"))
        async for ring in PlainColumns.rings(self, handles, **part):
            yield ring

    monkeypatch.setattr(Counted, "rings", rings)
    graph = opened()
    first, second = [await graph.bfs_query(seeds=["n0"], **asked) for _ in range(2)]
    assert "the row limit" in first.text
    assert second.text == first.text


PATH = {"path": ["-knows->", "-knows-", "-likes|knows-"]}
ALIKE = {
    "seeds": [["*[rank<=2]"], ["*[rank<2]"], ["b", "a"], ["a"]],
    "max_hops": [0, 1, 2],
    "path": [["-knows->", "-likes-", "-likes|knows-"], ["-knows->", "-knows-"], ["-knows-"]],
    "along": [["-knows->"], ["-likes->"], ["-knows-", "-likes-"], ["-knows-> *[rank<2]"]],
    "to": [["c"], ["d"], ["c", "d"], ["*[rank>2]"], ["*[rank>=2]"]],
    "where": [["3 = 1"], ["3 != 1"], ["3 != 0"], ["2.rank<2"], ["rank<3"], ["-likes->"]],
    "show": ["0", "1", "walks"],
    "sort_by": ["0.rank", "1.rank", "-3.rank", "-rank"],
    "measure": [["count 0"], ["count 1"], ["count 0", "count 2"], ["max 3.rank"]],
    "count_distinct": [0, 1, 2],
    "k": [1, 2, 3],
    "connect": [True],
}
BASES = [
    {"seeds": ["a", "*[rank<=2]"], "max_hops": 2},
    {"seeds": ["*[rank<2]"], "to": ["f"]},
    {"seeds": ["a"], "to": ["d"], "along": ["-knows-"]},
    {"seeds": ["a"], **PATH},
    {"seeds": ["a"], "show": "walks", **PATH},
    {"seeds": ["*:*"], "to": ["d"], **PATH},
    {"seeds": ["a", "d"], "k": 2},
    {"seeds": ["a", "d"], "k": 5, "connect": True},
    {"seeds": ["a"], "max_hops": 1, "where": ["-likes->"]},
]


async def test_answers_to_calls_that_differ_in_one_argument_are_their_own():
    triples = ["a knows b", "b knows c", "c knows d", "b likes a", "d likes c", "e knows b"]
    nodes = [
        NodeRecord(i, "thing" if i < "d" else "other", {"rank": n})
        for n, i in enumerate("abcdef", 1)
    ]
    records = [*nodes, *(EdgeRecord(*triple.split()) for triple in triples)]

    async def told(graph: Graph, arguments: dict) -> str:
        tool = "intersect_subgraphs" if {"k", "connect"} & {*arguments} else "bfs_query"
        with suppress(ToolError):
            return (await graph.call(tool, arguments)).text
        return ""

    for base in BASES:
        warm = Graph(CachedGraphDb(Watched(records)), "", Limits(), None)
        plain = Graph(Watched(records), "", Limits(), None)
        less = [{of: value for of, value in base.items() if of != name} for name in base]
        more = [{**base, name: value} for name, values in ALIKE.items() for value in values]
        for arguments in [base, *more, *less, base]:
            assert await told(warm, arguments) == await told(plain, arguments), (base, arguments)
