"""The graph of some tables in DuckDB: every id and triple once, metadata and evidence merged.

DuckDB numbers the ids in code point order and sorts the edges, on disk if they do not fit into
its share of memory. No string of an edge passes through Python. Metadata does if several records
describe one thing; the usual functions for merging records merge it.
"""
# ruff: noqa: S608 - what is put into these texts are numbers, and names of tables

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, NamedTuple, Protocol

import duckdb
import numpy as np
import numpy.typing as npt

from bfsql.integers import BATCH_EDGES, IntArray
from bfsql.loading.intake import EXAMPLES, Merging, merged_node, sample_step
from bfsql.loading.staging import MOST_COMPARED, SIMILAR_IDS
from bfsql.models.json_values import decode, encode
from bfsql.models.load import LoadOptions, LoadReport
from bfsql.models.merge import created_node, with_evidence
from bfsql.models.records import NodeRecord
from bfsql_sqlite.duckdb_tables import BATCH, Description, EvidenceTable, LongTexts, number

MANY_IDS = 2_000_000
"""Number of ids from which DuckDB may use twice as much memory."""


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

    def described(self, cells: Sequence[str]) -> Description:
        """The type, empty where the row has none, and the metadata."""


class EdgeTable(Protocol):
    """Edges, or evidence for edges, in DuckDB."""

    rows: str
    """The view: `s`, `p`, `o`, and `metadata`, which is the fields of a JSON object: the metadata
    of an edge, or an item of evidence."""
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
    """The graph of some tables: every id and triple once, metadata and evidence merged.

    Args:
        connection: To DuckDB.
        nodes: Tables of nodes, in the order in which they are merged.
        edges: Tables of edges.
        evidence: Tables of evidence.
        long: Where metadata is that is too long for DuckDB.
        options: Options of the load.
        report: A report to complete.

    Attributes:
        report: Complete except for dangling edges once `nodes` and `leaving` have been read.
        predicates: Names by number, in code point order.
        time_keys: The properties that say when facts hold.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        nodes: Sequence[NodeTable],
        edges: Sequence[EdgeTable],
        evidence: Sequence[EdgeTable],
        *,
        long: LongTexts,
        options: LoadOptions,
        report: LoadReport,
    ) -> None:
        self.report = report
        self.predicates: list[str] = []
        self._connection = connection
        self._options, self.time_keys = options, options.time_keys
        self._nodes = nodes
        self._edges = edges
        self._evidence = evidence
        self._has_metadata = bool(self._evidence) or any(table.has_metadata for table in edges)
        self._items = EvidenceTable(connection)
        self._whole = long.whole
        self._records = "edge WHERE NOT passage" if self._evidence else "edge"

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
        if self._count(self._records) < sum(table.count for table in self._edges):
            described = self.size
            self._name("id", "id", nodes + ends)
            self._sort()
            self.report.undescribed_ends = missing = self.size - described
            if described:
                every = f"(SELECT s FROM {self._records} UNION SELECT o FROM {self._records})"
                self.report.described_ends = self._count(every) - missing
        if self.size <= MOST_COMPARED:
            similar = self._connection.execute(SIMILAR_IDS.format(ids="id"))
            self.report.note_similar_ids(similar.fetchall())
        if self._evidence:
            # Names that only evidence contains have no numbers.
            number = sum(table.count for table in self._evidence)
            self.report.unattached_evidence = number - self._count("edge WHERE passage")

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
        """Make `edge`: the edge records in numbers, sorted, if both ends are in `id`.

        If there is evidence, its items follow the records of their triple, with true as `passage`.
        """
        run, more = self._connection.execute, ", metadata" if self._has_metadata else ""
        rows = [(table, "false") for table in self._edges]
        passage = ""
        if self._evidence:
            rows += [(table, "true") for table in self._evidence]
            passage = ", passage"
        queries = [
            f"SELECT s, p, o{more}{passage and f', {value} AS passage'} FROM {table.rows}"
            for table, value in rows
        ]
        nothing = f"SELECT '' AS s, '' AS p, '' AS o{more and ', NULL AS metadata'} WHERE false"
        texts = f"({_union(queries or [nothing])})"
        more += passage
        if self.size > MANY_IDS:
            run("SET memory_limit = '2GB'")
        # Both joins in one statement would need more memory, and save no time.
        run("SET preserve_insertion_order = false")
        run(
            "CREATE OR REPLACE TABLE half AS "
            f"SELECT a.rowid::INTEGER AS s, predicate.rowid::INTEGER AS p, o{more} "
            f"FROM {texts} AS e JOIN id AS a ON a.id = e.s JOIN predicate ON name = e.p"
        )
        run(
            f"CREATE OR REPLACE TABLE edge AS SELECT h.s, h.p, b.rowid::INTEGER AS o{more} "
            f"FROM half AS h JOIN id AS b ON b.id = h.o ORDER BY 1, 2, 3{passage}"
        )
        run("DROP TABLE half")
        run("SET preserve_insertion_order = true")

    @property
    def size(self) -> int:
        """The number of ids."""
        return self._count("id")

    def _count(self, table: str) -> int:
        return number(self._connection, f"SELECT count(*) FROM {table}")

    # --- ids and nodes --------------------------------------------------------

    def ids(self) -> Iterator[str]:
        """Every id, in the order of their numbers."""
        found = self._connection.cursor().execute("SELECT id FROM id ORDER BY rowid")
        while batch := found.fetchmany(BATCH):
            yield from (id_ for (id_,) in batch)

    def nodes(self) -> Iterator[tuple[int, str, Description]]:
        """Number, id and description of every node, by number."""
        step, missing = sample_step(self.report.undescribed_ends), 0
        for (n, id_), group in groupby(self._described(), itemgetter(0, 1)):
            rows = iter(group)
            first = next(rows)
            place, second = first[2], next(rows, None)
            if place is None:
                if missing % step == 0:
                    self.report.undescribed_sample.append(id_)
                missing += 1
                if self._options.create_nodes:
                    yield n, id_, self._created(id_)
                continue
            self.report.nodes += 1
            if second is not None:
                yield n, id_, self._merged(chain([first, second], rows))
                continue
            table = self._nodes[place]
            node = table.described(first[3 : 3 + table.width])
            if not node.entity_type:
                node = node._replace(entity_type=self._options.default_type)
            yield n, id_, node

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

    def _merged(self, rows: Iterable[Sequence[Any]]) -> Description:
        records = map(self._record, rows)
        entity_type, metadata = merged_node(records, self._options.default_type, self.report)
        return Description(entity_type, metadata, encode(metadata))

    def _created(self, id_: str) -> Description:
        report = self.report
        report.nodes += 1
        report.created_nodes += 1
        if report.created_nodes <= EXAMPLES:
            report.created_examples.append(id_)
        node = created_node(id_, self._options.default_type)
        return Description(node.entity_type, node.metadata, encode(node.metadata))

    # --- edges ----------------------------------------------------------------

    def leaving(self) -> Iterator[Triples]:
        """Every triple once, sorted by (subject, predicate, object), with its metadata."""
        report, before = self.report, 0
        for rows, places, end in self._grouped("edge"):
            starts, counts = places, np.diff(places, append=end)
            records = counts
            if rows.passages is not None:
                passages = np.add.reduceat(rows.passages[:end].astype(np.int32), places)
                have = passages < counts
                report.unattached_evidence += int(passages[~have].sum())
                starts, counts, records = places[have], counts[have], (counts - passages)[have]
            triples = rows.triples[starts]
            report.edges += len(triples)
            report.duplicate_edges += int(records.sum()) - len(triples)
            yield Triples(triples, self._edge_metadata(rows, starts, counts, records, before))
            before += len(triples)

    def _edge_metadata(
        self, rows: _Rows, starts: IntArray, counts: IntArray, records: IntArray, before: int
    ) -> list[tuple[int, str]]:
        """The number and the JSON text of each triple that has metadata; stores its evidence.

        Args:
            rows: The records and items of evidence.
            starts: The place of the first record of each triple.
            counts: The number of rows of each triple.
            records: The number of records of each triple; items of evidence follow them.
            before: Number of preceding triples.
        """
        have = counts > 1
        if rows.metadata is not None:
            have |= rows.metadata[starts] != ""
        found: list[tuple[int, str]] = []
        for place in np.flatnonzero(have).tolist():
            start, count, own = int(starts[place]), int(counts[place]), int(records[place])
            predicate = rows.triples[start, 1]
            texts: Any = () if rows.metadata is None else rows.metadata[start : start + count]
            if count > own or any(_PROVENANCE in self._whole(text) for text in texts):
                items = map(self._decoded, dict.fromkeys(texts[own:]))
                metadata = with_evidence(self._merged_edge(texts[:own], predicate), items)
                self._items.add(before + place, rows.triples[start].tolist(), metadata)
                text = encode(metadata)
            elif not any(texts):
                text = encode({"multiplicity": count})
            elif count == 1:
                text = f"{{{self._whole(texts[0])}}}"
            else:
                text = encode(self._merged_edge(texts, predicate))
            found.append((before + place, text))
        self._items.flush()
        self.report.evidence = self._items.count
        return found

    def _decoded(self, text: str) -> dict[str, Any]:
        return decode(f"{{{self._whole(text)}}}")

    def _merged_edge(self, texts: Iterable[str], predicate: int) -> dict[str, Any]:
        merge = self.time_keys.merge(self.predicates[predicate])
        merging = Merging(merge)
        for text in texts:
            merging.add(self._decoded(text))
        return merge(merging.records)

    def _shortened(self, rows: _Rows) -> _Rows:
        """Many rows of one triple as few: one of its records, and one of each of its passages."""
        if rows.metadata is None:
            return rows
        records = rows.metadata if rows.passages is None else rows.metadata[~rows.passages]
        passages = [] if rows.passages is None else [*dict.fromkeys(rows.metadata[rows.passages])]
        merge = partial(self._merged_edge, predicate=rows.triples[0, 1])
        merged = [encode(merge(records))[1:-1]] if len(records) else []
        if len(records):
            self.report.duplicate_edges += len(records) - 1
        else:
            self.report.unattached_evidence += len(rows.metadata) - len(passages)
        number = len(merged) + len(passages)
        kinds = None if rows.passages is None else np.arange(number) >= len(merged)
        return _Rows(rows.triples[:number], np.array([*merged, *passages], object), kinds)

    def evidence(self) -> Iterator[tuple[int, int, int, int, int]]:
        """The rows of the table `evidence`, once `leaving` has ended."""
        return self._items.rows()

    def entering(self) -> Iterator[IntArray]:
        """The same triples, sorted by (object, predicate, subject)."""
        self._connection.execute(
            f"CREATE TABLE entering AS SELECT s, p, o FROM {self._records} ORDER BY o, p, s"
        )
        for rows, starts, _ in self._grouped("entering"):
            yield rows.triples[starts]

    def _grouped(self, table: str) -> Iterator[tuple[_Rows, IntArray, int]]:
        """Rows of a sorted table, the place where each triple begins, and the end of the last one.

        All rows of a triple come in one batch.
        """
        columns = "s, p, o"
        if self._has_metadata and table == "edge":
            columns += ", metadata, passage" if self._evidence else ", metadata"
        number, rest = self._count(table), None
        for first in range(0, number, BATCH_EDGES):
            last = first + BATCH_EDGES - 1
            found = self._connection.execute(
                f"SELECT {columns} FROM {table} WHERE rowid BETWEEN {first} AND {last}"
            ).fetchnumpy()
            triples = np.column_stack([found["s"], found["p"], found["o"]])
            rows = _Rows(triples, found.get("metadata"), found.get("passage"))
            rows = rows if rest is None else rest.followed_by(rows)
            starts = rows.starts()
            # The rows of the last triple may continue in the next batch.
            end = len(rows.triples) if last + 1 >= number else int(starts[-1])
            rest = rows.behind(end) if end else self._shortened(rows)
            if end:
                yield rows, starts[starts < end], end


class _Rows(NamedTuple):
    """Sorted records of edges, and items of evidence."""

    triples: IntArray
    """Subject, predicate and object in a row."""
    metadata: Any
    """An array of texts, each the fields of a JSON object; None if no record has metadata."""
    passages: npt.NDArray[np.bool_] | None
    """Which of them are items of evidence; None if none is."""

    def behind(self, end: int) -> _Rows:
        return _Rows._make(None if column is None else column[end:] for column in self)

    def followed_by(self, other: _Rows) -> _Rows:
        columns = zip(self, other, strict=True)
        return _Rows._make(None if a is None else np.concatenate([a, b]) for a, b in columns)

    def starts(self) -> IntArray:
        new = (self.triples[1:] != self.triples[:-1]).any(axis=1)
        return np.flatnonzero(np.concatenate([[True], new])).astype(np.int32)


_PROVENANCE = '"provenance"'


def _union(queries: Sequence[str]) -> str:
    return " UNION ALL ".join(queries)
