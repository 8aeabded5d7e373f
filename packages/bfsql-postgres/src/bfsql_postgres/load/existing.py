"""The tables that a schema has before a load: whether they may be replaced, and their replacement.

The new tables take the names, the rights and the owner of the old ones.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import TYPE_CHECKING

from bfsql.errors import StoreError, StoreUnavailable
from bfsql.loading import graph_is_there
from bfsql_postgres.load.ddl import ENTITY, EVIDENCE_TABLES, MARK_BEGINS, NAMES, RELATIONSHIP
from bfsql_postgres.load.tables import PREFIX, SCRATCH, LoadTables
from bfsql_postgres.sql import identifier

if TYPE_CHECKING:
    from asyncpg import Connection

LOCK_MS = 500
"""Milliseconds to wait for readers at a time: they queue behind a waiting load, and a server looks
for deadlocks after a second.
"""
LOCK_TRIES = 60
PAUSE = 0.5
"""Seconds between two tries."""

_CLAIM = "SELECT pg_advisory_xact_lock(hashtextextended('bfsql load ' || $1, 0))"

_THERE = """
SELECT c.relname::text, c.relkind = 'r' AND coalesce(starts_with(obj_description(c.oid,
'pg_class'), $3), false)
FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND (c.relname = ANY ($2::text[]) OR starts_with(c.relname::text, $4))
ORDER BY 1
"""

_GRANTEE = """LATERAL (
    SELECT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END AS role
) AS named"""

_RIGHTS = f"""
WITH old AS (SELECT * FROM pg_catalog.pg_class WHERE oid = to_regclass($1)),
new AS (SELECT * FROM pg_catalog.pg_class WHERE oid = to_regclass($2)),
given AS (SELECT '' AS columns, old.relacl AS acl FROM old UNION ALL
    SELECT format(' (%I)', a.attname), a.attacl FROM old
    JOIN pg_catalog.pg_attribute AS a ON a.attrelid = old.oid
    JOIN pg_catalog.pg_attribute AS b ON b.attname = a.attname
        AND b.attrelid = (SELECT oid FROM new)
    WHERE a.attacl IS NOT NULL AND NOT a.attisdropped)
