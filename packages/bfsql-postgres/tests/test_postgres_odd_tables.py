"""Unusual columns, collations, encodings and roles."""

import asyncpg
import pytest

from bfsql.errors import StoreError, StoreUnavailable
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, NodeRecord
from bfsql_postgres import outline, queries
from bfsql_postgres.address import place
from bfsql_test_support.case_table import case_table
from bfsql_test_support.servers.port import free_port
from bfsql_test_support.suites.agreement import assert_agreed

both_ways = pytest.mark.parametrize("pooled", [False, True], ids=["direct", "pooled"])


@pytest.fixture
async def database(postgres):
    """A database for one test, since a pooler keeps connections with the settings of its role."""
    async with postgres.database() as found:
        yield found


@pytest.fixture
async def old_owner(old_database):
    """A superuser's connection to the older server, and the empty schema in its search path."""
    async with old_database.schema() as name:
        connection = await asyncpg.connect(
            old_database.superuser_url, server_settings={"search_path": f"{name},public"}
        )
        yield connection, name
        await connection.close()


# --- rows and values --------------------------------------------------------


async def test_a_row_without_an_id_is_no_node(owner, opened):
    await owner.execute("""
        CREATE TABLE n (id text, type text, name text);
        INSERT INTO n VALUES ('a', 'T', 'Ada'), (NULL, 'U', 'Adam');
        CREATE TABLE e (subject text, object text);
    """)
    backend = await opened(nodes="n: type=type", edges="e")
    assert [stub.id for stub in await backend.search_entities("ada")] == ["a"]
    assert await backend.entity_types() == ["T"]
    assert (await backend.outline()).node_counts == {"T": 1}


@both_ways
async def test_values_have_one_spelling_whatever_the_role_prefers(database, owner, opened, pooled):
    await owner.execute("""
        CREATE TABLE n (id text, took interval, tooks interval[], share float4, days daterange);
        INSERT INTO n VALUES ('a', '1 year 2 mons 3 days 04:05:06.7', '{1 mon}', 0.1,
            '[2020-01-31,2020-02-03)'), ('b', '178000000 years', NULL, 'NaN', NULL);
        CREATE TABLE e (subject text, object text);
    """)
    preferred = {"intervalstyle": "sql_standard", "datestyle": "German", "timezone": "Asia/Tokyo"}
    role = f"ALTER ROLE {database.reader}"
    await database.run(*(f"{role} SET {name} = '{value}'" for name, value in preferred.items()))
    try:
        backend = await opened(nodes="n", edges="e", pooled=pooled)
        found = await backend.metadata_for_nodes_batch(["a", "b"])
    finally:
        await database.run(*(f"{role} RESET {name}" for name in preferred))
    assert found["a"] == {
        "took": "P1Y2M3DT4H5M6.7S",
        "tooks": ["P1M"],
        "share": 0.1,
        "days": "[2020-01-31,2020-02-03)",
    }
    assert found["b"]["took"] == "P178000000Y"
    assert found["b"]["share"] != found["b"]["share"]


async def test_evidence_may_refer_to_a_row_by_the_text_of_its_uuid(owner, opened):
    await owner.execute("""
        CREATE TABLE entity (entity_id text, entity_type text);
        CREATE TABLE relationship (id uuid, subject_id text, predicate text, object_id text);
        CREATE TABLE evidence (relationship_id varchar(36), paper_id text, metadata_ json);
        INSERT INTO entity VALUES ('a', 'T'), ('b', 'T');
        INSERT INTO relationship VALUES ('6f3a1b2c-0000-4000-8000-000000000001', 'a', 'p', 'b');
        INSERT INTO evidence VALUES
            ('6f3a1b2c-0000-4000-8000-000000000001', 'paper', '{"text_span": "so"}');
    """)
    backend = await opened()
    edge = ("a", "p", "b")
    assert await backend.metadata_for_edges_batch([edge]) == {
        edge: {"provenance": [{"document_id": "paper", "text_span": "so"}]}
    }
    for entity_id in ("a", "paper"):
        assert (await backend.provenance_for_node(entity_id, 5))["total"] == 1


