"""All query text of the reading side."""

from bfsql_neo4j.queries.graph import CHUNK, Queries

__all__ = ["CHUNK", "Queries"]
