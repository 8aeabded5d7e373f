"""Merging in the server: records of one thing become one, and are counted.

Things that only one record describes move from table to table within the server. Only
things that several records describe come through here, a group at a time, to be merged
by the rules that every store shares. Parallel edges remain parallel rows, since the
schema represents them so, and the reader merges them.
"""

# ruff: noqa: S608 - what is put into these texts are names of tables and columns of this package
from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from bfsql.loading.intake import EXAMPLES, sample_step
from bfsql.models.json_values import encode
from bfsql.models.load import LoadOptions, LoadReport
from bfsql.models.merge import combined, merge_node_records, sorted_union
from bfsql.models.records import NodeRecord
from bfsql_postgres.load.ddl import RELATIONSHIP
from bfsql_postgres.load.tables import LoadTables

if TYPE_CHECKING:
    from asyncpg import Connection, Record

GROUPS = 1_000
"""Groups of records that are in memory at a time."""

_TRIPLE = "subject_id, predicate, object_id"


async def merge(
    connection: Connection, tables: LoadTables, report: LoadReport, options: LoadOptions
) -> None:
    """Fill the tables from the received records, and complete the report.

    Args:
        connection: In the transaction of the load.
        tables: The tables of the load.
        report: Receives the counts.
        options: Only `default_type`, `create_nodes` and `progress` matter.
    """
    progress = options.progress or (lambda *_: None)
    for path in (tables.described, tables.passage):
        await connection.execute(f"ANALYZE {path}")
    progress("merging", 0.0)
    await _finish_nodes(connection, tables, report, options.default_type)
    progress("merging", 0.2)
    await _finish_edges(connection, tables, report)
    progress("merging", 0.5)
    await _finish_ends(connection, tables, report, options)
    progress("merging", 0.8)
    if await connection.fetchval(f"SELECT EXISTS (SELECT FROM {tables.passage})"):
        await _finish_evidence(connection, tables, report)
    await tables.index(connection, tables.evidence)
    progress("merging", 1.0)


# --- nodes ------------------------------------------------------------------


async def _finish_nodes(
    connection: Connection, tables: LoadTables, report: LoadReport, default_type: str
) -> None:
    table = tables.entity
    path, described, twice = (
        tables.path(table.name),
        tables.described,
        tables.scratch("twice"),
    )
    kept = ", ".join(table.value_columns)
    await connection.execute(
        f"CREATE UNLOGGED TABLE {twice} AS SELECT entity_id FROM {described} "
        "GROUP BY entity_id HAVING count(*) > 1"
    )
    await connection.execute(f"ANALYZE {twice}")
    await connection.execute(
        f"INSERT INTO {path} (entity_id, entity_type, {kept}) "
        f"SELECT entity_id, coalesce(nullif(entity_type, ''), $1), {kept} FROM {described} AS d "
        f"WHERE NOT EXISTS (SELECT FROM {twice} AS t WHERE t.entity_id = d.entity_id)",
        default_type,
    )
    names = ("entity_type", *table.value_columns)
    groups = ", ".join(f"array_agg({name} ORDER BY place)" for name in names)

    def merged(row: Record) -> tuple[Any, ...]:
        entity_id, types, *columns = row
        given = [table.joined(values) for values in zip(*columns, strict=True)]
        records = [NodeRecord(entity_id, *one) for one in zip(types, given, strict=True)]
        report.duplicate_nodes += len(records) - 1
        entity_type, metadata = merge_node_records(records, default_type)
        return (entity_id, entity_type, *table.split(metadata))

    await _through(
        connection,
        f"SELECT entity_id, {groups} FROM {twice} JOIN {described} USING (entity_id) "
        "GROUP BY entity_id",
        lambda rows: tables.copy(connection, table.name, table.row_columns, map(merged, rows)),
    )


# --- edges ------------------------------------------------------------------


async def _finish_edges(connection: Connection, tables: LoadTables, report: LoadReport) -> None:
    path = tables.path(RELATIONSHIP.name)
    await tables.index(connection, RELATIONSHIP)
    rows, report.edges = await connection.fetchrow(
        f"SELECT coalesce(sum(n), 0)::bigint, count(*) "
        f"FROM (SELECT count(*) AS n FROM {path} GROUP BY {_TRIPLE}) AS edge"
    )
    report.duplicate_edges += rows - report.edges


