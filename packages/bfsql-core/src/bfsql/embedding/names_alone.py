"""What a backend says when a search has to do without a vector."""

from __future__ import annotations

import logging

from bfsql import call
from bfsql.errors import EmbeddingFailed
from bfsql.models.omission import Omission

log = logging.getLogger("bfsql")


def searched_by_names(text: str, failed: EmbeddingFailed) -> None:
    """Tell the model, in the answer's notes, and the operator, in the log.

        try:
            vector = await self._embedder(query)
        except EmbeddingFailed as failed:
            searched_by_names(query, failed)
            vector = None

    Args:
        text: What is searched for.
        failed: Why there is no vector of it.
    """
    log.warning("%s The search goes by names alone.", failed)
    call.omitted(Omission(text, "search"))
