"""Pure traversal over the interface: traverse, select, fit, detail."""

from bfsql.engine.bfs import bfs_query
from bfsql.engine.intersect import neighborhood_intersection

__all__ = ["bfs_query", "neighborhood_intersection"]