async def _finish_ends(
    connection: Connection, tables: LoadTables, report: LoadReport, options: LoadOptions
) -> None:
    """Create nodes for the undescribed ends of edges, or count the dangling ends."""
    edges, nodes = tables.path(RELATIONSHIP.name), tables.path(tables.entity.name)
    missing = tables.scratch("missing")
    await connection.execute(
        f"CREATE UNLOGGED TABLE {missing} AS SELECT id FROM ("
        f"SELECT subject_id AS id FROM {edges} UNION SELECT object_id FROM {edges}) AS ends "
        f"WHERE NOT EXISTS (SELECT FROM {nodes} WHERE entity_id = id)"
    )
    await connection.execute(f"ANALYZE {missing}")
    examples = await connection.fetch(
        f'SELECT id FROM {missing} ORDER BY id COLLATE "C" LIMIT $1', EXAMPLES
    )
    few = [entity_id for (entity_id,) in examples]
    await _count_ends(connection, report, options, edges, nodes, missing)
    if options.create_nodes:
        report.created_nodes = report.undescribed_ends
        report.created_examples = few
        await connection.execute(
            f"INSERT INTO {nodes} (entity_id, entity_type, name) SELECT id, $1, id FROM {missing}",
            options.default_type,
        )
    elif few:
        report.dangling_examples = few
        report.dangling_edges = await _count_dangling(connection, edges, missing)
    await tables.type_vectors(connection)
    await tables.index(connection, tables.entity)
    report.nodes = await _number_of(connection, f"SELECT count(*) FROM {nodes}")


async def _count_ends(  # noqa: PLR0917 - what a load has
    connection: Connection,
    report: LoadReport,
    options: LoadOptions,
    edges: str,
    nodes: str,
    missing: str,
) -> None:
    """Count the ends of edges with and without a node, and find those that may be ids."""
    report.undescribed_ends = await _number_of(connection, f"SELECT count(*) FROM {missing}")
    if report.undescribed_ends:
        report.described_ends = await _number_of(
            connection,
            f"SELECT count(*) FROM {nodes} WHERE entity_id IN (SELECT subject_id FROM {edges}) "
            f"OR entity_id IN (SELECT object_id FROM {edges})",
        )
        sample = await connection.fetch(
            f'SELECT id FROM (SELECT id, row_number() OVER (ORDER BY id COLLATE "C") - 1 AS place '
            f"FROM {missing}) AS numbered WHERE place % $1 = 0 ORDER BY place",
            sample_step(report.undescribed_ends),
        )
        report.undescribed_sample = [entity_id for (entity_id,) in sample]
    if options.possible_ids:
        found = await connection.fetch(
            f"SELECT entity_id FROM {nodes} WHERE entity_id = ANY($1)", [*options.possible_ids]
        )
        report.actual_ids = {entity_id for (entity_id,) in found}


async def _count_dangling(connection: Connection, edges: str, missing: str) -> int:
    return await _number_of(
        connection,
        f"SELECT count(*) FROM (SELECT DISTINCT {_TRIPLE} FROM {edges} "
        f"LEFT JOIN {missing} AS s ON s.id = subject_id "
        f"LEFT JOIN {missing} AS o ON o.id = object_id "
        "WHERE s.id IS NOT NULL OR o.id IS NOT NULL) AS edge",
    )


# --- evidence ---------------------------------------------------------------


async def _finish_evidence(connection: Connection, tables: LoadTables, report: LoadReport) -> None:
    """Assign every passage to its edge.

    Ids contain colons, so a key `subject:predicate:object` can belong to two
    edges. The passages of such edges are kept in their own `properties`.
    """
    table, evidenced, passage = tables.evidence, tables.scratch("evidenced"), tables.passage
    path, kept = tables.path(table.name), ", ".join(table.value_columns)
    await connection.execute(_evidenced(tables))
    await connection.execute(f"ANALYZE {evidenced}")
    (link,) = table.fixed
    await connection.execute(
        f"INSERT INTO {path} ({link}, {kept}) SELECT {link}, {kept} "
        f"FROM {evidenced} JOIN {passage} USING ({_TRIPLE}) "
        "WHERE passages = 1 AND NOT shared"
    )
    beside = await _combine_passages(connection, tables)
    report.evidence = beside + await _number_of(connection, f"SELECT count(*) FROM {path}")
    report.unattached_evidence = await _number_of(
        connection,
        f"SELECT (SELECT count(*) FROM {passage}) - "
        f"(SELECT coalesce(sum(passages), 0) FROM {evidenced})::bigint",
    )


