"""The evidence that touches an entity, and what it supplied as a document (`protocol.md` 16)."""

from __future__ import annotations

from typing import Any

from bfsql.models.merge import evidence_items
from bfsql.models.records import Triple
from bfsql_neo4j.graph import Graph
from bfsql_neo4j.indexes import EVIDENCE_INDEX
from bfsql_neo4j.lucene import phrase
from bfsql_neo4j.metadata import edge_metadata
from bfsql_neo4j.reading import Reader
from bfsql_neo4j.stored import SUFFIX

MOST = 1_000
"""Relationships with evidence that are read for one entity."""
_KEYS = ["provenance", "provenance" + SUFFIX]


async def provenance(reader: Reader, graph: Graph, entity_id: str, limit: int) -> dict[str, Any]:
    """Items in the order of their edges.

    Args:
        reader: The server.
        graph: What is there.
        entity_id: An entity that exists.
        limit: Items to give at the most.

    Returns:
        `total` is None, and `edges_read` tells of how many edges, where there is more
        evidence than is read.
    """
    asked = {"keys": _KEYS, "most": MOST + 1}
    elements, parameters = graph.asked([entity_id])
    text = graph.queries.evidence(elements=elements)
    touching = _by_triple(graph, await reader.one(text, id=entity_id, **asked, **parameters))
    supplied: dict[Triple, list[dict[str, Any]]] = {}
    if graph.evidence:
        text = graph.queries.supplied()
        asked |= {"index": EVIDENCE_INDEX, "lucene": phrase(entity_id), "document": entity_id}
        supplied = _by_triple(graph, await reader.one(text, **asked, **graph.parameters))
    edges = sorted({*touching, *supplied})
    items = [
        item
        for edge in edges
        for item in evidence_items(edge, edge_metadata(touching.get(edge) or supplied[edge]))
        if edge in touching or item["document_id"] == entity_id
    ]
    if max(len(touching), len(supplied)) > MOST:
        return {"total": None, "items": items[:limit], "edges_read": len(edges)}
    return {"total": len(items), "items": items[:limit]}


def _by_triple(graph: Graph, rows: list[Any]) -> dict[Triple, list[dict[str, Any]]]:
    """Properties of the relationships of each triple."""
    predicates = graph.shape.predicates
    found: dict[Triple, list[dict[str, Any]]] = {}
    for subject, name, obj, values in rows:
        properties = {k: v for k, v in zip(_KEYS, values, strict=True) if v is not None}
        if name in predicates:
            found.setdefault((subject, predicates[name], obj), []).append(properties)
    return found
