"""A load writes the whole graph or leaves the previous one, and reports what it found."""

import asyncio
import json
import tracemalloc
from dataclasses import replace
from itertools import chain

import asyncpg
import pytest

from bfsql.errors import StoreError, StoreUnavailable
from bfsql.models import EdgeRecord, EvidenceRecord, NodeRecord
from bfsql_postgres import PostgresSettings
from bfsql_postgres.load import existing, loader
from bfsql_postgres.load.loader import load_graph
from bfsql_postgres.plugin import plugin
from bfsql_test_support.case_table import case_table
from bfsql_test_support.servers.postgres import LOCKED
from bfsql_test_support.suites.loading import SqlLoaderSuite
from bfsql_testing import EVERYTHING, Kind
from bfsql_testing.loader_suite import OLD, many

LAYOUTS = ["bundle_evidence", "evidence"]


async def ids(owner):
    return [row[0] for row in await owner.fetch("SELECT entity_id FROM entity ORDER BY 1")]


async def relations(owner, schema):
    rows = await owner.fetch(
        "SELECT relname FROM pg_class WHERE relnamespace = $1::text::regnamespace", schema
    )
    return {row[0] for row in rows}


class TestLoads(SqlLoaderSuite):
    plugin = replace(plugin, load=load_graph)  # which another process can import
    keeps = EVERYTHING - {Kind.BINARY, Kind.NUL_CHARACTERS, Kind.LONG_IDS}

    @pytest.fixture
    def settings(self, settings):
        return settings

    @pytest.fixture
    def contents(self, owner, schema):
        async def contents():
            return await ids(owner), await relations(owner, schema)

        return contents

    @pytest.fixture
    def metadata(self, owner):
        async def metadata(entity_id):
            rows = await owner.fetch("SELECT entity_id, properties FROM entity")
            return json.loads(dict(rows)[entity_id])

        return metadata

    @case_table("layout", LAYOUTS)
    async def test_the_report_counts_what_was_found(self, settings, layout):
        chosen = settings.model_copy(update={"evidence_layout": layout})
        await super().test_the_report_counts_what_was_found(lambda new: load_graph(chosen, new))


# --- how records are stored -------------------------------------------------


async def test_records_of_one_node_are_one_row_and_parallel_edges_are_rows(load, owner):
    await load(
        [
            NodeRecord("a", "", {"name": "A", "x": 1, "usage_count": 2}),
            NodeRecord("b", ""),
            NodeRecord("a", "drug", {"name": "Alpha", "x": 2, "usage_count": 3}),
            NodeRecord("a", "chemical"),
            EdgeRecord("a", "TREATS", "b", {"confidence": 0.5, "source_documents": ["q", "p"]}),
            EdgeRecord("a", "TREATS", "b", {"confidence": 0.9}),
        ]
    )
    a, b = await owner.fetch(
        "SELECT entity_type, name, synonyms, usage_count, properties FROM entity ORDER BY entity_id"
    )
    assert tuple(a)[:4] == ("drug", "A", '["Alpha"]', None)
    assert json.loads(a["properties"]) == {
        "x": [1, 2],
        "usage_count": [2, 3],
        "other_types": ["chemical"],
    }
    assert tuple(b) == ("owl:Thing", None, None, None, None)
    rows = await owner.fetch("SELECT confidence, source_documents FROM relationship ORDER BY 1")
    assert [tuple(row) for row in rows] == [(0.5, '["q","p"]'), (0.9, None)]


async def test_memory_does_not_grow_with_the_records_of_one_node(settings, owner):
    peaks = []
    for number in (10_000, 40_000):
        records = (
            NodeRecord("a", "T" if i % 2 else "", {"note": "x" * 100, f"k{i % 10}": i % 10})
            for i in range(number)
        )
        tracemalloc.start(1)
        try:
            report = await load_graph(settings, chain([NodeRecord("b", "T")], records))
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
        assert (report.nodes, report.duplicate_nodes) == (2, number - 1)
        [row] = await owner.fetch("SELECT * FROM entity WHERE entity_id = 'a'")
        assert row["entity_type"] == "T"
        known = json.loads(row["properties"])
        assert known == {"note": "x" * 100} | {f"k{i}": i for i in range(10)}
    assert peaks[1] < 1.3 * peaks[0] + 1_000_000


