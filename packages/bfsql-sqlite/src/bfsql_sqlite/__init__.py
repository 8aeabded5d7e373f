"""A graph in one SQLite file: the embedded default of BFS-QL."""

from bfsql_sqlite.backend import SqliteBackend
from bfsql_sqlite.loader import load_graph
from bfsql_sqlite.settings import SqliteSettings

__all__ = ["SqliteBackend", "SqliteSettings", "load_graph"]
