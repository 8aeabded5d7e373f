"""The plugin behind the entry point `neo4j`."""

from bfsql.lazy import lazy_call
from bfsql.plugins import BackendPlugin
from bfsql_neo4j.settings import Neo4jSettings

plugin = BackendPlugin(
    summary="any Neo4j graph, as it is (Bolt)",
    settings=Neo4jSettings,
    open=lazy_call("bfsql_neo4j.backend:Neo4jBackend.open"),
    load=lazy_call("bfsql_neo4j.load.loader:load_graph"),
    appends=False,
    propose=lazy_call("bfsql_neo4j.proposal:propose"),
    prepare=lazy_call("bfsql_neo4j.proposal:prepare"),
)