async def test_a_column_holds_only_what_it_gives_back_as_it_was(load, owner):
    fitting = {
        "name": "",
        "status": "canonical",
        "confidence": 1.0,
        "usage_count": 2**63 - 1,
        "source": "s",
        "canonical_url": "u",
        "synonyms": ["é", 1, None],
    }
    strange = {
        "name": "a\0b",
        "status": "merged",
        "confidence": 1,
        "usage_count": 2**63,
        "source": "\ud800",
        "canonical_url": True,
        "synonyms": ["a\0b"],
        "merged_into": "x",
        "embedding": [0.5, 1.0],
        "properties": {"a": 1},
        "none": None,
    }
    await load([NodeRecord("fitting", "t", fitting), NodeRecord("strange", "t", strange)])
    rows = await owner.fetch("SELECT * FROM entity ORDER BY entity_id")
    columns = [dict(row) for row in rows]
    assert [one.pop("entity_id") for one in columns] == ["fitting", "strange"]
    assert [one.pop("entity_type") for one in columns] == ["t", "t"]
    full = {key: value for key, value in columns[0].items() if value is not None}
    assert full == {**fitting, "synonyms": '["é",1,null]'}
    properties = columns[1].pop("properties")
    assert not any(value is not None for value in columns[1].values())
    assert json.loads(properties) == strange
    assert '"confidence":1,' in properties


async def test_metadata_as_deep_as_python_writes_it_is_stored(load, owner):
    deep = []
    for _ in range(900):
        deep = [deep]
    report = await load([NodeRecord("a", "t", {"x": deep, "provenance": deep})])
    assert report.nodes + report.refused == 1
    assert (await load([NodeRecord("b", "t")])).nodes == 1


async def test_what_cannot_be_stored_is_refused_by_name(load, owner):
    report = await load(
        [
            NodeRecord("a\ud800", "thing"),
            NodeRecord("a", "th\0ing"),
            EdgeRecord("ok", "P\0", "also ok"),
            EdgeRecord("ok", "P", "é" * 1_300),
            EvidenceRecord("a", "P", "\ud800", {}),
            NodeRecord("é" * 1_301, "thing"),
            NodeRecord("é" * 1_300, "thing"),
            NodeRecord("b", "thing"),
        ]
    )
    assert (report.nodes, report.edges, report.refused) == (2, 0, 6)
    reasons = [refusal.reason for refusal in report.refusals]
    assert "surrogate" in reasons[0]
    assert "NUL" in reasons[1]
    assert "NUL" in reasons[2]
    assert reasons[3].startswith("its three names have 2603 bytes, but an index")
    assert reasons[5].startswith("it has 2602 bytes, but an index in Postgres accepts at most 2600")
    assert str(report.refusals[0]).startswith("node 'a\\ud800': ")
    assert all(len(str(refusal)) < 500 and str(refusal).isascii() for refusal in report.refusals)


async def test_a_triple_as_long_as_may_be_is_indexed_with_its_evidence(load, owner):
    digits = [str(n * 7_919 % 1_000_003) for n in range(1_000)]
    text = "".join(digits)[:2_600]
    triple = (text[:1_299], "PR", text[1_301:])
    document = {"document_id": "".join(reversed(digits))[:2_601], "text_span": "x"}
    report = await load(
        [EdgeRecord(*triple), EvidenceRecord(*triple, document), NodeRecord(text, "thing")]
    )
    assert (report.nodes, report.edges, report.evidence, report.refused) == (1, 1, 1, 0)
    row = await owner.fetchrow("SELECT document_id, properties FROM bundle_evidence")
    assert row["document_id"] is None
    assert json.loads(row["properties"]) == {"document_id": document["document_id"]}


async def test_evidence_whose_key_is_that_of_two_edges_stays_with_its_own(load, owner):
    report = await load(
        [
            EdgeRecord("j:k", "l", "j", {"note": "one"}),
            EdgeRecord("j", "k:l", "j", {"note": "other"}),
            EdgeRecord("j", "k", "j"),
            EvidenceRecord("j", "k:l", "j", {"text_span": "of the other"}),
            EvidenceRecord("j", "k", "j", {"text_span": "plain"}),
        ]
    )
    assert (report.evidence, report.unattached_evidence) == (2, 0)
    keys = await owner.fetch("SELECT relationship_key, text_span FROM bundle_evidence")
    assert [tuple(row) for row in keys] == [("j:k:j", "plain")]
    found = await owner.fetch("SELECT predicate, properties FROM relationship ORDER BY 1")
    assert {row[0]: row[1] and json.loads(row[1]) for row in found} == {
        "k": None,
        "k:l": {"note": "other", "provenance": [{"text_span": "of the other"}]},
        "l": {"note": "one"},
    }


