"""Lists of nodes by type and conditions: what a store leaves out never meets the conditions."""

from collections.abc import Mapping, Sequence
from typing import Any

from bfsql.abc import GraphDbInterface
from bfsql.models import Node, PropertyCondition

Graph = Mapping[str, tuple[str, Mapping[str, Any]]]
"""Type and metadata of each node."""


async def graph_of(backend: GraphDbInterface, ids: Sequence[str]) -> Graph:
    """What a backend says of each node that it looks up."""
    metadata = await backend.metadata_for_nodes_batch(ids)
    nodes = await backend.get_nodes_batch(ids)
    return {node.id: (node.entity_type, metadata[node.id]) for node in nodes}


async def listed(
    backend: GraphDbInterface,
    conditions: Sequence[PropertyCondition] = (),
    types: Sequence[str] | None = None,
) -> list[Node]:
    """The nodes that a backend lists."""
    stream = backend.nodes_stream(entity_types=types, conditions=conditions)
    return [node async for batch in stream for node in batch]


async def assert_listed(
    backend: GraphDbInterface,
    graph: Graph,
    conditions: Sequence[PropertyCondition],
    types: Sequence[str] | None = None,
) -> int:
    """Check a listing; returns how many nodes do not meet the conditions."""
    nodes = await listed(backend, conditions, types)
    found = {node.id: node for node in nodes}
    keys = {one.key for one in conditions}
    expected = {
        i
        for i, (kind, metadata) in graph.items()
        if (types is None or kind in types) and all(one.holds(metadata) for one in conditions)
    }
    told = [(one.key, one.operator, one.values) for one in conditions]
    assert len(found) == len(nodes), told
    assert expected <= found.keys(), (told, {i: graph[i] for i in expected - found.keys()})
    for node in found.values():
        assert node.entity_type == graph[node.id][0]
        own = {k: v for k, v in graph[node.id][1].items() if k in keys and v is not None}
        assert not node.metadata or repr(sorted(node.metadata.items())) == repr(sorted(own.items()))
    for one in filter(backend.filters_exactly, conditions):
        wrong = {i: graph[i] for i in found if not one.holds(graph[i][1])}
        assert not wrong, (told, wrong)
    return len(found) - len(expected)
