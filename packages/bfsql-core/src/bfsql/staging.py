"""The first half of a load: records wait in a file until all of them are known.

Several records may describe one node or one edge, and come in any order, so a
loader that cannot merge them in its store sorts and merges them here, in a
temporary SQLite file. Nothing of them is in the store yet, and memory holds
one record at a time.

    async with staged(records) as staging:
        async for batch in staging.ahead(batches_of(staging.nodes())):
            await write(batch)
        async for batch in staging.ahead(batches_of(staging.edges())):
            await write(batch)
    return staging.report
"""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from bfsql.errors import StoreError
from bfsql.models.json_values import decode, encode
from bfsql.models.merge import evidence_items, merge_edges, merge_node_records, with_evidence
from bfsql.models.records import (
    EdgeRecord,
    EvidenceRecord,
    GraphRecord,
    LoadReport,
    NodeRecord,
    Refusal,
)

KEPT_REFUSALS = 100
EXAMPLES = 5
"""Dangling ids that the report names."""
_WAITING = 5_000
"""Rows that are written to the file at a time."""
_CHECK_EVERY = 100_000
"""Steps of SQLite's machine between two looks at whether the load is cancelled."""
_NOT_TEXT = "it holds half of a surrogate pair, which is not text; write the character whole"

_TABLES = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA cache_size = -65536;
CREATE TABLE described (id TEXT NOT NULL, type TEXT NOT NULL, metadata TEXT NOT NULL);
CREATE TABLE told (
    s TEXT NOT NULL, p TEXT NOT NULL, o TEXT NOT NULL, passage INTEGER NOT NULL, data TEXT NOT NULL
);
"""
_INDEX = "CREATE INDEX described_id ON described (id)"
_NODES = "SELECT id, type, metadata FROM described ORDER BY id, rowid"
_EDGES = """
SELECT s, p, o, passage, data,
    EXISTS (SELECT 1 FROM described WHERE id = s), EXISTS (SELECT 1 FROM described WHERE id = o)
