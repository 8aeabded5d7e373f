"""The object of the entry point `redis`; the driver is imported when a graph is opened."""

from bfsql.abc import GraphDbInterface
from bfsql.plugins import BackendPlugin
from bfsql_redis.settings import RedisSettings


async def _open(settings: RedisSettings) -> GraphDbInterface:
    from bfsql_redis.backend import RedisBackend

    return await RedisBackend.open(settings)


plugin = BackendPlugin("a graph in Redis", RedisSettings, _open, contract=1)
