"""What one document says: nodes and edges, each with its metadata."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bfsql.models.merge import merge_edges, merge_node_records
from bfsql.models.records import EdgeRecord, NodeRecord, Triple


@dataclass(frozen=True, slots=True)
class Described:
    """A piece of the graph, as a document has it."""

    nodes: dict[str, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    """Type and metadata by id, of the nodes that the document says something of."""
    edges: dict[Triple, dict[str, Any]] = field(default_factory=dict)
    """Metadata by triple."""
    roots: tuple[str, ...] = ()
    """Nodes at the top of the document, in its order."""

    @classmethod
    def of(
        cls,
        records: Iterable[NodeRecord | EdgeRecord],
        roots: Iterable[str] = (),
        ordered: Mapping[str, Mapping[str, list[Any]]] | None = None,
    ) -> Described:
        """Several records of one thing are merged (`protocol.md` 7).

        Args:
            records: In any order.
            roots: Nodes at the top of the document.
            ordered: Lists by node and key, whose order says something: they stay as they are.
        """
        nodes: dict[str, list[NodeRecord]] = defaultdict(list)
        edges: dict[Triple, list[dict[str, Any]]] = defaultdict(list)
        for record in records:
            if isinstance(record, NodeRecord):
                nodes[record.id].append(record)
            else:
                edges[record.subject, record.predicate, record.object].append(record.metadata)
        merged = {entity_id: merge_node_records(several) for entity_id, several in nodes.items()}
        for entity_id, lists in (ordered or {}).items():
            merged[entity_id][1].update(lists)
        return cls(
            merged,
            {triple: merge_edges(several) for triple, several in edges.items()},
            tuple(dict.fromkeys(roots)),
        )