FROM told ORDER BY s, p, o, passage, told.rowid
"""

T = TypeVar("T")
Check = Callable[[GraphRecord], None]
"""Raises a `ValueError` for a record that a store cannot hold; its text is the reason."""


class StagedNode(NamedTuple):
    """A node that all its records were merged into."""

    id: str
    entity_type: str
    metadata: dict[str, Any]
    """Plain JSON; further types stand in `other_types`."""


class StagedEdge(NamedTuple):
    """An edge that all its records and passages were merged into, and whose ends are nodes."""

    subject: str
    predicate: str
    object: str
    metadata: dict[str, Any]
    """Plain JSON; evidence stands in `provenance`."""


class _Stopped(Exception):
    """The load was cancelled."""


@asynccontextmanager
async def staged(
    records: Iterable[GraphRecord], check: Check = lambda _: None
) -> AsyncIterator[Staging]:
    """All records, read and sorted; the file is gone afterwards.

    Cancelling ends the reading, and whatever a thread does in the staging.

    Args:
        records: Nodes, edges and evidence in any order. They are read once, in a thread.
        check: Says no to what the store cannot hold.

    Raises:
        StoreError: There is no room for the file.
    """
    folder = Path(tempfile.mkdtemp(prefix="bfsql-load-"))
    try:
        staging = Staging(folder)
        try:
            await staging.in_thread(lambda: staging.take(records, check))
            yield staging
        finally:
            staging.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Staging:
    """Records in a file, on their way into a store.

    Args:
        folder: Where the file is made; whoever gives it removes it.
    """

    def __init__(self, folder: Path) -> None:
        self.report = LoadReport()
        """What was found; whole when all nodes and all edges were asked for, each once."""
        self._folder = folder
        self._stop = threading.Event()
        self._connection = sqlite3.connect(folder / "staged.db", check_same_thread=False)
        self._connection.executescript(_TABLES)
        self._connection.set_progress_handler(self._stop.is_set, _CHECK_EVERY)
        self._described: list[tuple[Any, ...]] = []
        self._told: list[tuple[Any, ...]] = []

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def take(self, records: Iterable[GraphRecord], check: Check = lambda _: None) -> None:
        """Read all records."""
        for record in records:
            if self._stop.is_set():
                raise _Stopped
            try:
                check(record)
                self._take(record)
            except UnicodeEncodeError:
                self._refuse(record, _NOT_TEXT)
            except ValueError as error:
                self._refuse(record, str(error))
            if len(self._described) + len(self._told) >= _WAITING:
                self._flush()
        self._flush()
        self._connection.execute(_INDEX)

    def nodes(self) -> Iterator[StagedNode]:
        """Every node, by id."""
        for id_, group in groupby(self._connection.execute(_NODES), itemgetter(0)):
            records = [NodeRecord(id_, told, decode(text)) for _, told, text in group]
            self.report.nodes += 1
            self.report.duplicate_nodes += len(records) - 1
            yield StagedNode(id_, *merge_node_records(records))

    def edges(self) -> Iterator[StagedEdge]:
        """Every edge with both of its nodes, by subject, predicate and object.

        Those with an end that no record describes are counted, and so is evidence without
        an edge.
        """
        found = groupby(self._connection.execute(_EDGES), itemgetter(0, 1, 2, 5, 6))
        for (subject, predicate, object_, leaves, enters), group in found:
            records: list[dict[str, Any]] = []
            passages: list[dict[str, Any]] = []
            for row in group:
                (passages if row[3] else records).append(decode(row[4]))
            if not records or not leaves or not enters:
                self.report.unattached_evidence += len(passages)
                if records:
                    ends = ((subject, leaves), (object_, enters))
                    self._dangle([end for end, is_node in ends if not is_node])
                continue
            metadata = with_evidence(merge_edges(records), passages)
            self.report.edges += 1
            self.report.duplicate_edges += len(records) - 1
            self.report.evidence += len(evidence_items(("", "", ""), metadata))
            yield StagedEdge(subject, predicate, object_, metadata)

    async def ahead(self, made: Iterator[T]) -> AsyncIterator[T]:
        """What an iterator gives, the next of it made in a thread while this one is used."""
        end = object()

        def begin() -> asyncio.Future[Any]:
            return asyncio.ensure_future(self.in_thread(lambda: next(made, end)))

        coming = begin()
        try:
            while (item := await coming) is not end:
                coming = begin()
                yield item
        finally:
            coming.cancel()
            await asyncio.wait([coming])

    async def in_thread(self, work: Callable[[], T]) -> T:
        """What work on the staging gives; when cancelled, stop it and wait until it does.

        Raises:
            StoreError: There is no room for the file.
        """
        running = asyncio.ensure_future(asyncio.to_thread(work))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            self._stop.set()
            await asyncio.wait([running])
            if not running.cancelled():
                running.exception()
            raise
        except sqlite3.Error as error:
            raise StoreError(
                f"The records cannot be sorted in a temporary file: {error}. Make room in "
                f"{self._folder.parent}, or set TMPDIR to another folder."
            ) from error

    def _take(self, record: GraphRecord) -> None:
        match record:
            case NodeRecord(id_, entity_type, metadata):
                f"{id_}{entity_type}".encode()
                self._described.append((id_, entity_type, encode(metadata)))
            case EdgeRecord(subject, predicate, obj, data) | EvidenceRecord(
                subject, predicate, obj, data
            ):
                f"{subject}{predicate}{obj}".encode()
                passage = isinstance(record, EvidenceRecord)
                self._told.append((subject, predicate, obj, passage, encode(data)))

    def _flush(self) -> None:
        self._connection.executemany("INSERT INTO described VALUES (?, ?, ?)", self._described)
        self._connection.executemany("INSERT INTO told VALUES (?, ?, ?, ?, ?)", self._told)
        self._described.clear()
        self._told.clear()

    def _refuse(self, record: GraphRecord, reason: str) -> None:
        self.report.refused += 1
        if len(self.report.refusals) < KEPT_REFUSALS:
            self.report.refusals.append(Refusal(_named(record), None, reason))

    def _dangle(self, ends: list[str]) -> None:
        self.report.dangling_edges += 1
        for end in ends:
            examples = self.report.dangling_examples
            if end not in examples and len(examples) < EXAMPLES:
                examples.append(end)


def _named(record: GraphRecord) -> str:
    if isinstance(record, NodeRecord):
        return f"node {_short(record.id)}"
    what = "edge" if isinstance(record, EdgeRecord) else "evidence of edge"
    ends = (record.subject, record.predicate, record.object)
    return f"{what} {' '.join(map(_short, ends))}"


def _short(text: str) -> str:
    return ascii(text if len(text) <= 60 else f"{text[:60]}...")  # noqa: PLR2004 - one line
