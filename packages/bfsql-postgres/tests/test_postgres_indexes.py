"""Missing indexes are reported, created on request, and used by searches and traversals."""

import asyncpg
import pytest

from bfsql.errors import StoreError
from bfsql.models import EdgeRecord, EvidenceRecord, NodeRecord
from bfsql_postgres import PostgresSettings
from bfsql_postgres.discovery import layout_of
from bfsql_postgres.indexes import prepare
from bfsql_postgres.load.loader import load_graph
from bfsql_postgres.search import by_name, by_similarity
from bfsql_postgres.topology import ring
from bfsql_test_support.case_table import case_table

BARE = """
CREATE TABLE entity (entity_id text, entity_type text, name text, synonyms jsonb, embedding {});
CREATE TABLE relationship (id uuid, subject_id text, predicate text, object_id text);
CREATE TABLE evidence (relationship_id uuid, paper_id text);
CREATE TABLE bundle_mention (entity_id text);
"""

ALIASES = "((entity.synonyms::text))"


def many(number):
    for i in range(number):
        yield NodeRecord(f"n{i}", "thing", {"name": f"name {i}", "synonyms": [f"alias {i}"]})
        yield EdgeRecord(f"n{i}", "NEXT", f"n{i + 1}", {"confidence": 0.5})


def shown(statements, schema):
    """Statements without semicolons, quotes and schema; each must end with a semicolon."""
    assert all(text.endswith(";") for text in statements)
    return [text[:-1].replace(f'"{schema}".', "").replace('"', "") for text in statements]


async def plan(owner, statement, *values):
    rows = await owner.fetch(f"EXPLAIN {statement}", *values)
    return "\n".join(row[0] for row in rows)


@case_table("layout", ["bundle_evidence", "evidence"])
async def test_a_loaded_graph_lacks_nothing(settings, layout):
    chosen = settings.model_copy(update={"evidence_layout": layout})
    await load_graph(chosen, [*many(3), EvidenceRecord("n0", "NEXT", "n1", {"text_span": "x"})])
    assert await prepare(chosen, apply=False) == []


async def test_what_bare_tables_lack_is_reported_and_then_made(settings, owner, schema):
    await owner.execute(BARE.format("public.vector(3)"))
    wanted = settings.model_copy(update={"embedding": "module:function"})
    told = await prepare(wanted, apply=False)
    assert shown(told, schema) == [
        "CREATE INDEX CONCURRENTLY ON entity (entity_id)",
        "CREATE INDEX CONCURRENTLY ON entity (entity_type)",
        "CREATE INDEX CONCURRENTLY ON entity USING gin ((entity.name) public.gin_trgm_ops)",
        "CREATE INDEX CONCURRENTLY ON entity USING gin ((entity.entity_id) public.gin_trgm_ops)",
        f"CREATE INDEX CONCURRENTLY ON entity USING gin ({ALIASES} public.gin_trgm_ops)",
        "CREATE INDEX CONCURRENTLY ON entity USING hnsw (embedding public.vector_cosine_ops)",
        "CREATE INDEX CONCURRENTLY ON relationship (subject_id, predicate, object_id)",
        "CREATE INDEX CONCURRENTLY ON relationship (object_id, predicate, subject_id)",
        "CREATE INDEX CONCURRENTLY ON relationship (predicate)",
        "CREATE INDEX CONCURRENTLY ON relationship (id)",
        "CREATE INDEX CONCURRENTLY ON evidence (relationship_id)",
        "CREATE INDEX CONCURRENTLY ON evidence (paper_id)",
        "CREATE INDEX CONCURRENTLY ON bundle_mention (entity_id)",
    ]
    assert await prepare(wanted, apply=True) == told
    assert await prepare(wanted, apply=True) == []


async def test_vectors_of_no_known_length_or_that_nobody_searches_get_no_index(settings, owner):
    await owner.execute(BARE.format("public.vector"))
    wanted = settings.model_copy(update={"embedding": "module:function"})
    assert not [text for text in await prepare(wanted, apply=False) if "hnsw" in text]


async def test_an_older_server_without_vectors_is_indexed_too(old_database):
    async with old_database.schema() as schema:
        settings = PostgresSettings(dsn=old_database.owner_url, schema_=schema)
        await old_database.run(
            f"SET ROLE {old_database.owner}", f"SET search_path = {schema}", BARE.format("float8[]")
        )
        assert len(await prepare(settings, apply=True)) == 12
        assert await prepare(settings, apply=False) == []


async def test_indexes_that_somebody_else_made_are_enough(settings, owner):
    await owner.execute(BARE.format("public.vector"))
    await owner.execute(
        "ALTER TABLE entity ADD PRIMARY KEY (entity_id);"
        "CREATE UNIQUE INDEX ON relationship (object_id, subject_id, predicate) INCLUDE (id);"
        "CREATE INDEX ON relationship (subject_id);"
        "CREATE INDEX ON entity USING gist (name public.gist_trgm_ops);"
        "CREATE INDEX ON relationship (predicate) WHERE predicate = 'rare'"
    )
    told = " ".join(await prepare(settings, apply=False))
    assert '("subject_id"' not in told
    assert '("object_id"' not in told
    assert '("entity_type")' in told
    assert '"relationship" ("predicate")' in told
    assert '."name"' not in told


