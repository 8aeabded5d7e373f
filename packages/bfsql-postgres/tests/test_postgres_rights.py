"""A role's rights are determined without writing, and connections are named after their calls."""

import logging
from contextlib import aclosing

from bfsql import call
from bfsql_postgres import PostgresBackend, PostgresSettings, load_graph
from bfsql_postgres.connection import Pool
from bfsql_test_support.case_table import case_table

NAME = "SELECT application_name FROM pg_stat_activity WHERE pid = pg_backend_pid()"
INTERVAL = "SHOW client_connection_check_interval"


async def reason(url, schema):
    """Why the role of a URL may write; None if it may not."""
    backend = await PostgresBackend.create(url, schema=schema)
    try:
        await backend.ping()
        return await backend.may_write()
    finally:
        await backend.close()


async def test_who_may_write_is_reported_with_the_right(database, schema, settings, small_records):
    await load_graph(settings, small_records)
    assert "'postgres' is a superuser" in str(await reason(database.superuser_url, schema))
    told = str(await reason(database.owner_url, schema))
    assert f"{database.owner!r} may change the table {schema}." in told
    assert await reason(database.reader_url, schema) is None
    await database.run(f"GRANT CREATE ON SCHEMA {schema} TO {database.reader}")
    told = str(await reason(database.reader_url, schema))
    assert f'REVOKE CREATE ON SCHEMA "{schema}" FROM PUBLIC, "{database.reader}";' in told
    await database.run(
        f"REVOKE CREATE ON SCHEMA {schema} FROM {database.reader}",
        f"GRANT UPDATE (properties) ON {schema}.relationship TO {database.reader}",
    )
    assert f"{schema}.relationship" in str(await reason(database.reader_url, schema))


@case_table("pooled", [False, True])
async def test_a_connection_has_the_id_of_the_call_for_its_name(database, pooled, caplog):
    caplog.set_level(logging.INFO, logger="bfsql")
    pool = await Pool.open(PostgresSettings(dsn=database.reader_url, transaction_pooling=pooled))
    for name, request in (("bfsql one-1", "one-1"), ("bfsql DROP", "'; DROP"), ("bfsql", None)):
        with call.scope(request_id=request) as scope:
            scope.request_id = request or ""
            assert (await pool.fetch(NAME))[0][0] == name
            async with aclosing(pool.stream(NAME)) as batches:
                assert [row[0] async for batch in batches for row in batch] == [name]
    with call.scope(request_id="x" * 100):
        assert (await pool.fetch(NAME))[0][0] == f"bfsql {'x' * 57}"
    await pool.close()


async def test_the_server_looks_whether_its_client_is_there(database, old_database):
    for one in (database, old_database):
        pool = await Pool.open(PostgresSettings(dsn=one.reader_url))
        assert (await pool.fetch(INTERVAL))[0][0] == "2s"
        await pool.close()
