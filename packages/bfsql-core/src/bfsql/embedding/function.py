"""Vectors computed in this process: by a function of the user, or a sentence-transformers model."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from importlib import import_module
from pkgutil import resolve_name
from typing import Any, TypeAlias

from bfsql.errors import ConfigurationError, EmbeddingFailed
from bfsql.http import describe

Find: TypeAlias = Callable[[], Callable[[str], Any]]
"""Returns the function of one text when it is called, and may take long: it imports or loads."""


class Function:
    """A function of one text, plain or async; a plain one runs in threads of its own.

    `find` returns it, also in a thread; messages begin with `name`.
    """

    def __init__(self, find: Find, name: str, *, threads: int = 4) -> None:
        self.name = name
        self._find = find
        self._function: Any = None
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="bfsql-embedding")

    async def open(self) -> None:
        """Find the function, and check that it takes one text."""
        function = await self._in_thread(self._find)
        if lack := _lack(function):
            raise ConfigurationError(f"{self.name} {lack}.")
        self._function = function

    async def embed(self, text: str, seconds: float) -> Any:  # the caller stops waiting
        """The function's result; a plain function is called in a thread."""
        try:
            if _is_async(self._function):
                return await self._function(text)
            given = await self._in_thread(self._function, text)
            return await given if inspect.isawaitable(given) else given
        except EmbeddingFailed:
            raise
        except Exception as error:
            raise EmbeddingFailed(f"{self.name} failed: {describe(error)}.") from error

    async def close(self) -> None:
        """Release the function and its threads; a call under way cannot be stopped."""
        self._function = None
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _in_thread(self, function: Callable[..., Any], *args: Any) -> Any:
        """The result of a function that blocks, in the context of the caller."""
        run = copy_context().run
        return await asyncio.get_running_loop().run_in_executor(self._threads, run, function, *args)


def local_model(model: str, dimensions: int | None = None) -> Function:
    """A sentence-transformers model by its name or its folder; its vectors have length 1.

    They are cut to these dimensions, for a model that was trained for that.
    """
    name = f"The embedding model {model}"

    def load() -> Callable[[str], Any]:
        try:
            library = import_module("sentence_transformers")
        except ImportError as error:
            raise ConfigurationError(
                f"{name} needs sentence-transformers, which cannot be imported ({error}). "
                'Install it: pip install "bfsql-core[sentence-transformers]"'
            ) from error
        try:
            loaded = library.SentenceTransformer(model, truncate_dim=dimensions)
        except Exception as error:
            raise ConfigurationError(
                f"{name} cannot be loaded: {describe(error)}. Use a name that the library knows, "
                "or the folder of a model on this machine."
            ) from error
        return lambda text: loaded.encode(text, normalize_embeddings=True, show_progress_bar=False)

    # One thread: a tokenizer that two threads use at once rejects one of them.
    return Function(load, name, threads=1)


def function_named(dotted: str) -> Function:
    """The function `package.module:function`; opening it reports that it cannot be imported."""

    def find() -> Any:
        try:
            return resolve_name(dotted)
        except Exception as error:
            raise ConfigurationError(
                f"The embedding function {dotted} cannot be imported: {describe(error)}. Correct "
                "the name, install its distribution into this environment, or name its folder in "
                "PYTHONPATH."
            ) from error

    return Function(find, f"The embedding function {dotted}")


def _lack(function: Any) -> str | None:
    """The reason why an object cannot be called with one text, or None."""
    if inspect.isclass(function):
        return "is a class, not a function; name a function, or an instance that can be called"
    if not callable(function):
        return f"is a value of the type {type(function).__name__}, not a function"
    try:
        inspect.signature(function).bind("text")
    except TypeError as error:
        return f"cannot be called with one text: {error}"
    except ValueError:  # written in C, without a signature
        return None
    return None


def _is_async(function: Any) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - the method, not whether there is one
    )