async def test_an_index_whose_building_was_interrupted_is_made_again(settings, owner, schema):
    await load_graph(settings, many(3))
    await owner.execute("DROP INDEX relationship_predicate_idx")
    # Like a cancelled build, this leaves an invalid index behind.
    with pytest.raises(asyncpg.UniqueViolationError):
        await owner.execute("CREATE UNIQUE INDEX CONCURRENTLY broken ON relationship (predicate)")
    told = await prepare(settings, apply=True)
    assert shown(told, schema) == [
        "DROP INDEX CONCURRENTLY broken",
        "CREATE INDEX CONCURRENTLY ON relationship (predicate)",
    ]
    assert await prepare(settings, apply=False) == []
    assert await owner.fetchval("SELECT bool_and(indisvalid) FROM pg_index")


async def test_tables_of_ones_own_are_indexed_as_they_are_read(database, owner, schema):
    await owner.execute(
        'CREATE TABLE "Peo ple" (id int, "na""me" text, nick text[]);'
        "CREATE TABLE things (code uuid, label text);"
        "CREATE TABLE jobs (who int, what uuid, since date);"
        "CREATE VIEW uses AS SELECT who, what FROM jobs"
    )
    settings = PostgresSettings(
        dsn=database.owner_url,
        schema_=schema,
        nodes=['"Peo ple": name="na""me", aliases=nick', "things: id=code, name=label"],
        edges=["jobs: subject=who, object=what", "uses: subject=who, object=what"],
    )
    told = await prepare(settings, apply=True)
    assert shown(told, schema) == [
        "CREATE INDEX CONCURRENTLY ON Peo ple ((Peo ple.id::text))",
        "CREATE INDEX CONCURRENTLY ON Peo ple USING gin ((Peo ple.name) public.gin_trgm_ops)",
        "CREATE INDEX CONCURRENTLY ON Peo ple USING gin ((Peo ple.id::text) public.gin_trgm_ops)",
        "CREATE INDEX CONCURRENTLY ON things ((things.code::text))",
        "CREATE INDEX CONCURRENTLY ON things USING gin ((things.label) public.gin_trgm_ops)",
        "CREATE INDEX CONCURRENTLY ON things USING gin ((things.code::text) public.gin_trgm_ops)",
        "CREATE INDEX CONCURRENTLY ON jobs ((jobs.who::text), (jobs.what::text))",
        "CREATE INDEX CONCURRENTLY ON jobs ((jobs.what::text), (jobs.who::text))",
    ]
    assert await prepare(settings, apply=False) == []


async def test_what_has_no_fixed_text_is_indexed_as_it_is_or_not_at_all(database, owner, schema):
    await owner.execute(
        "CREATE TYPE colour AS ENUM ('red', 'green');"
        "CREATE TABLE paint (id colour, name date, also date[]);"
        "CREATE TABLE mixed (a colour, b bpchar, c colour)"
    )
    settings = PostgresSettings(
        dsn=database.owner_url,
        schema_=schema,
        nodes=["paint: aliases=also"],
        edges=["mixed: subject=a, predicate=c, object=b"],
    )
    assert shown(await prepare(settings, apply=True), schema) == [
        "CREATE INDEX CONCURRENTLY ON paint (id)",
        "CREATE INDEX CONCURRENTLY ON mixed (a, c, (mixed.b::text))",
        "CREATE INDEX CONCURRENTLY ON mixed ((mixed.b::text), c, a)",
        "CREATE INDEX CONCURRENTLY ON mixed (c)",
    ]
    assert await prepare(settings, apply=False) == []


async def test_a_partitioned_table_is_indexed_in_the_way_that_it_allows(settings, owner):
    await owner.execute(
        BARE.format("public.vector").replace(
            "object_id text)", "object_id text) PARTITION BY HASH (subject_id)"
        )
    )
    await owner.execute(
        "CREATE TABLE part PARTITION OF relationship FOR VALUES WITH (MODULUS 1, REMAINDER 0)"
    )
    told = await prepare(settings, apply=True)
    assert [text for text in told if '"relationship"' in text and "CONCURRENTLY" in text] == []
    assert await prepare(settings, apply=False) == []


async def test_a_role_that_may_only_read_is_told_whom_to_ask(database, settings, owner):
    await owner.execute(BARE.format("public.vector"))
    reader = settings.model_copy(update={"dsn": PostgresSettings(dsn=database.reader_url).dsn})
    assert await prepare(reader, apply=False) == await prepare(settings, apply=False)
    with pytest.raises(StoreError, match="to own them"):
        await prepare(reader, apply=True)


async def test_a_schema_without_a_graph_is_reported(settings):
    with pytest.raises(StoreError, match="has no table 'entity'"):
        await prepare(settings, apply=False)


async def test_searches_and_rings_of_a_loaded_graph_scan_no_table(settings, owner):
    await load_graph(settings, many(20_000))
    layout = await layout_of(owner, settings)
    named, values = by_name(layout, "alias 1234", ["alias 1234"], None)
    alike = by_similarity(layout, "nme 12345", None)
    assert alike is not None
    ring_of_ids = (ring(layout), [f"n{i}" for i in range(10)])
    for statement, *given in ((named, *values), (alike[0], *alike[1]), ring_of_ids):
        found = await plan(owner, statement, *given)
        assert "Seq Scan" not in found, found
