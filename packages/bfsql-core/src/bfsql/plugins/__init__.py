"""Backends as plugins: what one is, and how the installed ones are found.

The names are imported when they are first used: the version, which lives in
this room because of where it comes from, has to be known without pydantic.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bfsql.plugins.plugin import BackendPlugin
    from bfsql.plugins.registry import BackendState, Installed, installed, load, states

__all__ = ["BackendPlugin", "BackendState", "Installed", "installed", "load", "states"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "plugin" if name == "BackendPlugin" else "registry"
    return getattr(import_module(f"{__name__}.{home}"), name)