async def _combine_passages(connection: Connection, tables: LoadTables) -> int:
    """Combine passages of edges that have several or share a key; return how many stay in rows."""
    table, evidenced = tables.evidence, tables.scratch("evidenced")
    (link,) = table.fixed
    beside = 0

    async def put(rows: Sequence[Record]) -> None:
        nonlocal beside
        items = [(row, _items(tables, row)) for row in rows]
        own = [(row[link], item) for row, group in items if not row["shared"] for item in group]
        cells = ((reference, *table.split(item)) for reference, item in own)
        await tables.copy(connection, table.name, table.row_columns, cells)
        for row, group in items:
            if row["shared"]:
                beside += len(group)
                await _put_beside(connection, tables, row["relationship_id"], group)

    groups = ", ".join(f"array_agg({name})" for name in ("beside", *table.value_columns))
    keys = "relationship_key, relationship_id, shared, records"
    await _through(
        connection,
        f"SELECT {keys}, {groups} FROM {evidenced} JOIN {tables.passage} USING ({_TRIPLE}) "
        f"WHERE passages > 1 OR shared GROUP BY {_TRIPLE}, {keys}",
        put,
    )
    return beside


def _evidenced(tables: LoadTables) -> str:
    """A table of edges with passages: their number, and the edge's reference."""
    edges, passage = tables.path(RELATIONSHIP.name), tables.passage
    shared = "false"
    if tables.evidence.fixed.keys() == {"relationship_key"}:
        shared = "count(*) OVER (PARTITION BY relationship_key) > 1"
    return (
        f"CREATE UNLOGGED TABLE {tables.scratch('evidenced')} AS "
        f"WITH edge AS (SELECT {_TRIPLE}, count(*) AS records, "
        "(array_agg(id))[1] AS relationship_id, "
        "subject_id || ':' || predicate || ':' || object_id AS relationship_key "
        f"FROM {edges} GROUP BY {_TRIPLE}), "
        f"referred AS (SELECT *, {shared} AS shared FROM edge) "
        f"SELECT * FROM referred JOIN (SELECT {_TRIPLE}, count(*) AS passages "
        f"FROM {passage} GROUP BY {_TRIPLE}) AS evidence USING ({_TRIPLE})"
    )


def _items(tables: LoadTables, row: Record) -> list[dict[str, Any]]:
    """The passages of one edge, as a reader would combine them."""
    records, besides, *columns = tuple(row)[3:]
    own: list[dict[str, Any]] = []
    others: list[dict[str, Any]] = []
    for beside, *values in zip(besides, *columns, strict=True):
        (own if beside else others).append(tables.evidence.joined(values))
    # Lists of parallel records merge as a union.
    return combined([*(sorted_union(own) if records > 1 else own), *others])


async def _put_beside(
    connection: Connection, tables: LoadTables, relationship_id: Any, items: list[dict[str, Any]]
) -> None:
    path = tables.path(RELATIONSHIP.name)
    text = await connection.fetchval(
        f"SELECT properties FROM {path} WHERE id = $1", relationship_id
    )
    properties = RELATIONSHIP.joined([None, None, text])
    properties["provenance"] = items
    await connection.execute(
        f"UPDATE {path} SET properties = $2 WHERE id = $1", relationship_id, encode(properties)
    )


# --- rows that come through here --------------------------------------------


async def _through(
    connection: Connection, query: str, take: Callable[[Sequence[Record]], Awaitable[None]]
) -> None:
    """Pass the rows of a query to `take`, `GROUPS` at a time."""
    # A cursor of asyncpg would keep the tables in use until the transaction ends.
    await connection.execute(f"DECLARE bfsql_load NO SCROLL CURSOR FOR {query}")
    while rows := await connection.fetch(f"FETCH {GROUPS} FROM bfsql_load"):
        await take(rows)
    await connection.execute("CLOSE bfsql_load")


async def _number_of(connection: Connection, query: str) -> int:
    """The only number that a query returns."""
    return int(await connection.fetchval(query))
