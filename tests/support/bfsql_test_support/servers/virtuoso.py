"""A Virtuoso server of the test session, its database in a folder."""

import os
import shutil
from pathlib import Path
from typing import Self

from bfsql_test_support.commands import run
from bfsql_test_support.downloads import fetched
from bfsql_test_support.servers.debian import libraries, unpack
from bfsql_test_support.servers.port import HOST, free_port
from bfsql_test_support.servers.process import ServerProcess
from bfsql_test_support.servers.sparql import Login, Refused, SparqlServer
from bfsql_test_support.servers.unavailable import Unavailable

PACKAGES = ("virtuoso-opensource-7-bin", "libpcre3", "libminizip1")
OTHERWISE = "BFSQL_VIRTUOSO names the program virtuoso-t"
USER = PASSWORD = "dba"
MAX_ROWS = 10_000
"""Most rows of an answer, truncated without a sign in its body, as public endpoints do."""
FEW_ROWS = 1_000
"""Most rows of an answer of a small server."""
TIME_LIMIT = 10
"""Default limit of seconds for a query."""
GRAPH = "http://localhost/tests"
"""The graph that tests fill; the default graph is the union with Virtuoso's own triples."""

SETTINGS = """\
[Database]
DatabaseFile={folder}/virtuoso.db
ErrorLogFile={folder}/virtuoso.log
LockFile={folder}/virtuoso.lck
TransactionFile={folder}/virtuoso.trx
xa_persistent_file={folder}/virtuoso.pxa
[TempDatabase]
DatabaseFile={folder}/temporary.db
TransactionFile={folder}/temporary.trx
[Parameters]
ServerPort={host}:{sql_port}
DisableUnixSocket=1
ServerThreads=20
NumberOfBuffers=20000
MaxDirtyBuffers=12000
CheckpointInterval=0
DirsAllowed={folder}
SchedulerInterval=10
[HTTPServer]
ServerPort={host}:{port}
ServerThreads=10
ServerRoot={folder}
[SPARQL]
ResultSetMaxRows={max_rows}
MaxQueryCostEstimationTime=100000
MaxQueryExecutionTime={time_limit}
"""
# Indexes the words of all literals for bif:contains.
PREPARED = """\
DB.DBA.RDF_OBJ_FT_RULE_ADD(null, null, 'All');
DB.DBA.VT_INC_INDEX_DB_DBA_RDF_OBJ();
"""


class VirtuosoServer(SparqlServer):
    """Virtuoso, which requires a digest login for writing.

    Args:
        time_limit: Whole seconds that a query may take.
    """

    name = "virtuoso"
    query_path = "/sparql"
    update_path = "/sparql-auth"
    store_path = "/sparql-graph-crud-auth"
    auth = Login("digest", USER, PASSWORD)
    graph = GRAPH

    def __init__(
        self, folder: Path, *, max_rows: int = MAX_ROWS, time_limit: int = TIME_LIMIT
    ) -> None:
        self.port = free_port()
        self.sql_port = free_port()
        self.max_rows = max_rows
        self._folder = folder
        self._own: frozenset[str] | None = None
        program, self._isql, self._environment = _programs()
        settings = folder / "virtuoso.ini"
        settings.write_text(
            SETTINGS.format(
                folder=folder,
                host=HOST,
                sql_port=self.sql_port,
                port=self.port,
                max_rows=max_rows,
                time_limit=time_limit,
            )
        )
        self.process = ServerProcess(
            [program, "+foreground", "+configfile", str(settings)],
            log=folder / "console.log",
            ready=self.is_ready,
            environment=self._environment,
            patience=120,
        )

    @classmethod
    def small(cls, folder: Path) -> Self:
        """A server that truncates each answer after `FEW_ROWS` rows."""
        return cls(folder, max_rows=FEW_ROWS)

    def start(self) -> None:
        """Start, and return when queries are answered: 4 seconds the first time."""
        super().start()
        if self._own is None:
            self.sql(PREPARED)
            self._own = self._graphs()

    def restart(self) -> None:
        """Stop and start on the same port, with the same data."""
        self.sql("checkpoint;")
        super().restart()

    def load(self, ntriples: str | bytes, graph: str | None = None) -> None:
        """Add N-Triples to a graph with Virtuoso's file loader, and make them searchable."""
        body = ntriples.encode() if isinstance(ntriples, str) else ntriples
        file = self._folder / "loaded.nt"
        file.write_bytes(body)
        self.sql(
            f"DB.DBA.TTLP_MT(file_to_string_output('{file}'), '', '{graph or self.graph}', 512);"
        )
        file.unlink()
        self.index()

    def index(self) -> None:
        """Make all literals searchable; Virtuoso itself does so only periodically."""
        self.sql("DB.DBA.VT_INC_INDEX_DB_DBA_RDF_OBJ();")

    def clear(self) -> None:
        """Delete all graphs but its own."""
        for graph in self._graphs() - (self._own or frozenset()):
            self.sql(f"log_enable(3, 1); SPARQL CLEAR GRAPH <{graph}>;")

    def sql(self, statements: str) -> str:
        """Run statements as its administrator; return the output of isql."""
        said = run(
            *(self._isql, f"{HOST}:{self.sql_port}", USER, PASSWORD),
            *("ERRORS=STDOUT", "VERBOSE=OFF", "BANNER=OFF", f"exec={statements}"),
            timeout=300,
            env={**os.environ, **self._environment},
        )
        if said.returncode or "*** Error" in said.stdout:  # isql exits with 0 on most errors
            raise Refused(f"isql: {said.stdout.strip()} {said.stderr.strip()}")
        return said.stdout.strip()

    def _graphs(self) -> frozenset[str]:
        # SELECT DISTINCT ?g takes 13 s for 100,000 triples; this takes 0.01 s.
        rows = self.select("SELECT ?g WHERE { GRAPH ?g { ?s ?p ?o } } GROUP BY ?g")
        return frozenset(row["g"] for row in rows)


def _programs() -> tuple[str, str, dict[str, str]]:
    """`virtuoso-t`, its `isql`, and the environment that they need.

    They come from BFSQL_VIRTUOSO, an installation, or Debian's packages, unpacked once.
    """
    named = os.environ.get("BFSQL_VIRTUOSO")
    if server := shutil.which(named or "virtuoso-t"):
        beside = os.pathsep.join((str(Path(server).parent), os.environ.get("PATH", "")))
        isql = shutil.which("isql-vt", path=beside) or shutil.which("isql", path=beside)
        if isql is None:
            raise Unavailable(f"{server} is here, but neither isql-vt nor isql beside it")
        return server, isql, {}
    if named:
        raise Unavailable(f"BFSQL_VIRTUOSO is {named}, but there is no such program")
    root = fetched("virtuoso-7", lambda made: unpack(made, *PACKAGES, otherwise=OTHERWISE))
    programs = root / "usr" / "bin"
    needed = {"LD_LIBRARY_PATH": libraries(root)}
    return str(programs / "virtuoso-t"), str(programs / "isql-vt"), needed
