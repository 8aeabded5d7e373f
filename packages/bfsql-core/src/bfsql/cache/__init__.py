"""CachedGraphDb, the cache in front of every backend, and the breaker behind it."""

from bfsql.cache.breaker import Breaker, CircuitBreakerBackend
from bfsql.cache.cached import MAX_RECORDS, CachedGraphDb

__all__ = ["MAX_RECORDS", "Breaker", "CachedGraphDb", "CircuitBreakerBackend"]
