"""The plugin behind the entry point `gremlin`."""

from bfsql.lazy import lazy_call
from bfsql.plugins import BackendPlugin
from bfsql_gremlin.settings import GremlinSettings

plugin = BackendPlugin(
    summary="JanusGraph, Neptune and other graphs in Gremlin",
    settings=GremlinSettings,
    open=lazy_call("bfsql_gremlin.backend:GremlinBackend.open"),
    load=lazy_call("bfsql_gremlin.load.loader:load_graph"),
    appends=False,
    prepare=lazy_call("bfsql_gremlin.indexes:prepare"),
)
