"""Converts records to rows of the tables that a load begins with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from bfsql.loading.intake import NOT_TEXT
from bfsql.models.json_values import is_text
from bfsql.models.records import EdgeRecord, EvidenceRecord, GraphRecord, NodeRecord
from bfsql_postgres.load.ddl import MAX_INDEXED, RELATIONSHIP, Table
from bfsql_postgres.sql import storable

RECORDS = 5_000
"""Most records of a batch."""
CHARACTERS = 8_000_000
"""Number of characters at which a batch is full, however few its records."""

_NUL = "it contains the character NUL, which Postgres cannot store in text; remove it"

Row = tuple[Any, ...]


@dataclass(slots=True)
class Batch:
    """Rows for the three tables that a load begins with."""

    nodes: list[Row] = field(default_factory=list)
    """`place, entity_id, entity_type` and the columns that `entity` keeps."""
    edges: list[Row] = field(default_factory=list)
    """Rows with the columns of `relationship`."""
    passages: list[Row] = field(default_factory=list)
    """`subject_id, predicate, object_id, beside` and the columns that the evidence table keeps;
    `beside` is whether the passage was in the record of its edge.
    """


class Rows:
    """Takes records apart; unstorable records are refused, so that no row stops its `COPY`."""

    def __init__(self, entity: Table, evidence: Table) -> None:
        self._entity = entity
        self._evidence = evidence
        self._batch = Batch()
        self._place = 0
        self._characters = 0

    def batches(self, taken: Iterator[None]) -> Iterator[Batch]:
        """The rows of all records, in batches that are bounded in records and in characters."""
        number = 0
        for _ in taken:
            number += 1
            if number >= RECORDS or self._characters >= CHARACTERS:
                yield self._batch
                self._batch, self._characters, number = Batch(), 0, 0
        yield self._batch

    def take(self, record: GraphRecord) -> None:
        """Add the rows of one record.

        Raises:
            ValueError: The record cannot be stored; the text is the reason.
        """
        batch = self._batch
        self._place += 1
        match record:
            case EdgeRecord(subject, predicate, obj, metadata):
                _check(subject, predicate, obj)
                beside: list[Row] = []
                if metadata.get("provenance"):
                    items = _items(metadata["provenance"])
                    metadata = {k: v for k, v in metadata.items() if k != "provenance"}
                    beside = [self._passage(record, item, beside=True) for item in items]
                batch.edges.append((subject, predicate, obj, *self._split(RELATIONSHIP, metadata)))
                batch.passages += beside
            case NodeRecord(entity_id, entity_type, metadata):
                _check(entity_id)
                _check(entity_type)
                values = self._split(self._entity, metadata)
                batch.nodes.append((self._place, entity_id, entity_type, *values))
            case EvidenceRecord(subject, predicate, obj, item):
                _check(subject, predicate, obj)
                batch.passages.append(self._passage(record, item, beside=False))

    def _passage(
        self, of: EdgeRecord | EvidenceRecord, item: Mapping[str, Any], *, beside: bool
    ) -> Row:
        values = self._split(self._evidence, item)
        return (of.subject, of.predicate, of.object, beside, *values)

    def _split(self, table: Table, metadata: Mapping[str, Any]) -> list[Any]:
        values = table.split(metadata)
        self._characters += sum(len(value) for value in values if type(value) is str)
        return values


def _items(provenance: Any) -> list[Mapping[str, Any]]:
    """Items of an edge's own provenance, as `bfsql.models.merge.with_evidence` reads them."""
    listed = provenance if isinstance(provenance, list) else [provenance]
    return [item if isinstance(item, Mapping) else {"text_span": str(item)} for item in listed]


def _check(*names: str) -> None:
    """Make sure that names can be stored, and indexed together.

    Raises:
        ValueError: They cannot; the text is the reason.
    """
    together = "".join(names)
    if not storable((together,)):
        raise ValueError(_NUL if is_text(together) else NOT_TEXT)
    # A character has at most four bytes.
    if len(together) > MAX_INDEXED // 4 and (size := len(together.encode())) > MAX_INDEXED:
        what = "its three names have" if len(names) > 1 else "it has"
        raise ValueError(
            f"{what} {size} bytes, but an index in Postgres accepts at most {MAX_INDEXED}; "
            "shorten it"
        )
