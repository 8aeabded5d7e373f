"""Any networkx graph as a BFS-QL backend."""

from bfsql_networkx.backend import NetworkxBackend
from bfsql_networkx.serve import Serving, serve_graph
from bfsql_networkx.settings import NetworkxSettings

__all__ = ["NetworkxBackend", "NetworkxSettings", "Serving", "serve_graph"]