async def test_rows_of_evidence_refer_to_their_edge(settings, owner):
    await load_graph(
        settings.model_copy(update={"evidence_layout": "evidence"}),
        [
            EdgeRecord("j:k", "l", "j"),
            EdgeRecord("j", "k:l", "j"),
            EvidenceRecord(
                "j", "k:l", "j", {"document_id": "d", "confidence": 0.5, "section": "s"}
            ),
        ],
    )
    row = await owner.fetchrow(
        "SELECT predicate, paper_id, confidence_score, metadata_ "
        "FROM evidence JOIN relationship ON relationship.id = relationship_id"
    )
    assert tuple(row) == ("k:l", "d", 0.5, '{"section":"s"}')


# --- existing tables --------------------------------------------------------


async def test_a_load_replaces_the_last_one_and_leaves_no_name_of_its_own(settings, owner, schema):
    await load_graph(settings, many(3))
    first = await relations(owner, schema)
    await load_graph(settings.model_copy(update={"evidence_layout": "evidence"}), OLD)
    await load_graph(settings, many(2))
    assert await ids(owner) == ["n0", "n1"]
    assert await relations(owner, schema) == first
    constraints = await owner.fetch(
        "SELECT conname FROM pg_constraint WHERE connamespace = $1::text::regnamespace", schema
    )
    names = {*first, *(row[0] for row in constraints)}
    assert not [name for name in names if "bfsql" in name]


async def test_a_schema_that_is_not_there_is_made(database, settings):
    name = 'an "odd" näme'
    made = settings.model_copy(update={"schema_": name})
    try:
        assert (await load_graph(made, many(2))).nodes == 2
        assert (await load_graph(made, many(3))).nodes == 3
    finally:
        await database.run('DROP SCHEMA IF EXISTS "an ""odd"" näme" CASCADE')


@pytest.mark.parametrize(
    "made",
    [
        "CREATE TABLE entity (thesis text)",
        "CREATE TABLE bundle_mention ()",
        "CREATE TABLE bfsql_load_of_hay ()",
        "CREATE VIEW relationship AS SELECT 1 AS thesis",
    ],
)
async def test_tables_of_somebody_else_are_never_replaced(load, owner, schema, made):
    await owner.execute(made)
    before = await relations(owner, schema)
    with pytest.raises(StoreError, match="which bfsql load did not create, so nothing is replaced"):
        await load(OLD)
    assert await relations(owner, schema) == before


async def test_a_view_on_the_old_tables_is_reported(load, owner):
    await load(OLD)
    await owner.execute("CREATE VIEW mine AS SELECT entity_id FROM entity")
    with pytest.raises(StoreError, match=r"view .*mine depends on table .*entity.* unchanged"):
        await load(many(2))
    assert await ids(owner) == ["old"]


async def test_rights_and_owner_go_from_the_old_tables_to_the_new(
    database, settings, load, owner, schema
):
    await load(OLD)
    extra = f"{database.name}_extra"
    await database.run(
        f'CREATE ROLE "{extra}"',
        f"REVOKE ALL ON {schema}.relationship FROM {database.reader}",
        f"GRANT SELECT, UPDATE ON {schema}.entity TO {extra} WITH GRANT OPTION",
        f"GRANT SELECT (predicate), REFERENCES (id) ON {schema}.relationship TO PUBLIC",
    )
    rights = (
        "SELECT relname, relacl::text, relowner, (SELECT array_agg((attname, attacl)::text "
        "ORDER BY attname) FROM pg_attribute WHERE attrelid = c.oid AND attacl IS NOT NULL) "
        "FROM pg_class AS c WHERE relkind = 'r' AND relnamespace = $1::text::regnamespace "
        "ORDER BY 1"
    )
    try:
        before = [tuple(row) for row in await owner.fetch(rights, schema)]
        await load(many(2))
        assert [tuple(row) for row in await owner.fetch(rights, schema)] == before
        superuser = settings.model_copy(
            update={"dsn": PostgresSettings(dsn=database.superuser_url).dsn}
        )
        await load_graph(superuser, many(3))
        assert [tuple(row)[::2] for row in await owner.fetch(rights, schema)] == [
            row[::2] for row in before
        ]
        await load_graph(settings.model_copy(update={"evidence_layout": "evidence"}), OLD)
        reader = await asyncpg.connect(database.reader_url)
        assert await reader.fetchval(f"SELECT count(*) FROM {schema}.evidence") == 0
        await reader.close()
    finally:
        await database.run(
            f"DROP SCHEMA {schema} CASCADE", f'DROP ROLE "{extra}"', f"CREATE SCHEMA {schema}"
        )


