"""Sentences for people about missing parts of a database and exceptions of the driver."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import asyncpg

from bfsql.errors import StoreError, StoreUnavailable, listing, network_reason
from bfsql_postgres.schema import Catalogue, Id, Path, Relation
from bfsql_postgres.settings import PostgresSettings
from bfsql_postgres.sql import identifier, relation_name

FAULTS = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)
"""Exceptions of the driver. A TimeoutError is an OSError, and is caught earlier."""

CONNECTION_ERRORS = (
    asyncpg.PostgresConnectionError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.InternalClientError,  # lost between two steps inside the driver
)
"""Exceptions of a lost connection, besides OSError, which files raise as well."""

_POOLING = (
    "If the connection goes through a pooler in transaction mode, add --transaction-pooling, or "
    "connect to the server directly."
)


def message_of(error: BaseException) -> str:
    """The first line of an exception's text, without its full stop."""
    return str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__


def not_connected(  # noqa: PLR0911 - one sentence a kind
    error: BaseException, where: str, settings: PostgresSettings
) -> StoreError:
    """The reason why there is no connection; `where` is the server in words."""
    here, message = _capital(where), message_of(error)
    match error:
        case TimeoutError():
            return StoreUnavailable(
                f"{here} did not answer within {settings.connect_timeout:g} s. Check that host "
                "and port are right and that no firewall drops the connection, or raise "
                "--connect-timeout."
            )
        case asyncpg.TooManyConnectionsError():
            return StoreUnavailable(
                f"{here} has no free connection: {message}. Try again later, or lower --pool-size "
                "of the servers that share it."
            )
        case asyncpg.CannotConnectNowError():
            return StoreUnavailable(
                f"{here} does not accept connections at the moment: {message}. Try again."
            )
        case OSError():
            return StoreUnavailable(
                f"{here} cannot be reached: {network_reason(error) or message}. Check that it is "
                "running and that host and port are right."
            )
        case asyncpg.InvalidPasswordError() | asyncpg.InvalidAuthorizationSpecificationError():
            return StoreError(
                f"{here} refused the login: {message}. Correct user and password in DATABASE_URL "
                "(or --dsn-file)."
            )
        case asyncpg.InvalidCatalogNameError():
            return StoreError(
                f"{here} has no such database: {message}. Correct the name at the end of "
                "DATABASE_URL (or --dsn-file)."
            )
        case asyncpg.InsufficientPrivilegeError():
            return StoreError(
                f"{here} does not allow this role to connect: {message}. Have the database's "
                "owner run: GRANT CONNECT ON DATABASE ... TO ...;"
            )
        case asyncpg.ProtocolViolationError() if (
            not settings.transaction_pooling and "startup parameter" in str(error)
        ):
            return StoreError(
                f"{here} is a pooler that does not accept settings: {message}. {_POOLING}"
            )
    return StoreError(f"{here} refused the connection: {message}.")


def not_answered(  # noqa: PLR0911 - one sentence a kind
    error: BaseException, where: str, settings: PostgresSettings, *, closed: bool
) -> StoreError:
    """The reason why a statement has no answer; `closed` means that the connection is lost."""
    here, message = _capital(where), message_of(error)
    match error:
        case asyncpg.QueryCanceledError():
            return StoreUnavailable(
                f"{here} stopped a statement: {message}. Ask for less, or raise "
                f"--statement-timeout, which is {settings.statement_timeout:g} s."
            )
        case asyncpg.ClientCannotConnectError() if not closed:
            return StoreUnavailable(
                f"{here} did not reach the server behind a foreign table: {message}. Check that "
                "it is running, and check the user mapping."
            )
        case asyncpg.InsufficientPrivilegeError():
            return StoreError(
                f"{here} no longer allows this role to read: {message}. Have the owner GRANT "
                "SELECT on it, and USAGE on its schema."
            )
        case (
            asyncpg.UndefinedTableError()
            | asyncpg.UndefinedColumnError()
            | asyncpg.UndefinedFunctionError()
        ):
            return StoreError(
                f"The tables were changed since this server started: {message}. Restart the "
                "server. If a function behind a view does not find the table, have the owner set "
                "the function's schemas: ALTER FUNCTION ... SET search_path = ...;"
            )
        case asyncpg.TooManyConnectionsError() | asyncpg.CannotConnectNowError():
            return not_connected(error, where, settings)
        case asyncpg.InvalidSQLStatementNameError() | asyncpg.DuplicatePreparedStatementError() if (
            not settings.transaction_pooling
        ):
            return StoreError(f"{here} lost a prepared statement: {message}. {_POOLING}")
    if closed or isinstance(error, (*CONNECTION_ERRORS, OSError)):
        return StoreUnavailable(
            f"The connection to {where} was lost during a statement. The next call connects again."
        )
    return StoreError(f"{here} refused a statement: {message}.")


