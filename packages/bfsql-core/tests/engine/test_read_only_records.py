"""A backend may return metadata, alone and in batches, in mappings that cannot be changed."""

from types import MappingProxyType

import pytest

from bfsql.graph import open_graph
from bfsql.memory import MemoryBackend
from bfsql.models import Edge, EdgeRecord, Metadata, NodeRecord

RECORDS = [
    NodeRecord("a", "T", {"name": "A", "year": 1}),
    NodeRecord("b", "T", {"name": "B", "year": 2}),
    EdgeRecord("a", "p", "b", {"since": 3}),
]


class ReadOnlyRecords(MemoryBackend):
    async def metadata_for_node(self, entity_id: str) -> Metadata:
        return MappingProxyType(await super().metadata_for_node(entity_id))

    async def metadata_for_edge(self, edge: Edge) -> Metadata:
        return MappingProxyType(await super().metadata_for_edge(edge))

    async def metadata_for_nodes_batch(self, ids, keys=None):
        return MappingProxyType(dict(await super().metadata_for_nodes_batch(ids, keys)))

    async def metadata_for_edges_batch(self, edges, keys=None):
        return MappingProxyType(dict(await super().metadata_for_edges_batch(edges, keys)))


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("bfs_query", {"seeds": ["a"], "max_hops": 1}),
        ("bfs_query", {"seeds": ["T:*"], "where": ["year>=2"], "facets": ["year"]}),
        ("bfs_query", {"seeds": ["a"], "path": ["-p[since=3]-> T"], "sort_by": "-year"}),
        ("describe_entity", {"id": "a"}),
        ("describe_entities", {"ids": ["a", "b"]}),
    ],
)
async def test_records_that_cannot_be_changed_give_the_same_answer(tool, arguments):
    texts = []
    for backend in (MemoryBackend(RECORDS), ReadOnlyRecords(RECORDS)):
        async with open_graph(backend) as graph:
            texts.append((await graph.call(tool, arguments)).text)
    assert texts[0] == texts[1]
