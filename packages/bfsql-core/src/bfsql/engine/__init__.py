"""Pure traversal over the interface: traverse, intersect, select, page."""

from bfsql.engine.page import bfs_query, neighborhood_intersection

__all__ = ["bfs_query", "neighborhood_intersection"]
