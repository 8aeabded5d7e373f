"""CachedGraphDb, the cache in front of every backend."""

from bfsql.cache.cached import MAX_RECORDS, CachedGraphDb

__all__ = ["MAX_RECORDS", "CachedGraphDb"]
