"""From settings to an embedder."""

from __future__ import annotations

from bfsql.embedding.embedder import Embedder
from bfsql.embedding.function import Function, by_name
from bfsql.embedding.local import LocalModel
from bfsql.embedding.service import Service
from bfsql.embedding.settings import LOCAL, SERVICE, EmbeddingSettings
from bfsql.embedding.source import Source


def open_embedder(settings: EmbeddingSettings) -> Embedder | None:
    """The embedder that the settings mean; None where they mean none.

    Nothing is imported, loaded or asked yet: `await embedder.probe()` does that.

    Raises:
        ConfigurationError: The URL cannot be used.
    """
    if settings.embedding is None:
        return None
    return Embedder(
        _source(settings.embedding, settings),
        timeout=settings.embedding_timeout,
        dimensions=settings.embedding_dimensions,
    )


def _source(meant: str, settings: EmbeddingSettings) -> Source:
    if meant.startswith(SERVICE):
        return Service(
            meant,
            model=settings.embedding_model,
            key=settings.embedding_key,
            dimensions=settings.embedding_dimensions,
        )
    if meant.startswith(LOCAL):
        return LocalModel(meant.removeprefix(LOCAL).strip(), settings.embedding_dimensions)
    return Function(by_name(meant), meant)
