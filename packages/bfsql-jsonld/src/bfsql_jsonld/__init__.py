"""Graphs behind JSON-LD and JSON web APIs, behind the tools of BFS-QL.

The names below are imported when they are first used, so that listing the
installed backends imports no HTTP client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bfsql.lazy import lazy_names

if TYPE_CHECKING:
    from bfsql_jsonld.backend import JsonLdBackend
    from bfsql_jsonld.settings import JsonLdSettings

__all__ = ["JsonLdBackend", "JsonLdSettings"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {"bfsql_jsonld.backend": ("JsonLdBackend",), "bfsql_jsonld.settings": ("JsonLdSettings",)},
)