async def test_tables_with_more_columns_than_an_answer_can_have_are_reported(owner, opened):
    columns = ", ".join(f"c{n} int" for n in range(1_000))
    await owner.execute(f"CREATE TABLE a (id int, {columns}); CREATE TABLE b (id int, {columns})")
    await owner.execute("CREATE TABLE e (subject int, object int); INSERT INTO a (id) VALUES (1)")
    with pytest.raises(StoreError, match=r"2000 columns .* metadata=born\|died"):
        await opened(nodes=["a", "b"], edges="e")
    backend = await opened(nodes=["a", "b: metadata=c1|c2"], edges="e")
    assert await backend.metadata_for_node("1") == {}


async def test_foreign_tables_are_read_and_a_server_behind_them_that_is_away_is_reported(
    old_postgres, old_database, old_owner, opened
):
    connection, schema = old_owner
    await connection.execute(f"""
        CREATE EXTENSION postgres_fdw SCHEMA {schema};
        CREATE SERVER behind FOREIGN DATA WRAPPER postgres_fdw
            OPTIONS (host '127.0.0.1', port '{old_postgres.port}', dbname '{old_database.name}');
        CREATE USER MAPPING FOR postgres SERVER behind OPTIONS (user 'postgres');
        CREATE TABLE n (id text, name text); INSERT INTO n VALUES ('a', 'Ada');
        CREATE TABLE e (subject text, object text);
        CREATE FOREIGN TABLE f (id text, name text) SERVER behind
            OPTIONS (schema_name '{schema}', table_name 'n');
    """)
    url = old_database.superuser_url
    backend = await opened(url, schema=schema, nodes="f", edges="e")
    assert await backend.metadata_for_node("a") == {"name": "Ada"}
    await connection.execute(f"ALTER SERVER behind OPTIONS (SET port '{free_port()}')")
    with pytest.raises(StoreUnavailable, match="behind a foreign table"):
        await backend.get_node("a")
    assert await backend.predicates() == []


# --- comparison of texts ----------------------------------------------------


async def test_a_collation_that_ignores_case_mixes_up_nothing(old_database, old_owner, opened):
    connection, schema = old_owner
    await connection.execute("""
        CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
        CREATE TABLE n (id text COLLATE ci, type text COLLATE ci, name text COLLATE ci,
            nick text[] COLLATE ci);
        CREATE INDEX ON n (type);
        CREATE TABLE e (subject text COLLATE ci, predicate text COLLATE ci, object text COLLATE ci,
            x int);
        INSERT INTO n VALUES ('a', 'T', 'Ada', '{Countess}'), ('A', 't', 'Bob', NULL);
        INSERT INTO e VALUES ('a', 'p', 'A', 1), ('a', 'P', 'A', 2);
    """)
    backend = await opened(
        old_database.superuser_url,
        schema=schema,
        nodes="n: type=type, aliases=nick",
        edges="e: predicate=predicate",
    )
    assert await backend.get_nodes_batch(["a"]) == [("a", "T", {})]
    assert await backend.entity_types() == ["T", "t"]
    assert await backend.predicates() == ["P", "p"]
    assert [stub.id for stub in await backend.search_entities("countess")] == ["a"]
    assert [stub.id for stub in await backend.search_entities("bob", ["t"])] == ["A"]
    edges = [("a", "p", "A"), ("a", "P", "A")]
    found = await backend.metadata_for_edges_batch(edges)
    assert [found[edge] for edge in edges] == [{"x": 1}, {"x": 2}]


async def test_types_of_a_type_with_an_order_of_its_own_are_all_found(
    old_database, old_owner, opened
):
    connection, schema = old_owner
    await connection.execute(f"""
        CREATE EXTENSION citext SCHEMA {schema};
        CREATE TABLE n (id citext, type citext); CREATE INDEX ON n (type);
        INSERT INTO n VALUES ('1', 'a'), ('2', 'B'), ('3', 'c');
        CREATE TABLE e (subject citext, object citext);
    """)
    url = old_database.superuser_url
    backend = await opened(url, schema=schema, nodes="n: type=type", edges="e")
    assert await backend.entity_types() == ["B", "a", "c"]


