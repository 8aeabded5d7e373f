"""A writing connection for loads and indexes, with a sentence for each refusal."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from bfsql.errors import StoreError, StoreUnavailable
from bfsql_postgres.address import address
from bfsql_postgres.connection import connect
from bfsql_postgres.failures import CONNECTION_ERRORS, FAULTS, message_of
from bfsql_postgres.settings import PostgresSettings
from bfsql_postgres.sql import identifier

UNCHANGED = "The previous content is unchanged."


@asynccontextmanager
async def writer(settings: PostgresSettings, left: str) -> AsyncIterator[asyncpg.Connection]:
    """A dedicated connection, closed at the end.

    Args:
        settings: The location of the database.
        left: A sentence on what a failure leaves behind.

    Raises:
        ConfigurationError: Nothing names the database.
        StoreUnavailable: The server does not answer, or went away.
        StoreError: The server does not admit this role, or does not let it write.
    """
    connection = await _connected(settings)
    try:
        yield connection
    except StoreError:  # already has a sentence
        raise
    except FAULTS as error:
        if is_lost(error, connection):
            raise StoreUnavailable(
                f"The connection to Postgres was lost ({message_of(error)}). {left} Try again "
                "when the server is available."
            ) from error
        if isinstance(error, OSError):  # the source's
            raise
        denied = isinstance(error, asyncpg.InsufficientPrivilegeError)
        role = str(await connection.fetchval("SELECT current_user")) if denied else ""
        raise StoreError(f"{_not_written(error, settings.schema_, role)} {left}") from error
    finally:
        await _close(connection)


def is_lost(error: BaseException, connection: asyncpg.Connection) -> bool:
    """Whether an error means that the connection is lost."""
    return connection.is_closed() or isinstance(error, CONNECTION_ERRORS)


async def _connected(settings: PostgresSettings) -> asyncpg.Connection:
    url = address(settings)
    server = {"application_name": "bfsql"}
    if not settings.transaction_pooling:
        # No timeout, because the work is slow, and no functions but the server's own.
        server |= {"statement_timeout": "0", "search_path": "pg_catalog"}
    return await connect(
        url,
        settings,
        timeout=settings.connect_timeout,
        # A pooler runs the next transaction on a server that knows none of the statements.
        statement_cache_size=0,
        server_settings=server,
    )


async def _close(connection: asyncpg.Connection) -> None:
    try:
        await connection.close(timeout=5)
    except FAULTS:
        connection.terminate()


def _not_written(error: BaseException, schema: str, role: str) -> str:
    """The reason why a load or an index failed; `role` if it lacks a right."""
    message = message_of(error)
    match error:
        case asyncpg.InsufficientPrivilegeError():
            return (
                f"The role {role!r} may not write into the schema {schema!r} ({message}). Have "
                f"its owner run: GRANT USAGE, CREATE ON SCHEMA {identifier(schema)} TO "
                f"{identifier(role)}. To replace or index tables, the role has to own them; to "
                "create a schema, it needs CREATE on the database."
            )
        case asyncpg.ReadOnlySQLTransactionError():
            return (
                "This server, or this role's session, is read-only. Name the primary server, or "
                "a role that may write, in DATABASE_URL (or --dsn-file)."
            )
        case asyncpg.DiskFullError() | asyncpg.OutOfMemoryError():
            return f"The server is out of space: {message}."
        case asyncpg.DependentObjectsStillExistError():
            return (
                "The tables cannot be replaced because other objects depend on them: "
                f"{'; '.join((error.detail or message).splitlines())}. Drop these objects first, "
                "and create them again afterwards."
            )
    return f"Postgres says: {message}."
