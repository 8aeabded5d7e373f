"""The target of the entry point `postgres`."""

from bfsql.lazy import lazy_call
from bfsql.plugins import BackendPlugin
from bfsql_postgres.settings import PostgresSettings

plugin = BackendPlugin(
    summary="a database in Postgres by its keys, kgraph's schema, or tables of your own",
    propose=lazy_call("bfsql_postgres.discovery:propose"),
    settings=PostgresSettings,
    open=lazy_call("bfsql_postgres.backend:PostgresBackend.open"),
    load=lazy_call("bfsql_postgres.load.loader:load_graph"),
    appends=False,
    prepare=lazy_call("bfsql_postgres.indexes:prepare"),
)
