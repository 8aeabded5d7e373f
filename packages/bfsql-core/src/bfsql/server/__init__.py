"""The MCP face of an open graph: `create_server` for programs, `run` for the command line.

Loaded on first use: `bfsql.server.run` opens the store while `mcp` is being
imported, which it could not if importing this room imported `mcp`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bfsql.server.create import create_server
    from bfsql.server.mcp_server import BfsqlServer

__all__ = ["BfsqlServer", "create_server"]

_HOMES = {"BfsqlServer": "bfsql.server.mcp_server", "create_server": "bfsql.server.create"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
