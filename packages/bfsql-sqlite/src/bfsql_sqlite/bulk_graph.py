"""The graph of some tables in DuckDB: every id and triple once, metadata merged.

DuckDB numbers the ids in code point order and sorts the edges, on disk if they do not fit into
its share of memory. No string of an edge passes through Python. Metadata does if several records
describe one thing; the usual functions for merging records merge it.
"""
# ruff: noqa: S608 - what is put into these texts are numbers, and names of tables

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import duckdb
import numpy as np

from bfsql.integers import BATCH_EDGES, IntArray
from bfsql.loading.intake import EXAMPLES, sample_step
from bfsql.models.json_values import decode, encode
from bfsql.models.load import LoadOptions, LoadReport
from bfsql.models.merge import created_node, merge_edges, merge_node_records
from bfsql.models.records import NodeRecord

BATCH = 5_000
"""Rows with texts that are in memory at a time."""

_IDS_TWICE = 2_000_000
"""Number of ids up to which DuckDB joins both ends of the edges in one statement."""
MANY_IDS_MEMORY = "2GB"
"""Memory limit of DuckDB for larger graphs."""


class NodeTable(Protocol):
    """Nodes in DuckDB."""

    rows: str
    """The view: `id`, `r` (the place in the table), and the cells."""
    width: int
    """Number of cells."""
    count: int
    """Number of rows."""

    def padded(self, width: int) -> str:
        """The cells as this number of columns."""

    def record(self, cells: Sequence[str]) -> NodeRecord:
        """The record of a row."""

    def described(self, cells: Sequence[str]) -> tuple[str, str]:
        """The type, empty where the row has none, and the metadata as JSON text."""


class EdgeTable(Protocol):
    """Edges in DuckDB."""

    rows: str
    """The view: `s`, `p`, `o`, and `metadata`, which is the fields of a JSON object."""
    predicates: str
    """The table of their predicates in a column `name`, each at least once."""
    count: int
    """Number of rows."""
    has_metadata: bool
    """Whether any of them may have metadata."""


class Triples(NamedTuple):
    """Edges in integers."""

    triples: IntArray
    """Subject, predicate and object in a row."""
    metadata: list[tuple[int, str]]
    """Number of the edge and JSON text, for edges with metadata."""


