"""BFS-QL: six tools that let a language model walk any knowledge graph.

    async with bfsql.open_graph("sqlite", path="films.db") as graph:
        answer = await graph.bfs_query(seeds=["film:1"], max_hops=1)

The names below are imported when they are first used, so that `import bfsql`
costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bfsql.abc import GraphDbInterface
    from bfsql.cache import CachedGraphDb
    from bfsql.errors import BfsqlError, ToolError
    from bfsql.graph import Graph, open_graph
    from bfsql.memory import MemoryBackend
    from bfsql.server import create_server
    from bfsql.tools.limits import Limits

    __version__: str

__all__ = [
    "BfsqlError",
    "CachedGraphDb",
    "Graph",
    "GraphDbInterface",
    "Limits",
    "MemoryBackend",
    "ToolError",
    "__version__",
    "create_server",
    "open_graph",
]

_HOMES = {
    "BfsqlError": "bfsql.errors",
    "CachedGraphDb": "bfsql.cache",
    "Graph": "bfsql.graph",
    "GraphDbInterface": "bfsql.abc",
    "Limits": "bfsql.tools.limits",
    "MemoryBackend": "bfsql.memory",
    "ToolError": "bfsql.errors",
    "__version__": "bfsql.plugins.version",
    "create_server": "bfsql.server",
    "open_graph": "bfsql.graph",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
