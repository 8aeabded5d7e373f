"""A real graph, with the figures that the protocol's author publishes for it.

Once through `bfsql load`, once in tables as the author's pipeline writes them.
"""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from bfsql.graph import Graph, open_graph
from bfsql.memory import MemoryBackend
from bfsql.models import GraphRecord, NodeRecord, Refusal
from bfsql.sources import read_all
from bfsql_postgres import PostgresBackend, PostgresSettings
from bfsql_postgres.loader import load_graph
from bfsql_servers.database import Database

TABLES = """
CREATE TABLE entity (
    entity_id text PRIMARY KEY, entity_type text NOT NULL, name text, status text,
    confidence float8, usage_count int, source text, canonical_url text, synonyms jsonb,
    properties jsonb, merged_into text, created_at text, first_seen_document text,
    first_seen_section text, total_mentions int, supporting_documents jsonb, embedding {vector}
);
CREATE TABLE relationship (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(), subject_id text NOT NULL,
    predicate text NOT NULL, object_id text NOT NULL, confidence float8, source_documents jsonb,
    properties jsonb, created_at text, evidence_count int, strongest_evidence_quote text,
    evidence_confidence_avg float8
);
CREATE INDEX ON relationship (subject_id, predicate, object_id);
CREATE INDEX ON relationship (object_id);
CREATE INDEX ON relationship (predicate);
CREATE TABLE bundle_evidence (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, relationship_key text NOT NULL,
    document_id text, section text, start_offset int, end_offset int, text_span text,
    confidence float8, supports boolean
);
CREATE INDEX ON bundle_evidence (relationship_key);
CREATE INDEX ON bundle_evidence (document_id);
CREATE TABLE bundle_mention (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, entity_id text NOT NULL,
    document_id text, section text, start_offset int, end_offset int, text_span text,
    context text, confidence float8, extraction_method text, created_at text
);
CREATE INDEX ON bundle_mention (entity_id);
"""

FILES = {
    "entity": "entities",
    "relationship": "relationships",
    "bundle_evidence": "evidence",
    "bundle_mention": "mentions",
}


@pytest.fixture(scope="module")
def records(medlit: Path) -> list[GraphRecord]:
    stream = list(read_all([medlit]))
    assert not [record for record in stream if isinstance(record, Refusal)]
    return [record for record in stream if not isinstance(record, Refusal)]


@pytest.fixture(params=["load", "load, evidence", "author's", "load, old", "author's, old"])
async def backend(
    request: pytest.FixtureRequest, records: list[GraphRecord], medlit: Path
) -> AsyncIterator[PostgresBackend]:
    """The graph, read by the role that may do nothing else."""
    old = "old_" if "old" in request.param else ""
    database: Database = request.getfixturevalue(f"{old}database")
    async with database.schema() as schema:
        if "load" in request.param:
            layout = "evidence" if "evidence" in request.param else "bundle_evidence"
            settings = PostgresSettings(
                dsn=database.owner_url, schema_=schema, evidence_layout=layout
            )
            report = await load_graph(settings, records)
            assert (report.nodes, report.edges + report.duplicate_edges) == (1_900, 2_184)
            assert (report.evidence, report.unattached_evidence) == (685, 0)
        else:
            await written(database, schema, medlit, "json" if old else "public.vector")
        opened = await PostgresBackend.create(database.reader_url, schema_=schema)
        yield opened
        await opened.close()


async def written(database: Database, schema: str, medlit: Path, vector: str) -> None:
    """The bundle's lines as rows: what has a column in it, the rest in `properties`."""
    owner = await asyncpg.connect(
        database.owner_url, server_settings={"search_path": f"{schema},public"}
    )
    await owner.execute(TABLES.format(vector=vector))
    for table, file in FILES.items():
        with (medlit / f"{file}.jsonl").open(encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        columns = await owner.fetch(
            "SELECT attname, atttypid::regtype::text FROM pg_attribute "
            "WHERE attrelid = $1::text::regclass AND attnum > 0 AND attidentity = ''",
            table,
        )
        kinds = {name: kind for name, kind in columns if any(name in row for row in rows)}
        assert {key for row in rows for key in row} == set(kinds)
        await owner.copy_records_to_table(
            table,
            schema_name=schema,
            columns=list(kinds),
            records=[[_cell(row.get(name), kind) for name, kind in kinds.items()] for row in rows],
        )
    await owner.execute("ANALYZE entity, relationship, bundle_evidence, bundle_mention")
    await owner.close()


def _cell(value: Any, kind: str) -> Any:
    return json.dumps(value) if kind == "jsonb" and value is not None else value


async def call(graph: Graph, tool: str, **arguments: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((await graph.call(tool, arguments)).text)
    return found


async def test_the_published_figures_come_out(backend: PostgresBackend) -> None:
    async with open_graph(backend) as graph:
        schema = await call(graph, "describe_schema")
        assert (len(schema["entity_types"]), len(schema["predicates"])) == (19, 16)
        seed = ["RxNorm:3251"]
        two = await call(graph, "bfs_query", seeds=seed, max_hops=2, topology_only=True)
        assert (len(two["nodes"]), len(two["edges"])) == (84, 99)
        both = [*seed, "MeSH:D003480"]
        one = await call(graph, "bfs_query", seeds=both, max_hops=1, topology_only=True)
        assert (len(one["nodes"]), len(one["edges"])) == (35, 37)
        common = await call(graph, "intersect_subgraphs", seeds=both, k=1)
        found = {node["id"] for node in common["nodes"]} - set(both)
        assert found == {"PMC11128938", "DBPedia:Cushing's_disease"}


async def test_all_of_it_is_as_in_memory(backend: PostgresBackend, records) -> None:
    memory = MemoryBackend(records)
    ids = [record.id for record in records if isinstance(record, NodeRecord)]
    assert sorted(await backend.get_nodes_batch(ids)) == sorted(await memory.get_nodes_batch(ids))
    ring = {(s, p, o) for s, p, o in await backend.edges_batch(ids)}
    assert ring == set(await memory.edges_batch(ids))
    for entity_id in ("RxNorm:3251", "MeSH:D003480", "PMC11128938"):
        found = await backend.provenance_for_node(entity_id, 20)
        assert found == await memory.provenance_for_node(entity_id, 20)
        assert found["total"] > 0
    async with open_graph(backend) as mine, open_graph(memory) as wanted:
        for entity_id in ("RxNorm:3251", "DBPedia:Cushing's_disease"):
            arguments = {"seeds": [entity_id], "max_hops": 2}
            answers = [await graph.call("bfs_query", arguments) for graph in (mine, wanted)]
            assert answers[0].text == answers[1].text


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("desmopressin", "RxNorm:3251"),
        ("desmopresin", "RxNorm:3251"),
        ("RxNorm:3251", "RxNorm:3251"),
        ("cushing disease", "DBPedia:Cushing's_disease"),
        ("Cushing Syndrome", "MeSH:D003480"),
    ],
)
async def test_names_find_their_entities(backend, query: str, best: str) -> None:
    assert next(stub.id for stub in await backend.search_entities(query)) == best
