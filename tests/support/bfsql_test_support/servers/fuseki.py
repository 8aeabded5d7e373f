"""Apache Jena Fuseki of the test session: datasets in memory, with a text index or a login."""

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

CONFIG = f"""\
PREFIX fuseki: <http://jena.apache.org/fuseki#>
PREFIX ja:     <http://jena.hpl.hp.com/2005/11/Assembler#>
PREFIX rdfs:   <http://www.w3.org/2000/01/rdf-schema#>
PREFIX skos:   <http://www.w3.org/2004/02/skos/core#>
PREFIX text:   <http://jena.apache.org/text#>

<#query> fuseki:operation fuseki:query ; fuseki:name "sparql" .
<#update> fuseki:operation fuseki:update ; fuseki:name "update" .
<#store> fuseki:operation fuseki:gsp-rw ; fuseki:name "data" .

<#ds> a fuseki:Service ; fuseki:name "ds" ;
    fuseki:endpoint <#query>, <#update>, <#store> ;
    fuseki:dataset [ a ja:MemoryDataset ] .

<#guarded> a fuseki:Service ; fuseki:name "guarded" ; fuseki:allowedUsers "{USER}" ;
    fuseki:endpoint <#query>, <#update>, <#store> ;
    fuseki:dataset [ a ja:MemoryDataset ] .

<#indexed> a fuseki:Service ; fuseki:name "indexed" ;
    fuseki:endpoint <#query>, <#update>, <#store> ;
    fuseki:dataset [
        a text:TextDataset ; text:dataset [ a ja:MemoryDataset ] ; text:index <#index>
    ] .
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
    """Fuseki with three datasets in memory; this one is open to all and has no text index.

    Args:
        more: Further options of its Java, which override the usual ones.
    """

    name = "fuseki"
    query_path, update_path, store_path = "/ds/sparql", "/ds/update", "/ds/data"

    def __init__(self, folder: Path, more: tuple[str, ...] = ()) -> None:
        self.port = free_port()
        program = [java("Fuseki"), *JAVA_OPTIONS, *more, f"-Djava.io.tmpdir={folder}"]
        where = ["--localhost", "--port", str(self.port)]
        passwords, config = folder / "passwords", folder / "config.ttl"
        passwords.write_text(f"{USER}:{PASSWORD}\n")
        config.write_text(CONFIG)
        what = [f"--passwd={passwords}", "--auth=basic", f"--config={config}"]
        self.process = ServerProcess(
            [*program, "-cp", str(jar()), MAIN_CLASS, *where, *what],
            log=folder / "fuseki.log",
            ready=self.is_ready,
            patience=120,
            environment={"FUSEKI_BASE": str(folder / "base")},
        )

    @classmethod
    def large(cls, folder: Path) -> Self:
        """A server with enough memory for some million triples."""
        return cls(folder, more=("-Xmx6g",))


class _FurtherDataset(FusekiServer):
    def __init__(self, server: FusekiServer) -> None:
        self.port, self.process = server.port, server.process


class IndexedFuseki(_FurtherDataset):
    """The dataset of a server that finds words in `rdfs:label` and `skos:altLabel`."""

    query_path, update_path, store_path = "/indexed/sparql", "/indexed/update", "/indexed/data"

    def clear(self) -> None:
        """Delete all data triple by triple, since the index would otherwise keep them."""
        self.update(FORGET)


class GuardedFuseki(_FurtherDataset):
    """The dataset of a server that answers only `USER`, by basic authentication."""

    query_path, update_path, store_path = "/guarded/sparql", "/guarded/update", "/guarded/data"
    auth = query_auth = Login("basic", USER, PASSWORD)


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
