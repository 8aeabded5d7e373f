"""Partial rings and selected metadata keys: what statements read, and that results are the same."""

from contextlib import aclosing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bfsql.models import EdgeRecord, NodeRecord
from bfsql.models.parts import only, part_of
from bfsql_neo4j import Neo4jBackend
from bfsql_neo4j.load.loader import load_graph

HOSTILE = "`]->() MATCH (x) DETACH DELETE x //"
PREDICATES = (None, ["TO"], ["FROM", "nowhere"], [HOSTILE], ["nowhere"], ["a`b"], [])
DIRECTIONS = (None, "out", "in")
NODES = [
    NodeRecord(f"n{i}", "T" if i % 3 else "U", {"name": f"Node {i}", "year": 1990 + i, "": i})
    for i in range(8)
]
NODES.append(NodeRecord("odd", "T", {"deep": {"a": [1, {"b": None}]}, "x__json": "1", "id": 7}))
EDGES = [
    EdgeRecord(f"n{i}", ("TO", "FROM", HOSTILE)[i * j % 3], f"n{j}", {"since": i, "note": "x"})
    for i in range(8)
    for j in range(8)
    if i * j % 4 < 2
]
IDS = [node.id for node in NODES]
KEYS = ("name", "year", "", "deep", "x", "x__json", "id", "entity_id", "other_types", "nothing")
EDGE_KEYS = ("since", "note", "confidence", "confidences", "multiplicity", "provenance")


@pytest.fixture(scope="module")
def loaded():
    """Whether the graph of this module is on the server."""
    return []


@pytest.fixture
async def graph(settings, cypher, loaded):
    cased = settings.model_copy(update={"preserve_case": True})
    if not loaded:
        await load_graph(cased, [*NODES, *EDGES])
        await cypher(
            "MATCH (a {entity_id: 'n1'})-[r:TO]->(b) WITH a, b LIMIT 1 UNWIND [0.5, 0.9] AS c "
            "CREATE (a)-[:TO {confidence: c, since: date('2020-01-01')}]->(b)"
        )
        loaded.append(True)
    backend = await Neo4jBackend.open(cased)
    yield backend
    await backend.close()


async def test_a_part_is_what_core_would_keep_of_the_ring(graph):
    for asked in (["n1"], [*IDS, "nobody"]):
        ring = await graph.edges_batch(asked)
        for predicates in PREDICATES:
            for direction in DIRECTIONS:
                part = {"predicates": predicates, "direction": direction}
                wanted = set(part_of(ring, asked, predicates, direction))
                assert set(await graph.edges_batch(asked, **part)) == wanted
                async with aclosing(graph.edges_stream(asked, **part)) as batches:
                    assert {row[:3] async for rows in batches for row in rows} == wanted
    assert len(await graph.get_nodes_batch(IDS)) == len(IDS)


async def test_a_step_reads_only_the_edges_that_it_names(graph, statements):
    sent = statements(graph)
    await graph.edges_batch(["n1"], predicates=["TO", HOSTILE], direction="out")
    [text] = sent
    assert "(n)-[r:`TO`|```]->() MATCH (x) DETACH DELETE x //`]->(m)" in text
    assert "(n)<-" not in text
    sent.clear()
    await graph.edges_batch(["n1"], direction="in")
    [text] = sent
    assert "(n)<-[r]-(m)" in text
    assert "]->(m)" not in text
    sent.clear()
    assert await graph.edges_batch(["n1"], predicates=["nowhere"]) == []
    assert not any("nowhere" in text or "(n)" in text for text in sent)


async def test_a_predicate_that_is_newer_than_the_schema_is_read(
    graph, cypher, loaded, monkeypatch
):
    loaded.clear()
    monkeypatch.setattr("bfsql_neo4j.discovery.MAX_AGE", 0.0)
    await cypher("MATCH (a {entity_id: 'n1'}), (b {entity_id: 'n2'}) CREATE (a)-[:SINCE]->(b)")
    assert await graph.edges_batch(["n1"], predicates=["SINCE"]) == [("n1", "SINCE", "n2")]


@given(keys=st.sets(st.sampled_from(KEYS)), of_edges=st.sets(st.sampled_from(EDGE_KEYS)))
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
async def test_some_keys_are_those_of_the_whole_metadata(graph, keys, of_edges):
    whole = await graph.metadata_for_nodes_batch(IDS)
    assert await graph.metadata_for_nodes_batch(IDS, keys) == only(whole, keys)
    edges = set(await graph.edges_batch(IDS))
    described = await graph.metadata_for_edges_batch(edges)
    assert any("multiplicity" in known for known in described.values())
    assert await graph.metadata_for_edges_batch(edges, of_edges) == only(described, of_edges)


async def test_only_the_properties_of_the_keys_are_read(graph, statements):
    sent = statements(graph)
    assert await graph.metadata_for_nodes_batch(["n1"], ["year"]) == {"n1": {"year": 1991}}
    await graph.metadata_for_edges_batch([("n1", "TO", "n0")], [HOSTILE])
    assert not any("properties(" in text or HOSTILE in text for text in sent)


async def test_a_date_that_the_driver_cannot_read_is_text_in_a_part_as_well(graph, cypher, loaded):
    loaded.clear()
    await cypher("MATCH (n {entity_id: 'n1'}) SET n.born = date('-0044-03-15')")
    whole = await graph.metadata_for_nodes_batch(["n1", "n2"])
    assert await graph.metadata_for_nodes_batch(["n1", "n2"], ["born"]) == only(whole, ["born"])
    assert whole["n1"]["born"] == "-0044-03-15"
