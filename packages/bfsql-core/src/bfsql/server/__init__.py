"""The MCP server over an open graph: `create_server` for programs, `stdio` for the command line.

Names are imported on first use, so importing this package does not import `mcp`:
`bfsql.server.stdio` opens the store while `mcp` is being imported.
"""

from typing import TYPE_CHECKING

from bfsql.lazy import lazy_names

if TYPE_CHECKING:
    from bfsql.server.mcp import BfsqlServer, create_server

__all__ = ["BfsqlServer", "create_server"]

__getattr__, __dir__ = lazy_names(__name__, {"bfsql.server.mcp": ("BfsqlServer", "create_server")})
