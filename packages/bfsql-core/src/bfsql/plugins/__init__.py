"""Backends and hooks as plugins: what each is, and how the installed ones are found.

The names are imported when they are first used: the version, which lives in
this room because of where it comes from, has to be known without pydantic, and
pluggy only where a hook plugin is.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bfsql.plugins.declaration import CommandDeclaration
    from bfsql.plugins.hook_registry import HookState, hook_states, load_hooks
    from bfsql.plugins.hooks import NO_HOOKS, Hooks
    from bfsql.plugins.hookspecs import hookimpl
    from bfsql.plugins.outcome import Outcome
    from bfsql.plugins.plugin import BackendPlugin
    from bfsql.plugins.registry import BackendState, Installed, installed, load, states

__all__ = [
    "NO_HOOKS",
    "BackendPlugin",
    "BackendState",
    "CommandDeclaration",
    "HookState",
    "Hooks",
    "Installed",
    "Outcome",
    "hook_states",
    "hookimpl",
    "installed",
    "load",
    "load_hooks",
    "states",
]

_HOMES = {
    "NO_HOOKS": "hooks",
    "BackendPlugin": "plugin",
    "CommandDeclaration": "declaration",
    "HookState": "hook_registry",
    "Hooks": "hooks",
    "Outcome": "outcome",
    "hook_states": "hook_registry",
    "hookimpl": "hookspecs",
    "load_hooks": "hook_registry",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'registry')}"), name)
