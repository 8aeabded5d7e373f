"""The first half of a load: records become rows, a batch at a time.

Whatever of a record can be refused is refused here, so that no row stops the
`COPY` that it is in. Memory holds one batch, and nothing that grows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bfsql.models.json_values import is_text
from bfsql.models.records import (
    EdgeRecord,
    EvidenceRecord,
    GraphRecord,
    LoadReport,
    NodeRecord,
    Refusal,
)
from bfsql_postgres.ddl import MAX_INDEXED, RELATIONSHIP, Table
from bfsql_postgres.sql import storable

RECORDS = 5_000
"""Records of a batch."""
CHARACTERS = 8_000_000
"""Characters from which on a batch is full, however few its records."""
KEPT_REFUSALS = 100

_HALF = "it holds half of a surrogate pair, which is not text; write the character whole"
_NUL = "it holds the character NUL, which Postgres has not in its texts; write it without"

Row = tuple[Any, ...]


class Stopped(Exception):
    """The load was cancelled."""


@dataclass(slots=True)
class Batch:
    """Rows for the three tables that a load begins with."""

    nodes: list[Row] = field(default_factory=list)
    """`place, entity_id, entity_type` and what `entity` keeps."""
    edges: list[Row] = field(default_factory=list)
    """As `relationship` is written."""
    passages: list[Row] = field(default_factory=list)
    """`subject_id, predicate, object_id, beside` and what the evidence table keeps; `beside` is
    whether the passage stood in the record of its edge."""


class Staging:
    """Takes records apart.

    Args:
        records: What the sources give; read once.
        entity: The table of nodes.
        evidence: The table of evidence.
        report: Where refusals are told.
        stopped: Asked before every record.
    """

    def __init__(
        self,
        records: Iterable[GraphRecord],
        entity: Table,
        evidence: Table,
        report: LoadReport,
        stopped: Callable[[], bool],
    ) -> None:
        self._waiting = enumerate(records)
        self._entity = entity
        self._evidence = evidence
        self._report = report
        self._stopped = stopped
        self._characters = 0

    def take(self) -> Batch | None:
        """The rows of the next records, None after the last.

        Raises:
            Stopped: In the middle of it.
        """
        batch, taken = Batch(), 0
        self._characters = 0
        for place, record in self._waiting:
            if self._stopped():
                raise Stopped
            try:
                self._take_one(place, record, batch)
            except ValueError as error:
                self._refuse(record, str(error))
            taken += 1
            if taken >= RECORDS or self._characters >= CHARACTERS:
                break
        return batch if taken else None

    def _take_one(self, place: int, record: GraphRecord, batch: Batch) -> None:
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
                batch.nodes.append((place, entity_id, entity_type, *values))
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

    def _refuse(self, record: GraphRecord, reason: str) -> None:
        self._report.refused += 1
        if len(self._report.refusals) < KEPT_REFUSALS:
            self._report.refusals.append(Refusal(_named(record), None, reason))


def _items(provenance: Any) -> list[Mapping[str, Any]]:
    """Items of an edge's own provenance, as `bfsql.models.merge.with_evidence` reads it."""
    listed = provenance if isinstance(provenance, list) else [provenance]
    return [item if isinstance(item, Mapping) else {"text_span": str(item)} for item in listed]


def _check(*names: str) -> None:
    """Make sure that names can be stored, and indexed together.

    Raises:
        ValueError: The reason why they cannot.
    """
    together = "".join(names)
    if not storable((together,)):
        raise ValueError(_NUL if is_text(together) else _HALF)
    # A character has four bytes at the most.
    if len(together) > MAX_INDEXED // 4 and (size := len(together.encode())) > MAX_INDEXED:
        what = "its three names have" if len(names) > 1 else "it has"
        raise ValueError(
            f"{what} {size} bytes, and an index of Postgres takes {MAX_INDEXED}; shorten it"
        )


def _named(record: GraphRecord) -> str:
    if isinstance(record, NodeRecord):
        return f"node {_short(record.id)}"
    what = "edge" if isinstance(record, EdgeRecord) else "evidence of edge"
    ends = (record.subject, record.predicate, record.object)
    return f"{what} {' '.join(map(_short, ends))}"


def _short(text: str) -> str:
    return ascii(text if len(text) <= 60 else f"{text[:60]}...")  # noqa: PLR2004 - one line
