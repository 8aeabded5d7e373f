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
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inspect import Signature

INSTALL_KIT = "pip install bfsql-testing, or in a clone pip install ./packages/bfsql-testing"
"""How to install the conformance kit, for messages."""


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


def alias_of_kit(name: str, module: str) -> None:
    """Make a module of the conformance kit importable by a name in `bfsql`, with its submodules.

    They are the same modules, not copies, so that classes are the same under both names.

    Args:
        name: The `__name__` of the module that calls this, which is replaced.
        module: The name of the kit's module.

    Raises:
        ModuleNotFoundError: The kit is not installed.
    """
    try:
        kit = import_module(f"bfsql_testing.{module}")
    except ModuleNotFoundError as error:
        if error.name != "bfsql_testing":
            raise
        sentence = f"{name} is in the conformance kit, which is missing: {INSTALL_KIT}"
        raise ModuleNotFoundError(sentence, name=name) from error
    inner = {f"{name}.{one}": value for one, value in vars(kit).items()}
    sys.modules |= {name: kit} | {n: m for n, m in inner.items() if isinstance(m, ModuleType)}


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
