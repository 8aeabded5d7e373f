"""Apache Jena Fuseki of the test session, in memory, optionally with a text index or a login."""

import os
from pathlib import Path
from typing import Self

from bfsql_test_support.downloads import fetched
from bfsql_test_support.servers.maven import JAVA_OPTIONS, Artifact, fetch, java
from bfsql_test_support.servers.port import free_port
from bfsql_test_support.servers.process import ServerProcess
from bfsql_test_support.servers.sparql import Login, SparqlServer
from bfsql_test_support.servers.unavailable import Unavailable

VERSION = "5.6.0"
"""The newest version that runs on Java 17."""
MAIN_CLASS = "org.apache.jena.fuseki.main.cmds.FusekiMainCmd"
USER = "reader"
PASSWORD = "open/sesame@1-x"
"""The password of `USER` on a guarded server, whose password file does not allow a colon in it."""

SERVICE = """\
PREFIX fuseki: <http://jena.apache.org/fuseki#>
PREFIX ja:     <http://jena.hpl.hp.com/2005/11/Assembler#>
PREFIX rdfs:   <http://www.w3.org/2000/01/rdf-schema#>
PREFIX skos:   <http://www.w3.org/2004/02/skos/core#>
PREFIX text:   <http://jena.apache.org/text#>

<#service> a fuseki:Service ;
    fuseki:name "ds" ;
    fuseki:endpoint [ fuseki:operation fuseki:query ; fuseki:name "sparql" ] ;
    fuseki:endpoint [ fuseki:operation fuseki:update ; fuseki:name "update" ] ;
    fuseki:endpoint [ fuseki:operation fuseki:gsp-rw ; fuseki:name "data" ] ;
"""
MEMORY = "<#memory> a ja:MemoryDataset .\n"
GUARDED = f"""\
    fuseki:allowedUsers "{USER}" ;
    fuseki:dataset <#memory> .
{MEMORY}"""
TEXT = f"""\
    fuseki:dataset <#indexed> .
<#indexed> a text:TextDataset ; text:dataset <#memory> ; text:index <#index> .
{MEMORY}
<#index> a text:TextIndexLucene ; text:directory "mem" ; text:entityMap <#map> .
<#map> a text:EntityMap ;
    text:entityField "uri" ; text:uidField "uid" ; text:langField "lang" ;
    text:graphField "graph" ; text:defaultField "label" ;
    text:map (
        [ text:field "label" ; text:predicate rdfs:label ]
        [ text:field "altLabel" ; text:predicate skos:altLabel ]
    ) .
"""
FORGET = "DELETE WHERE { ?s ?p ?o } ; DELETE WHERE { GRAPH ?g { ?s ?p ?o } }"


class FusekiServer(SparqlServer):
    """Fuseki with the dataset `/ds` in memory, open to all and with no text index.

    Args:
        folder: An empty folder.
        options: Arguments that name the data to serve.
        more: Further options of its Java, which override the usual ones.

    Raises:
        Unavailable: There is no Java, or Fuseki cannot be fetched.
    """

    name = "fuseki"
    query_path = "/ds/sparql"
    update_path = "/ds/update"
    store_path = "/ds/data"

    def __init__(
        self,
        folder: Path,
        options: tuple[str, ...] = ("--mem", "--update", "/ds"),
        more: tuple[str, ...] = (),
    ):
        self.port = free_port()
        self._indexed = False
        program = [java("Fuseki"), *JAVA_OPTIONS, *more, f"-Djava.io.tmpdir={folder}"]
        where = ["--localhost", "--port", str(self.port)]
        self.process = ServerProcess(
            [*program, "-cp", str(jar()), MAIN_CLASS, *where, *options],
            log=folder / "fuseki.log",
            ready=self.is_ready,
            patience=120,
            environment={"FUSEKI_BASE": str(folder / "base")},
        )

    @classmethod
    def large(cls, folder: Path) -> Self:
        """A server with enough memory for some million triples."""
        return cls(folder, more=("-Xmx6g",))

    @classmethod
    def with_text(cls, folder: Path) -> Self:
        """A server that finds words in `rdfs:label` and `skos:altLabel` by `text:query`."""
        server = cls(folder, (f"--config={_written(folder, SERVICE + TEXT)}",))
        server._indexed = True
        return server

    @classmethod
    def with_password(cls, folder: Path) -> Self:
        """A server that answers only `USER`, by basic authentication."""
        passwords = folder / "passwords"
        passwords.write_text(f"{USER}:{PASSWORD}\n")
        config = _written(folder, SERVICE + GUARDED)
        server = cls(folder, (f"--passwd={passwords}", "--auth=basic", f"--config={config}"))
        server.auth = server.query_auth = Login("basic", USER, PASSWORD)
        return server

    def clear(self) -> None:
        """Delete all data; triple by triple if there is a text index, which else keeps them."""
        self.update(FORGET if self._indexed else "CLEAR ALL")


def _written(folder: Path, text: str) -> Path:
    path = folder / "config.ttl"
    path.write_text(text)
    return path


def jar() -> Path:
    """Fuseki's jar, which includes its dependencies: BFSQL_FUSEKI, or fetched once by Maven."""
    if named := os.environ.get("BFSQL_FUSEKI"):
        if Path(named).is_file():
            return Path(named)
        raise Unavailable(f"BFSQL_FUSEKI is {named}, but there is no such file")
    server = Artifact("org.apache.jena", "jena-fuseki-server", VERSION)
    otherwise = "BFSQL_FUSEKI names its jar"
    made = fetched(
        f"fuseki-{VERSION}", lambda made: fetch(made, server, alone=True, otherwise=otherwise)
    )
    return made / server.file
