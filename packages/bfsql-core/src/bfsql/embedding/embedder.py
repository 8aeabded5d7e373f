"""Embedder: one text to one vector, bounded in time, validated, and cached.

The vectors come from a `Source`: a function or a model in this process, or an HTTP service.
"""

from __future__ import annotations

import asyncio
import logging
import math
from array import array
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from numbers import Real
from typing import Any, TypeAlias

from bfsql import call
from bfsql.embedding.function import Function
from bfsql.embedding.service import Service
from bfsql.errors import ConfigurationError, EmbeddingFailed
from bfsql.models.records import Omission

log = logging.getLogger("bfsql")

Embed: TypeAlias = Callable[[str], Awaitable[Sequence[float]]]
"""The interface that a backend calls: one query text to one vector. Every `Embedder` has it."""

_CACHED = 256  # texts: a model searches the same name repeatedly


Source: TypeAlias = Function | Service
"""One way of computing a vector; messages about it begin with `name`.

`open` imports, loads or connects. It is called once, before the first text, and raises a
`ConfigurationError` if the source cannot be used as configured. The caller ends `embed`
after `seconds` and checks its result; `embed` raises `EmbeddingFailed`.
"""


class Embedder:
    """Computes vectors of texts with the configured source.

    Args:
        source: The source of the vectors.
        timeout: Seconds for one text.
        dimensions: Required length of the vectors; None takes that of the first.
    """

    def __init__(
        self, source: Source, *, timeout: float = 10.0, dimensions: int | None = None
    ) -> None:
        self.dimensions = dimensions
        """Length of the vectors; None until `probe` or the first text."""
        self._source = source
        self._timeout = timeout
        self._cached: OrderedDict[str, array[float]] = OrderedDict()
        self._opening = asyncio.Lock()
        self._open = False

    @classmethod
    def of(cls, function: Callable[[str], Any], *, timeout: float = 10.0) -> Embedder:
        """An embedder around a function of one text.

        Args:
            function: A plain function, which runs in a thread, or an async one. It returns a list,
                a tuple, a numpy array or anything else with `tolist`.
            timeout: Seconds for one text.
        """
        name = str(getattr(function, "__qualname__", type(function).__name__))
        return cls(Function(lambda: function, f"The embedding function {name}"), timeout=timeout)

    @property
    def name(self) -> str:
        """The source's name for messages: `the embedding service at https://host/v1/embeddings`."""
        return self._source.name

    async def __call__(self, text: str) -> list[float]:
        """The vector of one text, of length `dimensions`; a caller may modify it.

        At most half of the time until the call's deadline is used, and at most `timeout`:
        the other half is for the store.

        Raises:
            EmbeddingFailed: There is no vector; a search can still match names.
            ConfigurationError: The source cannot be used at all, and was not probed before.
        """
        if text in self._cached:
            self._cached.move_to_end(text)
            return self._cached[text].tolist()
        async with self._opening:
            if not self._open:
                await self._source.open()
                self._open = True
        vector = _checked(await self._embed(text), self.name, self.dimensions)
        self.dimensions = len(vector)
        self._cached[text] = vector
        while len(self._cached) > _CACHED:
            self._cached.popitem(last=False)
        return vector.tolist()

    async def probe(self) -> int:
        """Prepare the source and embed one word, so that faults are reported when a backend opens.

        Returns:
            The length of the vectors, which is `dimensions` from now on.

        Raises:
            ConfigurationError: The source can never work as configured.
            EmbeddingFailed: The source does not work now, but may later.
        """
        try:
            return len(await self("word"))
        except EmbeddingFailed as failed:
            if failed.lasting:
                raise ConfigurationError(str(failed)) from failed
            raise

    async def close(self) -> None:
        """Release connections, threads and cached vectors."""
        self._cached.clear()
        await self._source.close()

    async def _embed(self, text: str) -> Any:
        # Half of the time has to suffice for a search by names.
        seconds = call.seconds_left(self._timeout, share=0.5)
        try:
            async with asyncio.timeout(seconds):
                return await self._source.embed(text, seconds)
        except TimeoutError as late:
            raise EmbeddingFailed(
                f"{self.name} did not return a vector within {seconds:.3g} s."
            ) from late


def searched_by_names(text: str, failed: EmbeddingFailed) -> None:
    """Report a search by names to the model, in the notes, and to the operator, in the log.

        try:
            vector = await self._embedder(query)
        except EmbeddingFailed as failed:
            searched_by_names(query, failed)
            vector = None

    Args:
        text: The text of the search.
        failed: The reason why it has no vector.
    """
    log.warning("%s The search compares names only.", failed)
    call.omitted(Omission(text, "search"))


def _checked(value: Any, name: str, dimensions: int | None) -> array[float]:
    """The numbers of a list, a tuple or anything with `tolist` that the source `name` returned."""
    try:
        numbers = _numbers(value)
    except (TypeError, ValueError, OverflowError) as wrong:
        raise EmbeddingFailed(f"{name} did not return a vector: {wrong}.", lasting=True) from wrong
    if dimensions is not None and len(numbers) != dimensions:
        raise EmbeddingFailed(
            f"{name} gave a vector of {len(numbers)} dimensions instead of {dimensions}. All "
            "vectors have to come from one model and have one length: check embedding and "
            "embedding_dimensions.",
            lasting=True,
        )
    return numbers


def _numbers(value: Any) -> array[float]:
    plain = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(plain, Sequence) or isinstance(plain, (str, bytes, bytearray)):
        raise TypeError(f"it returned {_kind(value)} instead of a list of numbers")
    if not plain:
        raise ValueError("it returned an empty list")
    for one in plain:
        if isinstance(one, bool) or not isinstance(one, Real):
            raise TypeError(f"its list contains {_kind(one)}; it may contain only numbers")
    numbers = array("d", map(float, plain))
    if not all(map(math.isfinite, numbers)):
        raise ValueError("its list contains numbers that are not finite")
    if not any(numbers):
        raise ValueError("all its numbers are zero, so it cannot be compared")
    return numbers


def _kind(value: object) -> str:
    kind = "nothing (None)" if value is None else f"a value of the type {type(value).__name__}"
    return f"{kind} of length {len(value)}" if isinstance(value, (list, tuple)) else kind
