"""Records wait in a temporary SQLite file until all of them are known, and are merged there.

Several records may describe one node or one edge, and come in any order. The
file holds them with integers in place of ids and predicates; memory holds the
numbers of the ids seen last, one batch of rows, and nothing else that grows.
Nothing is in the store before the last record is read.

    async with staged(records) as staging:
        await staging.run(staging.merge)
        await staging.feed(batches(staging.nodes(), ...), write_nodes)
        await staging.feed(batches(staging.edges(), ...), write_edges)
    return staging.report

A store that needs more reads the tables through `Staging.connection`.
"""
# ruff: noqa: S608 - what is put into these texts are names of this module's tables

from __future__ import annotations

import sqlite3
import tempfile
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, closing
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from bfsql.errors import StoreError
from bfsql.loading.folders import working_folder
from bfsql.loading.intake import (
    BATCH,
    EXAMPLES,
    Merging,
    T,
    Worker,
    accepted,
    merged_node,
    nfc_normalize,
    sample_step,
)
from bfsql.models.json_values import decode, encode
from bfsql.models.load import LoadOptions, LoadReport
from bfsql.models.merge import (
    EdgeMerge,
    Item,
    created_node,
    evidence_items,
    merge_edges,
    with_evidence,
)
from bfsql.models.records import EdgeRecord, EvidenceRecord, GraphRecord, NodeRecord

IDS_IN_MEMORY = 500_000
"""Ids whose numbers are kept in memory, about 100 MB; others are looked up in the file."""
FOLDERS = "bfsql-load-"
"""How the names of the folders of `staged` begin."""

DEFAULTS = LoadOptions()


PRAGMAS = """
PRAGMA main.journal_mode = OFF;
PRAGMA main.synchronous = OFF;
PRAGMA main.locking_mode = EXCLUSIVE;
PRAGMA main.cache_size = -65536;
"""

# Columns of one letter hold numbers: n of a node, p of a predicate, e of a row of `edge`, d of a
# description (a row of `described`); s and o are those of the nodes at the two ends of an edge.
TABLES = """
CREATE TABLE node (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE);
CREATE TABLE predicate (p INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE edge (
    e INTEGER PRIMARY KEY, s INTEGER NOT NULL, p INTEGER NOT NULL, o INTEGER NOT NULL,
    items INTEGER NOT NULL, metadata NOT NULL
);
CREATE TABLE described (
    d INTEGER PRIMARY KEY, n INTEGER NOT NULL, type TEXT NOT NULL, metadata NOT NULL
);
-- By name: what only evidence names is neither a node nor a predicate.
CREATE TABLE evidence (
    subject TEXT NOT NULL, predicate TEXT NOT NULL, object TEXT NOT NULL, item NOT NULL
);
-- What becomes of the first of records that are merged; the others are deleted.
CREATE TABLE merged_node (d INTEGER PRIMARY KEY, type TEXT, metadata);
CREATE TABLE merged_edge (e INTEGER PRIMARY KEY, items INTEGER, metadata);
-- What the store itself calls nodes that are written.
CREATE TABLE written (n INTEGER PRIMARY KEY, own NOT NULL);
"""

_DESCRIBE = "INSERT INTO described (n, type, metadata) VALUES (?, ?, ?)"

NODE_GROUPS = """
SELECT n, id, d, type, metadata
FROM (SELECT n FROM described GROUP BY n HAVING count(*) > 1)
CROSS JOIN described USING (n) CROSS JOIN node USING (n) ORDER BY n, d
"""

APPLY_NODES = """
UPDATE described SET type = merged.type, metadata = merged.metadata
FROM merged_node AS merged WHERE described.d = merged.d;
DELETE FROM described WHERE n IN (SELECT n FROM described WHERE d IN (SELECT d FROM merged_node))
AND d NOT IN (SELECT d FROM merged_node);
"""

