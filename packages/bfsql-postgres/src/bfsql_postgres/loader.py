"""Writes a graph into a schema: all of it, or nothing.

One transaction holds all that a load does. Until it commits, readers have the
old graph; a load that fails, or is cancelled, or loses its connection, has
changed nothing. Only if the connection is lost during the commit itself is it
unknown which of the two graphs is there.

Records become rows here, a batch at a time, and are merged in the server.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bfsql.errors import StoreError, StoreUnavailable
from bfsql.loading.intake import NOT_TEXT, Worker, accepted
from bfsql.models.json_values import is_text
from bfsql.models.load import REPLACING, LoadOptions, LoadReport
from bfsql.models.records import EdgeRecord, EvidenceRecord, GraphRecord, NodeRecord
from bfsql_postgres.ddl import EVIDENCE_TABLES, MAX_INDEXED, RELATIONSHIP, Table
from bfsql_postgres.failures import FAULTS
from bfsql_postgres.merge import merge
from bfsql_postgres.settings import PostgresSettings
from bfsql_postgres.sql import storable
from bfsql_postgres.tables import LoadTables, claim, replace
from bfsql_postgres.writing import UNCHANGED, is_lost, writer

if TYPE_CHECKING:
    from asyncpg import Connection

OLDEST = 130_000
"""Version of the oldest server that a load writes to: the first that makes UUIDs itself."""

RECORDS = 5_000
"""Records of a batch."""
CHARACTERS = 8_000_000
"""Characters from which on a batch is full, however few its records."""

_FOR_THIS_LOAD = """
SET LOCAL search_path = pg_catalog;
SET LOCAL statement_timeout = 0;
SET LOCAL idle_in_transaction_session_timeout = 0;
SET LOCAL maintenance_work_mem = '256MB';
SET LOCAL work_mem = '64MB';
"""
"""No timeouts: a load is slow, and may wait for its source. The search path keeps a function of
another user from replacing the server's own, with the rights of the loading role."""

_OPEN = (
    "Whether the new graph is there or the old one, only the server knows: look with `bfsql "
    "describe-schema --backend postgres`, or load again."
)
_DONE = "The new graph is in place."

_NUL = "it holds the character NUL, which Postgres has not in its texts; write it without"

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

    Cancelling the call stops it; what was there stays.

    Args:
        settings: `dsn` is the database, `schema` where the tables go; it is made when it is not
            there. A graph that an earlier load made is replaced, other tables of the same names
            are refused.
        records: Nodes, edges and evidence in any order. They are read once, in a thread; memory
            does not grow with their number.
        options: What becomes of a graph that is there, and of what is missing in the new one.

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
    del options
    async with writer(settings, UNCHANGED) as connection:
        async with _transaction(connection):
            tables = await _begin(connection, settings)
            await _take(connection, tables, records, report)
            await merge(connection, tables, report)
            await replace(connection, tables)
        await _vacuum(connection, tables)
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


async def _vacuum(connection: Connection, tables: LoadTables) -> None:
    """Note which rows all can see, so that indexes alone answer at once what they can."""
    paths = ", ".join(tables.place(table.name) for table in tables.tables)
    try:
        await connection.execute(f"VACUUM (ANALYZE) {paths}")
    except asyncio.CancelledError as cancelled:
        cancelled.add_note(_DONE)
        raise
    except FAULTS as error:
        log.warning("%s VACUUM failed, which the server makes up for later: %s", _DONE, error)


async def _begin(connection: Connection, settings: PostgresSettings) -> LoadTables:
    version = int(await connection.fetchval("SELECT current_setting('server_version_num')"))
    if version < OLDEST:
        raise StoreError(
            f"This server is Postgres {version // 10_000}, and a load needs "
            f"{OLDEST // 10_000} or later. Load into a newer server."
        )
    await connection.execute(_FOR_THIS_LOAD)
    await claim(connection, settings.schema_)
    vectors = await connection.fetchval(_VECTORS)
    tables = LoadTables(settings, EVIDENCE_TABLES[settings.evidence_layout], vectors)
    await tables.create(connection)
    return tables


