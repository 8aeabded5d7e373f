"""Writes a graph into the store: all of it, or nothing. All of it is in memory."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from bfsql.errors import StoreError
from bfsql.loading import check_graph, graph_is_there
from bfsql.models import (
    REPLACING,
    EdgeRecord,
    EvidenceRecord,
    GraphRecord,
    LoadMode,
    LoadOptions,
    LoadReport,
    NodeRecord,
    Triple,
    created_node,
    merge_edges,
    merge_node_records,
    with_evidence,
)
from bfsql_early import queries
from bfsql_early.settings import EarlySettings

EXAMPLES = 5
"""Dangling ends that a report names."""


async def load_graph(
    settings: EarlySettings, records: Iterable[GraphRecord], options: LoadOptions = REPLACING
) -> LoadReport:
    """Make a file from records, and from those of the one that may be there.

    Args:
        settings: Where to write.
        records: Nodes, edges and evidence in any order; several of one thing are merged.
        options: What becomes of a graph that is there, and of what is missing in the new one.

    Returns:
        What was found and made.

    Raises:
        StoreError: A graph is there that is to stay, what is there is no graph, or the file
            cannot be written.
    """
    return await asyncio.to_thread(_load, settings.path.expanduser(), records, options)


def _load(path: Path, records: Iterable[GraphRecord], options: LoadOptions) -> LoadReport:
    held = queries.read(path) if path.exists() else None  # what is no graph is not replaced
    if held and options.mode is LoadMode.NEW:
        raise graph_is_there(str(path), len(held.nodes), len(held.edges))
    report = LoadReport(place=str(path))
    told = _Told(options)
    if options.mode is LoadMode.APPEND:
        told.take(_kept(held or queries.Store(), options.remove, report))
    told.take(records)
    told.complete(report)
    check_graph(report, options, keeps_dangling=True)
    content = {"nodes": told.merged_nodes(), "edges": told.merged_edges()}
    text = json.dumps(content, default=_plain)
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".bfsql-early.") as folder:
            made = Path(folder) / path.name
            made.write_text(text, encoding="utf-8")
            made.replace(path)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}.") from error
    return report


def _kept(
    held: queries.Store, remove: Iterable[GraphRecord], report: LoadReport
) -> Iterator[GraphRecord]:
    """What the store holds, without what is to be taken out of it."""
    nodes: set[str] = set()
    edges: set[Triple] = set()
    for record in remove:
        match record:
            case NodeRecord():
                nodes.add(record.id)
            case EdgeRecord(subject, predicate, obj):
                edges.add((subject, predicate, obj))
    gone = {edge for edge in held.edges if edge in edges or {edge[0], edge[2]} & nodes}
    strange = [*sorted(nodes - held.nodes.keys()), *map(" ".join, sorted(edges - gone))]
    report.removed_nodes, report.removed_edges = len(nodes & held.nodes.keys()), len(gone)
    report.not_there, report.not_there_examples = len(strange), strange[:EXAMPLES]
    for node, metadata in held.nodes.items():
        if node not in nodes:
            yield NodeRecord(node, held.types[node], metadata)
    for edge, metadata in held.edges.items():
        if edge not in gone:
            yield EdgeRecord(*edge, metadata)


class _Told:
    """What the records say, by the thing that they say it of."""

    def __init__(self, options: LoadOptions) -> None:
        self.options = options
        self.nodes: dict[str, list[NodeRecord]] = defaultdict(list)
        self.edges: dict[Triple, list[Mapping[str, Any]]] = defaultdict(list)
        self.evidence: dict[Triple, list[Mapping[str, Any]]] = defaultdict(list)

    def take(self, records: Iterable[GraphRecord]) -> None:
        for record in records:
            match record:
                case NodeRecord():
                    self.nodes[record.id].append(record)
                case EdgeRecord(subject, predicate, obj, metadata):
                    self.edges[subject, predicate, obj].append(metadata)
                case EvidenceRecord(subject, predicate, obj, item):
                    self.evidence[subject, predicate, obj].append(item)

    def merged_nodes(self) -> list[dict[str, Any]]:
        untyped = self.options.default_type
        merged = {i: merge_node_records(records, untyped) for i, records in self.nodes.items()}
        return [
            {"id": i, "type": entity_type, "metadata": metadata}
            for i, (entity_type, metadata) in merged.items()
        ]

    def merged_edges(self) -> list[dict[str, Any]]:
        found = []
        for triple, records in self.edges.items():
            metadata = with_evidence(merge_edges(records), self.evidence.get(triple, ()))
            ends = dict(zip(("subject", "predicate", "object"), triple, strict=True))
            found.append({**ends, "metadata": metadata})
        return found

    def complete(self, report: LoadReport) -> None:
        """Make nodes of ends that no record describes, where that is asked for, and count all."""
        ends = {triple: {triple[0], triple[2]} - self.nodes.keys() for triple in self.edges}
        missing = sorted(set().union(*ends.values()))
        report.duplicate_nodes = sum(len(records) - 1 for records in self.nodes.values())
        if self.options.create_nodes:
            report.created_nodes, report.created_examples = len(missing), missing[:EXAMPLES]
            for i in missing:
                self.nodes[i].append(created_node(i, self.options.default_type))
        else:
            report.dangling_edges = sum(bool(lacking) for lacking in ends.values())
            report.dangling_examples = missing[:EXAMPLES]
        attached = [len(items) for edge, items in self.evidence.items() if edge in self.edges]
        report.nodes, report.edges = len(self.nodes), len(self.edges)
        report.evidence = sum(attached)
        report.duplicate_edges = sum(len(records) - 1 for records in self.edges.values())
        report.unattached_evidence = sum(map(len, self.evidence.values())) - sum(attached)


def _plain(value: Any) -> Any:
    """What JSON has no words for: dates in ISO 8601, sets as lists, all else as text."""
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
