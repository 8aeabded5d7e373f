"""A database on the newest server, with schemas, and fixtures that fill and open them."""

from contextlib import AsyncExitStack

import asyncpg
import pytest

from bfsql.models import EdgeRecord, EvidenceRecord, NodeRecord
from bfsql_postgres import PostgresBackend, PostgresSettings
from bfsql_test_support.servers.database import lasting


@pytest.fixture(scope="session")
def database(postgres):
    """A database with pgvector and pg_trgm, shared by all tests."""
    return lasting(postgres.database())


@pytest.fixture(scope="session")
def old_database(old_postgres):
    """A database with only pg_trgm, on the older server."""
    return lasting(old_postgres.database())


@pytest.fixture
async def schema(database):
    """An empty schema of `database`."""
    async with database.schema() as name:
        yield name


@pytest.fixture
def settings(database, schema):
    """Settings with the owner of `schema`."""
    return PostgresSettings(dsn=database.owner_url, schema_=schema)


@pytest.fixture
def load(settings):
    """Loads records into `schema`."""
    from bfsql_postgres.load.loader import load_graph

    return lambda records: load_graph(settings, records)


@pytest.fixture
def small_records():
    """Three nodes in a row, with evidence for one edge."""
    return [
        NodeRecord("a", "T", {"name": "one"}),
        NodeRecord("b", "T", {"name": "two"}),
        NodeRecord("c", "U", {"name": "three"}),
        EdgeRecord("a", "p", "b", {"confidence": 0.5}),
        EdgeRecord("b", "p", "c"),
        EvidenceRecord("a", "p", "b", {"document_id": "c", "text_span": "so it is"}),
    ]


@pytest.fixture
async def opened(request, database, schema):
    """Opens backends by settings, and closes them after the test.

    By default the reader opens `schema`: through the pooler if `pooled`.
    """
    async with AsyncExitStack() as stack:

        async def open_it(url=database.reader_url, *, pooled=False, **settings):
            if pooled:
                pooler = request.getfixturevalue("pgbouncer")
                url = pooler.url(database.name, database.reader)
            given = {"schema": schema, "transaction_pooling": pooled, **settings}
            backend = await PostgresBackend.create(url, **given)
            stack.push_async_callback(backend.close)
            return backend

        yield open_it


@pytest.fixture
async def small(load, opened, small_records):
    """Opens `small_records`, as `opened` does."""
    await load(small_records)
    return opened


@pytest.fixture
async def owner(database, schema):
    """A connection of the owner, with `schema` in its search path."""
    connection = await asyncpg.connect(
        database.owner_url, server_settings={"search_path": f"{schema},public"}
    )
    yield connection
    await connection.close()
