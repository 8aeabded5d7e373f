"""A graph in Postgres: the schema of the kgraph pipeline, or any tables of nodes and edges.

The names below are imported when they are first used, so that listing the
installed backends imports no driver.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bfsql_postgres.backend import PostgresBackend
    from bfsql_postgres.loader import load_graph
    from bfsql_postgres.settings import PostgresSettings

__all__ = ["PostgresBackend", "PostgresSettings", "load_graph"]

_HOMES = {
    "PostgresBackend": "bfsql_postgres.backend",
    "PostgresSettings": "bfsql_postgres.settings",
    "load_graph": "bfsql_postgres.loader",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
