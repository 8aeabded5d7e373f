"""Partial rings and selected metadata keys: what statements read, and that results are the same."""

import sys
from contextlib import aclosing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bfsql.models.parts import only, part_of
from bfsql_postgres import backend
from bfsql_postgres.connection import Pool
from bfsql_test_support.case_table import case_table

PART = ({"predicates": None}, {"predicates": ["p"]}, {"predicates": ["q", "'; DROP", "\0"]})
DIRECTIONS = (None, "out", "in")

TABLES = """
CREATE TABLE entity (
    entity_id text PRIMARY KEY, entity_type text, name text, phase int, properties jsonb
);
CREATE TABLE relationship (
    subject_id text, predicate text, object_id text, confidence float8, properties jsonb
);
CREATE INDEX ON relationship (subject_id, predicate); CREATE INDEX ON relationship (object_id);
INSERT INTO entity SELECT 'n' || i, 'T', 'name ' || i, i,
    json_build_object('year', 1990 + i, 'name', 'inner', 'big', repeat('x', 900))::jsonb
    FROM generate_series(0, 9) AS i;
INSERT INTO entity VALUES ('odd', 'T', NULL, 1, '[1, 2]'), ('bare', 'T', NULL, NULL, NULL);
INSERT INTO relationship SELECT 'n' || i, (ARRAY['p', 'q', '''; DROP'])[1 + i * j % 3], 'n' || j,
    i / 10.0, json_build_object('since', 2000 + j, 'note', 'x')::jsonb
    FROM generate_series(0, 9) AS i, generate_series(0, 9) AS j WHERE (i * j) % 4 < 2;
INSERT INTO relationship SELECT subject_id, predicate, object_id, 0.95, '{"since": 1}'
    FROM relationship LIMIT 4;
"""


@pytest.fixture
async def graph(owner, opened):
    await owner.execute(TABLES)
    return await opened()


@pytest.fixture
def sent(monkeypatch):
    """The statements sent, with their values."""
    statements = []
    fetch, stream = Pool.fetch, Pool.stream

    async def kept(pool, statement, *values, **more):
        statements.append((statement, values))
        return await fetch(pool, statement, *values, **more)

    def kept_stream(pool, statement, *values):
        statements.append((statement, values))
        return stream(pool, statement, *values)

    monkeypatch.setattr(Pool, "fetch", kept)
    monkeypatch.setattr(Pool, "stream", kept_stream)
    return statements


IDS = [*(f"n{i}" for i in range(10)), "odd", "bare", "nobody"]


@case_table("few", {"small": True, "by cursor": False})
async def test_a_part_is_what_core_would_keep_of_the_ring(graph, few, monkeypatch):
    if not few:
        monkeypatch.setattr(backend, "FEW", 0)
    for asked in (["n1"], IDS, ["n3", "n3", "nobody"]):
        ring = [tuple(row) for row in await graph.edges_batch(asked)]
        for part in PART:
            for direction in DIRECTIONS:
                wanted = part_of(ring, asked, part["predicates"], direction)
                found = await graph.edges_batch(asked, **part, direction=direction)
                assert set(map(tuple, found)) == set(wanted)
                stream = graph.edges_stream(asked, **part, direction=direction)
                async with aclosing(stream) as batches:
                    rows = [tuple(row)[:3] async for batch in batches for row in batch]
                assert set(rows) == set(wanted)


async def test_a_step_reads_only_the_edges_that_it_names(graph, owner, sent):
    hostile = "p' OR true --"
    await graph.edges_batch(["n1"], predicates=["p", hostile], direction="out")
    [(statement, values)] = sent
    assert values == (["n1"], 1, ["p", hostile])
    assert 'object_id" = live' not in statement
    assert hostile not in statement
    assert statement.count("relationship") == 1
    plan = "\n".join(
        row[0] for row in await owner.fetch(f"EXPLAIN (ANALYZE, TIMING OFF) {statement}", *values)
    )
    assert "Rows Removed by" not in plan.partition("relationship")[2]
    sent.clear()
    async with aclosing(graph.edges_stream(["n1"], predicates=["p"], direction="in")) as batches:
        assert {len(row) for batch in [b async for b in batches] for row in batch} <= {5}
    [(statement, values)] = sent
    assert values == (["n1"], 1, ["p"])
    assert statement.count("relationship") == 1
    sent.clear()
    assert await graph.edges_batch(["n1"], predicates=[]) == []
    assert await graph.edges_batch(["n1"], predicates=["\0"]) == []
    assert sent == []


KEYS = [
    "name", "phase", "year", "properties.name", "properties", "nothing", "since", "confidence",
    "confidences", "multiplicity", "synonyms", "", "properties.", "\0", "provenance",
]  # fmt: skip


@given(keys=st.sets(st.sampled_from(KEYS)))
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
async def test_some_keys_are_those_of_the_whole_metadata(graph, keys):
    whole = await graph.metadata_for_nodes_batch(IDS)
    assert await graph.metadata_for_nodes_batch(IDS, keys) == only(whole, keys)
    edges = [tuple(row) for row in await graph.edges_batch(IDS)]
    described = await graph.metadata_for_edges_batch(edges)
    assert any("confidences" in known for known in described.values())
    assert await graph.metadata_for_edges_batch(edges, keys) == only(described, keys)


async def test_only_the_columns_of_the_keys_are_read(graph, sent):
    assert await graph.metadata_for_nodes_batch(["n1"], ["year"]) == {"n1": {"year": 1991}}
    statement, values = sent.pop()
    assert '"name"' not in statement
    assert '"phase"' not in statement
    assert values == (["n1"], sys.maxsize, ["year"])
    edge = tuple((await graph.edges_batch(["n1"], direction="out"))[0])
    await graph.metadata_for_edges_batch([edge], ["since"])
    statement, _ = sent.pop()
    assert '"confidence"' not in statement


async def test_evidence_is_read_for_provenance_alone(small, sent):
    graph = await small()
    sent.clear()
    edge = ("a", "p", "b")
    assert await graph.metadata_for_edges_batch([edge], ["confidence"]) == {
        edge: {"confidence": 0.5}
    }
    assert "evidence" not in sent.pop()[0]
    [known] = (await graph.metadata_for_edges_batch([edge], ["provenance"])).values()
    assert known["provenance"][0]["text_span"] == "so it is"