PASSAGES = """
CREATE TABLE passage AS
SELECT a.n AS s, predicate.p AS p, b.n AS o, item
FROM evidence
CROSS JOIN node AS a ON a.id = subject
CROSS JOIN predicate ON predicate.name = evidence.predicate
CROSS JOIN node AS b ON b.id = object
"""

UNFINISHED = """
CREATE TABLE unfinished AS
SELECT s, p, o FROM edge GROUP BY s, p, o HAVING count(*) > 1 OR min(items) < 0
UNION SELECT s, p, o FROM passage
"""

EDGE_GROUPS = """
SELECT s, p, o, 0 AS passage, e AS place, metadata AS data
FROM unfinished CROSS JOIN edge USING (s, p, o)
UNION ALL SELECT s, p, o, 1, rowid, item FROM passage
ORDER BY 1, 2, 3, 4, 5
"""
IS_PASSAGE, PLACE, DATA = 3, 4, 5
"""Places of columns in the rows of this query, and of any other that `edge_groups` runs."""

APPLY_EDGES = """
UPDATE edge SET items = merged.items, metadata = merged.metadata
FROM merged_edge AS merged WHERE edge.e = merged.e;
DELETE FROM edge WHERE e IN (SELECT e FROM unfinished CROSS JOIN edge USING (s, p, o))
AND e NOT IN (SELECT e FROM merged_edge);
"""

# With +n the edges are looked through only where a node lacks a description.
UNDESCRIBED_ENDS = """
CREATE TABLE created AS SELECT n, id FROM node LEFT JOIN described USING (n)
WHERE d IS NULL AND (+n IN (SELECT s FROM edge) OR +n IN (SELECT o FROM edge))
ORDER BY id
"""

DESCRIBED_ENDS = """
SELECT count(*) FROM described WHERE n IN (SELECT s FROM edge UNION ALL SELECT o FROM edge)
"""

SAMPLE = "SELECT id FROM created WHERE (rowid - 1) % ? = 0 ORDER BY rowid"
IS_NODE = "SELECT 1 FROM node JOIN described USING (n) WHERE id = ?"

MOST_COMPARED = 1_000_000
"""Up to this number of ids are compared for spellings that are easily mistaken."""
SIMILAR_IDS = """
SELECT count(*) OVER (), one, other FROM (
    SELECT min(id) AS one, max(id) AS other FROM {ids}
    GROUP BY lower(replace(CASE WHEN length(id) > 256 THEN id ELSE nfc_normalize(
        CASE WHEN id GLOB '[0-9]*.0' THEN substr(id, 1, length(id) - 2) ELSE id END
    ) END, ' ', '')) HAVING count(*) > 1
) AS pair ORDER BY one LIMIT 3
"""
"""For SQLite and for DuckDB: the number of groups of ids that differ only in case, blanks, Unicode
form or a final .0, and two ids of some of them. DuckDB has `nfc_normalize`, which takes the square
of a run of marks and cannot be interrupted: longer ids than names are compared by are left."""


DANGLING = """
SELECT DISTINCT a.id AS subject, name AS predicate, b.id AS object,
    s IN (SELECT n FROM undescribed), o IN (SELECT n FROM undescribed)
FROM edge JOIN node AS a ON a.n = s JOIN predicate USING (p) JOIN node AS b ON b.n = o
WHERE s IN (SELECT n FROM undescribed) OR o IN (SELECT n FROM undescribed)
"""


class Codec(NamedTuple):
    """How metadata is written in the file: text or bytes that hold what the store can keep."""

    encode: Callable[[Any], str | bytes]
    """Raises a `ValueError` for metadata that cannot be written."""
    decode: Callable[[Any], dict[str, Any]]


JSON = Codec(encode, decode)
"""Metadata as the text of `bfsql.models.json_values`."""


class StagedNode(NamedTuple):
    """A node that all its records were merged into."""

    id: str
    entity_type: str
    metadata: dict[str, Any]
    """Further types stand in `other_types`."""
    number: int
    """Its number in the staging."""


