"""An RDF4J server of the test session: its web application in Jetty, one repository in memory."""

from pathlib import Path
from urllib.request import Request

from bfsql_test_support.downloads import fetched
from bfsql_test_support.servers.maven import JAVA_OPTIONS, Artifact, fetch, java
from bfsql_test_support.servers.port import HOST, answers, free_port
from bfsql_test_support.servers.process import ServerProcess
from bfsql_test_support.servers.sparql import SparqlServer, opener

APPLICATION = Artifact("org.eclipse.rdf4j", "rdf4j-http-server", "4.1.3", "war")
JETTY = Artifact("org.eclipse.jetty", "jetty-runner", "9.4.57.v20241219")

REPOSITORY = """\
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix rep: <http://www.openrdf.org/config/repository#> .
@prefix sr: <http://www.openrdf.org/config/repository/sail#> .
@prefix sail: <http://www.openrdf.org/config/sail#> .
@prefix ms: <http://www.openrdf.org/config/sail/memory#> .

[] a rep:Repository ;
    rep:repositoryID "ds" ;
    rdfs:label "The tests' data" ;
    rep:repositoryImpl [
        rep:repositoryType "openrdf:SailRepository" ;
        sr:sailImpl [ sail:sailType "openrdf:MemoryStore" ; ms:persist false ]
    ] .
"""


class RDF4JServer(SparqlServer):
    """RDF4J with the repository `ds` in memory; a query that names no graph sees their union."""

    name = "rdf4j"
    query_path = "/rdf4j-server/repositories/ds"
    update_path = f"{query_path}/statements"
    store_path = f"{query_path}/rdf-graphs/service"

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        programs = fetched(
            f"rdf4j-{APPLICATION.version}", lambda made: fetch(made, APPLICATION, JETTY, alone=True)
        )
        for name in ("tmp", "data"):
            (folder / name).mkdir()
        program = [java("RDF4J"), *JAVA_OPTIONS, f"-Djava.io.tmpdir={folder / 'tmp'}"]
        program += [f"-Dorg.eclipse.rdf4j.appdata.basedir={folder / 'data'}"]
        program += ["-jar", str(programs / JETTY.file), "--host", HOST, "--port", str(self.port)]
        self.process = ServerProcess(
            [*program, "--path", "/rdf4j-server", str(programs / APPLICATION.file)],
            log=folder / "rdf4j.log",
            ready=self._answers,
            patience=120,
        )

    def start(self) -> None:
        """Start, and return when queries are answered: 6 seconds."""
        super().start()
        if not self.is_ready():
            put = Request(self.query_url, REPOSITORY.encode(), method="PUT")
            put.add_header("Content-Type", "text/turtle")
            opener(self.query_url, None).open(put, timeout=60).close()

    def _answers(self) -> bool:
        """Whether the application answers; its repository may not exist yet."""
        if not answers(self.port):
            return False
        try:
            protocol = f"{self.base_url}/rdf4j-server/protocol"
            opener(protocol, None).open(protocol, timeout=60).close()
        except OSError:
            return False
        return True
