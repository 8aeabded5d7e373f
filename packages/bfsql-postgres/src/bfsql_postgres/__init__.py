"""A graph in Postgres: the schema of the kgraph pipeline, or any tables of nodes and edges.

The names below are imported when they are first used, so that listing the
installed backends imports no driver.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bfsql.lazy import lazy_names

if TYPE_CHECKING:
    from bfsql_postgres.backend import PostgresBackend
    from bfsql_postgres.load.loader import load_graph
    from bfsql_postgres.settings import PostgresSettings

__all__ = ["PostgresBackend", "PostgresSettings", "load_graph"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "bfsql_postgres.backend": ("PostgresBackend",),
        "bfsql_postgres.load.loader": ("load_graph",),
        "bfsql_postgres.settings": ("PostgresSettings",),
    },
)
