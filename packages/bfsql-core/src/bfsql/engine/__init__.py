"""Graph traversal over the interface: traverse, intersect and select."""

from bfsql.engine.query import bfs_query, neighborhood_intersection

__all__ = ["bfs_query", "neighborhood_intersection"]
