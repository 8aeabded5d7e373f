"""The target of the entry point `sparql`."""

from bfsql.lazy import lazy_call
from bfsql.plugins import BackendPlugin, GraphFiles
from bfsql_sparql.settings import SparqlSettings

# Those of `bfsql.sources.FORMATS`, which imports every reader of graph files.
RDF = (".ttl", ".turtle", ".nt", ".ntriples", ".nq", ".nquads", ".trig", ".rdf", ".owl", ".jsonld")

plugin = BackendPlugin(
    summary="any SPARQL 1.1 endpoint, and RDF files in process",
    settings=SparqlSettings,
    open=lazy_call("bfsql_sparql.backend:SparqlBackend.open"),
    load=lazy_call("bfsql_sparql.load.loader:load_graph"),
    appends=False,
    keeps_iris=True,
    files=GraphFiles(
        "data", tuple(f"{ending}{packed}" for ending in RDF for packed in ("", ".gz"))
    ),
)
