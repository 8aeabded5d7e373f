"""A pooler in front of a Postgres server: one server connection serves several clients in turn."""

import shutil
from pathlib import Path
from urllib.parse import quote

from bfsql_test_support.servers.account import account, can_run, give, require_reachable
from bfsql_test_support.servers.port import HOST, answers, free_port
from bfsql_test_support.servers.postgres import SUPERUSER, PostgresServer
from bfsql_test_support.servers.process import Server, ServerProcess
from bfsql_test_support.servers.unavailable import Unavailable

POOL_SIZE = 3
"""Server connections for each pair of database and role."""

# Every database and role of the server is allowed: roles missing in the file of users are looked up
# in the server. Start-up parameters are refused, as pgbouncer does by default.
SETTINGS = """\
[databases]
* = host={host} port={server_port} auth_user={superuser}
[pgbouncer]
listen_addr = {host}
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {users}
auth_query = SELECT rolname, '' FROM pg_roles WHERE rolname = $1
pool_mode = transaction
default_pool_size = {pool_size}
max_client_conn = 200
"""


class PgBouncer(Server):
    """Debian's pgbouncer in transaction mode; as root it runs as `nobody`.

    Args:
        folder: An empty folder; as root one that `nobody` can enter.
    """

    def __init__(self, server: PostgresServer, folder: Path) -> None:
        program = Path(shutil.which("pgbouncer", path="/usr/sbin:/usr/local/bin") or "pgbouncer")
        if not can_run(program):
            raise Unavailable("there is no pgbouncer here; Debian's package pgbouncer brings it")
        require_reachable(folder)
        self.port = free_port()
        users, settings = folder / "users.txt", folder / "pgbouncer.ini"
        users.write_text(f'"{SUPERUSER}" ""\n')
        text = SETTINGS.format(
            host=HOST,
            server_port=server.port,
            superuser=SUPERUSER,
            port=self.port,
            users=users,
            pool_size=POOL_SIZE,
        )
        settings.write_text(text)
        for file in (users, settings):
            give(file, 0o600)
        self.process = ServerProcess(
            [str(program), str(settings)],
            log=folder / "pgbouncer.log",
            ready=lambda: answers(self.port),
            account=account(),
        )

    def url(self, database: str = SUPERUSER, user: str = SUPERUSER) -> str:
        """The address of a database for a role, through the pooler."""
        return f"postgresql://{quote(user, safe='')}@{HOST}:{self.port}/{database}"
