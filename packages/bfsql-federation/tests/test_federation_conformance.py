"""The conformance kit on a federation of one graph, and on one of three."""

from contextlib import asynccontextmanager

import pytest

from bfsql import MemoryBackend
from bfsql.models import EdgeRecord, NodeRecord, PropertyCondition
from bfsql_federation import FederationBackend, Identifiers, Member
from bfsql_test_support.backends.columns import ColumnsOverMemory, PlainColumns
from bfsql_test_support.suites.conformance import trying
from bfsql_testing import BackendSuite


@asynccontextmanager
async def federated(stores):
    members = [Member(f"graph {at}", store) for at, store in enumerate(stores)]
    backend = FederationBackend(members, Identifiers({}), origins=False)
    await backend.join_columns()
    try:
        yield backend
    finally:
        await backend.close()


def parts(records):
    """All nodes and a third of the edges; and twice a third of the edges with their nodes."""
    nodes = [one for one in records if isinstance(one, NodeRecord)]
    found = [[*nodes], [], []]
    for record in records:
        if not isinstance(record, NodeRecord):
            triple = record.subject, record.predicate, record.object
            found[sum(map(ord, "".join(triple))) % 3].append(record)
    types = {one.id: one.entity_type for one in reversed(nodes)}  # the first type decides
    for part in found[1:]:
        ends = {i for r in part for i in (r.subject, r.object)}
        part.extend(NodeRecord(i, types[i]) for i in sorted(ends & types.keys()))
    return found


class TestOneGraph(BackendSuite):
    def backend_with(self, records):
        return federated([MemoryBackend(records)])


class TestThreeGraphs(BackendSuite):
    def backend_with(self, records):
        return federated(map(MemoryBackend, parts(records)))


@trying(
    *("bfs-bytes", "intersect-bytes", "entity-bytes", "drawn-graphs", "nodes-bytes"),
    *("columns-order", "columns-nodes", "columns-ends", "columns-names", "columns-rings"),
    *("columns-part", "columns-apart", "columns-fresh", "every-edge", "whole-hub"),
    *("outline-counts", "outline-names", "outline-properties"),
)
class TestThreeGraphsInColumns(BackendSuite):
    def backend_with(self, records):
        return federated(map(ColumnsOverMemory, parts(records)))


async def test_a_large_graph_in_columns_is_counted_as_the_whole():
    nodes = [NodeRecord(f"n{k}", f"T{k % 3}") for k in range(4_000)]
    edges = [EdgeRecord(f"n{k}", f"p{k % 2}", f"n{k * k % 4_100}") for k in range(4_000)]
    halves = [[*nodes[:2_500], *edges[:2_500]], [*nodes[1_000:], *edges[1_000:]]]
    async with federated(map(ColumnsOverMemory, halves)) as db:
        found = await db.outline()
    wanted = await MemoryBackend([*nodes, *edges]).outline()
    assert (found.node_counts, found.relations) == (wanted.node_counts, wanted.relations)


class WithoutComparison(ColumnsOverMemory):
    """A store that compares nothing, and refuses what it does not know."""

    class kind(PlainColumns):  # noqa: N801 - a value of the class above
        async def nodes(self, entity_types=None, conditions=()):
            assert not conditions
            async for batch in super().nodes(entity_types, conditions):
                yield batch

    def knows_operator(self, operator):
        return False

    async def nodes_stream(self, *, entity_types=None, conditions=()):
        assert not conditions
        async for batch in super().nodes_stream(entity_types=entity_types, conditions=conditions):
            yield batch


@pytest.mark.parametrize("in_columns", [True, False])
async def test_a_store_gets_only_the_operators_that_it_knows(in_columns, monkeypatch):
    # What a store raises would be a gap in the answer; here it fails the test.
    monkeypatch.setattr(Member, "report", lambda _, failure: pytest.fail(str(failure)))
    records = [NodeRecord("a", "Drug", {"year": 1899}), NodeRecord("b", "Drug")]
    async with federated([WithoutComparison(records)]) as db:
        dated = [PropertyCondition("year", "=", ("1899",))]
        if in_columns:
            batches = db.columns().nodes(["Drug"], dated)
            found = [i async for one in batches for i in await db.columns().ids(one.handles)]
        else:
            batches = db.nodes_stream(entity_types=["Drug"], conditions=dated)
            found = [node.id async for batch in batches for node in batch]
    assert found == ["a", "b"]
