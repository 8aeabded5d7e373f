"""Servers of the test session that speak Gremlin: TinkerGraph and JanusGraph, in memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Self

from bfsql_test_support.downloads import fetched
from bfsql_test_support.servers.maven import JAVA_OPTIONS, Artifact, fetch, java
from bfsql_test_support.servers.port import HOST, answers, free_port
from bfsql_test_support.servers.process import Server, ServerProcess

TINKERPOP, JANUSGRAPH, ARCADEDB = "3.7.3", "1.1.0", "25.3.1"
USER = "reader"
PASSWORD = "open/sesame@1:x"

JARS = {
    f"janusgraph-{JANUSGRAPH}-cql": [
        *(
            Artifact("org.janusgraph", f"janusgraph-{part}", JANUSGRAPH)
            for part in ("server", "inmemory", "lucene", "cql")
        ),
        Artifact("org.apache.tinkerpop", "tinkergraph-gremlin", TINKERPOP),
        # Older than what JanusGraph was compiled with is what Maven would choose by itself.
        Artifact("org.apache.commons", "commons-lang3", "3.17.0"),
        Artifact("org.slf4j", "slf4j-simple", "1.7.36"),
    ],
    f"arcadedb-{ARCADEDB}": [
        Artifact("com.arcadedb", "arcadedb-server", ARCADEDB),
        Artifact("com.arcadedb", "arcadedb-gremlin", ARCADEDB),
    ],
}
"""Artifacts by the name of their folder; JanusGraph's include the plain Gremlin Server."""

SERVER = """\
host: {host}
port: {port}
evaluationTimeout: 30000
gremlinPool: 4
threadPoolWorker: 2
maxContentLength: 10485760
enableAuditLog: true
channelizer: org.apache.tinkerpop.gremlin.server.channel.{channelizer}
{manager}graphs: {{graph: {folder}/graph.properties}}
scriptEngines:
  gremlin-groovy:
    plugins:
      {plugin}: {{}}
      org.apache.tinkerpop.gremlin.server.jsr223.GremlinServerGremlinPlugin: {{}}
      org.apache.tinkerpop.gremlin.jsr223.ImportGremlinPlugin: {{classImports: [java.lang.Math]}}
      org.apache.tinkerpop.gremlin.jsr223.ScriptFileGremlinPlugin: {{files: [{folder}/init.groovy]}}
serializers:
  - className: org.apache.tinkerpop.gremlin.util.ser.GraphBinaryMessageSerializerV1
    config: {{ioRegistries: [{registries}]}}
  - className: org.apache.tinkerpop.gremlin.util.ser.GraphSONMessageSerializerV3
    config: {{ioRegistries: [{registries}]}}
{login}"""
LOGIN = """\
authentication:
  authenticator: org.apache.tinkerpop.gremlin.server.auth.SimpleAuthenticator
  config: {{credentialsDb: {folder}/users.properties}}
"""
# The graph of the logins, with the password as bcrypt hashes it.
USERS = """\
gremlin.graph=org.apache.tinkerpop.gremlin.tinkergraph.structure.TinkerGraph
gremlin.tinkergraph.graphLocation={folder}/users.json
gremlin.tinkergraph.graphFormat=graphson
"""
HASH = "$2a$04$cs8u.4RH7IxHYN3zPsspmeeyIL/.BNewpS9zSdL8J11q.y76Wb96m"
INIT = """\
def globals = [:]
globals << [g : traversal().withEmbedded(graph)]
globals << [r : traversal().withEmbedded(graph).withStrategies(ReadOnlyStrategy.instance())]
"""
TINKER = """\
gremlin.graph=org.apache.tinkerpop.gremlin.tinkergraph.structure.TinkerGraph
gremlin.tinkergraph.vertexIdManager=LONG
gremlin.tinkergraph.edgeIdManager=LONG
gremlin.tinkergraph.graphLocation={folder}/graph.kryo
gremlin.tinkergraph.graphFormat=gryo
"""
JANUS = """\
gremlin.graph=org.janusgraph.core.JanusGraphFactory
storage.backend=inmemory
query.batch.enabled=true
index.search.backend=lucene
index.search.directory={folder}/lucene
"""


