"""Records, queries, results, and the stream from sources to loaders."""

from bfsql.models.evidence import combined, evidence_items, with_evidence
from bfsql.models.merge import (
    merge_edges,
    merge_metadata,
    merge_node_records,
    sorted_union,
    value_order,
)
from bfsql.models.omission import Omission
from bfsql.models.queries import MAX_HOPS, BfsQuery, IntersectionQuery
from bfsql.models.records import (
    NO_METADATA,
    Edge,
    EdgeWithMetadata,
    EntityStub,
    Metadata,
    Node,
    Triple,
)
from bfsql.models.results import (
    BfsResult,
    Facts,
    IntersectionResult,
    SchemaDescription,
    SchemaSummary,
    Subgraph,
)
from bfsql.models.stream import (
    EdgeRecord,
    EvidenceRecord,
    GraphRecord,
    GraphStream,
    LoadReport,
    NodeRecord,
    Refusal,
)

__all__ = [
    "MAX_HOPS",
    "NO_METADATA",
    "BfsQuery",
    "BfsResult",
    "Edge",
    "EdgeRecord",
    "EdgeWithMetadata",
    "EntityStub",
    "EvidenceRecord",
    "Facts",
    "GraphRecord",
    "GraphStream",
    "IntersectionQuery",
    "IntersectionResult",
    "LoadReport",
    "Metadata",
    "Node",
    "NodeRecord",
    "Omission",
    "Refusal",
    "SchemaDescription",
    "SchemaSummary",
    "Subgraph",
    "Triple",
    "combined",
    "evidence_items",
    "merge_edges",
    "merge_metadata",
    "merge_node_records",
    "sorted_union",
    "value_order",
    "with_evidence",
]
