"""The conformance kit on a federation of one graph, and on one of three."""

from contextlib import asynccontextmanager

from bfsql import MemoryBackend
from bfsql.models import NodeRecord
from bfsql_federation import FederationBackend, Identifiers, Member
from bfsql_test_support.backends.columns import ColumnsOverMemory
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
)
class TestThreeGraphsInColumns(BackendSuite):
    def backend_with(self, records):
        return federated(map(ColumnsOverMemory, parts(records)))
