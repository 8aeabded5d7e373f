"""The outline: that of the reference for small graphs; of large ones, counted by the server."""

import pytest

from bfsql import MemoryBackend
from bfsql.models import EdgeRecord, NodeRecord
from bfsql.models.outline import Relation
from bfsql.schema_statistics import outline_by_batches
from bfsql_neo4j import Neo4jBackend, outline
from bfsql_neo4j.load.loader import load_graph
from bfsql_neo4j.values import ELEMENT

RECORDS = [
    *(NodeRecord(f"n{i}", "TU"[i % 2], {"name": f"N {i}", "phase": i % 3}) for i in range(12)),
    *(
        EdgeRecord(f"n{i}", ("KNOWS", "a`b")[i % 2], f"n{j}", {"since": 2000 + j % 3})
        for i in range(5)
        for j in range(5)
    ),
]
ODD = """
CREATE (a:Company {entity_id: 'a'}), (b:City {entity_id: 'b'}), (c:Company:Bank {entity_id: 'c'}),
  (d:Secret {entity_id: 'd'}), (e {entity_id: 'e'}), (f:City {entity_id: 'b'})
CREATE (a)-[:IN {n: 1}]->(b), (a)-[:IN {n: 2}]->(b), (c)-[:IN]->(b), (a)-[:OWNS]->(a),
  (e)-[:IN]->(b), (a)-[:IN]->(f), (d)-[:IN]->(b), (a)-[:IN]->(d), (a)-[:HIDES]->(b)
"""


@pytest.fixture
def large(monkeypatch):
    """Makes a graph of a few nodes and edges large."""
    monkeypatch.setattr(outline, "MOST_NODES", 5)
    monkeypatch.setattr(outline, "MOST_EDGES", 10)
    monkeypatch.setattr(outline, "_FEW_OF_A_TYPE", 2)


async def outline_of(settings, **others):
    graph = await Neo4jBackend.open(settings.model_copy(update=others))
    try:
        return await graph.outline()
    finally:
        await graph.close()


async def test_the_outline_is_that_of_the_reference(settings):
    cased = settings.model_copy(update={"preserve_case": True})
    await load_graph(cased, RECORDS)
    assert await outline_of(cased) == await MemoryBackend(RECORDS).outline()


async def test_nodes_and_relations_of_a_large_graph_are_counted(settings, large):
    cased = settings.model_copy(update={"preserve_case": True})
    await load_graph(cased, RECORDS)
    whole = await MemoryBackend(RECORDS).outline()
    found = await outline_of(cased)
    assert (found.node_counts, found.relations) == (whole.node_counts, whole.relations)
    assert found.relations_from == "all"


async def test_relations_of_a_large_graph_that_takes_too_long_are_a_sample_without_numbers(
    settings, large
):
    cased = settings.model_copy(update={"preserve_case": True})
    await load_graph(cased, RECORDS)
    found = await outline_of(cased, schema_timeout=0.0001)
    assert found.relations_from == "sample"
    assert found.node_counts == {}
    assert {relation.predicate for relation in found.relations} == {"KNOWS", "a`b"}
    assert {relation.edges for relation in found.relations} == {None}


@pytest.mark.parametrize("excluded", [[], ["Secret"]])
async def test_the_server_counts_the_edges_that_the_tools_show(
    settings, cypher, empty_it, excluded, request
):
    await empty_it()
    await cypher(ODD)
    known = {"search": "contains", "exclude_labels": excluded, "exclude_types": ["HIDES"]}
    graph = await Neo4jBackend.open(settings.model_copy(update=known))
    elements = [element for (element,) in await cypher("MATCH (n) RETURN elementId(n)")]
    ids = [*"abcd", *(f"{ELEMENT}{element}" for element in elements)]
    edges = await graph.edges_batch(ids)
    wanted = await outline_by_batches(graph, ids, edges, sampled=False)
    await graph.close()
    for size in ("small", "large"):
        if size == "large":
            request.getfixturevalue("large")
        counted = await outline_of(settings, **known)
        assert counted.node_counts == wanted.node_counts
        assert counted.relations == wanted.relations
    assert Relation("Company", "in", "City", 2) in wanted.relations
