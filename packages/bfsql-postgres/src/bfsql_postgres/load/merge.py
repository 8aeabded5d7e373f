"""Merging in the server: records of one thing become one, and are counted.

Things that only one record describes move from table to table within the server. Only
things that several records describe come through here, a group at a time, to be merged
by the rules that every store shares. Parallel edges remain parallel rows, since the
schema represents them so, and the reader merges them.

Merging here instead, as in `bfsql.loading.staging`, would take half as long again: 8 s of this
process for 500,000 edges, whose whole load takes 17.
"""

# ruff: noqa: S608 - what is put into these texts are names of tables and columns of this package
from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from bfsql.loading.intake import EXAMPLES, Merging, node_merging, sample_step
from bfsql.models.json_values import encode
from bfsql.models.load import LoadOptions, LoadReport
from bfsql.models.merge import combined, merge_node_records, sorted_union
from bfsql.models.records import NodeRecord
from bfsql_postgres.load.ddl import ENTITY, MARK, RELATIONSHIP
from bfsql_postgres.load.tables import DESCRIBED, PASSAGE, LoadTables
from bfsql_postgres.sql import literal

if TYPE_CHECKING:
    from asyncpg import Record

_TRIPLE = "subject_id, predicate, object_id"


class GraphMerge:
    """Fills the tables from the copied records, and completes the report.

    Args:
        tables: The tables of the load.
        report: Receives the counts.
        options: Only `default_type`, `create_nodes`, `possible_ids` and `progress` matter.
    """

    def __init__(self, tables: LoadTables, report: LoadReport, options: LoadOptions) -> None:
        self._tables = tables
        self._connection = tables.connection
        self._report = report
        self._options = options
        self._nodes, self._edges = tables.path(ENTITY.name), tables.path(RELATIONSHIP.name)
        self._described, self._passage = tables.path(DESCRIBED), tables.path(PASSAGE)
        self._missing, self._evidenced = tables.scratch("missing"), tables.scratch("evidenced")
        self._unfinished = node_merging(options.default_type)

    async def merge(self, named: Iterable[tuple[str, str]] = ()) -> None:
        """Merge nodes, edges, their ends, and evidence; `named`: types with keys of their names."""
        progress = self._options.progress or (lambda *_: None)
        for path in (self._described, self._passage):
            await self._connection.execute(f"ANALYZE {path}")
        progress("merging", 0.0)
        await self._finish_nodes()
        progress("merging", 0.2)
        await self._finish_edges()
        progress("merging", 0.5)
        await self._finish_ends()
        progress("merging", 0.8)
        if await self._connection.fetchval(f"SELECT EXISTS (SELECT FROM {self._passage})"):
            await self._finish_evidence()
        await self._tables.index(self._tables.evidence)
        await self._mark(named)
        progress("merging", 1.0)

    async def _finish_nodes(self) -> None:
        twice, values = self._tables.scratch("twice"), ", ".join(ENTITY.values)
        await self._create(
            twice, f"SELECT entity_id FROM {self._described} GROUP BY entity_id HAVING count(*) > 1"
        )
        await self._connection.execute(
            f"INSERT INTO {self._nodes} (entity_id, entity_type, {values}) "
            f"SELECT entity_id, coalesce(nullif(entity_type, ''), $1), {values} "
            f"FROM {self._described} AS d "
            f"WHERE NOT EXISTS (SELECT FROM {twice} AS t WHERE t.entity_id = d.entity_id)",
            self._options.default_type,
        )
        await self._through(
            f"SELECT entity_id, entity_type, {values} FROM {twice} JOIN {self._described} "
            'USING (entity_id) ORDER BY entity_id COLLATE "C", place',
            self._merge_nodes,
        )
        await self._put_nodes([self._unfinished])

    async def _merge_nodes(self, rows: Sequence[Record]) -> None:
        """Merge nodes in the order of their ids, but for the last, whose records may go on."""
        finished: list[Merging[NodeRecord]] = []
        for entity_id, own in groupby(rows, itemgetter(0)):
            if not self._unfinished.records or self._unfinished.records[0].id != entity_id:
                finished.append(self._unfinished)
                self._unfinished = node_merging(self._options.default_type)
            for _, kind, *cells in own:
                self._unfinished.add(NodeRecord(entity_id, kind, ENTITY.joined(cells)))
        await self._put_nodes(finished)

    async def _put_nodes(self, nodes: Sequence[Merging[NodeRecord]]) -> None:
        """Write nodes, each with all its records, and count these."""
        groups = [one for one in nodes if one.records]
        self._report.duplicate_nodes += sum(one.number - 1 for one in groups)
        await self._tables.copy(ENTITY.name, map(self._cells, groups))

    def _cells(self, node: Merging[NodeRecord]) -> tuple[Any, ...]:
        entity_type, metadata = merge_node_records(node.records, self._options.default_type)
        return (node.records[0].id, entity_type, *ENTITY.split(metadata))

    async def _finish_edges(self) -> None:
        await self._tables.index(RELATIONSHIP)
        rows, self._report.edges = await self._connection.fetchrow(
            f"SELECT coalesce(sum(n), 0)::bigint, count(*) "
            f"FROM (SELECT count(*) AS n FROM {self._edges} GROUP BY {_TRIPLE}) AS edge"
        )
        self._report.duplicate_edges += rows - self._report.edges

    # --- ends of edges ----------------------------------------------------------

    async def _finish_ends(self) -> None:
        """Create nodes for the undescribed ends of edges, or count the dangling edges."""
        report, options = self._report, self._options
        await self._create(
            self._missing,
            f"SELECT id FROM (SELECT subject_id AS id FROM {self._edges} "
            f"UNION SELECT object_id FROM {self._edges}) AS ends "
            f"WHERE NOT EXISTS (SELECT FROM {self._nodes} WHERE entity_id = id)",
        )
        examples = await self._ids(
            f'SELECT id FROM {self._missing} ORDER BY id COLLATE "C" LIMIT $1', EXAMPLES
        )
        await self._count_ends()
        if options.create_nodes:
            report.created_nodes = report.undescribed_ends
            report.created_examples = examples
            await self._connection.execute(
                f"INSERT INTO {self._nodes} (entity_id, entity_type, name) "
                f"SELECT id, $1, id FROM {self._missing}",
                options.default_type,
            )
        elif examples:
            report.dangling_examples = examples
            report.dangling_edges = await self._number(
                f"SELECT count(*) FROM (SELECT DISTINCT {_TRIPLE} FROM {self._edges} "
                f"LEFT JOIN {self._missing} AS s ON s.id = subject_id "
                f"LEFT JOIN {self._missing} AS o ON o.id = object_id "
                "WHERE s.id IS NOT NULL OR o.id IS NOT NULL) AS edge"
            )
        await self._tables.type_vectors()
        await self._tables.index(ENTITY)
        report.nodes = await self._number(f"SELECT count(*) FROM {self._nodes}")

    async def _count_ends(self) -> None:
        """Count the ends of edges with and without a node, and find those that may be ids."""
        report = self._report
        report.undescribed_ends = await self._number(f"SELECT count(*) FROM {self._missing}")
        if report.undescribed_ends:
            report.described_ends = await self._number(
                f"SELECT count(*) FROM {self._nodes} "
                f"WHERE entity_id IN (SELECT subject_id FROM {self._edges}) "
                f"OR entity_id IN (SELECT object_id FROM {self._edges})"
            )
            report.undescribed_sample = await self._ids(
                'SELECT id FROM (SELECT id, row_number() OVER (ORDER BY id COLLATE "C") - 1 '
                f"AS place FROM {self._missing}) AS numbered WHERE place % $1 = 0 ORDER BY place",
                sample_step(report.undescribed_ends),
            )
        if self._options.possible_ids:
            known = await self._ids(
                f"SELECT entity_id FROM {self._nodes} WHERE entity_id = ANY($1)",
                [*self._options.possible_ids],
            )
            report.actual_ids = set(known)

    # --- evidence ---------------------------------------------------------------

    async def _finish_evidence(self) -> None:
        """Assign every passage to its edge.

        Ids contain colons, so a key `subject:predicate:object` can belong to two
        edges. The passages of such edges are kept in their own `properties`.
        """
        table = self._tables.evidence
        path, values = self._tables.path(table.name), ", ".join(table.values)
        await self._create(self._evidenced, self._edges_with_passages())
        (link,) = table.fixed
        await self._connection.execute(
            f"INSERT INTO {path} ({link}, {values}) SELECT {link}, {values} "
            f"FROM {self._evidenced} JOIN {self._passage} USING ({_TRIPLE}) "
            "WHERE passages = 1 AND NOT shared"
        )
        groups = ", ".join(f"array_agg({name})" for name in ("beside", *table.values))
        keys = "relationship_key, relationship_id, shared, records"
        await self._through(
            f"SELECT {keys}, {groups} FROM {self._evidenced} JOIN {self._passage} "
            f"USING ({_TRIPLE}) WHERE passages > 1 OR shared GROUP BY {_TRIPLE}, {keys}",
            self._combine_passages,
        )
        self._report.evidence += await self._number(f"SELECT count(*) FROM {path}")
        self._report.unattached_evidence = await self._number(
            f"SELECT (SELECT count(*) FROM {self._passage}) - "
            f"(SELECT coalesce(sum(passages), 0) FROM {self._evidenced})::bigint"
        )

    def _edges_with_passages(self) -> str:
        """Edges that have passages, with the number of passages and the edge's references."""
        shared = "false"
        if "relationship_key" in self._tables.evidence.fixed:
            shared = "count(*) OVER (PARTITION BY relationship_key) > 1"
        return (
            f"WITH edge AS (SELECT {_TRIPLE}, count(*) AS records, "
            "(array_agg(id))[1] AS relationship_id, "
            "subject_id || ':' || predicate || ':' || object_id AS relationship_key "
            f"FROM {self._edges} GROUP BY {_TRIPLE}), "
            f"referred AS (SELECT *, {shared} AS shared FROM edge) "
            f"SELECT * FROM referred JOIN (SELECT {_TRIPLE}, count(*) AS passages "
            f"FROM {self._passage} GROUP BY {_TRIPLE}) AS evidence USING ({_TRIPLE})"
        )

    async def _combine_passages(self, rows: Sequence[Record]) -> None:
        """Combine the passages of edges that have several or share a key, and write them."""
        table = self._tables.evidence
        (link,) = table.fixed
        cells: list[tuple[Any, ...]] = []
        for row in rows:
            items = self._items(row)
            if row["shared"]:
                self._report.evidence += len(items)
                await self._put_beside(row["relationship_id"], items)
            else:
                cells += ((row[link], *table.split(item)) for item in items)
        await self._tables.copy(table.name, cells)

    def _items(self, row: Record) -> list[dict[str, Any]]:
        """The passages of one edge, as a reader would combine them."""
        records, besides, *columns = tuple(row)[3:]
        own: list[dict[str, Any]] = []
        others: list[dict[str, Any]] = []
        for beside, *values in zip(besides, *columns, strict=True):
            (own if beside else others).append(self._tables.evidence.joined(values))
        # Lists of parallel records merge as a union.
        return combined([*(sorted_union(own) if records > 1 else own), *others])

    async def _put_beside(self, relationship_id: Any, items: list[dict[str, Any]]) -> None:
        """Write passages into the `properties` of an edge."""
        text = await self._connection.fetchval(
            f"SELECT properties FROM {self._edges} WHERE id = $1", relationship_id
        )
        properties = RELATIONSHIP.joined([None, None, text]) | {"provenance": items}
        await self._connection.execute(
            f"UPDATE {self._edges} SET properties = $2 WHERE id = $1",
            relationship_id,
            encode(properties),
        )

    async def _mark(self, named: Iterable[tuple[str, str]]) -> None:
        """Comment on the tables, with the arguments of `NameKeys` for these types and keys."""
        names = sorted({(kind or self._options.default_type, key) for kind, key in named})
        others: list[tuple[str, str]] = []
        for key in {key for _, key in names}:
            # The text also occurs where the key is in an inner object.
            has = f"strpos({ENTITY.rest}::text, $1) > 0"
            has = f"$1 <> '' AND {key} IS NOT NULL" if key in ENTITY.own else has
            query = f"SELECT DISTINCT entity_type FROM {self._nodes} WHERE {has}"
            others += ((kind, key) for kind in await self._ids(query, f"{encode([key])[1:-1]}:"))
        texts = f"{MARK}\n{encode([names, others])}", MARK, MARK
        for table, text in zip(self._tables.tables, texts, strict=True):
            path = self._tables.path(table.name)
            await self._connection.execute(f"COMMENT ON TABLE {path} IS {literal(text)}")

    # --- statements -------------------------------------------------------------

    async def _create(self, path: str, query: str) -> None:
        """Make a table of the rows of a query."""
        await self._connection.execute(f"CREATE UNLOGGED TABLE {path} AS {query}")
        await self._connection.execute(f"ANALYZE {path}")

    async def _through(
        self, query: str, take: Callable[[Sequence[Record]], Awaitable[None]]
    ) -> None:
        """Pass the rows of a query to `take`, some at a time."""
        # A cursor of asyncpg would keep the tables in use until the transaction ends.
        await self._connection.execute(f"DECLARE bfsql_load NO SCROLL CURSOR FOR {query}")
        while rows := await self._connection.fetch("FETCH 1000 FROM bfsql_load"):
            await take(rows)
        await self._connection.execute("CLOSE bfsql_load")

    async def _number(self, query: str) -> int:
        """The only number that a query returns."""
        return int(await self._connection.fetchval(query))

    async def _ids(self, query: str, value: object) -> list[str]:
        """The ids that a query returns for a value."""
        return [entity_id for (entity_id,) in await self._connection.fetch(query, value)]
