"""Writes a graph into a schema completely, or not at all.

One transaction contains all the work of a load. Until it commits, readers see the
old graph; a load that fails, is cancelled, or loses its connection changes nothing.
Only if the connection is lost during the commit itself is it unknown which of the
two graphs is there.

Records become rows here, a batch at a time, and are merged in the server.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from bfsql.errors import StoreError, StoreUnavailable
from bfsql.loading.intake import Worker, accepted, check_graph
from bfsql.models.load import REPLACING, LoadMode, LoadOptions, LoadReport
from bfsql.models.records import GraphRecord
from bfsql_postgres.address import address, server_and_database
from bfsql_postgres.failures import FAULTS
from bfsql_postgres.load.ddl import EVIDENCE_TABLES
from bfsql_postgres.load.existing import check_empty, claim, replace
from bfsql_postgres.load.merge import GraphMerge
from bfsql_postgres.load.rows import Batch, Rows
from bfsql_postgres.load.tables import LoadTables
from bfsql_postgres.settings import PostgresSettings
from bfsql_postgres.writer import UNCHANGED, is_lost, writer

if TYPE_CHECKING:
    from asyncpg import Connection

_FOR_THIS_LOAD = """
SET LOCAL search_path = pg_catalog;
SET LOCAL statement_timeout = 0;
SET LOCAL idle_in_transaction_session_timeout = 0;
SET LOCAL maintenance_work_mem = '256MB';
SET LOCAL work_mem = '64MB';
"""
"""No timeouts: a load is slow, and may wait for its source. The search path keeps a function of
another user from replacing the server's own, with the rights of the loading role.
"""

_OPEN = (
    "Whether the new graph or the old one is in place is unknown: check with `bfsql "
    "describe-schema --backend postgres`, or load again."
)
_DONE = "The new graph is in place."

log = logging.getLogger("bfsql.postgres")

_VECTORS = """
SELECT n.nspname::text FROM pg_catalog.pg_extension AS x
JOIN pg_catalog.pg_namespace AS n ON n.oid = x.extnamespace
WHERE x.extname = 'vector' AND has_schema_privilege(n.oid, 'USAGE')
"""


async def load_graph(
    settings: PostgresSettings, records: Iterable[GraphRecord], options: LoadOptions = REPLACING
) -> LoadReport:
    """Make the tables of the kgraph schema from records.

    Cancelling the call stops the load; the previous content remains.

    Args:
        settings: `dsn` is the database, `schema` the place of the tables, which is created if
            missing. Tables of the same names that no load made are not replaced.
        records: Nodes, edges and evidence in any order. They are read once, in a thread; memory
            does not grow with their number.
        options: What happens to an existing graph, and to whatever is missing in the new one.

    Returns:
        A report of the records found and the graph made.

    Raises:
        StoreError: The database cannot be written, or the existing content may not be replaced.
        SourceError: A record was refused in strict mode.
        StoreUnavailable: The server does not answer, or went away.
    """
    if settings.names or settings.nodes or settings.edges:
        raise StoreError(
            "A load writes the tables of the kgraph schema under their own names. Leave out the "
            "settings names, nodes and edges, and set the schema to load into with --schema."
        )
    where, database = server_and_database(address(settings))
    report = LoadReport(place=f"postgresql://{where}/{database}, schema {settings.schema_}")
    async with writer(settings, UNCHANGED) as connection:
        async with _transaction(connection):
            tables = await _begin(connection, settings, options, report.place)
            await _copy(tables, records, report, strict=options.strict)
            await GraphMerge(tables, report, options).merge(getattr(records, "name_keys", ()))
            check_graph(report, options, keeps_dangling=True)
            if options.progress:
                options.progress("writing", None)
            await replace(tables)
        await _vacuum(tables)
    return report


@asynccontextmanager
async def _transaction(connection: Connection) -> AsyncIterator[None]:
    """A transaction whose commit may end with an unknown outcome."""
    # After waiting for another load, this load has to see the tables of the other.
    transaction = connection.transaction(isolation="read_committed")
    await transaction.start()
    try:
        yield
    except BaseException as error:
        if not is_lost(error, connection):  # a rollback would raise an error of its own
            await transaction.rollback()
        raise
    try:
        await transaction.commit()
    except asyncio.CancelledError as cancelled:
        cancelled.add_note(_OPEN)
        raise
    except Exception as error:
        if not is_lost(error, connection):
            raise
        raise StoreUnavailable(
            f"The connection to Postgres was lost while the new graph was being put in place. "
            f"{_OPEN}"
        ) from error


async def _vacuum(tables: LoadTables) -> None:
    """Update the visibility map, so that index-only scans are possible immediately."""
    paths = ", ".join(tables.place(table.name) for table in tables.tables)
    try:
        await tables.connection.execute(f"VACUUM (ANALYZE) {paths}")
    except asyncio.CancelledError as cancelled:
        cancelled.add_note(_DONE)
        raise
    except FAULTS as error:
        log.warning("%s VACUUM failed; the server will run it later: %s", _DONE, error)


async def _begin(
    connection: Connection, settings: PostgresSettings, options: LoadOptions, place: str
) -> LoadTables:
    version, oldest = connection.get_server_version().major, 13  # the first that makes UUIDs
    if version < oldest:
        raise StoreError(
            f"This server is Postgres {version}, but a load needs {oldest} or later. Load into a "
            "newer server."
        )
    await connection.execute(_FOR_THIS_LOAD)
    old = await claim(connection, settings.schema_)
    vectors = await connection.fetchval(_VECTORS)
    evidence = EVIDENCE_TABLES[settings.evidence_layout]
    tables = LoadTables(connection, settings, evidence, vectors)
    if options.mode is not LoadMode.REPLACE:
        await check_empty(tables, old, place)
    await tables.create()
    return tables


async def _copy(
    tables: LoadTables, records: Iterable[GraphRecord], report: LoadReport, *, strict: bool
) -> None:
    """Read the records in a thread, one batch ahead of the batch being written."""
    worker = Worker()
    rows = Rows(tables.evidence)

    async def write(batch: Batch) -> None:
        for name, some in batch.items():
            await tables.copy(name, some)

    taken = accepted(records, rows.take, report, worker.stopped, strict=strict)
    await worker.feed(rows.batches(taken), write)
