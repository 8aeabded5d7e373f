"""Any Neo4j graph behind the tools of BFS-QL.

The names below are imported when they are first used, so that listing the
installed backends imports neither the store's driver nor numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bfsql.lazy import lazy_names

if TYPE_CHECKING:
    from bfsql_neo4j.backend import Neo4jBackend
    from bfsql_neo4j.settings import Neo4jSettings

__all__ = ["Neo4jBackend", "Neo4jSettings"]

__getattr__, __dir__ = lazy_names(
    __name__, {"bfsql_neo4j.backend": ("Neo4jBackend",), "bfsql_neo4j.settings": ("Neo4jSettings",)}
)
