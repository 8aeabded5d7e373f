"""A real graph, with the figures published by the protocol's author.

Loaded once by `bfsql load`, and once in tables as the author's pipeline writes them.
"""

import json
from contextlib import asynccontextmanager

import asyncpg
import pytest

from bfsql.graph import open_graph
from bfsql.memory import MemoryBackend
from bfsql_postgres import PostgresBackend, PostgresSettings
from bfsql_postgres.load.loader import load_graph
from bfsql_test_support.servers.database import kept
from bfsql_test_support.suites.medlit import (
    CUSHING_DISEASE,
    DESMOPRESSIN,
    MedlitSuite,
    MisspelledNames,
    SameGraph,
    assert_whole,
)

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


FORMS = ["load", "load, evidence", "author's", "load, old", "author's, old"]


@asynccontextmanager
async def stored(database, form, records, folder):
    """A schema that holds the graph."""
    async with database.schema() as schema:
        if "load" in form:
            layout = "evidence" if "evidence" in form else "bundle_evidence"
            settings = PostgresSettings(
                dsn=database.owner_url, schema_=schema, evidence_layout=layout
            )
            report = await load_graph(settings, records)
            assert_whole(report)
            assert (report.evidence, report.unattached_evidence) == (685, 0)
        else:
            vector = "json" if "old" in form else "public.vector"
            await written(database, schema, folder, vector)
        yield schema


@pytest.fixture(scope="module", params=FORMS)
def loaded(request, medlit_records, medlit):
    """A database, and its schema that holds the graph."""
    form = request.param
    database = request.getfixturevalue("old_database" if "old" in form else "database")
    for schema in kept(stored(database, form, medlit_records, medlit)):
        yield database, schema


@pytest.fixture
async def backend(loaded):
    """The graph, opened by a read-only role."""
    database, schema = loaded
    opened = await PostgresBackend.create(database.reader_url, schema_=schema)
    yield opened
    await opened.close()


async def written(database, schema, medlit, vector):
    """Write the bundle's lines as rows: fields in their columns, the rest in `properties`."""
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


def _cell(value, kind):
    return json.dumps(value) if kind == "jsonb" and value is not None else value


class TestMedlit(MedlitSuite, SameGraph, MisspelledNames):
    async def test_answers_have_the_bytes_of_those_from_memory(self, backend, medlit_records):
        memory = MemoryBackend(medlit_records)
        async with open_graph(backend) as mine, open_graph(memory) as wanted:
            for entity_id in (DESMOPRESSIN, CUSHING_DISEASE):
                arguments = {"seeds": [entity_id], "max_hops": 2}
                answers = [await graph.call("bfs_query", arguments) for graph in (mine, wanted)]
                assert answers[0].text == answers[1].text
