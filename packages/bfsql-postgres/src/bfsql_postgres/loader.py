"""Writes a graph into a schema: all of it, or nothing.

One transaction holds all that a load does. Until it commits, readers have the
old graph; a load that fails, or is cancelled, or loses its connection, has
changed nothing. Only whoever is cut off while it commits does not learn which
of the two graphs is there.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from bfsql.errors import StoreError, StoreUnavailable
from bfsql.models.records import GraphRecord, LoadReport
from bfsql_postgres.building import Building
from bfsql_postgres.ddl import EVIDENCE_TABLES
from bfsql_postgres.failures import FAULTS
from bfsql_postgres.finishing import finish
from bfsql_postgres.replacing import claim, replace
from bfsql_postgres.settings import PostgresSettings
from bfsql_postgres.staging import Batch, Staging
from bfsql_postgres.writing import UNCHANGED, is_lost, writer

if TYPE_CHECKING:
    from asyncpg import Connection

OLDEST = 130_000
"""Version of the oldest server that a load writes to: the first that makes UUIDs itself."""

_FOR_THIS_LOAD = """
SET LOCAL search_path = pg_catalog;
SET LOCAL statement_timeout = 0;
SET LOCAL idle_in_transaction_session_timeout = 0;
SET LOCAL maintenance_work_mem = '256MB';
SET LOCAL work_mem = '64MB';
"""
"""A load takes its time, and may wait for the source that it reads. No function that somebody else
made takes the place of the server's own, with the rights of whoever loads."""

_OPEN = (
    "Whether the new graph is there or the old one, only the server knows: look with `bfsql "
    "describe-schema --backend postgres`, or load again."
)
_DONE = "The new graph is in place."

log = logging.getLogger("bfsql.postgres")

_VECTORS = """
SELECT n.nspname::text FROM pg_catalog.pg_extension AS x
JOIN pg_catalog.pg_namespace AS n ON n.oid = x.extnamespace
WHERE x.extname = 'vector' AND has_schema_privilege(n.oid, 'USAGE')
"""


async def load_graph(settings: PostgresSettings, records: Iterable[GraphRecord]) -> LoadReport:
    """Make the tables of the kgraph schema from records.

    Cancelling the call stops it; what was there stays.

    Args:
        settings: `dsn` is the database, `schema` where the tables go; it is made when it is not
            there. A graph that an earlier load made is replaced, other tables of the same names
            are refused.
        records: Nodes, edges and evidence in any order. They are read once, in a thread; memory
            does not grow with their number.

    Returns:
        What was found and made.

    Raises:
        StoreError: The database cannot be written, or what is there is not replaced.
        StoreUnavailable: It does not answer, or went away.
    """
    if settings.names or settings.nodes or settings.edges:
        raise StoreError(
            "A load writes the tables of the kgraph schema under their own names. Leave out the "
            "settings names, nodes and edges, and say where the graph goes with --schema."
        )
    report = LoadReport()
    async with writer(settings, UNCHANGED) as connection:
        async with _transaction(connection):
            building = await _begin(connection, settings)
            await _take(connection, building, records, report)
            await finish(connection, building, report)
            await replace(connection, building)
        await _vacuum(connection, building)
    return report


@asynccontextmanager
async def _transaction(connection: Connection) -> AsyncIterator[None]:
    """One transaction, whose end may be one that nobody can tell."""
    # Having waited for another load, this one has to see what that one made.
    transaction = connection.transaction(isolation="read_committed")
    await transaction.start()
    try:
        yield
    except BaseException:
        if not connection.is_closed():
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


async def _vacuum(connection: Connection, building: Building) -> None:
    """Note which rows all can see, so that indexes alone answer at once what they can."""
    tables = ", ".join(building.place(table.name) for table in building.tables)
    try:
        await connection.execute(f"VACUUM (ANALYZE) {tables}")
    except asyncio.CancelledError as cancelled:
        cancelled.add_note(_DONE)
        raise
    except FAULTS as error:
        log.warning("%s VACUUM failed, which the server makes up for later: %s", _DONE, error)


async def _begin(connection: Connection, settings: PostgresSettings) -> Building:
    version = int(await connection.fetchval("SELECT current_setting('server_version_num')"))
    if version < OLDEST:
        raise StoreError(
            f"This server is Postgres {version // 10_000}, and a load needs "
            f"{OLDEST // 10_000} or later. Load into a newer server."
        )
    await connection.execute(_FOR_THIS_LOAD)
    await claim(connection, settings.schema_)
    vectors = await connection.fetchval(_VECTORS)
    building = Building(settings, EVIDENCE_TABLES[settings.evidence_layout], vectors)
    await building.create(connection)
    return building


async def _take(
    connection: Connection, building: Building, records: Iterable[GraphRecord], report: LoadReport
) -> None:
    """Pull the records in a thread, one batch ahead of what is being written."""
    stop = threading.Event()
    staging = Staging(records, building.entity, building.evidence, report, stop.is_set)
    loop = asyncio.get_running_loop()
    thread = ThreadPoolExecutor(1, thread_name_prefix="bfsql-load")
    pulling: asyncio.Future[Batch | None] = loop.run_in_executor(thread, staging.take)
    try:
        # Shielded: a thread cannot be cancelled, only told to stop and waited for.
        while (batch := await asyncio.shield(pulling)) is not None:
            pulling = loop.run_in_executor(thread, staging.take)
            await building.take(connection, batch.nodes, batch.edges, batch.passages)
    finally:
        stop.set()
        await asyncio.wait([pulling])
        pulling.exception()
        thread.shutdown(wait=False)
    for path in (building.described, building.passage):
        await connection.execute(f"ANALYZE {path}")
