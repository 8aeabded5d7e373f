"""Statements for servers that speak Bolt but are not Neo4j, tested with Neo4j.

This shows that the statements are right and need none of Neo4j's procedures, but not that another
server understands them.
"""

import pytest

from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, EvidenceRecord, NodeRecord
from bfsql_neo4j import Neo4jBackend
from bfsql_neo4j.load.loader import load_graph
from bfsql_neo4j.schema import Dialect

OTHER = Dialect.of("Neo4j/v5.11.0 compatible graph database server - Memgraph")
RECORDS = [
    NodeRecord("a", "T", {"name": "Ann", "synonyms": ["Annie"], "age": 42}),
    NodeRecord("b", "T", {"name": "Bob"}),
    NodeRecord("c", "Place", {"name": "Rome"}),
    NodeRecord("7", "Place", {}),
    EdgeRecord("a", "knows", "b", {"since": 1999}),
    EdgeRecord("b", "lives in", "c", {}),
    EdgeRecord("a", "lives in", "c", {"n": [1, 2]}),
    EvidenceRecord("a", "knows", "b", {"document_id": "c", "text_span": "They met."}),
]


@pytest.fixture
def notes_are_errors():
    """Disabled here: Neo4j deprecates the syntax that other servers understand."""


@pytest.fixture(params=[Dialect.of("Neo4j/5.20.0"), OTHER], ids=["older Neo4j", "another server"])
def spoken(request, monkeypatch):
    dialect = request.param
    monkeypatch.setattr(Dialect, "of", lambda agent: dialect)
    return dialect


async def test_the_dialect_is_reported_by_what_a_server_calls_itself():
    assert Dialect.of("Neo4j/5.26.30") == Dialect() == Dialect.of("Neo4j/2026.08.1")
    assert Dialect.of("Neo4j/5.20.0") == Dialect(scoped=False)
    assert not OTHER.procedures
    assert Dialect.of("something else") == OTHER


async def test_all_questions_are_answered_as_in_memory(settings, spoken):
    await load_graph(settings, RECORDS)
    memory = MemoryBackend(RECORDS)
    db = await Neo4jBackend.open(settings)
    ids = ["a", "b", "c", "7", "nobody"]
    assert sorted(await db.get_nodes_batch(ids)) == sorted(await memory.get_nodes_batch(ids))
    edges = set(await memory.edges_batch(ids))
    assert set(await db.edges_batch(ids)) == edges
    assert await db.metadata_for_nodes_batch(ids) == await memory.metadata_for_nodes_batch(ids)
    found = await db.metadata_for_edges_batch(edges)
    assert found == await memory.metadata_for_edges_batch(edges)
    assert await db.entity_types() == await memory.entity_types()
    assert await db.predicates() == await memory.predicates()
    for entity_id in ("a", "b"):
        wanted = await memory.provenance_for_node(entity_id, 5)
        assert await db.provenance_for_node(entity_id, 5) == wanted
    for text, best in (("annie", "a"), ("Bob", "b"), ("7", "7"), ("rom", "c")):
        assert next(stub.id for stub in await db.search_entities(text)) == best
    assert await db.next_steps()
    await db.close()


async def test_nodes_without_an_id_and_with_odd_values_are_walked(
    settings, spoken, cypher, emptied
):
    await cypher(
        "CREATE (a:T {entity_id: 42, name: 'x', at: date('2024-02-29')})-[:TO {n: 1}]->"
        "(:T {name: 'without'}), (a)-[:TO]->({name: 'bare'}), (a)-[:TO]->(:`a ``b` "
        "{entity_id: 't'})"
    )
    changed = settings.model_copy(update={"search": "contains"})
    db = await Neo4jBackend.open(changed)
    ring = set(await db.edges_batch(["42"]))
    others = sorted({o for _, _, o in ring} - {"t"})
    assert len(ring) == 3
    assert all(other.startswith("neo4j:element:") for other in others)
    assert {node.id for node in await db.get_nodes_batch(others)} == set(others)
    assert set(await db.metadata_for_edges_batch(ring)) == ring
    assert (await db.metadata_for_node("42"))["at"] == "2024-02-29"
    assert set(await db.edges_batch(others)) == {e for e in ring if e[2] in others}
    await db.close()
