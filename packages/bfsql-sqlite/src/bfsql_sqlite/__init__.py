"""A graph in one SQLite file: the embedded default of BFS-QL.

The names below are imported when they are first used, so that listing the
installed backends imports neither the store's driver nor numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bfsql.lazy import lazy_names

if TYPE_CHECKING:
    from bfsql_sqlite.backend import SqliteBackend
    from bfsql_sqlite.loader import load_graph
    from bfsql_sqlite.settings import SqliteSettings

__all__ = ["SqliteBackend", "SqliteSettings", "load_graph"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "bfsql_sqlite.backend": ("SqliteBackend",),
        "bfsql_sqlite.loader": ("load_graph",),
        "bfsql_sqlite.settings": ("SqliteSettings",),
    },
)
