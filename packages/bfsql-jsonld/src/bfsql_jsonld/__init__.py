"""Graphs behind JSON-LD and JSON web APIs, behind the tools of BFS-QL.

The names below are imported when they are first used, so that listing the
installed backends imports no HTTP client.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bfsql_jsonld.backend import JsonLdBackend
    from bfsql_jsonld.settings import JsonLdSettings

__all__ = ["JsonLdBackend", "JsonLdSettings"]

_HOMES = {
    "JsonLdBackend": "bfsql_jsonld.backend",
    "JsonLdSettings": "bfsql_jsonld.settings",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
