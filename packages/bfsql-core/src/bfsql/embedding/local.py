"""A model of sentence-transformers in this process (the extra `sentence-transformers`)."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from bfsql.embedding.said import by
from bfsql.embedding.threads import Threads
from bfsql.errors import ConfigurationError, EmbeddingFailed


class LocalModel:
    """A sentence-transformers model by its name, or by the folder that holds it.

    Args:
        model: `all-MiniLM-L6-v2`, `BAAI/bge-small-en-v1.5`, `/models/mine`.
        dimensions: To which its vectors are cut, where the model was trained for that.
    """

    def __init__(self, model: str, dimensions: int | None = None) -> None:
        self.name = f"The embedding model {model}"
        self._model = model
        self._dimensions = dimensions
        # One: a tokenizer that two threads use at once refuses one of them.
        self._threads = Threads(1)
        self._loaded: Any = None

    async def open(self) -> None:
        """Load it, which takes seconds, and minutes where it has to be fetched first."""
        self._loaded = await self._threads.run(self._load)

    async def embed(self, text: str, seconds: float) -> Any:  # noqa: ARG002 - the caller ends it
        """Its vector, of length one."""
        try:
            return await self._threads.run(self._encoded, text)
        except Exception as error:
            raise EmbeddingFailed(f"{self.name} failed: {by(error)}.") from error

    async def close(self) -> None:
        """Let go of the model and its thread."""
        self._loaded = None
        self._threads.close()

    def _load(self) -> Any:
        try:
            library = import_module("sentence_transformers")
        except ImportError as error:
            raise ConfigurationError(
                f"{self.name} needs sentence-transformers, which cannot be imported ({error}). "
                'Install it: pip install "bfsql-core[sentence-transformers]"'
            ) from error
        try:
            return library.SentenceTransformer(self._model, truncate_dim=self._dimensions)
        except Exception as error:
            raise ConfigurationError(
                f"{self.name} cannot be loaded: {by(error)}. Give a name that the library knows, "
                "or the folder of a model that is on this machine."
            ) from error

    def _encoded(self, text: str) -> Any:
        return self._loaded.encode(text, normalize_embeddings=True, show_progress_bar=False)