class BulkGraph:
    """The graph of some tables: every id and triple once, metadata merged.

    Attributes:
        report: Complete except for dangling edges once `nodes` and `leaving` have been read.
        predicates: Names by number, in code point order.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        nodes: Sequence[NodeTable],
        edges: Sequence[EdgeTable],
        options: LoadOptions,
    ) -> None:
        self.report = LoadReport()
        self.predicates: list[str] = []
        self._connection = connection
        self._options = options
        self._nodes = nodes
        self._edges = edges
        self._has_metadata = any(table.has_metadata for table in self._edges)

    # --- in DuckDB ------------------------------------------------------------

    def number(self) -> None:
        """Number the ids and predicates, and sort the edges."""
        names = [f"SELECT name FROM {table.predicates}" for table in self._edges]
        self._name("predicate", "name", names)
        found = self._connection.execute("SELECT name FROM predicate ORDER BY rowid").fetchall()
        self.predicates = [name for (name,) in found]
        nodes = [f"SELECT id FROM {table.rows}" for table in self._nodes]
        ends = [f"SELECT {end} FROM {table.rows}" for table in self._edges for end in ("s", "o")]
        # Finding the distinct ends of all edges takes a third of the time, and usually all are
        # nodes.
        self._name("id", "id", nodes)
        self._find_possible_ids()
        self._sort()
        if self._count("edge") < sum(table.count for table in self._edges):
            described = self.size
            self._name("id", "id", nodes + ends)
            self._sort()
            self.report.undescribed_ends = missing = self.size - described
            if described:
                every = self._count("(SELECT s FROM edge UNION SELECT o FROM edge)")
                self.report.described_ends = every - missing

    def _find_possible_ids(self) -> None:
        if self._options.possible_ids:
            found = self._connection.execute(
                "SELECT id FROM id WHERE id IN (SELECT unnest(?))",
                [sorted(self._options.possible_ids)],
            )
            self.report.actual_ids = {id_ for (id_,) in found.fetchall()}

    def _name(self, table: str, column: str, queries: Sequence[str]) -> None:
        """Make a table of the distinct texts that some queries return, in code point order."""
        texts = _union(queries or ["SELECT '' WHERE false"])
        self._connection.execute(
            f"CREATE OR REPLACE TABLE {table} AS "
            f"SELECT DISTINCT {column} FROM ({texts}) AS t ({column}) ORDER BY {column}"
        )

    def _sort(self) -> None:
        """Make `edge`: the edge records in numbers, sorted, if both ends are in `id`."""
        run, more = self._connection.execute, ", metadata" if self._has_metadata else ""
        rows = [f"SELECT s, p, o{more} FROM {table.rows}" for table in self._edges]
        nothing = f"SELECT '' AS s, '' AS p, '' AS o{more and ', NULL AS metadata'} WHERE false"
        texts = f"({_union(rows or [nothing])})"
        half = (
            f"(SELECT a.rowid::INTEGER AS s, predicate.rowid::INTEGER AS p, o{more} "
            f"FROM {texts} AS e JOIN id AS a ON a.id = e.s JOIN predicate ON name = e.p)"
        )
        if self.size > _IDS_TWICE:
            run(f"SET memory_limit = '{MANY_IDS_MEMORY}'")
            run("SET preserve_insertion_order = false")  # which would use memory needlessly
            run(f"CREATE OR REPLACE TABLE half AS {half}")
            run("SET preserve_insertion_order = true")
            half = "half"
        run(
            f"CREATE OR REPLACE TABLE edge AS SELECT h.s, h.p, b.rowid::INTEGER AS o{more} "
            f"FROM {half} AS h JOIN id AS b ON b.id = h.o ORDER BY 1, 2, 3"
        )
        run("DROP TABLE IF EXISTS half")

    @property
    def size(self) -> int:
        """The number of ids."""
        return self._count("id")

    def _count(self, table: str) -> int:
        found = self._connection.execute(f"SELECT count(*) FROM {table}").fetchone()
        assert found is not None
        return int(found[0])

    # --- ids and nodes --------------------------------------------------------

    def ids(self) -> Iterator[str]:
        """Every id, in the order of their numbers."""
        found = self._connection.cursor().execute("SELECT id FROM id ORDER BY rowid")
        while batch := found.fetchmany(BATCH):
            yield from (id_ for (id_,) in batch)

    def nodes(self) -> Iterator[tuple[int, str, str]]:
        """Number, type and metadata as JSON text of every node, by number."""
        rows = self._described()
        row, step, missing = next(rows, None), sample_step(self.report.undescribed_ends), 0
        while row is not None:
            n, id_, place, *_ = records = row
            several = []
            for row in rows:
                if row[0] != n:
                    break
                several.append(row)
            else:
                row = None
            if place is None:
                if missing % step == 0:
                    self.report.undescribed_sample.append(id_)
                missing += 1
                if self._options.create_nodes:
                    yield n, *self._created(id_)
                continue
            self.report.nodes += 1
            if several:
                self.report.duplicate_nodes += len(several)
                yield n, *self._merged([records, *several])
                continue
            table = self._nodes[place]
            entity_type, metadata = table.described(records[3 : 3 + table.width])
            yield n, entity_type or self._options.default_type, metadata

    def _described(self) -> Iterator[tuple[Any, ...]]:
        """Rows `(n, id, place of the table, cells)`; the place is None for an id without a node."""
        width = max((table.width for table in self._nodes), default=0)
        columns = "".join(f", c{at}" for at in range(width))
        rows = [
            f"SELECT {place}, r, id, {table.padded(width)} FROM {table.rows}"
            for place, table in enumerate(self._nodes)
        ] or ["SELECT NULL, NULL, NULL WHERE false"]
        found = self._connection.cursor().execute(
            f"SELECT id.rowid, id.id, k{columns} FROM id "
            f"LEFT JOIN ({_union(rows)}) AS d (k, r, id{columns}) ON d.id = id.id "
            "ORDER BY id.rowid, k, r"
        )
        while batch := found.fetchmany(BATCH):
            yield from batch

    def _record(self, row: Sequence[Any]) -> NodeRecord:
        table: NodeTable = self._nodes[row[2]]
        return table.record(row[3 : 3 + table.width])

    def _merged(self, rows: Sequence[Sequence[Any]]) -> tuple[str, str]:
        records = list(map(self._record, rows))
        entity_type, metadata = merge_node_records(records, self._options.default_type)
        return entity_type, encode(metadata)

    def _created(self, id_: str) -> tuple[str, str]:
        report = self.report
        report.nodes += 1
        report.created_nodes += 1
        if report.created_nodes <= EXAMPLES:
            report.created_examples.append(id_)
        node = created_node(id_, self._options.default_type)
        return node.entity_type, encode(node.metadata)

    # --- edges ----------------------------------------------------------------

    def leaving(self) -> Iterator[Triples]:
        """Every triple once, sorted by (subject, predicate, object), with its metadata."""
        report, before = self.report, 0
        for rows, starts, end in self._grouped("edge"):
            triples = rows.triples[starts]
            counts = np.diff(starts, append=end)
            report.edges += len(triples)
            report.duplicate_edges += end - len(triples)
            yield Triples(triples, list(_merged(rows, starts, counts, before)))
            before += len(triples)

    def entering(self) -> Iterator[IntArray]:
        """The same triples, sorted by (object, predicate, subject)."""
        self._connection.execute(
            "CREATE TABLE entering AS SELECT s, p, o FROM edge ORDER BY o, p, s"
        )
        for rows, starts, _ in self._grouped("entering"):
            yield rows.triples[starts]

    def _grouped(self, table: str) -> Iterator[tuple[_Rows, IntArray, int]]:
        """Rows of a sorted table, the place where each triple begins, and the end of the last one.

        All rows of a triple come in one batch.
        """
        columns = "s, p, o"
        if self._has_metadata and table == "edge":
            columns += ", metadata"
        number, rest = self._count(table), None
        for first in range(0, number, BATCH_EDGES):
            last = first + BATCH_EDGES - 1
            found = self._connection.execute(
                f"SELECT {columns} FROM {table} WHERE rowid BETWEEN {first} AND {last}"
            ).fetchnumpy()
            triples = np.column_stack([found["s"], found["p"], found["o"]])
            rows = _Rows(triples, found.get("metadata"))
            rows = rows if rest is None else rest.followed_by(rows)
            starts = rows.starts()
            # The rows of the last triple may continue in the next batch.
            end = len(rows.triples) if last + 1 >= number else int(starts[-1])
            rest = rows.behind(end)
            if end:
                yield rows, starts[starts < end], end


class _Rows(NamedTuple):
    """Sorted records of edges."""

    triples: IntArray
    """Subject, predicate and object in a row."""
    metadata: Any
    """An array of texts, each the fields of a JSON object; None if no record has metadata."""

    def behind(self, end: int) -> _Rows:
        return _Rows(self.triples[end:], None if self.metadata is None else self.metadata[end:])

    def followed_by(self, other: _Rows) -> _Rows:
        metadata = None
        if self.metadata is not None:
            metadata = np.concatenate([self.metadata, other.metadata])
        return _Rows(np.concatenate([self.triples, other.triples]), metadata)

    def starts(self) -> IntArray:
        new = (self.triples[1:] != self.triples[:-1]).any(axis=1)
        return np.flatnonzero(np.concatenate([[True], new])).astype(np.int32)


def _merged(
    rows: _Rows, starts: IntArray, counts: IntArray, before: int
) -> Iterator[tuple[int, str]]:
    """The number and the JSON text of each triple that has metadata.

    Args:
        rows: The records.
        starts: The place of the first record of each triple.
        counts: The number of records of each triple.
        before: Number of preceding triples.
    """
    have = counts > 1
    if rows.metadata is not None:
        have |= rows.metadata[starts] != ""
    for place in np.flatnonzero(have).tolist():
        start, count = int(starts[place]), int(counts[place])
        texts = [] if rows.metadata is None else rows.metadata[start : start + count].tolist()
        if not any(texts):
            text = encode({"multiplicity": count})
        elif count == 1:
            text = f"{{{texts[0]}}}"
        else:
            text = encode(merge_edges([decode(f"{{{one}}}") for one in texts]))
        yield before + place, text


def _union(queries: Sequence[str]) -> str:
    return " UNION ALL ".join(queries)
