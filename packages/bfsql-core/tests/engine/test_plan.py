"""A plan is a value: it can be printed, compared, and is what answers are held under."""

import pytest

from bfsql import CachedGraphDb, MemoryBackend, open_graph
from bfsql.abc import normalized
from bfsql.engine.executor import Executor
from bfsql.engine.plan import Plan
from bfsql.integers import NodeSet
from bfsql.models import (
    MAX_HOPS,
    BfsQuery,
    EdgeRecord,
    IntersectionQuery,
    NodeRecord,
    Path,
    PathQuery,
    Step,
)
from bfsql_test_support.backends.columns import ColumnsOverMemory

RECORDS = [
    *(NodeRecord(name, "T", {"name": name.upper()}) for name in "abc"),
    EdgeRecord("a", "p", "b"),
    EdgeRecord("b", "p", "c"),
]
PATH = Path((Step(frozenset(["p"]), "out"),))


async def node_set(executor: Executor, *ids: str) -> NodeSet:
    return NodeSet.of([one for one in await executor.columns.find(ids) if one is not None])


async def plans(executor: Executor) -> dict[str, Plan]:
    """One plan of each kind."""
    seeds, targets = await node_set(executor, "a"), await node_set(executor, "c")
    bfs = BfsQuery(seeds=["a"], max_hops=2, where=["name=C"])
    along = BfsQuery(seeds=["a"], max_hops=3, along=(PATH,))
    return {
        "reach from a within 2 where name=C": Plan(bfs, seeds),
        "chains from a within 3 along -p-> to c": Plan(along, seeds, targets),
        "walks from a over -p->": Plan(PathQuery(seeds=["a"], path=PATH), seeds),
        "shared from a, c within 1": Plan(
            IntersectionQuery(seeds=["a", "c"], k=1), await node_set(executor, "a", "c")
        ),
    }


async def test_a_plan_is_printed_as_one_line_that_says_what_it_asks():
    for text, plan in (await plans(Executor(normalized(MemoryBackend(RECORDS))))).items():
        assert str(plan) == text


async def test_each_kind_of_plan_is_run_by_the_one_executor():
    executor = Executor(normalized(MemoryBackend(RECORDS)))
    wanted = [["c"], ["a", "b", "c"], ["a", "b"], ["b"]]
    for plan, ids in zip((await plans(executor)).values(), wanted, strict=True):
        table = await executor.run(plan)
        found = await executor.columns.ids(table.nodes)
        assert sorted(set(found) - {"a", "c"} | {i for i in found if i in ids}) == ids


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("bfs_query", {"seeds": ["a"], "to": ["c"]}),
        ("bfs_query", {"seeds": ["a"], "to": ["c"], "along": ["-p->"]}),
        ("bfs_query", {"seeds": ["a"], "path": ["-p->"], "to": ["b"]}),
        ("intersect_subgraphs", {"seeds": ["a", "c"]}),
        ("intersect_subgraphs", {"seeds": ["a", "c"], "k": 2, "connect": True}),
    ],
)
async def test_a_plan_without_conditions_is_answered_once(tool, arguments):
    read = []

    class Watched(ColumnsOverMemory):
        def columns(self):
            columns = super().columns()
            rings = columns.rings
            columns.rings = lambda *args, **part: (read.append(args), rings(*args, **part))[1]
            return columns

    async with open_graph(CachedGraphDb(Watched(RECORDS))) as graph:
        first = await graph.call(tool, arguments)
        before = len(read)
        assert before
        assert (await graph.call(tool, {**arguments, "topology_only": True})).content["nodes"]
        assert (await graph.call(tool, arguments)).text == first.text
        assert len(read) == before
        other = await graph.call(tool, {**arguments, "where": ["name!=B"]})
        assert other.text != first.text


async def test_the_smallest_distance_of_something_shared_is_not_held_for_the_largest():
    async with open_graph(ColumnsOverMemory(RECORDS)) as graph:
        for asked, shared in (({}, 1), ({"k": MAX_HOPS}, 3), ({}, 1)):
            found = await graph.call("intersect_subgraphs", {"seeds": ["a", "c"], **asked})
            assert found.content["node_count"] == shared