SELECT statement FROM (
SELECT 1 AS step, format('REVOKE ALL ON %s FROM %s', $2, role) AS statement
FROM new, aclexplode(new.relacl) AS one, {_GRANTEE} WHERE one.grantee <> new.relowner
UNION ALL SELECT 2, format('GRANT %s%s ON %s TO %s%s', privilege_type, columns, $2, role,
    CASE WHEN is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
FROM old, given, aclexplode(given.acl) AS one, {_GRANTEE} WHERE one.grantee <> old.relowner
UNION ALL SELECT 1, format('ALTER TABLE %s %s ROW LEVEL SECURITY', $2, how) FROM old,
    LATERAL (VALUES (relrowsecurity, 'ENABLE'), (relforcerowsecurity, 'FORCE')) AS v (set, how)
WHERE v.set
UNION ALL SELECT 3, format('ALTER TABLE %s OWNER TO %I', $2, pg_get_userbyid(old.relowner))
FROM old, new WHERE old.relowner <> new.relowner
) AS steps ORDER BY step
"""  # noqa: S608 - a constant
"""Statements that give a new table the rights and the owner of an old one. Its row security stays
on without policies, which name columns and tables: it has no rows until they are made again."""

_NAMES = """
WITH named AS (
    SELECT n.nspname AS schema, r.relname::text AS relation, NULL AS name, r.relkind AS kind
    FROM pg_catalog.pg_class AS r JOIN pg_catalog.pg_namespace AS n ON n.oid = r.relnamespace
    WHERE r.relkind IN ('r', 'i', 'S')
    UNION ALL SELECT n.nspname, r.relname::text, c.conname::text, 'c'
    FROM pg_catalog.pg_constraint AS c JOIN pg_catalog.pg_class AS r ON r.oid = c.conrelid
    JOIN pg_catalog.pg_namespace AS n ON n.oid = c.connamespace WHERE c.conindid = 0
)
SELECT CASE
    WHEN starts_with(relation, $3) THEN format('DROP TABLE %I.%I', schema, relation)
    WHEN kind = 'c' THEN format('ALTER TABLE %I.%I RENAME CONSTRAINT %I TO %I', schema, relation,
        name, substr(name, length($2) + 1))
    ELSE format('ALTER TABLE %I.%I RENAME TO %I', schema, relation,
        substr(relation, length($2) + 1))
    END
FROM named WHERE schema = $1 AND starts_with(coalesce(name, relation), $2)
    AND (kind = 'r' OR NOT starts_with(relation, $3))
ORDER BY kind <> 'c'
"""
"""Statements that drop the tables that do not remain, and remove the prefix from the names of
constraints, then from those of tables, indexes and sequences.
"""


async def claim(connection: Connection, schema: str) -> list[str]:
    """Make sure that this load is the only one into the schema, and may replace its tables.

    Returns:
        Names of the tables of the existing graph.

    Raises:
        StoreError: Some of the tables were not made by a load.
    """
    await connection.execute(_CLAIM, schema)
    if not await connection.fetchval(
        "SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1)", schema
    ):
        await connection.execute(f"CREATE SCHEMA {identifier(schema)}")
    # Tables with this prefix are assumed to be the load's own, and no load leaves any behind.
    return await _replaceable(connection, schema, PREFIX)


async def check_empty(tables: LoadTables, old: Collection[str], where: str) -> None:
    """Make sure that the tables of an earlier load hold no graph.

    Args:
        tables: The tables of the load.
        old: Names of the tables of an earlier load.
        where: The location of the graph, for the message.

    Raises:
        LoadRefused: Some of them have rows.
    """
    nodes, edges = tables.place(ENTITY.name), tables.place(RELATIONSHIP.name)
    triples = f"SELECT DISTINCT {', '.join(RELATIONSHIP.fixed)} FROM {edges}"  # noqa: S608 - quoted
    queries = {
        ENTITY.name: f"SELECT count(*) FROM {nodes}",  # noqa: S608 - quoted
        RELATIONSHIP.name: f"SELECT count(*) FROM ({triples}) AS edge",  # noqa: S608 - quoted
    }
    numbers = [
        await tables.connection.fetchval(query) if name in old else 0
        for name, query in queries.items()
    ]
    if any(numbers):
        raise graph_is_there(where, *numbers, elsewhere="load into another schema with --schema")


async def replace(tables: LoadTables) -> None:
    """Put the new tables in the places of the old ones.

    Raises:
        StoreUnavailable: The old tables are in use for longer than a load waits.
        StoreError: A table of another origin appeared meanwhile, or depends on an old one.
    """
    connection, schema = tables.connection, tables.settings.schema_
    old = await _replaceable(connection, schema)
    if old:
        await _lock(tables, old)
        for table in tables.tables:
            sources = [table.name, *(EVIDENCE_TABLES if table is tables.evidence else ())]
            source = next((name for name in sources if name in old), None)
            if source:
                paths = (tables.place(source), tables.path(table.name))
                await _run_results(connection, _RIGHTS, *paths)
        await connection.execute(f"DROP TABLE {', '.join(map(tables.place, old))}")
    await _run_results(connection, _NAMES, schema, PREFIX, PREFIX + SCRATCH)


async def _run_results(connection: Connection, query: str, *values: str) -> None:
    """Run the statements that are the result of a query."""
    for (statement,) in await connection.fetch(query, *values):
        await connection.execute(statement)


async def _replaceable(connection: Connection, schema: str, prefix: str | None = None) -> list[str]:
    """The tables of an earlier load.

    Raises:
        StoreError: There are tables of the same names that no load made.
    """
    there = await connection.fetch(_THERE, schema, list(NAMES), MARK_BEGINS, prefix)
    strange = [name for name, marked in there if not marked]
    if strange:
        raise StoreError(
            f"The schema {schema} has {' and '.join(strange)}, which bfsql load did not create, "
            "so nothing is replaced. Name another schema with --schema, which is created if it "
            f"does not exist; or remove {'it' if len(strange) == 1 else 'them'} first."
        )
    return [name for name, _ in there]


async def _lock(tables: LoadTables, old: list[str]) -> None:
    from asyncpg import LockNotAvailableError

    paths = ", ".join(map(tables.place, old))
    for _ in range(LOCK_TRIES):
        try:
            async with tables.connection.transaction():
                await tables.connection.execute(f"SET LOCAL lock_timeout = {LOCK_MS}")
                await tables.connection.execute(f"LOCK TABLE {paths} IN ACCESS EXCLUSIVE MODE")
        except LockNotAvailableError:
            await asyncio.sleep(PAUSE)
        else:
            return
    raise StoreUnavailable(
        "The new graph is ready, but other transactions have been reading the old one in "
        f"{tables.settings.schema_} for {LOCK_TRIES * (LOCK_MS / 1000 + PAUSE):g} s without a "
        "break, perhaps for a backup. The old graph is unchanged. Load again when they have "
        "finished."
    )
