"""Settings of a backend that searches by meaning, and the embedder that they specify."""

from __future__ import annotations

import re
from typing import Annotated, Self

from pydantic import Field, SecretStr, field_validator, model_validator

from bfsql.embedding.embedder import Embedder, Source
from bfsql.embedding.function import function_named, local_model
from bfsql.embedding.service import Service
from bfsql.settings import BackendSettings, Env, FoundFile

LOCAL = "sentence-transformers:"
"""Prefix of a model that runs in this process."""

SERVICE = ("https://", "http://")
"""Prefix of a service's address."""

_DOTTED = re.compile(r"\w+(\.\w+)*:\w+(\.\w+)*")


class EmbeddingSettings(BackendSettings):
    """A backend's settings inherit from this one, and have the embedding's too."""

    found_file = FoundFile(
        "embedding_model embedding_dimensions embedding_timeout",
        credentials={"embedding_key": "embedding"},
    )

    embedding: Annotated[str | None, Env("BFSQL_EMBEDDING")] = None
    """What turns a search text into a vector: the URL of an OpenAI-compatible service,
    sentence-transformers:MODEL, or your own function as package.module:function. It must be the
    model that the stored vectors were made with.
    """
    embedding_model: Annotated[str | None, Env("BFSQL_EMBEDDING_MODEL")] = Field(
        default=None, min_length=1
    )
    """The model to request from the service."""
    embedding_key: Annotated[
        SecretStr | None, Env("BFSQL_EMBEDDING_KEY"), Env("OPENAI_API_KEY")
    ] = None
    """The service's key; it is sent to that URL only."""
    embedding_dimensions: Annotated[int | None, Env("BFSQL_EMBEDDING_DIMENSIONS")] = Field(
        default=None, ge=1
    )
    """Length of the vectors, for a model that supports several."""
    embedding_timeout: Annotated[float, Env("BFSQL_EMBEDDING_TIMEOUT")] = Field(
        default=10.0, gt=0, allow_inf_nan=False
    )
    """Seconds after which a search continues without a vector."""

    @field_validator("embedding")
    @classmethod
    def _is_one_of_three(cls, value: str | None) -> str | None:
        if value is None or value.startswith(SERVICE) or _DOTTED.fullmatch(value):
            return value
        if value.startswith(LOCAL) and value.removeprefix(LOCAL).strip():
            return value
        raise ValueError(
            "it has to be the URL of an OpenAI-compatible service (https://host/v1), "
            f"{LOCAL}MODEL, or a function as package.module:function"
        )

    @model_validator(mode="after")
    def _model_goes_with_a_url(self) -> Self:
        if self.embedding_model is None or (self.embedding or "").startswith(SERVICE):
            return self
        raise ValueError(
            f"embedding_model is {self.embedding_model!r}, but only a service is asked for a "
            "model, and embedding is "
            + ("not set" if self.embedding is None else f"{self.embedding!r}, not a URL")
        )


def open_embedder(settings: EmbeddingSettings) -> Embedder | None:
    """The embedder that the settings specify; None if they specify none.

    Nothing is imported, loaded or requested yet: `await embedder.probe()` does that.

    Raises:
        ConfigurationError: The URL cannot be used.
    """
    meant, dimensions = settings.embedding, settings.embedding_dimensions
    if meant is None:
        return None
    source: Source
    if meant.startswith(SERVICE):
        source = Service(
            meant, model=settings.embedding_model, key=settings.embedding_key, dimensions=dimensions
        )
    elif meant.startswith(LOCAL):
        source = local_model(meant.removeprefix(LOCAL).strip(), dimensions)
    else:
        source = function_named(meant)
    return Embedder(source, timeout=settings.embedding_timeout, dimensions=dimensions)
