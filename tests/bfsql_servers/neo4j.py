"""A Neo4j Community server of the test session."""

import os
import subprocess
from pathlib import Path
from typing import Self

from bfsql_servers.certificates import CA, make_certificates
from bfsql_servers.jars import jars, main_class
from bfsql_servers.maven import JAVA_OPTIONS, java
from bfsql_servers.port import HOST, answers, free_port
from bfsql_servers.process import Server, ServerFailed, ServerProcess

USER = "neo4j"
PASSWORD = "open/sesame@1:x"
"""The password of `USER` on a guarded server, with characters that must be quoted in a URL."""

# LOAD CSV has no access to files and addresses, as is necessary if a model's words become Cypher.
SETTINGS = """\
server.default_listen_address={host}
server.bolt.enabled=true
server.bolt.listen_address={host}:{port}
server.bolt.advertised_address={host}:{port}
server.http.enabled=false
server.https.enabled=false
server.directories.import=import
server.memory.pagecache.size=64m
dbms.security.auth_enabled={guarded}
dbms.security.allow_csv_import_from_file_urls=false
dbms.usage_report.enabled=false
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


class Neo4jServer(Server):
    """A database in a folder, and the server that answers for it on a port of 127.0.0.1.

    Args:
        folder: An empty folder.
        guarded: Whether it requires a password (`USER` and `PASSWORD`), and also supports TLS
            if there is `openssl`.

    Raises:
        Unavailable: There is no Java, or Neo4j cannot be fetched.
    """

    def __init__(self, folder: Path, *, guarded: bool = False) -> None:
        self.port = free_port()
        self.guarded = guarded
        self.ca: Path | None = None
        """Certificate of the authority that vouches for the server; None without TLS."""
        self._folder = folder
        self._jars = jars()
        self._java = [java("Neo4j", "BFSQL_NEO4J_JAVA"), *JAVA_OPTIONS]
        self._java += [f"-Djava.io.tmpdir={folder / 'tmp'}", f"-Djna.tmpdir={folder / 'tmp'}"]
        self._java += ["-cp", f"{self._jars}/*"]
        for name in ("tmp", "conf", "import"):
            (folder / name).mkdir()
        text = SETTINGS.format(host=HOST, port=self.port, guarded=str(guarded).lower())
        certificates = folder / "certificates" / "bolt"
        if guarded and make_certificates(certificates):
            self.ca = certificates / CA
            text += TLS.format(folder=certificates)
        (folder / "conf" / "neo4j.conf").write_text(text)
        places = [f"--home-dir={folder}", f"--config-dir={folder / 'conf'}"]
        self.process = ServerProcess(
            [*self._java, main_class(self._jars), *places],
            log=folder / "console.log",
            ready=self._answers_a_query,
            patience=120,
        )

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
        """Start, and return when queries are answered: 10 seconds or so.

        Raises:
            ServerFailed: It did not start.
        """
        if self.guarded and not (self._folder / "data").exists():
            self._set_password()
        super().start()

    def _set_password(self) -> None:
        admin = ["org.neo4j.server.startup.Neo4jAdminCommand", "dbms", "set-initial-password"]
        places = {"NEO4J_HOME": str(self._folder), "NEO4J_CONF": str(self._folder / "conf")}
        said = subprocess.run(
            [*self._java, *admin, PASSWORD],
            check=False,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=120,
            env={**os.environ, **places},
        )
        if said.returncode:
            raise ServerFailed(f"set-initial-password failed: {said.stderr[-500:]}")

    def _answers_a_query(self) -> bool:
        """Whether Bolt answers; it may listen before the database is there."""
        from neo4j import GraphDatabase
        from neo4j.exceptions import DriverError, Neo4jError

        if not answers(self.port):
            return False
        try:
            with GraphDatabase.driver(
                self.uri, auth=self.auth, connection_timeout=5, max_transaction_retry_time=0
            ) as driver:
                driver.execute_query("RETURN 1")
        except (DriverError, Neo4jError):
            return False
        return True
