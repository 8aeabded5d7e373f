"""A function in Python as the source of vectors: given as it is, or by its dotted name."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any

from bfsql.embedding.said import by
from bfsql.embedding.threads import Threads
from bfsql.errors import ConfigurationError, EmbeddingFailed

AT_ONCE = 4
"""Calls of a plain function that run at the same time, each in a thread."""


class Function:
    """A function of one text.

    Args:
        find: Gives the function; runs in a thread, since it may import what takes a while.
        name: What sentences call it.
    """

    def __init__(self, find: Callable[[], Callable[[str], Any]], name: str) -> None:
        self.name = f"The embedding function {name}"
        self._find = find
        self._threads = Threads(AT_ONCE)
        self._function: Callable[[str], Any] | None = None

    async def open(self) -> None:
        """Find it, and look whether it takes one text."""
        function = await self._threads.run(self._find)
        if lack := _lack(function):
            raise ConfigurationError(f"{self.name} {lack}.")
        self._function = function

    async def embed(self, text: str, seconds: float) -> Any:  # noqa: ARG002 - the caller ends it
        """What it gives; a plain function is called in a thread."""
        function = self._function
        assert function is not None
        try:
            if _is_async(function):
                return await function(text)
            given = await self._threads.run(function, text)
            return await given if inspect.isawaitable(given) else given
        except EmbeddingFailed:
            raise
        except Exception as error:
            raise EmbeddingFailed(f"{self.name} failed: {by(error)}.") from error

    async def close(self) -> None:
        """Let go of the threads."""
        self._threads.close()


def named(function: Callable[..., Any]) -> str:
    """What sentences call a function that has no dotted name."""
    return str(getattr(function, "__qualname__", type(function).__name__))


def by_name(dotted: str) -> Callable[[], Callable[[str], Any]]:
    """Finds `package.module:function` when it is called.

    Raises:
        ConfigurationError: When called: the sentence says which part is not there.
    """

    def find() -> Callable[[str], Any]:
        module_name, _, path = dotted.partition(":")
        found: Any = _imported(module_name, dotted)
        for part in path.split("."):
            if not hasattr(found, part):
                close = difflib.get_close_matches(part, dir(found), n=1)
                cure = f"Did you mean {close[0]}?" if close else "Correct what follows the colon."
                raise ConfigurationError(
                    f"There is no {part!r} in the module {module_name} (embedding is {dotted}). "
                    f"{cure}"
                )
            found = getattr(found, part)
        return found  # type: ignore[no-any-return]  # whether it can be called, `open` looks

    return find


def _imported(name: str, dotted: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        absent = error.name or name
        if name != absent and not name.startswith(f"{absent}."):
            raise _broken(name, dotted, error) from error
        parent, _, last = absent.rpartition(".")
        nothing = f"There is no module {absent!r}"
        lack = f"The package {parent} has no module {last!r}" if parent else nothing
        raise ConfigurationError(
            f"{lack} (embedding is {dotted}). Correct the name, install its distribution into "
            "this environment, or name its folder in PYTHONPATH."
        ) from error
    except Exception as error:
        raise _broken(name, dotted, error) from error


def _broken(name: str, dotted: str, error: Exception) -> ConfigurationError:
    return ConfigurationError(
        f"The module {name} cannot be imported (embedding is {dotted}): {by(error)}."
    )


def _lack(function: Any) -> str | None:
    """Why something cannot be called with one text, or None."""
    if inspect.isclass(function):
        return "is a class, not a function; name a function, or an instance that can be called"
    if not callable(function):
        return f"is a value of the type {type(function).__name__}, not a function"
    try:
        inspect.signature(function).bind("text")
    except TypeError as error:
        return f"cannot be called with one text: {error}"
    except ValueError:  # written in C, and says nothing of itself
        return None
    return None


def _is_async(function: Any) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - the method, not whether there is one
    )
