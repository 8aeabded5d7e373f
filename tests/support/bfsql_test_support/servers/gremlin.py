"""Servers of the test session that speak Gremlin: TinkerGraph, JanusGraph and ArcadeDB."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.downloads import fetched
from bfsql_test_support.servers.maven import JAVA_OPTIONS, Artifact, fetch, java
from bfsql_test_support.servers.port import HOST, answers, free_port
from bfsql_test_support.servers.process import Server, ServerProcess

TINKERPOP, JANUSGRAPH, ARCADEDB = "3.7.3", "1.1.0", "25.3.1"
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
channelizer: org.apache.tinkerpop.gremlin.server.channel.WsAndHttpChannelizer
{more}graphs: {{graph: {folder}/graph.properties}}
scriptEngines:
  gremlin-groovy:
    plugins:
{plugin}      org.apache.tinkerpop.gremlin.server.jsr223.GremlinServerGremlinPlugin: {{}}
      org.apache.tinkerpop.gremlin.jsr223.ImportGremlinPlugin: {{classImports: [java.lang.Math]}}
      org.apache.tinkerpop.gremlin.jsr223.ScriptFileGremlinPlugin: {{files: [{folder}/init.groovy]}}
serializers:
  - className: org.apache.tinkerpop.gremlin.util.ser.GraphBinaryMessageSerializerV1
    config: {{ioRegistries: [{registries}]}}
  - className: org.apache.tinkerpop.gremlin.util.ser.GraphSONMessageSerializerV3
    config: {{ioRegistries: [{registries}]}}
"""
# Deep tests have a hub of 100,000 edges, for which TinkerGraph's usual 512 MB are not enough.
DEPTH_OPTIONS = ("-Xmx2g",) if THOROUGH else ()
INIT = """\
def globals = [:]
globals << [g : {source}]
globals << [r : {source}.withStrategies(ReadOnlyStrategy.instance())]
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


ARCADE = """\
gremlin.graph=com.arcadedb.gremlin.ArcadeGraph
gremlin.arcadedb.directory={folder}/databases/graph
"""


@dataclass(frozen=True)
class Engine:
    """What differs between engines."""

    jars: str
    """The name of a folder in `JARS`."""
    main: str
    """The class that serves."""
    graph: str
    """Properties of the graph."""
    registry: str
    """The class with which the serializers read and write the engine's own types."""
    plugin: str = ""
    """The class that adds the engine to scripts."""
    source: str = "traversal().withEmbedded(graph)"
    """The source of traversals, in Groovy."""
    more: str = ""
    """A line of the server's configuration."""
    options: tuple[str, ...] = ()
    """Options of Java."""


TINKERPOP_JARS = f"janusgraph-{JANUSGRAPH}-cql"
TINKERGRAPH_ENGINE = Engine(
    TINKERPOP_JARS,
    "org.apache.tinkerpop.gremlin.server.GremlinServer",
    TINKER,
    "org.apache.tinkerpop.gremlin.tinkergraph.structure.TinkerIoRegistryV3",
    "org.apache.tinkerpop.gremlin.tinkergraph.jsr223.TinkerGraphGremlinPlugin",
    # It writes its graph to a file when it stops.
    options=("--add-opens=java.base/java.util.concurrent.atomic=ALL-UNNAMED",),
)
JANUSGRAPH_ENGINE = Engine(
    TINKERPOP_JARS,
    "org.janusgraph.graphdb.server.JanusGraphServer",
    JANUS,
    "org.janusgraph.graphdb.tinkerpop.JanusGraphIoRegistry",
    "org.janusgraph.graphdb.tinkerpop.plugin.JanusGraphGremlinPlugin",
    more="graphManager: org.janusgraph.graphdb.management.JanusGraphManager\n",
)
ARCADEDB_ENGINE = Engine(
    f"arcadedb-{ARCADEDB}",
    "com.arcadedb.server.ArcadeDBServer",
    ARCADE,
    "com.arcadedb.gremlin.io.ArcadeIoRegistry",
    source="graph.traversal()",
    options=(
        "--add-exports=java.management/sun.management=ALL-UNNAMED",
        "--add-opens=java.base/java.util.concurrent.atomic=ALL-UNNAMED",
        "--add-opens=java.base/java.nio.channels.spi=ALL-UNNAMED",
        "--add-opens=java.base/java.lang=ALL-UNNAMED",
        *("-Djava.awt.headless=true", "-Dpolyglot.engine.WarnInterpreterOnly=false"),
        "-Darcadedb.server.plugins=GremlinServer:com.arcadedb.server.gremlin.GremlinServerPlugin",
        f"-Darcadedb.server.httpIncomingHost={HOST}",
        f"-Darcadedb.server.rootPassword={PASSWORD}",
        "-Darcadedb.server.defaultDatabases=",
    ),
)


class GremlinServer(Server):
    """A server with one graph; `g` writes and `r` does not.

    Args:
        more: Further options of its Java, which override the usual ones.
    """

    def __init__(
        self, folder: Path, engine: Engine = TINKERGRAPH_ENGINE, *, more: tuple[str, ...] = ()
    ) -> None:
        self.port = free_port()
        self.login: dict[str, str] = {}
        """Settings for those who may read and write."""
        self.log = folder / "console.log"
        configuration = folder / "config" / "gremlin-server.yaml"  # where ArcadeDB looks for it
        for made in ("tmp", "config"):
            (folder / made).mkdir()
        configuration.write_text(
            SERVER.format(
                host=HOST,
                port=self.port,
                folder=folder,
                more=engine.more,
                plugin=f"      {engine.plugin}: {{}}\n" if engine.plugin else "",
                registries=engine.registry,
            )
        )
        (folder / "init.groovy").write_text(INIT.format(source=engine.source))
        (folder / "graph.properties").write_text(engine.graph.format(folder=folder))
        self.process = ServerProcess(
            [
                java("Gremlin Server"),
                *JAVA_OPTIONS,
                *engine.options,
                *DEPTH_OPTIONS,
                *more,
                f"-Djava.io.tmpdir={folder / 'tmp'}",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                "-Dorg.slf4j.simpleLogger.log.audit=info",  # every request
                *("-cp", f"{jars(engine.jars)}/*", engine.main, str(configuration)),
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
        return cls(folder, JANUSGRAPH_ENGINE)

    @classmethod
    def large(cls, folder: Path) -> Self:
        """JanusGraph with enough memory for some hundred thousand edges."""
        return cls(folder, JANUSGRAPH_ENGINE, more=("-Xmx4g",))

    @classmethod
    def arcadedb(cls, folder: Path) -> Self:
        """ArcadeDB, which always requires a login."""
        places = {"rootPath": "", "databaseDirectory": "databases", "logsDirectory": "log"}
        options = {name: folder / place for name, place in places.items()}
        more = [f"-Darcadedb.server.{name}={value}" for name, value in options.items()]
        more.append(f"-Darcadedb.server.httpIncomingPort={free_port()}")
        server = cls(folder, ARCADEDB_ENGINE, more=tuple(more))
        server.login = {"username": "root", "password": PASSWORD}
        return server

    @property
    def uri(self) -> str:
        """Its address, for drivers."""
        return f"ws://{HOST}:{self.port}/gremlin"


def jars(name: str) -> Path:
    """The folder of some jars in `JARS`, fetched once by Maven."""
    return fetched(name, lambda made: fetch(made, *JARS[name]))
