"""A role's rights are determined without writing, and connections are named after their calls."""

import logging
from contextlib import aclosing

from bfsql import call
from bfsql_postgres import PostgresSettings
from bfsql_postgres.connection import Pool
from bfsql_test_support.case_table import case_table

NAME = "SELECT application_name FROM pg_stat_activity WHERE pid = pg_backend_pid()"
INTERVAL = "SHOW client_connection_check_interval"


async def test_who_may_write_is_reported_with_the_right(small, database, schema):
    async def told(url, **settings):
        return str(await (await small(url, **settings)).may_write())

    assert "'postgres' is a superuser" in await told(database.superuser_url)
    assert f"{database.owner!r} may change the table {schema}." in await told(database.owner_url)
    assert await told(database.reader_url) == "None"
    assert await told(database.superuser_url, role=database.reader) == "None"
    await database.run(f"GRANT CREATE ON SCHEMA {schema} TO {database.reader}")
    cure = f'REVOKE CREATE ON SCHEMA "{schema}" FROM PUBLIC, "{database.reader}";'
    assert cure in await told(database.reader_url)
    await database.run(
        f"REVOKE CREATE ON SCHEMA {schema} FROM {database.reader}",
        f"GRANT UPDATE (properties) ON {schema}.relationship TO {database.reader}",
    )
    assert f"{schema}.relationship" in await told(database.reader_url)


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
