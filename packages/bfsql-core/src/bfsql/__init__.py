"""BFS-QL: six tools that let a language model walk any knowledge graph.

    async with bfsql.open_graph("sqlite", path="films.db") as graph:
        answer = await graph.bfs_query(seeds=["film:1"], max_hops=1)

The names below are imported when they are first used, so that `import bfsql`
costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bfsql.lazy import lazy_names

if TYPE_CHECKING:
    from bfsql.abc import GraphDbInterface
    from bfsql.cache import CachedGraphDb
    from bfsql.call import Limits
    from bfsql.errors import BfsqlError, ToolError
    from bfsql.graph import Graph, open_graph
    from bfsql.memory import MemoryBackend
    from bfsql.server import create_server

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

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "bfsql.abc": ("GraphDbInterface",),
        "bfsql.call": ("Limits",),
        "bfsql.cache": ("CachedGraphDb",),
        "bfsql.errors": ("BfsqlError", "ToolError"),
        "bfsql.graph": ("Graph", "open_graph"),
        "bfsql.memory": ("MemoryBackend",),
        "bfsql.plugins.distributions": ("__version__",),
        "bfsql.server": ("create_server",),
    },
)
