"""The first half of a load: records go into the new file as they come.

Edges go straight into their final table, as integers; descriptions of nodes
and passages of evidence wait in a scratch file until all of them are known,
because several may describe one thing. Memory holds the numbers of the ids
seen last, `KEPT_IDS` of them, and nothing else that grows.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from typing import Any

from bfsql.models.json_values import encode
from bfsql.models.records import (
    EdgeRecord,
    EvidenceRecord,
    GraphRecord,
    LoadReport,
    NodeRecord,
    Refusal,
)

KEPT_IDS = 500_000
"""Ids whose numbers are kept in memory, about 100 MB; others are looked up in the file."""
BATCH = 5_000
"""Rows written at a time."""
KEPT_REFUSALS = 100

UNCOUNTED = -1
"""`edge.items` while the record's own provenance has not been counted."""

SCRATCH = """
CREATE TABLE scratch.described (n INTEGER NOT NULL, type TEXT NOT NULL, metadata TEXT NOT NULL);
CREATE TABLE scratch.evidence (
    subject TEXT NOT NULL, predicate TEXT NOT NULL, object TEXT NOT NULL, item TEXT NOT NULL
);
"""
_NOT_TEXT = "it holds half of a surrogate pair, which is not text; write the character whole"


class Stopped(Exception):
    """The load was cancelled."""


class Numbers:
    """Numbers for the names in one table, given in the order of their first use.

    Args:
        connection: The new file.
        find: A statement from a name to its number.
        insert: A statement that adds `(number, name)`.
        kept: Names to keep in memory; when there are more, all are forgotten.
    """

    def __init__(
        self, connection: sqlite3.Connection, find: str, insert: str, kept: int = KEPT_IDS
    ) -> None:
        self._connection = connection
        self._find = find
        self._insert = insert
        self._kept = kept
        self._forgot = False
        self._last = 0
        self._recent: dict[str, int] = {}

    def __call__(self, name: str) -> int:
        """The number of a name, a new one for a new name.

        Raises:
            UnicodeEncodeError: The name is not text.
        """
        known = self._recent.get(name)
        return self._look_up(name) if known is None else known

    def _look_up(self, name: str) -> int:
        number = None
        if self._forgot:
            row = self._connection.execute(self._find, (name,)).fetchone()
            number = row and row[0]
        if number is None:
            number = self._last + 1
            self._connection.execute(self._insert, (number, name))
            self._last = number
        if len(self._recent) >= self._kept:
            self._recent.clear()
            self._forgot = True
        self._recent[name] = number
        return number


class Staging:
    """Takes records into a new file.

    Args:
        connection: The new file, with the tables of `layout` and a `scratch` attached.
        report: Where refusals are told.
        stopped: Asked before every record.
    """

    def __init__(
        self, connection: sqlite3.Connection, report: LoadReport, stopped: Callable[[], bool]
    ) -> None:
        self._connection = connection
        self._report = report
        self._stopped = stopped
        connection.executescript(SCRATCH)
        self._id = Numbers(
            connection,
            "SELECT n FROM node WHERE id = ?",
            "INSERT INTO node (n, id) VALUES (?, ?)",
        )
        self._predicate = Numbers(
            connection,
            "SELECT p FROM predicate WHERE name = ?",
            "INSERT INTO predicate (p, name) VALUES (?, ?)",
        )
        self._edges: list[tuple[Any, ...]] = []
        self._described: list[tuple[Any, ...]] = []
        self._evidence: list[tuple[Any, ...]] = []

    def take(self, records: Iterable[GraphRecord]) -> None:
        """Write all records.

        Raises:
            Stopped: In the middle of it.
        """
        stopped = self._stopped
        for record in records:
            if stopped():
                raise Stopped
            try:
                self._take_one(record)
            except UnicodeEncodeError:
                self._refuse(record, _NOT_TEXT)
            except ValueError as error:
                self._refuse(record, str(error))
        self._flush()

    def _take_one(self, record: GraphRecord) -> None:
        match record:
            case EdgeRecord(subject, predicate, obj, metadata):
                text = encode(metadata)
                items = UNCOUNTED if "provenance" in metadata else 0
                s, o = self._id(subject), self._id(obj)
                # The predicate last: one of a refused edge would be listed in the schema.
                self._edges.append((s, self._predicate(predicate), o, items, text))
                rows = self._edges
            case NodeRecord(entity_id, entity_type, metadata):
                entity_type.encode()
                text = encode(metadata)
                self._described.append((self._id(entity_id), entity_type, text))
                rows = self._described
            case EvidenceRecord(subject, predicate, obj, item):
                f"{subject}{predicate}{obj}".encode()
                self._evidence.append((subject, predicate, obj, encode(item)))
                rows = self._evidence
        if len(rows) >= BATCH:
            self._flush()

    def _flush(self) -> None:
        self._connection.executemany(
            "INSERT INTO edge (s, p, o, items, metadata) VALUES (?, ?, ?, ?, ?)", self._edges
        )
        self._connection.executemany(
            "INSERT INTO scratch.described VALUES (?, ?, ?)", self._described
        )
        self._connection.executemany(
            "INSERT INTO scratch.evidence VALUES (?, ?, ?, ?)", self._evidence
        )
        self._edges.clear()
        self._described.clear()
        self._evidence.clear()

    def _refuse(self, record: GraphRecord, reason: str) -> None:
        self._report.refused += 1
        if len(self._report.refusals) < KEPT_REFUSALS:
            self._report.refusals.append(Refusal(_named(record), None, reason))


def _named(record: GraphRecord) -> str:
    if isinstance(record, NodeRecord):
        return f"node {_short(record.id)}"
    what = "edge" if isinstance(record, EdgeRecord) else "evidence of edge"
    ends = (record.subject, record.predicate, record.object)
    return f"{what} {' '.join(map(_short, ends))}"


def _short(text: str) -> str:
    return ascii(text if len(text) <= 60 else f"{text[:60]}...")  # noqa: PLR2004 - one line
