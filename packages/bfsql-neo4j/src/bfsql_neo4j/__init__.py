"""Any Neo4j graph behind the tools of BFS-QL."""

from bfsql_neo4j.backend import Neo4jBackend
from bfsql_neo4j.settings import Neo4jSettings

__all__ = ["Neo4jBackend", "Neo4jSettings"]