async def _take(
    connection: Connection, tables: LoadTables, records: Iterable[GraphRecord], report: LoadReport
) -> None:
    """Read the records in a thread, one batch ahead of what is being written."""
    worker = Worker()
    rows = _Rows(tables.entity, tables.evidence)

    async def write(batch: Batch) -> None:
        await tables.take(connection, batch.nodes, batch.edges, batch.passages)

    await worker.feed(rows.batches(accepted(records, rows.take, report, worker.stopped)), write)
    for path in (tables.described, tables.passage):
        await connection.execute(f"ANALYZE {path}")


# --- records as rows ----------------------------------------------------------

Row = tuple[Any, ...]


@dataclass(slots=True)
class Batch:
    """Rows for the three tables that a load begins with."""

    nodes: list[Row] = field(default_factory=list)
    """`place, entity_id, entity_type` and what `entity` keeps."""
    edges: list[Row] = field(default_factory=list)
    """As `relationship` is written."""
    passages: list[Row] = field(default_factory=list)
    """`subject_id, predicate, object_id, beside` and what the evidence table keeps; `beside` is
    whether the passage stood in the record of its edge."""


class _Rows:
    """Takes records apart; what cannot be stored is refused, so that no row stops its `COPY`."""

    def __init__(self, entity: Table, evidence: Table) -> None:
        self._entity = entity
        self._evidence = evidence
        self._batch = Batch()
        self._place = 0
        self._characters = 0

    def batches(self, taken: Iterator[None]) -> Iterator[Batch]:
        """The rows of all records, in batches that are bounded in records and in characters."""
        number = 0
        for _ in taken:
            number += 1
            if number >= RECORDS or self._characters >= CHARACTERS:
                batch, self._batch = self._batch, Batch()
                number = self._characters = 0
                yield batch
        yield self._batch

    def take(self, record: GraphRecord) -> None:
        """The rows of one record.

        Raises:
            ValueError: It cannot be stored; the text is the reason.
        """
        batch = self._batch
        self._place += 1
        match record:
            case EdgeRecord(subject, predicate, obj, metadata):
                _check(subject, predicate, obj)
                beside: list[Row] = []
                if metadata.get("provenance"):
                    items = _items(metadata["provenance"])
                    metadata = {k: v for k, v in metadata.items() if k != "provenance"}
                    beside = [self._passage(record, item, beside=True) for item in items]
                batch.edges.append((subject, predicate, obj, *self._split(RELATIONSHIP, metadata)))
                batch.passages += beside
            case NodeRecord(entity_id, entity_type, metadata):
                _check(entity_id)
                _check(entity_type)
                values = self._split(self._entity, metadata)
                batch.nodes.append((self._place, entity_id, entity_type, *values))
            case EvidenceRecord(subject, predicate, obj, item):
                _check(subject, predicate, obj)
                batch.passages.append(self._passage(record, item, beside=False))

    def _passage(
        self, of: EdgeRecord | EvidenceRecord, item: Mapping[str, Any], *, beside: bool
    ) -> Row:
        values = self._split(self._evidence, item)
        return (of.subject, of.predicate, of.object, beside, *values)

    def _split(self, table: Table, metadata: Mapping[str, Any]) -> list[Any]:
        values = table.split(metadata)
        self._characters += sum(len(value) for value in values if type(value) is str)
        return values


def _items(provenance: Any) -> list[Mapping[str, Any]]:
    """Items of an edge's own provenance, as `bfsql.models.merge.with_evidence` reads it."""
    listed = provenance if isinstance(provenance, list) else [provenance]
    return [item if isinstance(item, Mapping) else {"text_span": str(item)} for item in listed]


def _check(*names: str) -> None:
    """Make sure that names can be stored, and indexed together.

    Raises:
        ValueError: The reason why they cannot.
    """
    together = "".join(names)
    if not storable((together,)):
        raise ValueError(_NUL if is_text(together) else NOT_TEXT)
    # A character has four bytes at the most.
    if len(together) > MAX_INDEXED // 4 and (size := len(together.encode())) > MAX_INDEXED:
        what = "its three names have" if len(names) > 1 else "it has"
        raise ValueError(
            f"{what} {size} bytes, and an index of Postgres takes {MAX_INDEXED}; shorten it"
        )