def exhausted(where: str, settings: PostgresSettings) -> StoreUnavailable:
    """All connections were busy for too long."""
    return StoreUnavailable(
        f"All {settings.pool_size} connections to {where} were busy for "
        f"{settings.connect_timeout:g} s. Try again later, or raise --pool-size."
    )


def no_role(error: BaseException, account: str, role: str) -> StoreError:
    """The account may not take the role of the settings, or there is none."""
    return StoreError(
        f"The account {account!r} cannot take the Postgres role {role!r}, which its setting role "
        f"names: {message_of(error)}. Name a role that exists, and run: "
        f"GRANT {identifier(role)} TO {identifier(account)};"
    )


def too_old(version: str, oldest: int, where: str) -> StoreError:
    """The server is older than the statements require."""
    return StoreError(
        f"{_capital(where)} is Postgres {version}; {oldest} or later is needed. Upgrade the server."
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


# --- what discovery did not find ------------------------------------------------


def no_schema(catalogue: Catalogue, schema: str) -> str:
    """The schema does not exist, or the role has no USAGE on it."""
    if schema not in catalogue.schemas:
        return (
            f"The database {catalogue.database!r} has no schema {schema!r}. "
            "Name the right one with --schema."
        )
    return (
        f"The role {catalogue.role!r} may not use the schema {schema!r}. Have its owner run: "
        f"GRANT USAGE ON SCHEMA {identifier(schema)} TO {identifier(catalogue.role)};"
    )


def no_table(catalogue: Catalogue, path: Path, columns: Sequence[str]) -> str:
    """The schema does not have a table; lists those it has."""
    schema, name = path
    with_columns = f" with the columns {_listing(columns)}" if columns else ""
    others = catalogue.others.get(schema, ())
    have = f"it has {_listing(others)}" if others else "it has no tables"
    return (
        f"The schema {schema!r} of the database {catalogue.database!r} has no table "
        f"{name!r}{with_columns}; {have}."
    )


def no_prefix(relation: Relation, own: Id, known: list[str]) -> str:
    """An id without a prefix, or with one that no table of nodes has."""
    begin = "a column" if own.prefix is None else repr(own.prefix)
    return (
        f"The ids in {', '.join(own.names)} of {relation.schema}.{relation.name} begin with "
        f"{begin}, and those of nodes with {listing(known, 10)}. Write one of these before a colon "
        f"and the column, as in {known[0]}:{own.names[0]}."
    )


def no_column(relation: Relation, absent: Sequence[str]) -> str:
    """The table lacks columns; lists those it has."""
    return (
        f"The table {relation.schema}.{relation.name} has no column {_listing(absent)}; it "
        f"has {_listing(relation.columns)}."
    )


def not_readable(catalogue: Catalogue, relation: Relation, columns: Sequence[str] = ()) -> str:
    """The role may not read a table, or some of its columns."""
    what = f"{_listing(columns)} of the table" if columns else "the table"
    return (
        f"The role {catalogue.role!r} may not read {what} {relation.schema}.{relation.name}. Have "
        f"its owner run: {grant(catalogue.role, relation_name(relation), columns)}"
    )


def grant(role: str, table: str, columns: Sequence[str] = ()) -> str:
    """The statement that lets a role read a table, or some of its columns."""
    of = f" ({', '.join(map(identifier, columns))})" if columns else ""
    return f"GRANT SELECT{of} ON {table} TO {identifier(role)};"


def too_wide(relations: Sequence[Relation], number: int, most: int) -> str:
    """The tables have more columns than one result of the server can have."""
    names = _listing(f"{relation.schema}.{relation.name}" for relation in relations)
    return (
        f"{names} have {number} columns for metadata, but Postgres returns at most {most}. Name "
        "those that matter, such as metadata=born|died in --nodes and --edges, or serve views "
        "without the others."
    )


def advice(*, own: bool) -> str:
    """The settings that name tables; `own` if they already name some."""
    if own:
        return "Correct --nodes or --edges, or name another schema with --schema."
    return (
        "Name another schema with --schema, other names for tables with --names, or your own "
        "tables with --nodes and --edges; or load a graph: bfsql load SOURCE --backend postgres"
    )


def shared_ids(examples: Sequence[tuple[str, Relation, Relation]]) -> str:
    """Some tables of nodes share ids; empty without an example."""
    if not examples:
        return ""
    shared = ", ".join(
        f"the id {entity_id!r} is in {one.schema}.{one.name} and in {other.schema}.{other.name}"
        for entity_id, one, other in examples
    )
    return (
        f"Tables of nodes share ids: {shared}. Such an id is one node, with the type of the first "
        "table and the edges of both. If these are different things, serve views whose ids have "
        "a prefix (SELECT 'person:' || id::text AS id, ...), and likewise for the edges."
    )


def _listing(names: Iterable[str]) -> str:
    return listing([*map(repr, names)], 30)
