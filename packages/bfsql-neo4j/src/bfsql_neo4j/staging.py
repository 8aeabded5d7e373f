"""The first half of a load: records wait in a file until all of them are known.

Several records may describe one node or one edge, and come in any order, so
they are sorted and merged in a temporary SQLite file. Nothing of them is in the
store yet, and memory holds one batch at a time.
"""

from __future__ import annotations

import pickle
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from bfsql.models.merge import evidence_items, merge_edges, merge_node_records, with_evidence
from bfsql.models.records import (
    EdgeRecord,
    EvidenceRecord,
    GraphRecord,
    LoadReport,
    NodeRecord,
    Refusal,
)
from bfsql_neo4j.stored import DOCUMENTS, plain, to_properties, whole

MAX_ID_BYTES = 8_000
"""Bytes of an id in UTF-8; range indexes take no text of 8,167 or more."""
BATCH = 5_000
"""Rows written in one transaction at most."""
BATCH_BYTES = 4_000_000
"""Bytes written in one transaction, roughly, unless one row has more."""
KEPT_REFUSALS = 100
EXAMPLES = 5
"""Dangling ids that the report names."""

_TABLES = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA cache_size = -65536;
CREATE TABLE described (id TEXT NOT NULL, type TEXT NOT NULL, metadata BLOB NOT NULL);
CREATE TABLE told (
    s TEXT NOT NULL, p TEXT NOT NULL, o TEXT NOT NULL, passage INTEGER NOT NULL, data BLOB NOT NULL
);
CREATE TABLE node (
    n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, label TEXT NOT NULL, metadata BLOB NOT NULL
);
CREATE TABLE written (n INTEGER PRIMARY KEY, element TEXT NOT NULL);
"""

_NODES = "SELECT label, n, id, metadata FROM node ORDER BY label, n"

_EDGES = """
SELECT p, s, o, passage, data, a.n, a.element, b.n, b.element
FROM told
LEFT JOIN (node JOIN written USING (n)) AS a ON a.id = s
LEFT JOIN (node JOIN written USING (n)) AS b ON b.id = o
ORDER BY p, s, o, passage, told.rowid
"""

_CHECK_EVERY = 100_000
"""Steps of SQLite's machine between two looks at whether the load is cancelled."""
_NOT_TEXT = "it holds half of a surrogate pair, which is not text; write the character whole"


class Stopped(Exception):
    """The load was cancelled."""


class Batch(NamedTuple):
    """Rows that one statement writes."""

    name: str
    """The label of the nodes, or the type of the relationships."""
    rows: list[list[Any]]
    """`[number, id, properties]` of nodes, `[element id of the subject, of the object,
    properties]` of relationships."""


