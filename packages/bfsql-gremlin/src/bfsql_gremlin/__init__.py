"""Any graph that is served in Gremlin behind the tools of BFS-QL.

The names below are imported when they are first used, so that listing the
installed backends imports neither the driver nor aiohttp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bfsql.lazy import lazy_names

if TYPE_CHECKING:
    from bfsql_gremlin.backend import GremlinBackend
    from bfsql_gremlin.settings import GremlinSettings

__all__ = ["GremlinBackend", "GremlinSettings"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {"bfsql_gremlin.backend": ("GremlinBackend",), "bfsql_gremlin.settings": ("GremlinSettings",)},
)
