"""Merged records as rows for write statements: nodes label by label, relationships by type.

Several records of one edge remain parallel relationships. All evidence is on the first of them, so
a reader that merges them finds the same `provenance` as merging in memory.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from bfsql.loading import Codec, EdgeGroup, Staging, batches
from bfsql.models.json_values import as_text
from bfsql.models.records import GraphRecord, NodeRecord
from bfsql_neo4j.values import DOCUMENTS, plain, to_properties

MAX_ID_BYTES = 8_000
"""Most bytes of an id in UTF-8; range indexes take no text of 8,167 or more."""
BATCH = 5_000
"""Most rows written in one transaction."""
BATCH_BYTES = 4_000_000
"""Approximate limit of the bytes written in one transaction, unless one row has more."""

_LABELS = "SELECT DISTINCT type FROM described ORDER BY 1"

_NODES = "SELECT type, n, id, metadata FROM described JOIN node USING (n) ORDER BY type, id"

_RELATIONSHIPS = """
SELECT s, p, o, 0 AS passage, e AS place, metadata, name, a.own, b.own
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
    """Refuse values that Neo4j cannot store.

    Raises:
        ValueError: The record cannot be stored; the text is the reason.
    """
    if isinstance(record, NodeRecord):
        size = len(record.id.encode())
        if size > MAX_ID_BYTES:
            raise ValueError(
                f"its id has {size:,} bytes, but Neo4j's indexes accept at most {MAX_ID_BYTES:,}; "
                "shorten it"
            )
        _check_name("type", record.entity_type)
    else:
        if not record.predicate:
            raise ValueError("its predicate is empty, but in Neo4j every relationship has a type")
        f"{record.subject}{record.object}".encode()
        _check_name("predicate", record.predicate)


def _check_name(what: str, name: str) -> None:
    name.encode()
    if "\0" in name:
        raise ValueError(
            f"its {what} contains U+0000, which is not allowed in Neo4j names; remove it"
        )


def _packed(metadata: Any) -> bytes:
    return pickle.dumps(plain(metadata), pickle.HIGHEST_PROTOCOL)


def _unpacked(data: bytes) -> dict[str, Any]:
    metadata: dict[str, Any] = pickle.loads(data)  # noqa: S301 - this load wrote it itself
    return metadata


PLAIN = Codec(_packed, _unpacked)
"""Metadata as returned by `values.plain`: dates, times and bytes are preserved."""


# --- rows -----------------------------------------------------------------------


class GraphRows:
    """The rows of one load.

    Args:
        staging: All records, with `check` and `PLAIN`; has to be merged before rows are requested.
    """

    def __init__(self, staging: Staging) -> None:
        self._staging = staging

    def labels(self) -> list[str]:
        """The labels of all nodes, sorted."""
        return [label for (label,) in self._staging.connection.execute(_LABELS)]

    def nodes(self, id_property: Mapping[str, str]) -> Iterator[Batch]:
        """Every node, label by label.

        Args:
            id_property: For every label, the property that holds the id of its nodes.
        """
        found = self._staging.connection.execute(_NODES)
        for label, group in groupby(found, itemgetter(0)):
            taken = (id_property[label],)
            rows = (
                ([n, entity_id, to_properties(_unpacked(data), taken)], len(data))
                for _, n, entity_id, data in group
            )
            for batch in _batches(rows):
                yield Batch(label, batch)

    def relationships(self) -> Iterator[Batch]:
        """Relationships between the written nodes, type by type; counts the edges.

        They are parallel as the records are, which `report.edges` counts at first.
        """
        groups = self._staging.edge_groups(_RELATIONSHIPS)
        for predicate, of_type in groupby(groups, lambda group: str(group.row[6])):
            rows = (row for group in of_type for row in self._of_edge(group))
            for batch in _batches(rows):
                yield Batch(predicate, batch)

    def _of_edge(self, group: EdgeGroup) -> Iterator[tuple[Row, int]]:
        """One row per record, with its size in bytes."""
        self._staging.report.edges -= group.number - 1
        start, end = group.row[7:]
        size = group.length // group.number
        records, documents = self._with_evidence(group)
        for metadata in records:
            yield [start, end, to_properties(metadata) | documents], size
            documents = {}

    def _with_evidence(self, group: EdgeGroup) -> tuple[list[dict[str, Any]], dict[str, list[str]]]:
        """Metadata of the relationships of one edge, and further properties of the first."""
        records = group.records
        if not group.passages and not any("provenance" in metadata for metadata in records):
            self._staging.report.duplicate_edges += len(records) - 1
            return records, {}
        together, items = self._staging.merge_group(group)
        ids = (item["document_id"] for item in items)
        # A longer text cannot be a node's id, and does not fit an index.
        named = sorted({as_text(one) for one in ids if isinstance(one, str) and _fits(one)})
        documents = {DOCUMENTS: named} if named else {}
        if not group.passages:
            return records, documents
        bare = [{k: v for k, v in one.items() if k != "provenance"} for one in records]
        return [{**bare[0], "provenance": together["provenance"]}, *bare[1:]], documents


def _fits(text: str) -> bool:
    return len(text.encode(errors="replace")) <= MAX_ID_BYTES


def _batches(rows: Iterable[tuple[Row, int]]) -> Iterator[list[Row]]:
    for batch in batches(rows, lambda row: (1, row[1]), lambda: BATCH, BATCH_BYTES):
        yield [row for row, _ in batch]
