"""Traversals over a store's own columns are cached, within bounds."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from bfsql import Graph, Limits
from bfsql.cache import CachedGraphDb
from bfsql.engine import path
from bfsql.integers import IntArray, Ring
from bfsql.models import EdgeRecord, NodeRecord
from bfsql_test_support.backends.columns import ColumnsOverMemory, PlainColumns

RECORDS = [
    *(NodeRecord(f"n{i}", "thing", {"name": f"name {i}", "rank": i}) for i in range(40)),
    *(EdgeRecord("n0", "knows", f"n{i}") for i in range(1, 40)),
]


class Counted(PlainColumns):
    """Columns that count how many rings are read."""

    rings_read = 0

    async def rings(self, handles: IntArray, **part) -> AsyncGenerator[Ring]:
        Counted.rings_read += 1
        async for ring in super().rings(handles, **part):
            yield ring


class Watched(ColumnsOverMemory):
    kind = Counted


@pytest.fixture(autouse=True)
def nothing_read() -> None:
    Counted.rings_read = 0


def opened(limits: Limits | None = None, **options) -> Graph:
    return Graph(CachedGraphDb(Watched(RECORDS), **options), "", limits or Limits(), None)


async def test_the_same_neighbourhood_is_searched_once_whatever_is_shown_of_it() -> None:
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


async def test_the_same_path_is_walked_once_whatever_is_shown_of_it() -> None:
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
    for shown in calls:
        cached = await graph.bfs_query(**path, **shown)
        read = Counted.rings_read
        assert cached.text == (await plain.bfs_query(**path, **shown)).text
        Counted.rings_read = read
    assert Counted.rings_read == 2


async def test_another_path_is_walked_anew() -> None:
    graph = opened()
    path = ["<-knows-", "-knows->"]
    for asked, read in (
        ({"path": path}, 2),
        ({"path": path, "show": "1"}, 2),
        ({"path": path, "count_distinct": 1}, 2),
        ({"path": path, "to": ["n2"]}, 2),
        ({"path": path, "to": ["n3"]}, 2),
        ({"path": path, "where": ["rank<9"]}, 2),
        ({"path": ["<-knows- thing", "-knows->"]}, 2),
        ({"path": path[:1]}, 1),
    ):
        before = Counted.rings_read
        await graph.bfs_query(seeds=["n1"], **asked)
        assert Counted.rings_read == before + read, asked


@pytest.mark.parametrize("is_whole", [True, False], ids=["whole", "cut off"])
async def test_a_path_without_a_walk_is_held_unless_a_bound_cut_off_its_explanation(
    is_whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
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


async def test_another_question_is_searched_anew() -> None:
    graph = opened()
    for asked in (
        {"seeds": ["n0"], "max_hops": 1},
        {"seeds": ["n0"], "max_hops": 1, "where": ["rank<9"]},
        {"seeds": ["n0"], "max_hops": 1, "min_mentions": 2},
        {"seeds": ["n0"], "max_hops": 1, "exclude_node_types": ["thing"]},
        {"seeds": ["n0", "n1"], "max_hops": 1},
    ):
        before = Counted.rings_read
        await graph.bfs_query(**asked)
        assert Counted.rings_read == before + 1


async def test_an_answer_is_good_for_the_time_to_live() -> None:
    now = [0.0]
    graph = opened(ttl=10.0, clock=lambda: now[0])
    for time, read in ((0.0, 1), (9.0, 1), (11.0, 2)):
        now[0] = time
        await graph.bfs_query(seeds=["n0"], max_hops=1)
        assert Counted.rings_read == read


async def test_an_answer_larger_than_half_of_the_cache_is_not_held() -> None:
    graph = opened(maxsize=100)  # 40 nodes and 39 edges
    for read in (1, 2):
        await graph.bfs_query(seeds=["n0"], max_hops=1, topology_only=True)
        assert Counted.rings_read == read


async def test_an_answer_that_a_bound_cut_short_is_not_held() -> None:
    graph = opened(Limits(max_nodes=20))
    for read in (2, 4):
        found = await graph.bfs_query(seeds=["n1"], max_hops=2)
        assert found.content["node_count"] == 2
        assert Counted.rings_read == read


async def test_a_path_whose_steps_are_compared_is_not_the_path_alone() -> None:
    graph, plain = opened(), Graph(Watched(RECORDS), "", Limits(), None)
    path = {"seeds": ["n1"], "path": ["<-knows-", "-knows->", "<-knows-"]}
    for where in ([], ["3 != 1"], ["3 = 1"], []):
        answer = await graph.bfs_query(**path, where=where)
        assert answer.text == (await plain.bfs_query(**path, where=where)).text
