"""A Neo4j Community server of the test session."""

from pathlib import Path
from typing import LiteralString, Self

from bfsql_test_support.servers.certificates import CA, make_certificates
from bfsql_test_support.servers.jars import jars, main_class
from bfsql_test_support.servers.maven import JAVA_OPTIONS, java
from bfsql_test_support.servers.port import HOST, answers, free_port
from bfsql_test_support.servers.process import Server, ServerProcess

USER = "neo4j"
PASSWORD = "open/sesame@1:x"
"""The password of `USER` on a guarded server, with characters that must be quoted in a URL."""

INITIAL_PASSWORD = "neo4j"
"""The password of a new database, which has to be changed."""

CODE_CACHE = "-XX:ReservedCodeCacheSize=192m"
"""Room for all compiled methods. By default the first compiler alone has 48 MB, which the planner
fills: methods are then evicted and compiled again, two in three in a run of the conformance kit.
"""

PRODUCTION = ("-Xms4g", "-Xmx4g", "-XX:+UseG1GC")
"""Memory and collector as in Neo4j's own advice, with both compilers."""

# LOAD CSV may not read files or addresses, which is necessary where a model writes Cypher.
# Transaction logs would be preallocated with half a gigabyte, which is memory in the tests.
# Plans are kept when the sizes of parameters and of the graph change: nothing is large here.
SETTINGS = """\
server.default_listen_address={host}
server.bolt.enabled=true
server.bolt.listen_address={host}:{port}
server.bolt.advertised_address={host}:{port}
server.http.enabled=false
server.https.enabled=false
server.directories.import=import
server.memory.pagecache.size={page_cache}
db.tx_log.preallocate=false
dbms.security.auth_enabled={guarded}
dbms.security.allow_csv_import_from_file_urls=false
dbms.usage_report.enabled=false
dbms.cypher.min_replan_interval=1h
internal.cypher.use_parameter_size=false
internal.dbms.cypher_ip_blocklist=0.0.0.0/0,::/0
internal.server.bolt.thread_pool_shutdown_wait_time=100ms
"""
# Clients that use TLS are answered in TLS, all others in plain text.
TLS = """\
server.bolt.tls_level=OPTIONAL
dbms.ssl.policy.bolt.enabled=true
dbms.ssl.policy.bolt.base_directory={folder}
dbms.ssl.policy.bolt.client_auth=NONE
"""
INDEXES = "SHOW INDEXES YIELD name, type WHERE type <> 'LOOKUP' RETURN name"


class Neo4jServer(Server):
    """A database in a folder, and the server that answers for it on a port of 127.0.0.1.

    Args:
        guarded: Whether it requires a password (`USER` and `PASSWORD`), and also supports TLS
            if there is `openssl`.
        large: Whether it has the memory and the options of Java of a server in production.
    """

    def __init__(self, folder: Path, *, guarded: bool = False, large: bool = False) -> None:
        self.port = free_port()
        self.guarded = guarded
        self.ca: Path | None = None
        """Certificate of the authority that vouches for the server; None without TLS."""
        self._folder = folder
        self._has_initial_password = False
        programs = jars()
        options = PRODUCTION if large else (*JAVA_OPTIONS, CODE_CACHE)
        command = [java("Neo4j", "BFSQL_NEO4J_JAVA"), *options]
        command += [f"-Djava.io.tmpdir={folder / 'tmp'}", f"-Djna.tmpdir={folder / 'tmp'}"]
        command += ["-cp", f"{programs}/*"]
        for name in ("tmp", "conf", "import"):
            (folder / name).mkdir()
        text = SETTINGS.format(
            host=HOST,
            port=self.port,
            guarded=str(guarded).lower(),
            page_cache="1g" if large else "64m",
        )
        certificates = folder / "certificates" / "bolt"
        if guarded and make_certificates(certificates):
            self.ca = certificates / CA
            text += TLS.format(folder=certificates)
        (folder / "conf" / "neo4j.conf").write_text(text)
        places = [f"--home-dir={folder}", f"--config-dir={folder / 'conf'}"]
        self.process = ServerProcess(
            [*command, main_class(programs), *places],
            log=folder / "console.log",
            ready=self._answers_a_query,
            patience=120,
        )

    @classmethod
    def large(cls, folder: Path) -> Self:
        """A server with the memory and the options of Java of one in production."""
        return cls(folder, large=True)

    @classmethod
    def with_password(cls, folder: Path) -> Self:
        """A server that requires a password."""
        return cls(folder, guarded=True)

    @property
    def uri(self) -> str:
        """Its address, for drivers."""
        return f"bolt://{HOST}:{self.port}"

    @property
    def auth(self) -> tuple[str, str] | None:
        """User and password, as drivers take them; None if none are required."""
        return (USER, PASSWORD) if self.guarded else None

    def start(self) -> None:
        """Start, and return when queries are answered: 10 seconds or so."""
        self._has_initial_password = self.guarded and not (self._folder / "data").exists()
        super().start()

    def clear(self) -> None:
        """Delete all nodes, constraints and indexes."""
        from neo4j import GraphDatabase

        with GraphDatabase.driver(self.uri, auth=self.auth) as driver, driver.session() as session:
            session.run("MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS").consume()
            for name in session.run("SHOW CONSTRAINTS YIELD name").value():
                session.run(f"DROP CONSTRAINT `{name}`").consume()
            for name in session.run(INDEXES).value():
                session.run(f"DROP INDEX `{name}`").consume()

    def _answers_a_query(self) -> bool:
        """Whether Bolt answers; it may listen before the database is ready."""
        from neo4j.exceptions import DriverError, Neo4jError

        if not answers(self.port):
            return False
        try:
            if self._has_initial_password:
                self._set_password()
            self._run("RETURN 1", self.auth)
        except (DriverError, Neo4jError):
            return False
        return True

    def _set_password(self) -> None:
        """Replace the password of a new database; `neo4j-admin` would start another JVM."""
        change = "ALTER CURRENT USER SET PASSWORD FROM $old TO $new"
        initial = (USER, INITIAL_PASSWORD)
        self._run(change, initial, "system", old=INITIAL_PASSWORD, new=PASSWORD)
        self._has_initial_password = False

    def _run(
        self,
        text: LiteralString,
        auth: tuple[str, str] | None,
        database: str | None = None,
        **values: str,
    ) -> None:
        from neo4j import GraphDatabase

        with GraphDatabase.driver(
            self.uri, auth=auth, connection_timeout=5, max_transaction_retry_time=0
        ) as driver:
            driver.execute_query(text, values, database_=database)