class Staging:
    """Records in a file, on their way into the store.

    Args:
        folder: Where the file is made; whoever gives it removes it.
        report: Where everything is counted.
        stopped: Asked before every record, and now and then while sorting.
    """

    def __init__(self, folder: Path, report: LoadReport, stopped: Callable[[], bool]) -> None:
        # A batch is made in one thread while another notes what was written.
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(folder / "staged.db", check_same_thread=False)
        self._connection.executescript(_TABLES)
        self._connection.set_progress_handler(stopped, _CHECK_EVERY)
        self._report = report
        self._stopped = stopped
        self._described: list[tuple[Any, ...]] = []
        self._told: list[tuple[Any, ...]] = []

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def take(self, records: Iterable[GraphRecord]) -> None:
        """Read all records, then make one node of those that describe the same.

        Raises:
            Stopped: In the middle of it.
            sqlite3.Error: There is no room for the file.
        """
        for record in records:
            if self._stopped():
                raise Stopped
            self._take_one(record)
        self._flush()
        self._merge_nodes()

    def labels(self) -> list[str]:
        """The labels of all nodes, sorted."""
        rows = self._connection.execute("SELECT DISTINCT label FROM node ORDER BY 1")
        return [label for (label,) in rows]

    def node_batches(self, id_property: Callable[[str], str]) -> Iterator[Batch]:
        """Every node, label by label.

        Args:
            id_property: Gives the property of a label's nodes that holds the id.
        """
        for label, group in groupby(self._connection.execute(_NODES), itemgetter(0)):
            taken = (id_property(label),)
            rows = (
                ([n, entity_id, to_properties(_unpacked(data), taken)], len(data))
                for _, n, entity_id, data in group
            )
            for batch in _batches(rows):
                yield Batch(label, batch)

    def next_of(self, batches: Iterator[Batch]) -> Batch | None:
        """The next of these batches, None after the last; in whatever thread."""
        with self._lock:
            return next(batches, None)

    def note_written(self, elements: Sequence[Sequence[Any]]) -> None:
        """Remember what the store calls the nodes: pairs of number and element id."""
        with self._lock:
            self._connection.executemany("INSERT INTO written VALUES (?, ?)", elements)

    def edge_batches(self) -> Iterator[Batch]:
        """Every relationship between nodes that were written, type by type."""
        rows = self._connection.execute(_EDGES)
        for predicate, group in groupby(rows, itemgetter(0)):
            for batch in _batches(self._relationships(group)):
                yield Batch(predicate, batch)

    # --- taking ---------------------------------------------------------------

    def _take_one(self, record: GraphRecord) -> None:
        try:
            match record:
                case NodeRecord(entity_id, entity_type, metadata):
                    _check_id(entity_id)
                    _check_name("type", entity_type)
                    self._described.append((entity_id, entity_type, _packed(metadata)))
                case EdgeRecord(subject, predicate, obj, data):
                    self._tell(subject, predicate, obj, 0, data)
                case EvidenceRecord(subject, predicate, obj, data):
                    self._tell(subject, predicate, obj, 1, data)
        except UnicodeEncodeError:
            self._refuse(record, _NOT_TEXT)
        except ValueError as error:
            self._refuse(record, str(error))
        if len(self._described) + len(self._told) >= BATCH:
            self._flush()

    def _tell(
        self, subject: str, predicate: str, obj: str, passage: int, data: dict[str, Any]
    ) -> None:
        if not predicate:
            raise ValueError("its predicate is empty, and Neo4j has no relationship without a type")
        f"{subject}{obj}".encode()
        _check_name("predicate", predicate)
        self._told.append((subject, predicate, obj, passage, _packed(data)))

    def _flush(self) -> None:
        self._connection.executemany("INSERT INTO described VALUES (?, ?, ?)", self._described)
        self._connection.executemany("INSERT INTO told VALUES (?, ?, ?, ?, ?)", self._told)
        self._described.clear()
        self._told.clear()

    def _refuse(self, record: GraphRecord, reason: str) -> None:
        self._report.refused += 1
        if len(self._report.refusals) < KEPT_REFUSALS:
            self._report.refusals.append(Refusal(_named(record), None, reason))

    # --- merging --------------------------------------------------------------

    def _merge_nodes(self) -> None:
        rows = self._connection.execute(
            "SELECT id, type, metadata FROM described ORDER BY id, rowid"
        )
        # Into a second table while the first is read: what is read stays as it was.
        self._connection.executemany(
            "INSERT INTO node (id, label, metadata) VALUES (?, ?, ?)", self._nodes(rows)
        )
        self._connection.execute("DROP TABLE described")

    def _nodes(self, rows: Iterable[tuple[str, str, bytes]]) -> Iterator[tuple[str, str, bytes]]:
        for entity_id, group in groupby(rows, itemgetter(0)):
            records = [NodeRecord(entity_id, told, _unpacked(data)) for _, told, data in group]
            label, metadata = merge_node_records(records)
            self._report.nodes += 1
            self._report.duplicate_nodes += len(records) - 1
            yield entity_id, label, _packed(metadata)

    def _relationships(self, rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[list[Any], int]]:
        """One row a record, with its size; what has no edge or no ends is counted, no more."""
        report = self._report
        for (s, _, a, o, _, b), group in groupby(rows, itemgetter(1, 5, 6, 2, 7, 8)):
            records: list[dict[str, Any]] = []
            passages: list[dict[str, Any]] = []
            size = 0
            for row in group:
                (passages if row[3] else records).append(_unpacked(row[4]))
                size += len(row[4])
            if not records:
                report.unattached_evidence += len(passages)
            elif a is None or b is None:
                self._dangle([end for end, element in ((s, a), (o, b)) if element is None])
                report.unattached_evidence += len(passages)
            else:
                report.edges += 1
                report.duplicate_edges += len(records) - 1
                described, documents = self._with_evidence(records, passages)
                for metadata in described:
                    yield [a, b, to_properties(metadata) | documents], size // len(records)
                    documents = {}

    def _with_evidence(
        self, records: list[dict[str, Any]], passages: list[dict[str, Any]]
    ) -> tuple[list[dict[str, Any]], dict[str, list[str]]]:
        """Metadata of the relationships of one triple, and what the first of them has besides.

        All evidence of the passages is on the first, together with what the records
        told: whoever merges them finds the `provenance` that merging in memory gives.
        """
        if not passages and not any("provenance" in metadata for metadata in records):
            return records, {}
        together = with_evidence(merge_edges(records), passages)
        items = evidence_items(("", "", ""), together)
        self._report.evidence += len(items)
        told = (item["document_id"] for item in items)
        # What is longer than an id is the id of no node, and more than an index takes.
        named = sorted({whole(one) for one in told if isinstance(one, str) and _fits(one)})
        documents = {DOCUMENTS: named} if named else {}
        if not passages:
            return records, documents
        bare = [{k: v for k, v in one.items() if k != "provenance"} for one in records]
        return [{**bare[0], "provenance": together["provenance"]}, *bare[1:]], documents

    def _dangle(self, ends: list[str]) -> None:
        self._report.dangling_edges += 1
        for end in ends:
            examples = self._report.dangling_examples
            if end not in examples and len(examples) < EXAMPLES:
                examples.append(end)


