"""Names of a package, and functions of a plugin, imported on first use.

    __getattr__, __dir__ = lazy_names(__name__, {"bfsql.cache": ("CachedGraphDb",)})
    open = lazy_call("bfsql_sqlite.backend:SqliteBackend.open")

As a result, listing the installed backends imports no driver, and `import bfsql` no pydantic.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inspect import Signature


def lazy_names(
    package: str, modules: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package's `__init__`.

    Args:
        package: The package's `__name__`.
        modules: The public names that each module defines.
    """
    home = {name: module for module, names in modules.items() for name in names}

    def get(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(home[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: sorted(home)


def former_names(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a module some of whose public names have changed.

    Args:
        module: The module's `__name__`.
        names: Former names and today's, with the module if that is another one. Using a former
            name is a DeprecationWarning.
    """

    def get(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        from warnings import warn

        warn(f"{module}.{name} is now {names[name]}", DeprecationWarning, stacklevel=2)
        home, _, today = names[name].rpartition(".")
        return getattr(import_module(home or module), today)

    return get


def lazy_call(place: str) -> Callable[..., Any]:
    """A function that is imported when it is first called.

    Args:
        place: Its module and its name there, as `module:function` or `module:Class.method`.
    """
    return _LazyCall(place)


class _LazyCall:
    def __init__(self, place: str) -> None:
        self._place = place

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self._function()(*args, **named)

    @property
    def __signature__(self) -> Signature:
        """The signature for `inspect.signature`: that of the function, which is imported for it."""
        from inspect import signature

        return signature(self._function())

    def _function(self) -> Callable[..., Any]:
        module, _, name = self._place.partition(":")
        function: Callable[..., Any] = reduce(getattr, name.split("."), import_module(module))  # type: ignore[assignment]
        return function
