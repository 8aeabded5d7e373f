"""Any SPARQL 1.1 endpoint, and RDF files in process, behind the tools of BFS-QL."""

from bfsql_sparql.backend import SparqlBackend
from bfsql_sparql.settings import SparqlSettings

__all__ = ["SparqlBackend", "SparqlSettings"]
