"""Handles the existing graph during a load: refuses to touch it, or appends to it.

Appending copies the old rows into the tables of the new records, within the server, and merges all
of them as one load. Rows to remove are not copied.
"""

# ruff: noqa: S608 - what is put into these texts are names of tables and columns of this package
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bfsql.errors import LoadRefused
from bfsql.loading import graph_is_there
from bfsql.loading.intake import EXAMPLES, Worker, accepted, name_of
from bfsql.models.load import LoadOptions, LoadReport
from bfsql.models.records import EdgeRecord, GraphRecord, NodeRecord
from bfsql_postgres.ddl import EVIDENCE_TABLES, RELATIONSHIP, Table, created
from bfsql_postgres.merge import IN_OLD_GRAPH, TRIPLE, number_of, through
from bfsql_postgres.rows import Batch, Rows
from bfsql_postgres.tables import PASSAGE, SCRATCH, LoadTables

if TYPE_CHECKING:
    from asyncpg import Connection, Record

_NODES, _EDGES, _GONE = "removed_node", "removed_edge", "gone"
"""Scratch tables: ids and triples to remove, and the triples that are removed as a result."""
_ID = "removed_id"

_HAS_PASSAGES = """(properties::text LIKE '%"provenance"%')"""
"""Condition for an edge that shares its key with another: its passages are in its own row."""

_OF_VECTOR = """
SELECT t.typcategory FROM pg_catalog.pg_attribute AS a
JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid
WHERE a.attrelid = to_regclass($1) AND a.attname = 'embedding' AND NOT a.attisdropped
"""


async def refuse_graph(connection: Connection, tables: LoadTables, where: str) -> None:
    """Make sure that no graph exists; tables without rows do not count.

    Raises:
        LoadRefused: A graph exists.
    """
    nodes = edges = 0
    if tables.entity.name in tables.old:
        nodes = await number_of(connection, f"SELECT count(*) FROM {_old(tables, tables.entity)}")
    if RELATIONSHIP.name in tables.old:
        query = f"SELECT DISTINCT {TRIPLE} FROM {_old(tables, RELATIONSHIP)}"
        edges = await number_of(connection, f"SELECT count(*) FROM ({query}) AS edge")
    if nodes or edges:
        raise graph_is_there(where, nodes, edges)


async def note_removals(
    connection: Connection, tables: LoadTables, options: LoadOptions, report: LoadReport
) -> None:
    """Read the removals in a thread.

    Raises:
        LoadRefused: There is no graph to remove anything from.
        SourceError: A record was refused in strict mode.
    """
    for name, columns in ((_NODES, {_ID: "text"}), (_EDGES, RELATIONSHIP.fixed)):
        await connection.execute(created(tables.scratch(name), columns, logged=False))
    worker = Worker()
    rows = Rows(tables.entity, tables.evidence)

    def take(record: GraphRecord) -> None:  # only the names matter
        if isinstance(record, NodeRecord):
            rows.take(NodeRecord(record.id, ""))
        elif isinstance(record, EdgeRecord):
            rows.take(EdgeRecord(record.subject, record.predicate, record.object))

    async def write(batch: Batch) -> None:
        if not tables.old and (batch.nodes or batch.edges):
            raise LoadRefused(
                f"Nothing was removed: the schema {tables.schema} does not contain a graph. Name "
                "the right one with --schema, or leave out --remove."
            )
        for name, found in (
            (_NODES, [(entity_id,) for _, entity_id, *_ in batch.nodes]),
            (_EDGES, [(subject, predicate, obj) for subject, predicate, obj, *_ in batch.edges]),
        ):
            await tables.copy(connection, SCRATCH + name, _columns(name), found)

    taken = accepted(options.remove, take, report, worker.stopped, strict=options.strict)
    await worker.feed(rows.batches(taken), write)


async def add_old_graph(connection: Connection, tables: LoadTables, report: LoadReport) -> None:
    """Copy the existing graph, except for the noted removals, to the new records.

    Raises:
        LoadRefused: One of its tables is missing.
    """
    if not tables.old:
        return
    for table in (tables.entity, RELATIONSHIP):
        if table.name not in tables.old:
            raise LoadRefused(
                f"Nothing was loaded: the graph in the schema {tables.schema} no longer has the "
                f"table {table.name}. Use --replace to replace it with a new graph."
            )
    for name in (_NODES, _EDGES):
        await connection.execute(f"ANALYZE {tables.scratch(name)}")
    await _find_gone(connection, tables, report)
    await _add_nodes(connection, tables)
    await _add_edges(connection, tables, report)
    for evidence in EVIDENCE_TABLES.values():
        if evidence.name in tables.old:
            await _add_evidence(connection, tables, evidence)


# --- what is taken out --------------------------------------------------------


