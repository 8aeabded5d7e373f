"""Errors when a graph cannot be opened: the cause, the remedy, and no secrets."""

import asyncio
from functools import partial

import pytest

from bfsql.errors import BfsqlError, ConfigurationError, StoreError, StoreUnavailable
from bfsql.graph import open_graph
from bfsql.models import EdgeRecord, NodeRecord
from bfsql_postgres import PostgresSettings, connection, load_graph
from bfsql_test_support.case_table import case_table
from bfsql_test_support.command_line import refused
from bfsql_test_support.servers.embedding_service import json_body, playing
from bfsql_test_support.servers.port import HOST, free_port
from bfsql_test_support.servers.postgres import LOCKED, LOCKED_PASSWORD

SECRET = "wrong-sesame"
VARIABLES = ("DATABASE_URL", "PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGUSER", "PGSERVICE")


@pytest.fixture(autouse=True)
def _nothing_is_set(monkeypatch):
    for name in (*VARIABLES, "PGPASSWORD", "BFSQL_EMBEDDING", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
async def graph_in(database, schema):
    """The reader's URL for a graph of two nodes in `schema`, one of which has a vector."""
    numbers = [float(n) for n in range(1, 65)]
    await load_graph(
        PostgresSettings(dsn=database.owner_url, schema_=schema),
        [
            NodeRecord("a", "T", {"name": "one", "embedding": numbers}),
            NodeRecord("b", "T"),
            EdgeRecord("a", "p", "b"),
        ],
    )
    return database.reader_url


@pytest.fixture
def service():
    """An embedding service with two dimensions."""
    with playing() as played:
        yield played


async def refusal(**settings):
    """The error raised on opening, after checks of its text."""
    with pytest.raises(BfsqlError) as caught:
        async with open_graph("postgres", **{"connect_timeout": 0.5, **settings}):
            pass
    text = str(caught.value)
    assert text[0].isupper()
    assert "Traceback" not in text
    for secret in (SECRET, LOCKED_PASSWORD, "sesame"):
        assert secret not in text
    return caught.value


# --- the server -------------------------------------------------------------


REFUSED_LOGIN = [
    "database postgres refused the login",
    f'password authentication failed for user "{LOCKED}"',
    "DATABASE_URL (or --dsn-file)",
]


@case_table(
    ("address", "parts"),
    {
        "a wrong password": ({"user": LOCKED, "password": SECRET}, REFUSED_LOGIN),
        "a blank more": ({"user": LOCKED, "password": f"{LOCKED_PASSWORD} "}, REFUSED_LOGIN),
        "no password": ({"user": LOCKED}, ["password", "DATABASE_URL (or --dsn-file)"]),
        "no such role": ({"user": "nobody at all"}, ['role "nobody at all" does not exist']),
        "no such database": (
            {"database": "no_such_graph"},
            ['no such database: database "no_such_graph" does', "end of DATABASE_URL"],
        ),
    },
)
async def test_a_login_that_is_refused_is_reported_with_its_cause(postgres, address, parts):
    found = await refusal(dsn=postgres.url(**address))
    assert isinstance(found, StoreError)
    if parts is REFUSED_LOGIN:
        assert f"127.0.0.1:{postgres.port}, {parts[0]}" in str(found)
    assert [part for part in parts if part not in str(found)] == []


async def test_a_role_that_may_not_connect_is_told_what_to_ask_for(postgres):
    async with postgres.database("") as other:
        await other.run(
            f"REVOKE CONNECT ON DATABASE {other.name} FROM PUBLIC",
            f"REVOKE CONNECT ON DATABASE {other.name} FROM {other.reader}",
        )
        found = await refusal(dsn=other.reader_url)
    assert "GRANT CONNECT ON DATABASE" in str(found)


async def test_a_server_that_accepts_and_says_nothing_is_waited_for_no_longer_than_said(silent):
    began = asyncio.get_running_loop().time()
    found = await refusal(dsn=f"postgresql://me:{SECRET}@{HOST}:{silent}/graphs")
    assert asyncio.get_running_loop().time() - began < 20
    assert isinstance(found, StoreUnavailable)
    assert f"{HOST}:{silent}, database graphs did not answer within 0.5 s" in str(found)
    assert "--connect-timeout" in str(found)


async def test_an_address_where_no_server_answers_is_reported(service):
    port, other = free_port(), service.url.split("//")[1].split("/")[0]
    for address, kind, said in (
        (f"{HOST}:{port}", StoreUnavailable, ", database graphs cannot be reached: Connection ref"),
        ("no-host.invalid", StoreUnavailable, ":5432"),  # which no name server knows
        (other, StoreError, ""),  # a server of something else
    ):
        dsn = f"postgresql://me:{SECRET}@{address}/graphs"
        found = await refusal(dsn=dsn, connect_timeout=9 if "host" in address else 0.5)
        assert isinstance(found, kind), address
        assert f"{address}{said}" in str(found)


async def test_a_server_that_is_too_old_is_reported(graph_in, monkeypatch):
    monkeypatch.setattr(connection, "OLDEST", 99)  # the newest server is now too old
    found = await refusal(dsn=graph_in)
    assert "is Postgres 18." in str(found)
    assert str(found).endswith("or later is needed. Upgrade the server.")


# --- the address ------------------------------------------------------------


@case_table(
    "dsn",
    [
        f"postgresql://me:{SECRET}@host:port/graphs",
        f"postgresql://me:{SECRET}/x@{HOST}:1/graphs",
        f"postgresql://me:{SECRET}@[::1/graphs",
        f"postgresql://me:{SECRET}@{HOST}:99999/graphs",
        f"postgresql://me:{SECRET}@{HOST}:1/graphs?sslmode=perhaps",
        f"postgresql://me:{SECRET}@{HOST}:1/graphs?port=x",
        f"mysql://me:{SECRET}@{HOST}/graphs",
        f"host={HOST} password={SECRET}",
        f"{SECRET}",
        f"postgresql://me:{SECRET}\0@{HOST}:1/graphs",
        f"postgresql://me:{SECRET}@{HOST}:1/graphs%00",
        f"postgresql://me:{SECRET}\udfff@{HOST}:1/graphs",
        f"postgresql://me:{SECRET}@{HOST}:1/\ud800",
        f"postgresql://me:%ff{SECRET}%@{HOST}:1/graphs",
    ],
)
async def test_a_malformed_address_is_reported_without_what_stands_in_it(dsn):
    found = await refusal(dsn=dsn)
    if "cannot be reached" not in str(found):  # the driver accepts the address
        assert isinstance(found, ConfigurationError)
        assert "Write it as postgresql://user:password@host:port/name" in str(found)


async def test_no_address_at_all_is_reported():
    found = await refusal()
    assert isinstance(found, ConfigurationError)
    assert "environment variable DATABASE_URL" in str(found)


# --- the schema -------------------------------------------------------------


async def test_a_schema_without_the_tables_is_told_what_was_looked_for_and_found(
    database, schema, owner
):
    await owner.execute("CREATE TABLE people (id int); CREATE TABLE jobs (id int)")
    found = str(await refusal(dsn=database.reader_url, schema=schema))
    assert "no table 'entity' with the columns 'entity_id', 'entity_type'" in found
    assert "it has 'jobs', 'people'" in found
    assert "--nodes and --edges" in found
    found = str(await refusal(dsn=database.reader_url, schema="no such schema"))
    assert "has no schema 'no such schema'" in found


async def test_a_table_that_may_not_be_read_is_reported_with_the_grant_that_helps(
    graph_in, database, schema, owner
):
    await owner.execute(f"REVOKE SELECT ON relationship FROM {database.reader}")
    found = str(await refusal(dsn=graph_in, schema=schema))
    assert "'entity'" not in found
    grant = found[found.index("GRANT") :]
    assert grant == f'GRANT SELECT ON "{schema}"."relationship" TO "{database.reader}";'
    await owner.execute(grant)
    async with open_graph("postgres", dsn=graph_in, schema=schema) as graph:
        assert (await graph.bfs_query(["a"], max_hops=1)).content["edge_count"] == 1


async def test_a_schema_that_may_not_be_looked_into_is_reported(graph_in, database, schema, owner):
    await owner.execute(f"REVOKE USAGE ON SCHEMA {schema} FROM {database.reader}")
    found = str(await refusal(dsn=graph_in, schema=schema))
    assert found.endswith(f'GRANT USAGE ON SCHEMA "{schema}" TO "{database.reader}";')


# --- the vectors ------------------------------------------------------------


async def test_a_service_of_other_vectors_or_that_refuses_is_reported(graph_in, schema, service):
    asked = {"dsn": graph_in, "schema": schema, "embedding": service.url, "embedding_key": SECRET}
    found = await refusal(**asked)
    assert isinstance(found, StoreError)
    assert f"{schema}.entity.embedding have 64 numbers" in str(found)
    assert f"{service.url}/embeddings produces 2" in str(found)
    assert "--embedding" in str(found)
    service.says(json_body(401, {"error": {"message": f"Incorrect API key: {SECRET}"}}))
    found = await refusal(**asked)
    assert isinstance(found, ConfigurationError)
    assert service.url in str(found)
    assert "401" in str(found)


async def test_a_service_that_is_not_there_costs_the_meaning_and_not_the_graph(
    graph_in, schema, caplog
):
    nobody = f"http://{HOST}:{free_port()}/v1"
    async with open_graph("postgres", dsn=graph_in, schema=schema, embedding=nobody) as graph:
        found = (await graph.search_entities("one")).content
    assert [entity["id"] for entity in found["result"]] == ["a"]
    assert "Searches compare names only, until this is corrected" in caplog.text


# --- on the command line ----------------------------------------------------


said = partial(refused, "postgres", secret="sesame")


async def test_a_server_on_the_command_line_ends_with_the_sentence(postgres, silent):
    locked = postgres.url(user=LOCKED, password=SECRET)
    assert "refused the login" in await said("serve", DATABASE_URL=locked)
    quiet = f"postgresql://me:{SECRET}@{HOST}:{silent}/graphs"
    text = await said("serve", "--connect-timeout", "0.3", code=1, DATABASE_URL=quiet)
    assert "did not answer within 0.3 s" in text


async def test_a_question_on_the_command_line_ends_with_the_sentence(database):
    command = "describe-schema"
    text = await said(command, "--schema", "nowhere", DATABASE_URL=database.reader_url)
    assert "has no schema 'nowhere'" in text
    assert "cannot be read" in await said(command, DATABASE_URL=f"postgresql://me:{SECRET}@h:p/g")
