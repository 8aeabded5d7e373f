"""The target of the entry point `sparql`."""

from bfsql.lazy import lazy_call
from bfsql.plugins import BackendPlugin
from bfsql_sparql.settings import SparqlSettings

plugin = BackendPlugin(
    summary="any SPARQL 1.1 endpoint",
    settings=SparqlSettings,
    open=lazy_call("bfsql_sparql.backend:SparqlBackend.open"),
    load=lazy_call("bfsql_sparql.load.loader:load_graph"),
    appends=False,
    keeps_iris=True,
)