async def _find_gone(connection: Connection, tables: LoadTables, report: LoadReport) -> None:
    """Make a table of the removed triples, and count the removals with and without a match."""
    gone, edges = tables.scratch(_GONE), _old(tables, RELATIONSHIP)
    nodes = tables.scratch(_NODES)
    await connection.execute(
        f"CREATE UNLOGGED TABLE {gone} AS "
        f"SELECT {TRIPLE} FROM {edges} JOIN {nodes} ON {_ID} = subject_id "
        f"UNION SELECT {TRIPLE} FROM {edges} JOIN {nodes} ON {_ID} = object_id "
        f"UNION SELECT {TRIPLE} FROM {edges} JOIN {tables.scratch(_EDGES)} USING ({TRIPLE})"
    )
    await connection.execute(f"ANALYZE {gone}")
    report.removed_edges = await number_of(connection, f"SELECT count(*) FROM {gone}")
    entity = _old(tables, tables.entity)
    report.removed_nodes = await number_of(
        connection, f"SELECT count(*) FROM {entity} WHERE entity_id IN (SELECT {_ID} FROM {nodes})"
    )
    there = {
        # An id that occurs only in edges is not a node, but its edges are removed.
        _NODES: (
            f"{entity} WHERE entity_id = {_ID}",
            f"{gone} WHERE subject_id = {_ID}",
            f"{gone} WHERE object_id = {_ID}",
        ),
        _EDGES: (f"{gone} AS g WHERE {_same('g', 'r')}",),
    }
    for name, places in there.items():
        columns = ", ".join(_columns(name))
        missing = (
            f"FROM (SELECT DISTINCT {columns} FROM {tables.scratch(name)}) AS r "
            f"WHERE {' AND '.join(f'NOT EXISTS (SELECT FROM {place})' for place in places)}"
        )
        report.not_there += await number_of(connection, f"SELECT count(*) {missing}")
        order = ", ".join(f'{column} COLLATE "C"' for column in _columns(name))
        room = EXAMPLES - len(report.not_there_examples)
        few = await connection.fetch(f"SELECT {columns} {missing} ORDER BY {order} LIMIT {room}")
        report.not_there_examples += [name_of(_asked(*row)) for row in few]


def _asked(name: str, predicate: str = "", obj: str = "") -> NodeRecord | EdgeRecord:
    return EdgeRecord(name, predicate, obj) if predicate or obj else NodeRecord(name, "")


# --- what stays ---------------------------------------------------------------


async def _add_nodes(connection: Connection, tables: LoadTables) -> None:
    """Add the old nodes as descriptions that precede all others."""
    table = tables.entity
    path, kept = _old(tables, table), ", ".join(table.kept)
    category = await connection.fetchval(_OF_VECTOR, path)
    vector = "array_to_json(embedding)" if category == b"A" else "embedding::text::json"
    values = ", ".join(vector if name == "embedding" else name for name in table.kept)
    await connection.execute(
        f"INSERT INTO {tables.described} (place, entity_id, entity_type, {kept}) "
        f"SELECT {IN_OLD_GRAPH}, entity_id, entity_type, {values} FROM {path} WHERE NOT EXISTS "
        f"(SELECT FROM {tables.scratch(_NODES)} WHERE {_ID} = entity_id)"
    )


async def _add_edges(connection: Connection, tables: LoadTables, report: LoadReport) -> None:
    written = ", ".join(RELATIONSHIP.written)
    rows = f"FROM {_old(tables, RELATIONSHIP)} AS r WHERE {_stays(tables, 'r')}"
    await connection.execute(
        f"INSERT INTO {tables.path(RELATIONSHIP.name)} ({written}) "
        f"SELECT {written} {rows} AND {_HAS_PASSAGES} IS NOT TRUE"
    )
    taken = Rows(tables.entity, tables.evidence)

    async def put(found: Sequence[Record]) -> None:
        for subject, predicate, obj, *values in found:
            taken.take(EdgeRecord(subject, predicate, obj, RELATIONSHIP.joined(values)))
        batch = taken.batch()
        await tables.take(connection, batch.nodes, batch.edges, batch.passages)

    await through(connection, f"SELECT {written} {rows} AND {_HAS_PASSAGES}", put)
    # Parallel rows of the old graph are no duplicates of this load.
    report.duplicate_edges -= await number_of(
        connection,
        f"SELECT coalesce(sum(n - 1), 0)::bigint FROM "
        f"(SELECT count(*) AS n {rows} GROUP BY {TRIPLE}) AS edge",
    )


async def _add_evidence(connection: Connection, tables: LoadTables, evidence: Table) -> None:
    """Copy passages of the remaining edges; the empty `beside` marks them as previously known."""
    (link,) = evidence.fixed
    edges = f"{_old(tables, RELATIONSHIP)} AS r WHERE {_stays(tables, 'r')}"
    key = "id AS relationship_id"
    if link == "relationship_key":
        key = "subject_id || ':' || predicate || ':' || object_id AS relationship_key"
    kept = ", ".join(f"e.{name}" for name in evidence.kept)
    query = (
        f"SELECT {TRIPLE}, {kept} FROM (SELECT DISTINCT {TRIPLE}, {key} FROM {edges}) AS edge "
        f"JOIN {_old(tables, evidence)} AS e USING ({link})"
    )
    if evidence is tables.evidence:
        columns = ", ".join((*RELATIONSHIP.fixed, *evidence.kept))
        await connection.execute(f"INSERT INTO {tables.passage} ({columns}) {query}")
        return
    written = (*RELATIONSHIP.fixed, *tables.evidence.kept)

    def other(row: Record) -> tuple[Any, ...]:
        subject, predicate, obj, *values = row
        return subject, predicate, obj, *tables.evidence.split(evidence.joined(values))

    await through(
        connection,
        query,
        lambda rows: tables.copy(connection, SCRATCH + PASSAGE, written, map(other, rows)),
    )


def _stays(tables: LoadTables, alias: str) -> str:
    gone = tables.scratch(_GONE)
    return f"NOT EXISTS (SELECT FROM {gone} AS g WHERE {_same('g', alias)})"


def _same(one: str, other: str) -> str:
    return " AND ".join(f"{one}.{name} = {other}.{name}" for name in RELATIONSHIP.fixed)


def _old(tables: LoadTables, table: Table) -> str:
    return tables.place(table.name)


def _columns(name: str) -> tuple[str, ...]:
    return (_ID,) if name == _NODES else tuple(RELATIONSHIP.fixed)
