"""Backends and hooks as plugins: their declarations, and how installed plugins are found.

The names are imported on first use: the version is read without pydantic, and
pluggy is imported only if a hook plugin is installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bfsql.lazy import lazy_names

if TYPE_CHECKING:
    from bfsql.plugins.declaration import (
        RDF_ENDINGS,
        BackendPlugin,
        CallOutcome,
        CommandDeclaration,
        GraphFiles,
        Proposal,
        ProposedSetting,
        display_name,
    )
    from bfsql.plugins.distributions import Installed
    from bfsql.plugins.hooks import NO_HOOKS, Hooks, HookState, hook_states, load_hooks
    from bfsql.plugins.hookspecs import hookimpl
    from bfsql.plugins.registry import BackendState, backend_of, installed, load, states

__all__ = [
    "NO_HOOKS",
    "RDF_ENDINGS",
    "BackendPlugin",
    "BackendState",
    "CallOutcome",
    "CommandDeclaration",
    "GraphFiles",
    "HookState",
    "Hooks",
    "Installed",
    "Proposal",
    "ProposedSetting",
    "backend_of",
    "display_name",
    "hook_states",
    "hookimpl",
    "installed",
    "load",
    "load_hooks",
    "states",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "bfsql.plugins.declaration": (
            "RDF_ENDINGS",
            "BackendPlugin",
            "CallOutcome",
            "CommandDeclaration",
            "GraphFiles",
            "Proposal",
            "ProposedSetting",
            "display_name",
        ),
        "bfsql.plugins.distributions": ("Installed",),
        "bfsql.plugins.hooks": ("NO_HOOKS", "HookState", "Hooks", "hook_states", "load_hooks"),
        "bfsql.plugins.hookspecs": ("hookimpl",),
        "bfsql.plugins.registry": ("BackendState", "backend_of", "installed", "load", "states"),
    },
)
