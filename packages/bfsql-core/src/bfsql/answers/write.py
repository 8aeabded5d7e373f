"""The objects of the protocol, from results (Appendix A, "Response format")."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from bfsql.answers.answer import Answer
from bfsql.answers.clean import clean, clean_metadata, clean_text
from bfsql.answers.encode import as_sent, encode
from bfsql.answers.notes import bfs_notes, intersection_notes
from bfsql.models import (
    BfsResult,
    EntityStub,
    IntersectionResult,
    Metadata,
    SchemaDescription,
    Subgraph,
    Triple,
)

Document: TypeAlias = dict[str, Any]

_RESERVED = re.compile(r"(metadata\.)*(id|entity_type|provenance|notes)")
"""Keys of a flat record that metadata cannot have, or that stand in for them (`protocol.md` 15)."""


class SubgraphWriter:
    """Writes the results of one call, which a budget may need to see in many sizes.

    Args:
        stripped: Edge metadata that traversals leave out.
        notes: Sentences about the call itself, in front of those about the result.
    """

    def __init__(self, stripped: Sequence[str], notes: Iterable[str] = ()) -> None:
        self._stripped = frozenset(stripped)
        self._notes = tuple(notes)
        # Cleaning is the dear part, and every size of the same answer shares it.
        self._nodes: dict[str, Document] = {}
        self._edges: dict[Triple, Document] = {}
        self._last: tuple[Any, Any, Document, bytes] | None = None

    def document(self, result: BfsResult | IntersectionResult) -> Document:
        """The answer; what explains it stands before what a host may cut off."""
        if isinstance(result, BfsResult):
            depth, notes = {"max_hops": result.max_hops}, bfs_notes(result)
        else:
            depth, notes = {"k": result.k}, intersection_notes(result)
        notes = [*self._notes, *notes]
        return {
            "seeds": list(result.seeds),
            **depth,
            "node_count": result.node_count,
            "edge_count": result.edge_count,
            **({"notes": notes} if notes else {}),
            "schema_summary": {
                "entity_types_found": result.schema_summary.entity_types_found,
                "predicates_found": result.schema_summary.predicates_found,
            },
            "nodes": self._node_list(result.page),
            "edges": self._edge_list(result.page),
        }

    def text(self, result: BfsResult | IntersectionResult) -> bytes:
        """The answer's bytes."""
        document = self.document(result)
        self._last = (result, result.facts.omissions, document, encode(document))
        return self._last[-1]

    def answer(self, result: BfsResult | IntersectionResult) -> Answer:
        """The answer on its way out; not encoded again where it was the last size tried."""
        if (
            self._last is None
            or self._last[0] is not result
            or self._last[1] != result.facts.omissions
        ):
            self.text(result)
        assert self._last is not None
        _, _, document, text = self._last
        return document_answer(document, text)

    def _node_list(self, page: Subgraph) -> list[Document]:
        types, full = page.types, page.node_metadata
        if not full:
            return [{"id": i, "entity_type": types[i]} for i in page.ids]
        return [
            {"id": i, "entity_type": types[i], "metadata": self._node(i, full[i])}
            if i in full
            else {"id": i, "entity_type": types[i]}
            for i in page.ids
        ]

    def _edge_list(self, page: Subgraph) -> list[Document]:
        full = page.edge_metadata
        if not full:
            return [{"subject": s, "predicate": p, "object": o} for s, p, o in page.triples]
        return [self._edge(triple, full.get(triple)) for triple in page.triples]

    def _node(self, entity_id: str, metadata: Metadata) -> Document:
        if entity_id not in self._nodes:
            self._nodes[entity_id] = clean_metadata(metadata)
        return self._nodes[entity_id]

    def _edge(self, triple: Triple, metadata: Metadata | None) -> Document:
        subject, predicate, object_ = triple
        stub = {"subject": subject, "predicate": predicate, "object": object_}
        if metadata is None:
            return stub
        if triple not in self._edges:
            self._edges[triple] = clean_metadata(metadata, self._stripped)
        return stub | {"metadata": self._edges[triple]}


def document_answer(document: Document, text: bytes | None = None) -> Answer:
    """An answer that is one object.

    Args:
        document: The object.
        text: The same encoded, where that was done before.
    """
    text = encode(document) if text is None else text
    content = as_sent(document, text)
    return Answer(text.decode(), content, tuple(content.get("notes", ())))


def list_answer(records: Sequence[Document], notes: Sequence[str]) -> Answer:
    """An answer that is a list, its notes beside it (`protocol.md` 20)."""
    text = encode(records)
    content = {"result": as_sent(records, text)} | ({"notes": list(notes)} if notes else {})
    return Answer(text.decode(), content, tuple(notes))


def search_document(stubs: Iterable[EntityStub]) -> list[Document]:
    """Search hits; `score` is null unless vectors made it, a missing name is left out."""
    return [
        {"id": stub.id, "entity_type": stub.entity_type}
        | ({"name": clean_text(stub.name)} if stub.name is not None else {})
        | {"score": _score(stub.score)}
        for stub in stubs
    ]


def entity_document(
    entity_id: str,
    entity_type: str,
    metadata: Metadata,
    *,
    provenance: dict[str, Any] | None = None,
    notes: Sequence[str] = (),
) -> Document:
    """A flat record: "the id, entity_type, and all metadata fields merged at the top level"."""
    record: Document = {"id": entity_id, "entity_type": entity_type}
    if notes:
        record["notes"] = list(notes)
    for key, value in clean_metadata(metadata).items():
        record[f"metadata.{key}" if _RESERVED.fullmatch(key) else key] = value
    if provenance is not None:
        record["provenance"] = {
            "total": provenance.get("total"),
            "items": [evidence_item(item) for item in provenance.get("items", ())],
        }
    return record


def schema_document(schema: SchemaDescription, notes: Sequence[str] = ()) -> Document:
    """The schema, its lists sorted as they came."""
    return {
        "graph_description": clean_text(schema.graph_description),
        "comprehensive": schema.comprehensive,
        **({"notes": list(notes)} if notes else {}),
        "entity_types": schema.entity_types,
        "predicates": schema.predicates,
        "next_steps": clean_text(schema.next_steps),
        "tool_usage_notes": schema.tool_usage_notes,
    }


def _score(score: float | None) -> float | None:
    return float(score) if score is not None and math.isfinite(score) else None


def evidence_item(item: Document) -> Document:
    """An item of evidence: the triple as it is, its text cleaned, empty fields left out."""
    triple = ("subject", "predicate", "object")
    return {
        key: value if key in triple else clean(value, key)
        for key, value in item.items()
        if value is not None
    }
