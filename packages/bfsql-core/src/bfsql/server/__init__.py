"""The MCP server over an open graph: `create_server` for programs, `stdio` for the command line.

Names are imported on first use: `bfsql.server.stdio` opens the store while `mcp` is being
imported, which is only possible if importing this package does not import `mcp`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bfsql.server.mcp import BfsqlServer, create_server

__all__ = ["BfsqlServer", "create_server"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module("bfsql.server.mcp"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
