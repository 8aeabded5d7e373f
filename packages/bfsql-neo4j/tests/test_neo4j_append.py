"""Adding to a database and removing from it: as if all that stays had been loaded at once."""

from collections.abc import Sequence
from typing import Any

import pytest

from bfsql.models import EdgeRecord, EvidenceRecord, GraphRecord, NodeRecord
from bfsql.models.load import LoadMode, LoadOptions
from bfsql_neo4j import Neo4jSettings
from bfsql_neo4j.loader import load_graph

APPENDING = LoadOptions(LoadMode.APPEND)


@pytest.fixture
def append(settings: Neo4jSettings):
    def load(records: Sequence[GraphRecord], **options: Any):
        return load_graph(settings, records, LoadOptions(LoadMode.APPEND, **options))

    return load


@pytest.fixture
def load(settings: Neo4jSettings):
    return lambda records: load_graph(settings, records)


async def nodes_of(cypher) -> list[Any]:
    return await cypher("MATCH (n) RETURN labels(n), properties(n) ORDER BY n.entity_id")


async def edges_of(cypher) -> list[Any]:
    return await cypher(
        "MATCH (a)-[r]->(b) RETURN a.entity_id AS s, type(r) AS p, b.entity_id AS o, properties(r) "
        "ORDER BY s, p, o"
    )


async def test_nodes_and_edges_that_are_there_merge_with_new_ones(load, append, cypher) -> None:
    await load(
        [
            NodeRecord("a", "Drug", {"name": "A", "year": 1}),
            NodeRecord("b", "Drug"),
            NodeRecord("idle", "Other"),
            EdgeRecord("a", "P", "b", {"confidence": 0.5}),
            EdgeRecord("a", "P", "idle"),
        ]
    )
    report = await append(
        [
            NodeRecord("a", "Gene", {"name": "Alpha", "year": 2}),
            NodeRecord("c", "Gene"),
            EdgeRecord("a", "P", "b", {"confidence": 0.9}),
            EdgeRecord("c", "P", "b"),
            EvidenceRecord("a", "P", "b", {"text_span": "so", "document_id": "d"}),
            EvidenceRecord("a", "P", "idle", {"text_span": "also", "document_id": "d"}),
        ]
    )
    assert (report.nodes, report.edges, report.evidence) == (4, 3, 2)
    assert (report.duplicate_nodes, report.duplicate_edges) == (1, 1)
    assert report.unattached_evidence == 0
    assert (await nodes_of(cypher))[0] == [
        ["Drug"],
        {
            "entity_id": "a",
            "name": "A",
            "synonyms": ["Alpha"],
            "year": [1, 2],
            "other_types": ["Gene"],
        },
    ]
    first, second, idle, new = await edges_of(cypher)
    assert {first[3]["confidence"], second[3]["confidence"]} == {0.5, 0.9}
    assert ("provenance__json" in first[3]) != ("provenance__json" in second[3])
    assert "provenance__json" in idle[3]
    assert new[0] == "c"


async def test_a_type_that_was_a_default_gives_way(append, cypher, settings, emptied) -> None:
    by_type = settings.model_copy(update={"id_property": ["Drug=code", "entity_id"]})
    made = LoadOptions(LoadMode.APPEND, create_nodes=True, default_type="Node")
    report = await load_graph(by_type, [EdgeRecord("a", "P", "b")], made)
    assert (report.nodes, report.created_nodes) == (2, 2)
    report = await load_graph(by_type, [NodeRecord("a", "Drug", {"dose": 1})], made)
    assert (report.nodes, report.created_nodes, report.edges) == (2, 0, 1)
    assert await cypher("MATCH (n) RETURN labels(n), properties(n) ORDER BY n.entity_id") == [
        [["Node"], {"entity_id": "b", "name": "b"}],
        [["Drug"], {"code": "a", "dose": 1}],
    ]
