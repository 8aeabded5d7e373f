"""Merged records as the rows that statements write: nodes label by label, relationships by type.

Several records of one edge stay parallel relationships. All evidence is on the first of them:
a reader that merges them finds the `provenance` that merging in memory gives.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from bfsql.loading import Codec, EdgeGroup, Staging, batches
from bfsql.models.records import GraphRecord, NodeRecord
from bfsql_neo4j.values import DOCUMENTS, plain, to_properties, whole

MAX_ID_BYTES = 8_000
"""Bytes of an id in UTF-8; range indexes take no text of 8,167 or more."""
BATCH = 5_000
"""Rows written in one transaction at most."""
BATCH_BYTES = 4_000_000
"""Bytes written in one transaction, roughly, unless one row has more."""

_NODES = """
SELECT type, n, id, metadata FROM described JOIN node USING (n) ORDER BY type, id
"""

_RELATIONSHIPS = """
SELECT s, p, o, 0 AS passage, e AS place, metadata, name, a.element, b.element
FROM edge JOIN predicate USING (p) JOIN written AS a ON a.n = s JOIN written AS b ON b.n = o
UNION ALL SELECT s, p, o, 1, rowid, item, NULL, NULL, NULL FROM passage
ORDER BY 2, 1, 3, 4, 5
"""

Row = list[Any]
"""`[number, id, properties]` of a node, `[element id of the subject, of the object, properties]`
of a relationship."""


class Batch(NamedTuple):
    """Rows that one statement writes."""

    name: str
    """The label of the nodes, or the type of the relationships."""
    rows: list[Row]


# --- what Neo4j can hold ------------------------------------------------------


def check(record: GraphRecord) -> None:
    """Refuse what Neo4j cannot hold.

    Raises:
        ValueError: The reason why it cannot.
    """
    if isinstance(record, NodeRecord):
        size = len(record.id.encode())
        if size > MAX_ID_BYTES:
            raise ValueError(
                f"its id has {size:,} bytes, and Neo4j's indexes take {MAX_ID_BYTES:,}; shorten it"
            )
        _check_name("type", record.entity_type)
    else:
        if not record.predicate:
            raise ValueError("its predicate is empty, and Neo4j has no relationship without a type")
        f"{record.subject}{record.object}".encode()
        _check_name("predicate", record.predicate)


def _check_name(what: str, name: str) -> None:
    name.encode()
    if "\0" in name:
        raise ValueError(f"its {what} holds U+0000, which no name in Neo4j can; remove it")


def _packed(metadata: Any) -> bytes:
    return pickle.dumps(plain(metadata), pickle.HIGHEST_PROTOCOL)


def _unpacked(data: bytes) -> dict[str, Any]:
    metadata: dict[str, Any] = pickle.loads(data)  # noqa: S301 - this load wrote it itself
    return metadata


PLAIN = Codec(_packed, _unpacked)
"""Metadata as `values.plain` gives it: dates, times and bytes stay what they are."""


# --- rows -----------------------------------------------------------------------


class GraphRows:
    """The rows of one load, from a staging whose nodes are merged.

    Args:
        staging: All records, with `check` and `PLAIN`.
    """

    def __init__(self, staging: Staging) -> None:
        staging.connection.execute(
            "CREATE TABLE written (n INTEGER PRIMARY KEY, element TEXT NOT NULL)"
        )
        self._staging = staging
        self._written: deque[Sequence[Any]] = deque()

    def labels(self) -> list[str]:
        """The labels of all nodes, sorted."""
        rows = self._staging.connection.execute("SELECT DISTINCT type FROM described ORDER BY 1")
        return [label for (label,) in rows]

    def nodes(self, id_property: Callable[[str], str]) -> Iterator[Batch]:
        """Every node, label by label.

        Args:
            id_property: Gives the property of a label's nodes that holds the id.
        """
        found = self._staging.connection.execute(_NODES)
        for label, group in groupby(found, itemgetter(0)):
            taken = (id_property(label),)
            rows = (
                ([n, entity_id, to_properties(_unpacked(data), taken)], len(data))
                for _, n, entity_id, data in group
            )
            for batch in _batches(label, rows):
                self._flush()
                yield batch

    def note_written(self, elements: Iterable[Sequence[Any]]) -> None:
        """Remember what the store calls the nodes: pairs of number and element id."""
        self._written.extend(elements)

    def relationships(self) -> Iterator[Batch]:
        """Every relationship between nodes that were written, type by type; edges are counted."""
        self._flush()
        groups = self._staging.edge_groups(_RELATIONSHIPS)
        for predicate, of_type in groupby(groups, lambda group: str(group.rows[0][6])):
            rows = (row for group in of_type for row in self._of_edge(group))
            yield from _batches(predicate, rows)

    def _flush(self) -> None:
        # In the thread that reads the staging, so that no other uses its connection.
        pairs = [self._written.popleft() for _ in range(len(self._written))]
        self._staging.connection.executemany("INSERT INTO written VALUES (?, ?)", pairs)

    def _of_edge(self, group: EdgeGroup) -> Iterator[tuple[Row, int]]:
        """One row a record, with its size in bytes."""
        self._staging.report.edges += 1
        start, end = group.rows[0][7:]
        size = sum(len(row[5]) for row in group.rows) // len(group.records)
        records, documents = self._with_evidence(group)
        for metadata in records:
            yield [start, end, to_properties(metadata) | documents], size
            documents = {}

    def _with_evidence(self, group: EdgeGroup) -> tuple[list[dict[str, Any]], dict[str, list[str]]]:
        """Metadata of the relationships of one edge, and what the first of them has besides."""
        records = group.records
        if not group.passages and not any("provenance" in metadata for metadata in records):
            self._staging.report.duplicate_edges += len(records) - 1
            return records, {}
        together, items = self._staging.merge_group(group)
        ids = (item["document_id"] for item in items)
        # What is longer than an id is the id of no node, and more than an index takes.
        named = sorted({whole(one) for one in ids if isinstance(one, str) and _fits(one)})
        documents = {DOCUMENTS: named} if named else {}
        if not group.passages:
            return records, documents
        bare = [{k: v for k, v in one.items() if k != "provenance"} for one in records]
        return [{**bare[0], "provenance": together["provenance"]}, *bare[1:]], documents


def _fits(text: str) -> bool:
    return len(text.encode(errors="replace")) <= MAX_ID_BYTES


def _batches(name: str, rows: Iterable[tuple[Row, int]]) -> Iterator[Batch]:
    for batch in batches(rows, lambda row: (1, row[1]), lambda: BATCH, BATCH_BYTES):
        yield Batch(name, [row for row, _ in batch])
