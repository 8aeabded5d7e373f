"""The conformance kit over networkx graphs."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import networkx as nx
from bfsql_networkx import NetworkxBackend

from bfsql.abc import GraphDbInterface
from bfsql.memory import MemoryBackend
from bfsql.models import GraphRecord, NodeRecord
from bfsql_testing import BackendSuite, Kind


class TestNetworkx(BackendSuite):
    """networkx adds a node for each end of an edge, so that no edge dangles."""

    keeps = frozenset(Kind) - {Kind.DANGLING_EDGES}

    @asynccontextmanager
    async def backend_with(self, records: Sequence[GraphRecord]) -> AsyncIterator[GraphDbInterface]:
        yield NetworkxBackend(await graph_of(records))


async def graph_of(records: Sequence[GraphRecord]) -> Any:
    """A multigraph whose attributes are the merged metadata of the records."""
    merged = MemoryBackend(records)
    graph = nx.MultiDiGraph()
    for entity_id in dict.fromkeys(r.id for r in records if isinstance(r, NodeRecord)):
        node = await merged.get_node(entity_id)
        known = await merged.metadata_for_node(entity_id)
        graph.add_nodes_from([(entity_id, {**known, "type": node.entity_type})])
        edges = await merged.edges_from(entity_id)
        for edge in edges:
            known = await merged.metadata_for_edge(edge)
            said = {**known, "predicate": edge.predicate}
            graph.add_edges_from([(edge.subject, edge.object, said)])
    return graph
