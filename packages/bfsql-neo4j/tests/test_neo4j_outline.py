"""The outline: that of the reference for small graphs, and a sample of large ones."""

from typing import Any

import pytest

from bfsql import MemoryBackend
from bfsql.models import EdgeRecord, NodeRecord
from bfsql_neo4j import Neo4jBackend, Neo4jSettings, backend
from bfsql_neo4j.loader import load_graph

RECORDS = [
    *(NodeRecord(f"n{i}", "TU"[i % 2], {"name": f"N {i}", "phase": i % 3}) for i in range(12)),
    *(
        EdgeRecord(f"n{i}", ("KNOWS", "a`b")[i % 2], f"n{j}", {"since": 2000 + j % 3})
        for i in range(5)
        for j in range(5)
    ),
]


@pytest.mark.parametrize("large", [False, True])
async def test_the_outline_is_that_of_the_reference_or_a_sample(
    settings: Neo4jSettings, large: bool, monkeypatch: pytest.MonkeyPatch, cypher: Any
) -> None:
    cased = settings.model_copy(update={"preserve_case": True})
    if large:
        monkeypatch.setattr(backend, "MOST_NODES", 5)
        monkeypatch.setattr(backend, "MOST_EDGES", 10)
        monkeypatch.setattr(backend, "_FEW_OF_A_TYPE", 2)
    else:
        await load_graph(cased, RECORDS)
    graph = await Neo4jBackend.open(cased)
    try:
        outline = await graph.outline()
    finally:
        await graph.close()
    whole = await MemoryBackend(RECORDS).outline()
    if not large:
        assert outline == whole
        return
    assert outline.sampled
    assert outline.node_counts == whole.node_counts
    assert {relation.predicate for relation in outline.relations} == {"KNOWS", "a`b"}
    assert 4 <= sum(relation.edges for relation in outline.relations) <= 10
