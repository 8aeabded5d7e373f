"""The objects of the protocol, made from results (`tools.md`)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from itertools import chain, zip_longest
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic_core import from_json

from bfsql.answers.clean import clean, clean_metadata, clean_text, encode, texts_of_records
from bfsql.answers.compact import in_lines
from bfsql.answers.notes import MISSING, TOKEN_BUDGET, Note, SizeBound
from bfsql.answers.schema_text import NO_SCHEMA_TEXT, SchemaText
from bfsql.answers.subgraph_notes import subgraph_notes
from bfsql.answers.tables import Part, as_networkx, as_pandas
from bfsql.call import AnswerFormat
from bfsql.models import (
    BfsResult,
    Edge,
    EntityStub,
    IntersectionResult,
    Metadata,
    SchemaDescription,
    SchemaSummary,
    ShownNodes,
    Subgraph,
)
from bfsql.models.facet import Best, FacetSummary, MeasureValue, Value
from bfsql.models.json_values import exact_integer, json_number

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

Document: TypeAlias = dict[str, Any]
Result: TypeAlias = BfsResult | IntersectionResult

_NO_METADATA = b'"metadata":false'

NO_EDGES: Mapping[str, int] = MappingProxyType({})

_RESERVED = re.compile(r"(metadata\.)*(id|entity_type|edges|provenance|notes)")
"""Keys reserved in a flat record, and the prefixed keys that replace them (`protocol.md` 15)."""


@dataclass(frozen=True)
class Answer:
    """The answer of a tool; the same bytes over MCP, REST and the command line."""

    text: str
    """The answer as compact JSON or in lines; the first text block."""
    document: Document
    """The answer as an object, which has a list under `result` (`protocol.md` 20); the metadata of
    a traversal in JSON stands in the text alone."""
    notes: tuple[str, ...] = ()
    """What is missing, and how to get it; also in `text` if that is an object."""
    note_data: tuple[Note, ...] = field(default=(), compare=False, repr=False)
    """The first of the notes as data, from which they are written in lines."""

    @property
    def blocks(self) -> tuple[str, ...]:
        """The text blocks; the notes of a list, which cannot contain them, are a second block."""
        if self.notes and self.text.startswith("["):
            return (self.text, "\n".join(self.notes))
        return (self.text,)

    @property
    def is_json(self) -> bool:
        """Whether the text is JSON; no answer in lines begins like it."""
        return self.text.startswith(("{", "["))

    @cached_property
    def content(self) -> Document:
        """The answer as structured content, as a client reads it."""
        if not self.is_json:
            return self.document
        content: Document = json.loads(self.content_text)
        return content

    @property
    def content_text(self) -> str:
        """The structured content of an answer in JSON, as compact JSON."""
        if not self.text.startswith("["):
            return self.text
        notes = f',"notes":{encode(self.notes).decode()}' if self.notes else ""
        return f'{{"result":{self.text}{notes}}}'

    def to_networkx(self) -> nx.MultiDiGraph[Any]:
        """The nodes and edges of the answer as a networkx graph.

        Nodes are identified by their ids, and edges have their predicates as keys; fields and
        metadata are attributes (see `to_pandas`). A node that only edges name has no attributes.

        Raises:
            ImportError: networkx is not installed.
        """
        return as_networkx(self.content)

    def to_pandas(self, part: Part = "nodes") -> pd.DataFrame:
        """The entities or the edges of the answer as a data frame, with one row each.

        Entities have the columns `id`, `entity_type` and, in an answer with seeds, `seed`; edges
        have the columns `subject`, `predicate` and `object`. Each metadata key is also a column,
        with the prefix `metadata.` if it is the name of another column.

        Args:
            part: `nodes` or `edges`.

        Raises:
            ImportError: pandas is not installed.
            ValueError: `part` is neither `nodes` nor `edges`.
        """
        return as_pandas(self.content, part)


class SubgraphWriter:
    """Writes the results of one call, which a budget may need to see in many sizes.

    Args:
        stripped: Keys of edge metadata that traversals leave out.
        notes: Notes on the call itself, placed before those on the result.
        answer_format: The format of the answer.
        bound: The bound on the size of the answer.
        undecided: Ids of nodes for which left-out edges could change a condition on relations.
    """

    def __init__(
        self,
        stripped: Sequence[str],
        notes: Iterable[Note] = (),
        answer_format: AnswerFormat = "json",
        bound: SizeBound = TOKEN_BUDGET,
        undecided: Collection[str] = (),
    ) -> None:
        self._undecided = frozenset(undecided)
        self.stripped = frozenset(stripped)
        self.answer_format = answer_format
        self.notes = tuple(notes)
        self.bound = bound
        # Cleaning is the expensive part, so all sizes of the same answer share its results.
        self._texts: dict[Any, bytes] = {}  # by id or triple

    def metadata(self, page: Subgraph) -> dict[Any, bytes]:
        """The metadata of a page as JSON: that of nodes by id, then that of edges by triple."""
        nodes, edges, known = page.node_metadata, page.edge_metadata, self._texts
        if not nodes and not edges:
            return {}
        if new := {i: m for i, m in nodes.items() if i not in known}:
            known |= texts_of_records(new)
        if of_edges := {t: m for t, m in edges.items() if t not in known}:
            known |= texts_of_records(of_edges, self.stripped)
        shown = [i for i in page.ids if i in nodes], [t for t in page.triples if t in edges]
        return {key: known[key] for keys in shown for key in keys}

    def document(
        self, result: Result, notes: Sequence[Note], metadata: Mapping[Any, Any]
    ) -> Document:
        """The answer, with what stands for metadata; explanations precede what a host may cut."""
        if isinstance(result, BfsResult):
            name, depth, common, shown = "max_hops", result.max_hops, None, result.shown
            seed_count, along = result.seed_count, list(result.along) or None
        else:
            name, depth, common, shown = "k", result.k, result.common_count, None
            seed_count, along = None, None
        nodes = _node_list(result.page, metadata)
        for node in nodes[common:] if common is not None else ():
            node["via"] = True
        for node, degree in zip(nodes, result.page.degrees.values(), strict=False):
            node["degree"] = degree
        count, rows = (None, None) if shown is None else (shown.count, shown.rows)
        if shown is not None:
            _add_numbers(nodes, shown)
        for node in nodes if self._undecided else ():
            if node["id"] in self._undecided:
                node["undecided"] = True
        return _without_absent(
            {
                "seeds": list(result.seeds),
                "seed_count": seed_count,
                name: depth,
                "along": along,
                "node_count": result.node_count,
                "edge_count": result.edge_count,
                "complete": _is_complete(result, notes) or None,
                "common_count": common,
                "shown_count": count if rows is None else None,
                "walk_count": None if rows is None else count,
                "notes": _sentences(notes),
                "measure": None if shown is None else list(shown.measure_texts) or None,
                "facets": {clean_text(label): _facet(one) for label, one in result.facets.items()}
                or None,
                "schema_summary": {
                    name: copy(getattr(result.schema_summary, name))
                    for name in SchemaSummary.__slots__
                },
                # Edges are left out where the steps leave no choice of them.
                "walks": None if rows is None else [_without_absent(r._asdict()) for r in rows],
                "nodes": nodes,
                "edges": _edge_list(result.page, metadata),
            }
        )


def _is_complete(result: Result, notes: Sequence[Note]) -> bool:
    """Whether what is not in the answer is not in the graph; detail that was not asked for aside.

    With `limit=0` it holds for the counts.
    """
    return not (isinstance(result, BfsResult) and result.offset) and not any(
        isinstance(one, MISSING) for one in notes
    )


def _node_list(page: Subgraph, metadata: Mapping[Any, Any]) -> list[Document]:
    types = page.types
    return [
        {"id": i, "entity_type": types[i], "metadata": metadata[i]}
        if i in metadata
        else {"id": i, "entity_type": types[i]}
        for i in page.ids
    ]


def _edge_list(page: Subgraph, metadata: Mapping[Any, Any]) -> list[Document]:
    return [
        {"subject": t[0], "predicate": t[1], "object": t[2], "metadata": metadata[t]}
        if t in metadata
        else {"subject": t[0], "predicate": t[1], "object": t[2]}
        for t in page.triples
    ]


def _add_numbers(nodes: Iterable[Document], shown: ShownNodes) -> None:
    """Add their numbers to the nodes that the page of a path counts."""
    for node in nodes:
        if (i := node["id"]) in shown.paths:
            node["paths"] = shown.paths[i]
            if shown.distinct is not None:
                node["distinct"] = shown.distinct[i]
            if shown.measures:
                value = shown.measures[i]
                node["measure"] = (
                    list(map(_measure, value)) if isinstance(value, list) else _measure(value)
                )


def _facet(one: FacetSummary) -> Document:
    return _without_absent(
        {
            "count": one.count,
            "missing": one.missing,
            "distinct": one.distinct,
            "numbers": one.numbers if 0 < one.numbers < one.items else None,
            "min": _value(one.minimum),
            "max": _value(one.maximum),
            "mean": _value(one.mean),
            "sum": _value(one.total),
            **({} if one.is_whole else {key: _value(n) for key, n in one.percentiles.items()}),
            "values": [
                [clean_text(text), count, *([round(count / one.items, 4)] if one.is_whole else ())]
                for text, count in one.common
            ],
            "other_values": one.distinct - len(one.common) or None,
        }
    )


def _measure(value: MeasureValue) -> Any:
    """A number, or the nodes of `argmax` and its kind with the values at which they stand."""
    if not isinstance(value, Best):
        return _value(value)
    nodes = [[i, None if name is None else clean_text(name)] for i, name in value.named]
    if value.ties is None:
        return [[_value(one), *node] for one, node in zip(value.values, nodes, strict=True)]
    return {"value": _value(value.value), "nodes": nodes, "count": value.ties}


def _value(value: Value) -> int | float | str | None:
    if isinstance(value, Decimal):
        number, near = json_number(value), float(value)
        value = near if isinstance(number, str) and math.isfinite(near) else number
    return clean_text(value) if isinstance(value, str) else exact_integer(value)


@dataclass(frozen=True)
class Draft:
    """The answer of a result, written when its size or its text is requested."""

    writer: SubgraphWriter
    result: Result

    @cached_property
    def notes(self) -> list[Note]:
        """The notes of the answer."""
        return [*self.writer.notes, *subgraph_notes(self.result, self.writer.bound)]

    @cached_property
    def _metadata(self) -> dict[Any, bytes]:
        return self.writer.metadata(self.result.page)

    @cached_property
    def document(self) -> Document:
        """The object of the protocol; in JSON with false for metadata."""
        texts = self._metadata
        shown: Mapping[Any, Any] = (
            dict.fromkeys(texts, False)
            if self.writer.answer_format == "json"
            else {key: from_json(text) for key, text in texts.items()}
        )
        return self.writer.document(self.result, self.notes, shown)

    @cached_property
    def text(self) -> bytes:
        """The encoded answer."""
        if self.writer.answer_format == "json":
            # No other field is false, and quotes within texts are escaped.
            parts = encode(self.document).split(_NO_METADATA)
            texts = [b'"metadata":' + text for text in self._metadata.values()]
            return b"".join(chain.from_iterable(zip_longest(parts, texts, fillvalue=b"")))
        order = self.result.facts.order
        by_paths = order is not None and order.key == "paths"
        return in_lines(self.document, self.notes, by_paths=by_paths).encode()

    def answer(self) -> Answer:
        """The finished answer; it is not encoded again."""
        if self.writer.answer_format == "json":
            return document_answer(self.document, self.notes, self.text)
        return replace(document_answer(self.document, self.notes), text=self.text.decode())


def headed(answer: Answer, key: str, line: str) -> Answer:
    """An answer with a first field, or line; a property of an entity with its name follows it."""
    own = {f"metadata.{k}" if k == key else k: value for k, value in answer.document.items()}
    head, rest = {key: line}, answer.text if key not in answer.document else encode(own).decode()
    text = (
        f"{encode(head).decode()[:-1]},{rest[1:]}" if answer.is_json else f"{key}: {line}\n{rest}"
    )
    return replace(answer, text=text, document=head | own)


def document_answer(
    document: Document, notes: Sequence[Note] = (), text: bytes | None = None
) -> Answer:
    """Create an answer that is one object, with the first of its notes as data.

    `text` is the object as JSON, if it is already available.
    """
    text = encode(document) if text is None else text
    return Answer(text.decode(), document, tuple(document.get("notes", ())), tuple(notes))


def list_answer(records: Sequence[Document], notes: Sequence[Note]) -> Answer:
    """Create an answer that is a list, with its notes beside it (`protocol.md` 20)."""
    written = _sentences(notes)
    document = {"result": records} | ({"notes": written} if written else {})
    return Answer(encode(records).decode(), document, tuple(written or ()), tuple(notes))


def search_document(
    stubs: Iterable[EntityStub], matches: Mapping[str, str], contexts: Mapping[str, Sequence[str]]
) -> list[Document]:
    """Search hits, with their classes and what tells namesakes apart by id.

    `score` is null unless it comes from vectors, and a missing name is left out.
    """
    return [
        {"id": stub.id, "entity_type": stub.entity_type}
        | ({"name": clean_text(stub.name)} if stub.name is not None else {})
        | {"score": _score(stub.score), "match": matches[stub.id]}
        | ({"context": list(contexts[stub.id])} if stub.id in contexts else {})
        for stub in stubs
    ]


def entity_document(
    entity_id: str,
    entity_type: str,
    metadata: Metadata,
    *,
    edges: Mapping[str, int] = NO_EDGES,
    provenance: dict[str, Any] | None = None,
    notes: Sequence[Note] = (),
) -> Document:
    """A flat record: "the id, entity_type, and all metadata fields merged at the top level".

    `edges` has the number of edges by step of a path, `provenance` the evidence of the entity.
    """
    record: Document = {"id": entity_id, "entity_type": entity_type}
    if notes:
        record["notes"] = _sentences(notes)
    for key, value in clean_metadata(metadata).items():
        record[f"metadata.{key}" if _RESERVED.fullmatch(key) else key] = value
    if edges:
        record["edges"] = dict(edges)
    if provenance is not None:
        record["provenance"] = {
            "total": provenance.get("total"),
            "items": [evidence_item(item) for item in provenance.get("items", ())],
        }
    return record


def schema_document(
    schema: SchemaDescription, notes: Sequence[str] = (), shown: SchemaText = NO_SCHEMA_TEXT
) -> Document:
    """The schema, with its lists in the given order."""
    return _without_absent(
        {
            "graph_description": clean_text(schema.graph_description),
            "comprehensive": schema.comprehensive,
            "relations_from": shown.relations_from,
            "notes": _sentences(notes),
            "entity_types": schema.entity_types,
            "predicates": schema.predicates,
            "node_counts": dict(shown.node_counts) or None,
            "relations": list(shown.relations) or None,
            "properties": dict(shown.properties) or None,
            "next_steps": clean_text(schema.next_steps),
            "tool_usage_notes": schema.tool_usage_notes,
        }
    )


def neighbourhood_document(
    seeds: Sequence[str],
    node_counts: Mapping[str, int],
    relations: Mapping[tuple[str, str, str], int],
    shown: SchemaText,
    notes: Sequence[Note] = (),
) -> Document:
    """The schema of the edges that touch some entities.

    Args:
        seeds: The ids of the entities.
        node_counts: Number of the entities and their neighbours, by type.
        relations: Number of edges by subject type, predicate and object type.
        shown: The relations as texts.
        notes: What is missing.
    """
    return _without_absent(
        {
            "seeds": list(seeds),
            "node_count": sum(node_counts.values()),
            "edge_count": sum(relations.values()),
            "notes": _sentences(notes),
            "entity_types": sorted(node_counts),
            "predicates": sorted({predicate for _, predicate, _ in relations}),
            "node_counts": {name: node_counts[name] for name in sorted(node_counts)},
            "relations": list(shown.relations),
        }
    )


def _sentences(notes: Iterable[Note]) -> list[str] | None:
    """The notes as an answer lists them; None without any. What is missing stays known as such."""
    return [one if isinstance(one, str) else str(one) for one in notes] or None


def _without_absent(fields: Document) -> Document:
    """The fields of an answer that it has, in their order."""
    return {name: value for name, value in fields.items() if value is not None}


def _score(score: float | None) -> float | None:
    return float(score) if score is not None and math.isfinite(score) else None


def evidence_item(item: Document) -> Document:
    """An item of evidence with its triple unchanged, its text cleaned and empty fields left out."""
    return {
        key: value if key in Edge._fields else clean(value, key)
        for key, value in item.items()
        if value is not None
    }