class GremlinServer(Server):
    """A server with one graph in memory; `g` writes and `r` does not.

    Args:
        folder: An empty folder.
        engine: `tinkergraph` or `janusgraph`.
        guarded: Whether it requires a login (`USER` and `PASSWORD`).
        more: Further options of its Java, which override the usual ones.

    Raises:
        Unavailable: There is no Java, or the jars cannot be fetched.
    """

    def __init__(
        self,
        folder: Path,
        engine: str = "tinkergraph",
        *,
        guarded: bool = False,
        more: tuple[str, ...] = (),
    ) -> None:
        self.port = free_port()
        self.guarded = guarded
        self.log = folder / "console.log"
        janus = engine == "janusgraph"
        tinker_plugin = "org.apache.tinkerpop.gremlin.tinkergraph.jsr223.TinkerGraphGremlinPlugin"
        janus_plugin = "org.janusgraph.graphdb.tinkerpop.plugin.JanusGraphGremlinPlugin"
        text = SERVER.format(
            host=HOST,
            port=self.port,
            folder=folder,
            channelizer="WsAndHttpChannelizer",
            manager="graphManager: org.janusgraph.graphdb.management.JanusGraphManager\n" * janus,
            plugin=janus_plugin if janus else tinker_plugin,
            registries="org.janusgraph.graphdb.tinkerpop.JanusGraphIoRegistry"
            if janus
            else "org.apache.tinkerpop.gremlin.tinkergraph.structure.TinkerIoRegistryV3",
            login=LOGIN.format(folder=folder) * guarded,
        )
        (folder / "tmp").mkdir()
        (folder / "server.yaml").write_text(text)
        (folder / "init.groovy").write_text(INIT)
        (folder / "graph.properties").write_text((JANUS if janus else TINKER).format(folder=folder))
        if guarded:
            names = {"username": USER, "password": HASH}
            properties = {
                name: [{"id": {"@type": "g:Int64", "@value": n}, "value": value}]
                for n, (name, value) in enumerate(names.items(), 2)
            }
            user = {"id": {"@type": "g:Int64", "@value": 1}, "label": "user"}
            (folder / "users.json").write_text(json.dumps(user | {"properties": properties}))
            (folder / "users.properties").write_text(USERS.format(folder=folder))
        main = "org.janusgraph.graphdb.server.JanusGraphServer"
        if not janus:
            main = "org.apache.tinkerpop.gremlin.server.GremlinServer"
        self.process = ServerProcess(
            [
                java("Gremlin Server"),
                *JAVA_OPTIONS,
                *more,
                f"-Djava.io.tmpdir={folder / 'tmp'}",
                # For TinkerGraph, which writes its graph to a file when it stops.
                "--add-opens=java.base/java.util.concurrent.atomic=ALL-UNNAMED",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                "-Dorg.slf4j.simpleLogger.log.audit=info",  # every request
                "-cp",
                f"{jars(f'janusgraph-{JANUSGRAPH}-cql')}/*",
                main,
                str(folder / "server.yaml"),
            ],
            log=self.log,
            ready=self._is_ready,
            patience=120,
        )

    def _is_ready(self) -> bool:
        # JanusGraph that cannot open its graph says so, and then neither serves nor ends.
        if "was unable to start" in self.log.read_text(errors="replace"):
            self.process.kill()
        return answers(self.port)

    @classmethod
    def janusgraph(cls, folder: Path) -> Self:
        """JanusGraph in memory, with a Lucene index that can be used."""
        return cls(folder, "janusgraph")

    @classmethod
    def large(cls, folder: Path) -> Self:
        """JanusGraph with enough memory for some hundred thousand edges."""
        return cls(folder, "janusgraph", more=("-Xmx4g",))

    @classmethod
    def with_password(cls, folder: Path) -> Self:
        """TinkerGraph on a server that requires a password."""
        return cls(folder, guarded=True)

    @property
    def uri(self) -> str:
        """Its address, for drivers."""
        return f"ws://{HOST}:{self.port}/gremlin"


def jars(name: str) -> Path:
    """The folder of some jars in `JARS`, fetched once by Maven."""
    return fetched(name, lambda made: fetch(made, *JARS[name]))
