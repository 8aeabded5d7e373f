"""Where vectors come from: a function, a service, or a model in this process."""

from __future__ import annotations

from typing import Any, Protocol


class Source(Protocol):
    """One way of making a vector; `Embedder` stands in front of it."""

    @property
    def name(self) -> str:
        """What sentences call it; they begin with it."""

    async def open(self) -> None:
        """Get ready: import, load. Called once, before the first text.

        Raises:
            ConfigurationError: It cannot be used as it was configured.
        """

    async def embed(self, text: str, seconds: float) -> Any:
        """One text to what should be a vector; `Embedder` looks whether it is one.

        Args:
            text: As it was asked.
            seconds: How long this may take; the caller ends it then.

        Raises:
            EmbeddingFailed: It said why it has none.
        """

    async def close(self) -> None:
        """Let go of connections and threads."""
