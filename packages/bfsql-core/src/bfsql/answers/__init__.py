"""What the model reads: stub or full, notes, cleaning, bytes."""

from bfsql.answers.answer import Answer
from bfsql.answers.encode import encode
from bfsql.answers.write import (
    SubgraphWriter,
    entity_document,
    schema_document,
    search_document,
)

__all__ = [
    "Answer",
    "SubgraphWriter",
    "encode",
    "entity_document",
    "schema_document",
    "search_document",
]