class StagedEdge(NamedTuple):
    """An edge that all its records and passages were merged into."""

    subject: str
    predicate: str
    object: str
    metadata: dict[str, Any]
    """Evidence stands in `provenance`."""
    ends: tuple[Any, Any]
    """What the store calls subject and object; None unless `note_own_ids` was told."""


class EdgeGroup(NamedTuple):
    """All records and passages of one triple."""

    row: tuple[Any, ...]
    """The first row of the query."""
    number: int
    """How many records there are."""
    length: int
    """Length of the data of all rows."""
    records: list[dict[str, Any]]
    """At least one, in the order in which they came; the first may be several in one."""
    passages: list[dict[str, Any]]
    """Each once."""


class StagingError(StoreError):
    """The temporary file cannot be written."""


@asynccontextmanager
async def staged(
    records: Iterable[GraphRecord],
    *,
    check: Callable[[GraphRecord], None] | None = None,
    codec: Codec = JSON,
    options: LoadOptions = DEFAULTS,
) -> AsyncIterator[Staging]:
    """A staging of all records, not merged yet; its file is removed at the end.

    Cancelling stops the reading, and whatever else runs in the staging.

    Args:
        records: Nodes, edges and evidence in any order. They are read once, in a thread.
        check: Raises a `ValueError` for a record that the store cannot hold; its text is
            the reason.
        codec: How metadata is written.
        options: How the graph is to be loaded.

    Raises:
        StagingError: There is no room for the file.
    """
    place = Path(tempfile.gettempdir())
    worker = Worker()
    with working_folder(place, FOLDERS, uuid4().hex) as folder:
        try:
            staging = Staging(folder, worker, check=check, codec=codec, options=options)
            with closing(staging):
                await worker.run(lambda: staging.take(records))
                yield staging
        except sqlite3.Error as error:
            raise StagingError(
                f"The records cannot be sorted in a temporary file: {error}. Free space in "
                f"{place}, or set TMPDIR to another folder."
            ) from error