async def test_what_the_encoding_of_the_database_has_not_is_unknown(old_postgres, opened):
    old_postgres.sql(
        "CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    )
    try:
        url = old_postgres.url("latin")
        connection = await asyncpg.connect(url)
        await connection.execute(
            "CREATE TABLE n (id text, name text); CREATE TABLE e (subject text, object text);"
            "INSERT INTO n VALUES ('ä', 'Müller'), ('b', 'Bob'); INSERT INTO e VALUES ('ä', 'b')"
        )
        await connection.close()
        backend = await opened(url, schema="public", nodes="n", edges="e")
        asked = ["中", "ä", "Ω", "b"]
        assert [node.id for node in await backend.get_nodes_batch(asked)] == ["ä", "b"]
        triples = [("ä", "e", "b"), ("ä", "Ω", "b"), ("ä", "e", "中")]
        assert list(await backend.metadata_for_edges_batch(triples)) == triples[:1]
        assert [stub.id for stub in await backend.search_entities("müller")] == ["ä"]
        assert await backend.search_entities("Ω-3") == []
        await backend.close()
    finally:
        old_postgres.sql("DROP DATABASE latin WITH (FORCE)")


# --- keys of several types ----------------------------------------------------


@case_table(
    "types",
    [("bigint", "text"), ("numeric", "int"), ("int", "numeric(9,2)"), ("float8", "int"),
     ("numeric(9,2)", "text"), ("text", "int"), ("uuid", "text")],
)  # fmt: skip
async def test_a_reference_may_have_another_type_than_the_key(owner, opened, types):
    key, reference = types
    keys = ["1", "2", "9223372036854775807" if types == ("bigint", "text") else "30"]
    if key == "uuid":
        keys = [f"6f3a1b2c-0000-4000-8000-00000000000{n}" for n in range(3)]
    more = ["none", "99999999999999999999"] if reference == "text" else []
    stored = [f"{one}.00" if reference.startswith("numeric") else one for one in keys]
    await owner.execute(f"""
        DROP TABLE IF EXISTS person, pet;
        CREATE TABLE person (id {key} PRIMARY KEY, name text, likes {reference});
        CREATE TABLE pet (id {reference}, owner {key});
        CREATE INDEX ON pet (owner);
        CREATE INDEX ON pet (id);
    """)
    for one, liked in zip(keys, [*stored[1:], stored[0]], strict=True):
        await owner.execute(f"INSERT INTO person VALUES ('{one}', 'P{one}', '{liked}')")
        await owner.execute(f"INSERT INTO pet VALUES ('{liked}', '{one}')")
    for one in more:
        await owner.execute(f"INSERT INTO pet VALUES ('{one}', '{keys[0]}')")
    backend = await opened(
        nodes=["person: id=person:id, name=name, metadata=name"],
        edges=["person: subject=person:id, predicate='likes', object=person:likes",
               "pet: subject=person:id, predicate='has', object=person:owner"],
    )  # fmt: skip
    liked = list(zip(keys, [*keys[1:], keys[0]], strict=True))
    records = [NodeRecord(f"person:{one}", "person", {"name": f"P{one}"}) for one in keys]
    records += [EdgeRecord(f"person:{s}", "likes", f"person:{o}") for s, o in liked]
    records += [EdgeRecord(f"person:{o}", "has", f"person:{s}") for s, o in liked]
    records += [EdgeRecord(f"person:{s}", "has", f"person:{keys[0]}") for s in more]
    await assert_agreed(backend, records, evidence=False)
    assert (await backend.outline()).relations == (await MemoryBackend(records).outline()).relations


# --- functions of other users -----------------------------------------------


@both_ways
async def test_functions_that_somebody_else_made_do_not_take_the_place_of_the_servers(
    database, schema, owner, opened, pooled
):
    await owner.execute("""
        CREATE TABLE n (id varchar(9), name varchar(20), type varchar(5));
        CREATE INDEX ON n (type);
        INSERT INTO n VALUES ('a', 'Ada', 'T'), ('b', 'Bob', 'U');
        CREATE TABLE e (subject varchar(9), object varchar(9)); INSERT INTO e VALUES ('a', 'b');
        CREATE FUNCTION lower(varchar) RETURNS text LANGUAGE plpgsql
            AS $$ BEGIN RAISE EXCEPTION 'not the server''s'; END $$;
        CREATE FUNCTION f(varchar, text) RETURNS bool LANGUAGE plpgsql
            AS $$ BEGIN RAISE EXCEPTION 'not the server''s'; END $$;
        CREATE FUNCTION f(varchar, varchar) RETURNS bool LANGUAGE plpgsql
            AS $$ BEGIN RAISE EXCEPTION 'not the server''s'; END $$;
        CREATE OPERATOR = (leftarg = varchar, rightarg = text, function = f);
        CREATE OPERATOR ~~* (leftarg = varchar, rightarg = text, function = f);
        CREATE OPERATOR > (leftarg = varchar, rightarg = varchar, function = f);
    """)
    role = f"ALTER ROLE {database.reader}"
    await database.run(f"{role} SET search_path = {schema}")
    try:
        backend = await opened(nodes="n: type=type", edges="e", pooled=pooled)
        assert [stub.id for stub in await backend.search_entities("ada")] == ["a"]
        assert [stub.id for stub in await backend.search_entities("Adda")] == ["a"]
        assert await backend.entity_types() == ["T", "U"]
        assert [tuple(edge) for edge in await backend.edges_from("a")] == [("a", "e", "b")]
    finally:
        await database.run(f"{role} RESET search_path")


async def test_a_function_behind_a_view_that_finds_nothing_is_reported_with_what_helps(
    owner, opened
):
    await owner.execute("""
        CREATE TABLE hidden (x int);
        CREATE FUNCTION counted() RETURNS bigint LANGUAGE plpgsql
            AS $$ BEGIN RETURN (SELECT count(*) FROM hidden); END $$;
        CREATE VIEW n AS SELECT 'a'::text AS id, counted() AS c;
        CREATE TABLE e (subject text, object text);
    """)
    backend = await opened(nodes="n", edges="e")
    with pytest.raises(StoreError, match=r"ALTER FUNCTION \.\.\. SET search_path"):
        await backend.metadata_for_node("a")
    await owner.execute("ALTER FUNCTION counted SET search_path FROM CURRENT")
    assert await backend.metadata_for_node("a") == {"c": 0}


# --- statistics, passwords and indexes --------------------------------------


async def test_a_large_partitioned_table_is_counted(owner, opened, monkeypatch):
    await owner.execute("""
        CREATE TABLE n (id int, type text) PARTITION BY RANGE (id);
        CREATE TABLE part PARTITION OF n FOR VALUES FROM (0) TO (100);
        INSERT INTO n SELECT i, CASE WHEN i < 25 THEN 'few' ELSE 'many' END
            FROM generate_series(0, 99) AS i;
        CREATE TABLE e (subject int, object int);
        ANALYZE n;
    """)
    monkeypatch.setattr(outline, "COUNT_LIMIT", 10)
    backend = await opened(nodes="n: type=type", edges="e")
    assert (await backend.outline()).node_counts == {"few": 25, "many": 75}


@case_table("sign", ["#", "?", "/"])
def test_a_password_that_is_not_escaped_is_not_taken_for_a_port(sign):
    assert place(f"postgresql://ada:1234{sign}5@host:5432/graphs") == "the Postgres server"


async def test_an_index_in_another_order_is_not_walked(owner, database, schema):
    from bfsql_postgres import PostgresSettings
    from bfsql_postgres.discovery import layout_of

    await owner.execute("""
        CREATE TABLE n (id text, type text); CREATE INDEX ON n (type text_pattern_ops);
        CREATE TABLE e (subject text, object text);
    """)
    settings = PostgresSettings(
        dsn=database.owner_url, schema_=schema, nodes=["n: type=type"], edges=["e"]
    )
    layout = await layout_of(owner, settings)
    assert "RECURSIVE" not in queries.types(layout)
    await owner.execute("CREATE INDEX ON n (type)")
    assert "RECURSIVE" in queries.types(await layout_of(owner, settings))
