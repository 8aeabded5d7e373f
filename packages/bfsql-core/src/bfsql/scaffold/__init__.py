"""A distribution with a backend in it, written for its author: what `bfsql new-backend` does."""

from bfsql.scaffold.names import Names
from bfsql.scaffold.write import write_distribution

__all__ = ["Names", "write_distribution"]
