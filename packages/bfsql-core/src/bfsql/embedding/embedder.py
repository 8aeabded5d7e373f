"""Embedder: one text to one vector, in time, looked at, and recent ones kept."""

from __future__ import annotations

import asyncio
from array import array
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from bfsql import call
from bfsql.embedding.function import Function, named
from bfsql.embedding.source import Source
from bfsql.embedding.vector import checked
from bfsql.errors import ConfigurationError, EmbeddingFailed

Embed: TypeAlias = Callable[[str], Awaitable[Sequence[float]]]
"""What a backend asks: one query text to one vector. Every `Embedder` is one."""

TIMEOUT = 10.0
"""Seconds for one text, where nothing else is said."""

_KEPT = 256  # texts: a model asks the same name again and again
_PROBE = "word"
_SHARE = 0.5  # of the call's time: without a vector, a search by names has to fit in what is left


class Embedder:
    """Makes vectors of texts, by whatever was configured.

    Args:
        source: Where they come from.
        timeout: Seconds for one text.
        dimensions: Length that the vectors have to have; None takes that of the first.
    """

    def __init__(
        self, source: Source, *, timeout: float = TIMEOUT, dimensions: int | None = None
    ) -> None:
        self.dimensions = dimensions
        """Length of the vectors; None until `probe` or the first text."""
        self._source = source
        self._timeout = timeout
        self._kept: OrderedDict[str, array[float]] = OrderedDict()
        self._opening = asyncio.Lock()
        self._open = False

    @classmethod
    def of(cls, function: Callable[[str], Any], *, timeout: float = TIMEOUT) -> Embedder:
        """An embedder around a function of one text.

        Args:
            function: Plain, which runs in a thread, or async. It gives a list, a tuple,
                an array of numpy: anything with `tolist`.
            timeout: Seconds for one text.
        """
        return cls(Function(lambda: function, named(function)), timeout=timeout)

    @property
    def name(self) -> str:
        """What it is, for sentences: `the embedding service at https://host/v1/embeddings`."""
        return self._source.name

    async def __call__(self, text: str) -> list[float]:
        """The vector of one text, as long as `dimensions`; a caller may change it.

        Half of what remains of the call's deadline is for this, and `timeout` at the
        most: the other half is for the store.

        Raises:
            EmbeddingFailed: There is none; a search can still go by names.
            ConfigurationError: It cannot be used at all, and was not probed before.
        """
        if text in self._kept:
            self._kept.move_to_end(text)
            return self._kept[text].tolist()
        await self._get_ready()
        vector = checked(await self._asked(text), self.name, self.dimensions)
        self.dimensions = len(vector)
        self._kept[text] = vector
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return vector.tolist()

    async def probe(self) -> int:
        """Get ready and embed one word, so that what is wrong is said when a backend opens.

        Returns:
            The length of the vectors, which is `dimensions` from now on.

        Raises:
            ConfigurationError: It will never work as it is configured.
            EmbeddingFailed: It does not work now, and may later.
        """
        try:
            return len(await self(_PROBE))
        except EmbeddingFailed as failed:
            if failed.lasting:
                raise ConfigurationError(str(failed)) from failed
            raise

    async def close(self) -> None:
        """Let go of connections, threads and what is kept."""
        self._kept.clear()
        await self._source.close()

    async def _get_ready(self) -> None:
        if self._open:
            return
        async with self._opening:
            if not self._open:
                await self._source.open()
                self._open = True

    async def _asked(self, text: str) -> Any:
        remaining = call.remaining()
        seconds = self._timeout if remaining is None else min(self._timeout, remaining * _SHARE)
        try:
            async with asyncio.timeout(seconds):
                return await self._source.embed(text, seconds)
        except TimeoutError as late:
            raise EmbeddingFailed(f"{self.name} gave no vector within {seconds:.3g} s.") from late
