"""A backend of BFS-QL: graphs of early."""

from bfsql_early.backend import EarlyBackend
from bfsql_early.settings import EarlySettings

__all__ = ["EarlyBackend", "EarlySettings"]