def _fits(text: str) -> bool:
    return len(text.encode(errors="replace")) <= MAX_ID_BYTES


def _check_id(entity_id: str) -> None:
    size = len(entity_id.encode())
    if size > MAX_ID_BYTES:
        raise ValueError(
            f"its id has {size:,} bytes, and Neo4j's indexes take {MAX_ID_BYTES:,}; shorten it"
        )


def _check_name(what: str, name: str) -> None:
    name.encode()
    if "\0" in name:
        raise ValueError(f"its {what} holds U+0000, which no name in Neo4j can; remove it")


def _packed(metadata: dict[str, Any]) -> bytes:
    return pickle.dumps(plain(metadata), pickle.HIGHEST_PROTOCOL)


def _unpacked(data: bytes) -> dict[str, Any]:
    metadata: dict[str, Any] = pickle.loads(data)  # noqa: S301 - this load wrote it itself
    return metadata


def _batches(rows: Iterable[tuple[list[Any], int]]) -> Iterator[list[list[Any]]]:
    """Rows in lists that one transaction can hold.

    Args:
        rows: Each with its size in bytes.
    """
    batch: list[list[Any]] = []
    size = 0
    for row, more in rows:
        if batch and (len(batch) >= BATCH or size + more > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += more
    if batch:
        yield batch


def _named(record: GraphRecord) -> str:
    if isinstance(record, NodeRecord):
        return f"node {_short(record.id)}"
    what = "edge" if isinstance(record, EdgeRecord) else "evidence of edge"
    ends = (record.subject, record.predicate, record.object)
    return f"{what} {' '.join(map(_short, ends))}"


def _short(text: str) -> str:
    return ascii(text if len(text) <= 60 else f"{text[:60]}...")  # noqa: PLR2004 - one line
