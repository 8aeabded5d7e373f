"""What is in the schema already: whether a load may replace it, and how it does.

The new tables are filled and indexed beside the old ones and then take their
names, for which readers wait some 50 ms. Truncating the old tables and filling
them again would keep their rights without further ado, and shut readers out
for as long as the rows take with their indexes: 19 s for 1,000,000 edges. So
rights and owner are carried over from the old tables to the new.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from bfsql.errors import StoreError, StoreUnavailable
from bfsql_postgres.building import PREFIX, SCRATCH, Building
from bfsql_postgres.ddl import EVIDENCE_TABLES, MARK, NAMES
from bfsql_postgres.sql import identifier, literal

if TYPE_CHECKING:
    from asyncpg import Connection

LOCK_MS = 500
"""Milliseconds to wait for readers at a time: they queue behind whoever waits, and a server looks
for deadlocks after a second."""
LOCK_TRIES = 60
PAUSE = 0.5
"""Seconds between two tries."""

_CLAIM = "SELECT pg_advisory_xact_lock(hashtextextended('bfsql load ' || $1, 0))"

_THERE = """
SELECT c.relname::text, c.relkind = 'r' AND obj_description(c.oid, 'pg_class') IS NOT DISTINCT
FROM $3 FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND (c.relname = ANY ($2::text[]) OR starts_with(c.relname::text, $4))
ORDER BY 1
"""

_RIGHTS = """
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
FROM new, aclexplode(new.relacl) AS one, LATERAL (
    SELECT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END AS role
) AS named WHERE one.grantee <> new.relowner
UNION ALL SELECT 2, format('GRANT %s%s ON %s TO %s%s', privilege_type, columns, $2, role,
    CASE WHEN is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
FROM old, given, aclexplode(given.acl) AS one, LATERAL (
    SELECT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END AS role
) AS named WHERE one.grantee <> old.relowner
UNION ALL SELECT 3, format('ALTER TABLE %s OWNER TO %I', $2, pg_get_userbyid(old.relowner))
FROM old, new WHERE old.relowner <> new.relowner
) AS steps ORDER BY step
"""
"""Statements that give a new table the rights and the owner of an old one."""

_NEW = """
SELECT c.relname::text FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND c.relkind = ANY ($2::"char"[]) AND starts_with(c.relname::text, $3)
"""

_NEW_CONSTRAINTS = """
SELECT r.relname::text, c.conname::text FROM pg_catalog.pg_constraint AS c
JOIN pg_catalog.pg_class AS r ON r.oid = c.conrelid
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.connamespace
WHERE n.nspname = $1 AND starts_with(c.conname::text, $2)
"""


async def claim(connection: Connection, schema: str) -> None:
    """Make sure that this load is the only one into the schema, and may replace what is there.

    Raises:
        StoreError: There are tables that no load made.
    """
    await connection.execute(_CLAIM, schema)
    if not await connection.fetchval(
        "SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1)", schema
    ):
        await connection.execute(f"CREATE SCHEMA {identifier(schema)}")
    # Whatever begins so is taken for the load's own, and no load leaves any of it behind.
    await _replaceable(connection, schema, PREFIX)


async def replace(connection: Connection, building: Building) -> None:
    """Put the new tables in the places of the old ones.

    Raises:
        StoreUnavailable: The old tables are in use for longer than a load waits.
        StoreError: Somebody else's table came between, or depends on an old one.
    """
    old = await _replaceable(connection, building.schema)
    if old:
        await _lock(connection, building, old)
        for table in building.tables:
            sources = [table.name, *(EVIDENCE_TABLES if table is building.evidence else ())]
            source = next((name for name in sources if name in old), None)
            if source:
                await _give_rights(connection, building, source, table.name)
        await connection.execute(f"DROP TABLE {', '.join(map(building.place, old))}")
    scratch = await connection.fetch(_NEW, building.schema, [b"r"], PREFIX + SCRATCH)
    for (name,) in scratch:
        await connection.execute(f"DROP TABLE {building.place(name)}")
    await _rename(connection, building)
    for table in building.tables:
        path = building.place(table.name)
        await connection.execute(f"COMMENT ON TABLE {path} IS {literal(MARK)}")


async def _rename(connection: Connection, building: Building) -> None:
    """Take the prefix from the names of tables, indexes and sequences, then of constraints."""
    kinds = [b"r", b"i", b"S"]
    for (name,) in await connection.fetch(_NEW, building.schema, kinds, PREFIX):
        called = identifier(name.removeprefix(PREFIX))
        await connection.execute(f"ALTER TABLE {building.place(name)} RENAME TO {called}")
    for table, name in await connection.fetch(_NEW_CONSTRAINTS, building.schema, PREFIX):
        called = identifier(name.removeprefix(PREFIX))
        await connection.execute(
            f"ALTER TABLE {building.place(table)} RENAME CONSTRAINT {identifier(name)} TO {called}"
        )


async def _replaceable(connection: Connection, schema: str, prefix: str | None = None) -> list[str]:
    """The tables of an earlier load.

    Raises:
        StoreError: There are others of the same names.
    """
    there = await connection.fetch(_THERE, schema, list(NAMES), MARK, prefix)
    strange = [name for name, marked in there if not marked]
    if strange:
        raise StoreError(
            f"The schema {schema} has {' and '.join(strange)}, which bfsql load did not make, so "
            "nothing is replaced. Name another schema with --schema; it is made when it is not "
            f"there. Or remove {'it' if len(strange) == 1 else 'them'} first."
        )
    return [name for name, _ in there]


async def _lock(connection: Connection, building: Building, old: list[str]) -> None:
    from asyncpg import LockNotAvailableError

    paths = ", ".join(map(building.place, old))
    for _ in range(LOCK_TRIES):
        try:
            async with connection.transaction():
                await connection.execute(f"SET LOCAL lock_timeout = {LOCK_MS}")
                await connection.execute(f"LOCK TABLE {paths} IN ACCESS EXCLUSIVE MODE")
        except LockNotAvailableError:
            await asyncio.sleep(PAUSE)
        else:
            return
    raise StoreUnavailable(
        f"The new graph is ready, but other transactions have been reading the old one in "
        f"{building.schema} for {LOCK_TRIES * (LOCK_MS / 1000 + PAUSE):g} s without an end; a "
        "backup, perhaps. The old graph is as it was: load again when they are done."
    )


async def _give_rights(connection: Connection, building: Building, old: str, new: str) -> None:
    rights = await connection.fetch(_RIGHTS, building.place(old), building.path(new))
    for (statement,) in rights:
        await connection.execute(statement)
