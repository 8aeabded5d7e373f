"""Converts records to rows of the tables that a load begins with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from bfsql.loading.intake import NOT_TEXT
from bfsql.models.json_values import is_text
from bfsql.models.records import EdgeRecord, EvidenceRecord, GraphRecord, NodeRecord
from bfsql_postgres.load.ddl import ENTITY, MAX_INDEXED, RELATIONSHIP, Table
from bfsql_postgres.load.tables import DESCRIBED, PASSAGE
from bfsql_postgres.sql import storable

_NUL = "it contains the character NUL, which Postgres cannot store in text; remove it"

Row = tuple[Any, ...]


Batch = dict[str, list[Row]]
"""Rows for the tables in `LoadTables.copied`, by the name of the table."""


class Rows:
    """Takes records apart; unstorable records are refused, so that no row stops its `COPY`."""

    def __init__(self, evidence: Table) -> None:
        self._evidence = evidence
        self._batch: Batch = defaultdict(list)
        self._place = 0
        self._characters = 0

    def batches(
        self, accepted_records: Iterator[None], records: int = 5_000, characters: int = 8_000_000
    ) -> Iterator[Batch]:
        """The rows of all records, in batches that are full from either number on."""
        number = 0
        for _ in accepted_records:
            number += 1
            if number >= records or self._characters >= characters:
                yield self._batch
                self._batch, self._characters, number = defaultdict(list), 0, 0
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
                values = self._split(RELATIONSHIP, metadata)
                batch[RELATIONSHIP.name].append((subject, predicate, obj, *values))
                if beside:
                    batch[PASSAGE] += beside
            case NodeRecord(entity_id, entity_type, metadata):
                _check(entity_id)
                _check(entity_type)
                values = self._split(ENTITY, metadata)
                batch[DESCRIBED].append((self._place, entity_id, entity_type, *values))
            case EvidenceRecord(subject, predicate, obj, item):
                _check(subject, predicate, obj)
                batch[PASSAGE].append(self._passage(record, item, beside=False))

    def _passage(
        self, of: EdgeRecord | EvidenceRecord, item: Mapping[str, Any], *, beside: bool
    ) -> Row:
        """`beside`: whether the passage is in the record of its edge."""
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