# --- all or nothing ---------------------------------------------------------


async def test_a_connection_that_is_lost_is_reported_and_changes_nothing(database, load, owner):
    await load(OLD)
    loop = asyncio.get_running_loop()

    def cut():
        yield from many(10_000)
        end = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "
            f"'{database.name}' AND state IS DISTINCT FROM 'idle' AND pid <> pg_backend_pid()"
        )
        asyncio.run_coroutine_threadsafe(database.run(end), loop).result(30)
        yield from many(20_000)

    with pytest.raises(StoreUnavailable, match="The previous content is unchanged"):
        await load(cut())
    assert await ids(owner) == ["old"]


async def test_a_connection_lost_inside_the_driver_is_not_asked_to_roll_back(database):
    connection = await asyncpg.connect(database.owner_url)
    statements = []

    async def lose():
        async with loader._transaction(connection):
            # It goes on in the server, and CREATE INDEX CONCURRENTLY of later tests waits for it.
            statements.append(asyncio.ensure_future(connection.execute("SELECT pg_sleep(1)")))
            await asyncio.sleep(0)
            raise asyncpg.InternalClientError("another operation (2) is in progress")

    with pytest.raises(asyncpg.InternalClientError):
        await lose()
    connection.terminate()
    assert all(await asyncio.gather(*statements, return_exceptions=True))


async def test_a_load_does_not_wait_for_ever_for_a_transaction_that_reads(load, owner, monkeypatch):
    await load(OLD)
    monkeypatch.setattr(existing, "LOCK_TRIES", 2)
    monkeypatch.setattr(existing, "PAUSE", 0.01)
    async with owner.transaction():
        await owner.fetch("SELECT * FROM entity")
        with pytest.raises(StoreUnavailable, match="have been reading the old one"):
            await load(many(2))
        assert await ids(owner) == ["old"]
    await load(many(2))
    assert await ids(owner) == ["n0", "n1"]


# --- servers and rights -----------------------------------------------------


async def test_an_older_server_without_vectors_is_filled_too(old_database):
    async with old_database.schema() as schema:
        settings = PostgresSettings(dsn=old_database.owner_url, schema_=schema)
        await load_graph(settings, many(3))
        report = await load_graph(settings, many(4))
    assert (report.nodes, report.edges, report.dangling_edges) == (4, 4, 1)


async def test_a_load_goes_through_a_pooler(pgbouncer, database, schema):
    settings = PostgresSettings(
        dsn=pgbouncer.url(database.name, database.owner), schema_=schema, transaction_pooling=True
    )
    assert (await load_graph(settings, many(6_000))).nodes == 6_000
    assert (await load_graph(settings, many(3))).nodes == 3


async def test_a_role_that_may_not_write_is_reported(database, settings, schema):
    reader = settings.model_copy(update={"dsn": PostgresSettings(dsn=database.reader_url).dsn})
    with pytest.raises(StoreError, match="may not write") as caught:
        await load_graph(reader, OLD)
    assert f'GRANT USAGE, CREATE ON SCHEMA "{schema}" TO "{database.reader}"' in str(caught.value)
    elsewhere = reader.model_copy(update={"schema_": "not_there"})
    with pytest.raises(StoreError, match="may not write"):
        await load_graph(elsewhere, OLD)


async def test_a_read_only_server_is_reported(database, settings):
    dsn = f"{database.owner_url}?default_transaction_read_only=on"
    only = settings.model_copy(update={"dsn": PostgresSettings(dsn=dsn).dsn})
    with pytest.raises(StoreError, match="read-only"):
        await load_graph(only, OLD)


async def test_a_wrong_password_and_a_dead_port_are_reported_without_the_password(
    postgres, settings
):
    for dsn in (
        postgres.url(user=LOCKED, password="sesame-oil"),
        "postgresql://me:sesame-oil@127.0.0.1:1/x",
    ):
        wrong = settings.model_copy(update={"dsn": PostgresSettings(dsn=dsn).dsn})
        with pytest.raises(StoreError) as caught:
            await load_graph(wrong, OLD)
        assert "sesame" not in str(caught.value)


async def test_settings_that_name_other_tables_are_no_place_to_load_into(settings):
    for changed in ({"names": {"entity": "node"}}, {"nodes": "people", "edges": "jobs"}):
        given = PostgresSettings(dsn=settings.dsn, **changed)
        with pytest.raises(StoreError, match="under their own names"):
            await load_graph(given, OLD)
