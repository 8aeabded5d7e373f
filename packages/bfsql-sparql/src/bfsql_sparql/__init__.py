"""Any SPARQL 1.1 endpoint behind the tools of BFS-QL.

The names below are imported when they are first used, so that listing the
installed backends imports neither the store's driver nor numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bfsql.lazy import lazy_names

if TYPE_CHECKING:
    from bfsql_sparql.backend import SparqlBackend
    from bfsql_sparql.settings import SparqlSettings

__all__ = ["SparqlBackend", "SparqlSettings"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {"bfsql_sparql.backend": ("SparqlBackend",), "bfsql_sparql.settings": ("SparqlSettings",)},
)