class Staging:
    """Records in a file, on their way into a store.

    The steps, in this order: `take`; `merge_nodes`; `drop_dangling` where the store keeps no edge
    without both of its nodes; `merge_edges`. Every step blocks, and fills in its part of the
    report.

    Args:
        folder: Where the file is made; the caller removes it.
        worker: Runs the steps, and stops them.
        check: As for `staged`.
        codec: How metadata is written.
        ids_in_memory: Ids whose numbers are kept in memory.
        options: How the graph is to be loaded.
    """

    def __init__(
        self,
        folder: Path,
        worker: Worker,
        *,
        check: Callable[[GraphRecord], None] | None = None,
        codec: Codec = JSON,
        ids_in_memory: int = IDS_IN_MEMORY,
        options: LoadOptions = DEFAULTS,
    ) -> None:
        self.report = LoadReport()
        """What was found so far."""
        self.connection = sqlite3.connect(folder / "staged.db", check_same_thread=False)
        """The file: `node`, `predicate`, `described` and `edge`, which after merging have one row
        a thing."""
        self.run = worker.run
        self.feed = worker.feed
        self._worker = worker
        self._check = check
        self._codec = codec
        self._options = options
        self.connection.executescript(PRAGMAS + TABLES)
        self.connection.create_function("nfc_normalize", 1, nfc_normalize)
        # After each 100,000 steps of SQLite's machine.
        self.connection.set_progress_handler(worker.stopped, 100_000)
        self._ids = Numbers(self.connection, "node", "n", "id", ids_in_memory)
        self._predicates = Numbers(self.connection, "predicate", "p", "name", ids_in_memory)
        self._described: list[tuple[Any, ...]] = []
        self._edges: list[tuple[Any, ...]] = []
        self._evidence: list[tuple[Any, ...]] = []
        self._own_ids: deque[Sequence[Any]] = deque()

    def close(self) -> None:
        """Close the file."""
        self.connection.close()

    # --- taking records -------------------------------------------------------

    def take(self, records: Iterable[GraphRecord]) -> None:
        """Read all records; those that cannot be held are refused."""
        stopped, strict = self._worker.stopped, self._options.strict
        taken = accepted(records, self._take, self.report, stopped, strict=strict)
        for count, _ in enumerate(taken, 1):
            if count % BATCH == 0:
                self._flush()
        self._flush()
        self.connection.commit()

    def _take(self, record: GraphRecord) -> None:
        if self._check:
            self._check(record)
        match record:
            case EdgeRecord(subject, predicate, obj, metadata):
                data = self._codec.encode(metadata)
                # -1: its own provenance has not been counted yet.
                items = -1 if "provenance" in metadata else 0
                s, o = self._ids[subject], self._ids[obj]
                # The predicate last: one of a refused edge would be listed in the schema.
                self._edges.append((s, self._predicates[predicate], o, items, data))
            case NodeRecord(entity_id, entity_type, metadata):
                entity_type.encode()
                data = self._codec.encode(metadata)
                self._described.append((self._ids[entity_id], entity_type, data))
            case EvidenceRecord(subject, predicate, obj, item):
                f"{subject}{predicate}{obj}".encode()
                self._evidence.append((subject, predicate, obj, self._codec.encode(item)))

    def _flush(self) -> None:
        for insert, rows in (
            (_DESCRIBE, self._described),
            ("INSERT INTO edge (s, p, o, items, metadata) VALUES (?, ?, ?, ?, ?)", self._edges),
            ("INSERT INTO evidence VALUES (?, ?, ?, ?)", self._evidence),
        ):
            self.connection.executemany(insert, rows)
            rows.clear()

    # --- merging --------------------------------------------------------------

    def merge(self) -> None:
        """Merge nodes and edges, without edges that lack one of their nodes."""
        self.merge_nodes()
        self.drop_dangling()
        self.merge_edges()

    def merge_nodes(self) -> None:
        """Leave one description of every node."""
        self.tell("merging")
        self.connection.execute("CREATE INDEX described_n ON described (n)")
        # Into a second table: a table that is being read must not change.
        self.connection.executemany(
            "INSERT INTO merged_node VALUES (?, ?, ?)", self._merged_nodes()
        )
        self.connection.executescript(APPLY_NODES)
        default_type = (self._options.default_type,)
        self.connection.execute("UPDATE described SET type = ? WHERE type = ''", default_type)
        self._count_ends()
        if self._options.create_nodes:
            self._create_nodes()
        self.report.nodes = self._number("SELECT count(*) FROM described")
        if self.report.nodes <= MOST_COMPARED:
            ids = SIMILAR_IDS.format(ids="node")  # also those at dangling ends
            self.report.note_similar_ids(self.connection.execute(ids))

    def _merged_nodes(self) -> Iterator[tuple[Any, ...]]:
        for (_, id_), group in groupby(self.connection.execute(NODE_GROUPS), itemgetter(0, 1)):
            first = next(group)
            records = (
                NodeRecord(id_, type_, self._codec.decode(data))
                for *_, type_, data in chain([first], group)
            )
            node = merged_node(records, self._options.default_type, self.report)
            yield first[2], node[0], self._codec.encode(node[1])

    def _count_ends(self) -> None:
        """Count the ends of edges with and without a description, and look up possible ids.

        Those without become the table `created`.
        """
        report, execute = self.report, self.connection.execute
        execute(UNDESCRIBED_ENDS)
        report.undescribed_ends = self._number("SELECT count(*) FROM created")
        if report.undescribed_ends:
            report.described_ends = self._number(DESCRIBED_ENDS)
            step = (sample_step(report.undescribed_ends),)
            report.undescribed_sample = [id_ for (id_,) in execute(SAMPLE, step)]
        report.actual_ids = {
            text for text in self._options.possible_ids if execute(IS_NODE, (text,)).fetchone()
        }

    def _create_nodes(self) -> None:
        """Describe the ends of edges that no record describes, which `_count_ends` has found."""
        self.report.created_nodes = self.report.undescribed_ends
        examples = self.connection.execute("SELECT id FROM created LIMIT ?", (EXAMPLES,))
        self.report.created_examples = [id_ for (id_,) in examples]
        rows = self.connection.execute("SELECT n, id FROM created")
        nodes = ((n, created_node(id_, self._options.default_type)) for n, id_ in rows)
        described = ((n, one.entity_type, self._codec.encode(one.metadata)) for n, one in nodes)
        self.connection.executemany(_DESCRIBE, described)

    def drop_dangling(self, order: str = "subject, predicate, object") -> None:
        """Delete edges with an end that no record describes, and count them.

        Args:
            order: In which order they are looked through for examples of such ends.
        """
        self.connection.executescript(
            "CREATE TABLE undescribed AS SELECT n FROM node LEFT JOIN described USING (n) "
            "WHERE d IS NULL; CREATE UNIQUE INDEX undescribed_n ON undescribed (n);"
        )
        if not self._number("SELECT EXISTS (SELECT 1 FROM undescribed)"):
            return
        report, examples = self.report, self.report.dangling_examples
        for subject, _, obj, *lacks in self.connection.execute(f"{DANGLING} ORDER BY {order}"):
            report.dangling_edges += 1
            for end, lacking in zip((subject, obj), lacks, strict=True):
                if lacking and end not in examples and len(examples) < EXAMPLES:
                    examples.append(end)
        self.connection.execute(
            "DELETE FROM edge WHERE s IN (SELECT n FROM undescribed) "
            "OR o IN (SELECT n FROM undescribed)"
        )

    def merge_edges(self) -> None:
        """Leave one row of every edge, with its evidence in its metadata."""
        self.find_passages()
        self.connection.execute("CREATE INDEX edge_out ON edge (s, p, o, items)")
        self.connection.execute(UNFINISHED)
        self.connection.executemany(
            "INSERT INTO merged_edge VALUES (?, ?, ?)", self._merged_edges()
        )
        self.connection.executescript(APPLY_EDGES)
        self.report.edges = self._number("SELECT count(*) FROM edge")

    def find_passages(self) -> None:
        """Make `passage`, the evidence of pairs that are known, by the numbers of its edge."""
        self.connection.execute(PASSAGES)
        self.report.unattached_evidence += self._number(
            "SELECT (SELECT count(*) FROM evidence) - (SELECT count(*) FROM passage)"
        )

    def edge_groups(self, query: str, *, merge: bool = False) -> Iterator[EdgeGroup]:
        """The edges of a query; evidence without an edge is counted and left out.

        Args:
            query: Gives subject, predicate, object, whether it is a passage, place, data, and
                whatever else; rows of one triple together, its records before its passages.
            merge: Whether some of many records may be merged.
        """
        decode = self._codec.decode
        for _, group in groupby(self.connection.execute(query), itemgetter(0, 1, 2)):
            first = next(group)
            combine = self._merge_of(first) if merge else None
            merging: Merging[dict[str, Any]] = Merging(combine)
            count = length = 0
            passages: dict[Any, None] = {}
            for row in chain([first], group):
                count += 1
                length += len(row[DATA])
                if row[IS_PASSAGE]:
                    passages[row[DATA]] = None
                else:
                    merging.add(decode(row[DATA]))
            if merging.number:
                items = [decode(data) for data in passages]
                yield EdgeGroup(first, merging.number, length, merging.records, items)
            else:
                self.report.unattached_evidence += count

    def merge_group(self, group: EdgeGroup) -> tuple[dict[str, Any], list[Item]]:
        """The metadata of an edge and the items of its evidence, both counted."""
        metadata = with_evidence(self._merge_of(group.row)(group.records), group.passages)
        items = evidence_items(("", "", ""), metadata)
        self.report.duplicate_edges += group.number - 1
        self.report.evidence += len(items)
        return metadata, items

    def _merge_of(self, row: Sequence[Any]) -> EdgeMerge:
        """Merges the records of an edge, and keeps the periods of those that differ in them."""
        keys = self._options.time_keys
        if not keys:
            return merge_edges
        name = self.connection.execute("SELECT name FROM predicate WHERE p = ?", (row[1],))
        return keys.merge(*name.fetchone())

    def _merged_edges(self) -> Iterator[tuple[Any, ...]]:
        number = self._number("SELECT count(*) FROM unfinished")
        for count, group in enumerate(self.edge_groups(EDGE_GROUPS, merge=True)):
            if count % 1_000 == 0:
                self.tell("merging", count / number)
            metadata, items = self.merge_group(group)
            yield group.row[PLACE], len(items), self._codec.encode(metadata)

    # --- what was merged ------------------------------------------------------

    def nodes(self) -> Iterator[StagedNode]:
        """Every node, by id."""
        for number, id_, entity_type, data in self.connection.execute(
            "SELECT n, id, type, metadata FROM described JOIN node USING (n) ORDER BY id"
        ):
            yield StagedNode(id_, entity_type, self._codec.decode(data), number)

    def edges(self) -> Iterator[StagedEdge]:
        """Every edge, by subject, predicate and object."""
        for subject, predicate, object_, data, *ends in self.connection.execute(
            "SELECT a.id, name, b.id, metadata, x.own, y.own FROM edge JOIN node AS a ON a.n = s "
            "JOIN predicate USING (p) JOIN node AS b ON b.n = o LEFT JOIN written AS x ON x.n = s "
            "LEFT JOIN written AS y ON y.n = o ORDER BY 1, 2, 3"
        ):
            yield StagedEdge(subject, predicate, object_, self._codec.decode(data), (*ends,))

    # --- what the store calls it ------------------------------------------------

    def note_own_ids(self, pairs: Iterable[Sequence[Any]]) -> None:
        """Note what the store calls nodes: pairs of a node's number and the store's own id."""
        self._own_ids.extend(pairs)

    def with_own_ids(self, items: Iterator[T]) -> Iterator[T]:
        """The items; what was noted before one of them is made, or returned, is in the file."""
        for item in chain((None,), items):
            if item is not None:
                yield item
            # In the thread that reads the file, so that no other thread uses its connection.
            pairs = [self._own_ids.popleft() for _ in range(len(self._own_ids))]
            self.connection.executemany("INSERT OR REPLACE INTO written VALUES (?, ?)", pairs)

    def tell(self, phase: str, share: float | None = None) -> None:
        """Report progress, as `bfsql.models.load.Progress` has it."""
        if self._options.progress:
            self._options.progress(phase, share)

    def _number(self, query: str) -> int:
        return int(self.connection.execute(query).fetchone()[0])


class Numbers(dict[str, int]):
    """Numbers of the names in a table, in order of first use, of which `in_memory` are in memory.

    A name that is not text raises a `UnicodeEncodeError`.
    """

    def __init__(
        self, connection: sqlite3.Connection, table: str, number: str, name: str, in_memory: int
    ) -> None:
        super().__init__()
        self._connection = connection
        self._find = f"SELECT {number} FROM {table} WHERE {name} = ?"
        self._insert = f"INSERT INTO {table} ({number}, {name}) VALUES (?, ?)"
        self._in_memory = in_memory
        self._forgot = False
        self._last = 0

    def __missing__(self, name: str) -> int:
        row = self._connection.execute(self._find, (name,)).fetchone() if self._forgot else None
        if row:
            (number,) = row
        else:
            number = self._last + 1
            self._connection.execute(self._insert, (number, name))
            self._last = number
        if len(self) >= self._in_memory:
            self.clear()
            self._forgot = True
        self[name] = number
        return int(number)
