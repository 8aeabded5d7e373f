"""The target of the entry point `sparql`."""

from bfsql.lazy import lazy_call
from bfsql.plugins import RDF_ENDINGS, BackendPlugin, GraphFiles
from bfsql_sparql.settings import SparqlSettings

plugin = BackendPlugin(
    summary="any SPARQL 1.1 endpoint, and RDF files in process",
    settings=SparqlSettings,
    open=lazy_call("bfsql_sparql.backend:SparqlBackend.open"),
    load=lazy_call("bfsql_sparql.load.loader:load_graph"),
    appends=False,
    keeps_iris=True,
    files=GraphFiles(
        "data", (), tuple(one + packed for one in RDF_ENDINGS for packed in ("", ".gz"))
    ),
)
