"""Checks whether a connection's role could change the graph, without writing anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bfsql.errors import listing
from bfsql_postgres.schema import Layout
from bfsql_postgres.sql import identifier

if TYPE_CHECKING:
    from bfsql_postgres.connection import Pool

_RIGHTS = """
WITH named (schema, name) AS (SELECT DISTINCT * FROM unnest($1::text[], $2::text[])),
writable AS (
    SELECT format('%I.%I', n.nspname, c.relname) AS name
    FROM named JOIN pg_namespace AS n ON n.nspname = named.schema
    JOIN pg_class AS c ON c.relnamespace = n.oid AND c.relname = named.name
    WHERE has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
    OR has_any_column_privilege(c.oid, 'INSERT, UPDATE')
)
SELECT current_user::text, pg_is_in_recovery(),
    (SELECT rolsuper FROM pg_roles WHERE rolname = current_user),
    ARRAY(SELECT name FROM writable ORDER BY name),
    ARRAY(SELECT nspname::text FROM pg_namespace WHERE nspname IN (SELECT schema FROM named)
        AND has_schema_privilege(oid, 'CREATE') ORDER BY 1)
"""

_CURE = "Connect as a role that has only SELECT privileges."


async def reason_it_may_write(pool: Pool, layout: Layout) -> str | None:
    """A sentence for the operator; None if the role of the connections may only read the tables."""
    schemas, names = zip(*layout.relations, strict=True)
    ((role, standby, superuser, writable, creatable),) = await pool.fetch(_RIGHTS, schemas, names)
    if standby:  # which accepts no writes from anyone
        return None
    if superuser:
        return f"The Postgres role {role!r} is a superuser and may change everything. {_CURE}"
    if writable:
        return f"The Postgres role {role!r} may change the table {listing(writable, 1)}. {_CURE}"
    if creatable:
        return (
            f"The Postgres role {role!r} may create tables in the schema {creatable[0]!r}. Have "
            f"its owner run: REVOKE CREATE ON SCHEMA {identifier(creatable[0])} FROM PUBLIC, "
            f"{identifier(role)};"
        )
    return None
