"""A graph in Redis as a BFS-QL backend: an example of a store behind a network."""

from bfsql_redis.backend import RedisBackend
from bfsql_redis.settings import RedisSettings

__all__ = ["RedisBackend", "RedisSettings"]
