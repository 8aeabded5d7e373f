"""The answers that the model reads: stubs and full records, notes, cleaning, encoding."""

from bfsql.answers.clean import encode
from bfsql.answers.compact import in_lines
from bfsql.answers.write import (
    Answer,
    Draft,
    SubgraphWriter,
    document_answer,
    entity_document,
    evidence_item,
    headed,
    list_answer,
    neighbourhood_document,
    schema_document,
    search_document,
)

__all__ = [
    "Answer",
    "Draft",
    "SubgraphWriter",
    "document_answer",
    "encode",
    "entity_document",
    "evidence_item",
    "headed",
    "in_lines",
    "list_answer",
    "neighbourhood_document",
    "schema_document",
    "search_document",
]
