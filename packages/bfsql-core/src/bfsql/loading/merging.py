"""Records and passages of one edge become one, and the report counts them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from bfsql.models.merge import Item, evidence_items, merge_edges, with_evidence
from bfsql.models.records import LoadReport

_TRIPLE = itemgetter(0, 1, 2)


class EdgeGroup(NamedTuple):
    """All records and passages of one triple."""

    first: tuple[Any, ...]
    """The first row."""
    places: list[int]
    """The place of each record."""
    records: list[dict[str, Any]]
    """At least one, in the order in which they came."""
    passages: list[dict[str, Any]]


def edge_groups(
    rows: Iterable[tuple[Any, ...]], decode: Callable[[Any], dict[str, Any]], report: LoadReport
) -> Iterator[EdgeGroup]:
    """Groups of rows that describe one edge; evidence without an edge is counted and left out.

    Args:
        rows: Subject, predicate, object, whether it is a passage, place, data, and whatever else;
            those of one triple together, its records before its passages.
        decode: From the data of a row to metadata.
        report: Where evidence without an edge is counted.
    """
    for _, group in groupby(rows, _TRIPLE):
        first, *others = group
        places: list[int] = []
        records: list[dict[str, Any]] = []
        passages: list[dict[str, Any]] = []
        for row in (first, *others):
            (passages if row[3] else records).append(decode(row[5]))
            if not row[3]:
                places.append(row[4])
        if records:
            yield EdgeGroup(first, places, records, passages)
        else:
            report.unattached_evidence += len(passages)


def merge_edge_group(group: EdgeGroup, report: LoadReport) -> tuple[dict[str, Any], list[Item]]:
    """The metadata of the edge, and the items of its evidence, both counted."""
    metadata = with_evidence(merge_edges(group.records), group.passages)
    items = evidence_items(("", "", ""), metadata)
    report.duplicate_edges += len(group.records) - 1
    report.evidence += len(items)
    return metadata, items
