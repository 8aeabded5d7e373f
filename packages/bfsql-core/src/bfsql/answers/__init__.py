"""What the model reads: stub or full, notes, cleaning, bytes."""

from bfsql.answers.answer import Answer
from bfsql.answers.encode import encode
from bfsql.answers.write import (
    SubgraphWriter,
    document_answer,
    entity_document,
    evidence_item,
    list_answer,
    schema_document,
    search_document,
)

__all__ = [
    "Answer",
    "SubgraphWriter",
    "document_answer",
    "encode",
    "entity_document",
    "evidence_item",
    "list_answer",
    "schema_document",
    "search_document",
]
