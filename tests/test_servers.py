"""The servers of the test session: each answers, keeps its data, and leaves no process behind."""

import contextlib
import signal
import subprocess
import sys
import time
from pathlib import Path

import asyncpg
import psutil
import pytest
from neo4j import GraphDatabase
from neo4j.exceptions import AuthError

from bfsql_test_support.servers.fixtures import folder
from bfsql_test_support.servers.neo4j import USER, Neo4jServer
from bfsql_test_support.servers.pgbouncer import POOL_SIZE, PgBouncer
from bfsql_test_support.servers.postgres import LOCKED, LOCKED_PASSWORD, PostgresServer
from bfsql_test_support.servers.process import ENDING_WITH_PARENT, is_alive

ROOT = Path(__file__).parents[1]


async def test_postgres_has_both_extensions(postgres: PostgresServer) -> None:
    assert postgres.has_vector
    assert {"vector", "pg_trgm"} <= postgres.extensions


async def test_the_older_postgres_has_no_vectors(old_postgres: PostgresServer) -> None:
    assert not old_postgres.has_vector
    assert "pg_trgm" in old_postgres.extensions


@pytest.mark.parametrize("which", ["postgres", "old_postgres"])
async def test_a_reader_reads_what_the_owner_makes_and_writes_nothing(
    which: str, request: pytest.FixtureRequest
) -> None:
    server: PostgresServer = request.getfixturevalue(which)
    async with server.database() as db, db.schema() as schema:
        owner = await asyncpg.connect(db.owner_url)
        await owner.execute(f"CREATE TABLE {schema}.node AS SELECT 1 AS id")
        reader = await asyncpg.connect(db.reader_url)
        assert await reader.fetchval(f"SELECT id FROM {schema}.node") == 1
        for write in (
            f"DELETE FROM {schema}.node",
            f"CREATE TABLE {schema}.mine ()",
            "CREATE TABLE public.mine ()",
            "CREATE TEMPORARY TABLE mine ()",
            "CREATE SCHEMA mine",
        ):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await reader.execute(write)
        await reader.close()
        await owner.close()


async def test_a_database_is_dropped_while_someone_is_connected(postgres: PostgresServer) -> None:
    async with postgres.database() as db:
        left = await asyncpg.connect(db.owner_url)
    assert db.name not in postgres.sql("SELECT datname FROM pg_database").splitlines()
    assert db.owner not in postgres.sql("SELECT rolname FROM pg_roles").splitlines()
    assert left.is_closed()


async def test_a_locked_role_needs_its_password(postgres: PostgresServer) -> None:
    right = postgres.url(user=LOCKED, password=LOCKED_PASSWORD)
    connection = await asyncpg.connect(right)
    await connection.close()
    with pytest.raises(asyncpg.InvalidPasswordError):
        await asyncpg.connect(postgres.url(user=LOCKED, password="wrong"))


async def test_postgres_keeps_its_data_and_leaves_no_process_behind() -> None:
    with folder() as place:
        server = PostgresServer.embedded(place)
        server.start()
        server.sql("CREATE TABLE kept AS SELECT 7 AS id")
        for again in (server.restart, server.kill):
            before = server.process.family()
            again()
            assert not any(map(is_alive, before))
            server.start()
            assert server.sql("SELECT id FROM kept") == "7"
        before = server.process.family()
        assert len(before) > 1
        server.stop()
        assert not any(map(is_alive, before))


async def test_many_clients_share_few_connections_through_the_pooler(
    postgres: PostgresServer, pgbouncer: PgBouncer
) -> None:
    async with postgres.database() as db:
        url = pgbouncer.url(db.name, db.reader)
        clients = [await asyncpg.connect(url, statement_cache_size=0) for _ in range(10)]
        behind = {await client.fetchval("SELECT pg_backend_pid()") for client in clients}
        assert len(behind) <= POOL_SIZE
        assert await clients[0].fetchval("SELECT current_user") == db.reader
        for client in clients:
            await client.close()


async def test_a_pooler_refuses_parameters_it_does_not_know(pgbouncer: PgBouncer) -> None:
    with pytest.raises(asyncpg.ProtocolViolationError, match="statement_timeout"):
        await asyncpg.connect(pgbouncer.url(), server_settings={"statement_timeout": "1s"})


def test_a_pooler_leaves_no_process_behind(postgres: PostgresServer) -> None:
    with folder() as place:
        pooler = PgBouncer(postgres, place)
        pooler.start()
        pooler.restart()
        before = pooler.process.family()
        pooler.stop()
        assert before
        assert not any(map(is_alive, before))


def test_a_guarded_neo4j_needs_its_password(guarded_neo4j: Neo4jServer) -> None:
    assert _asked(guarded_neo4j, "RETURN 1") == [[1]]
    with (
        GraphDatabase.driver(guarded_neo4j.uri, auth=(USER, "wrong")) as driver,
        pytest.raises(AuthError),
    ):
        driver.execute_query("RETURN 1")


def _asked(server: Neo4jServer, query: str) -> list[list[object]]:
    with GraphDatabase.driver(server.uri, auth=server.auth) as driver:
        return [record.values() for record in driver.execute_query(query).records]


def postgres_of(program: subprocess.Popen[bytes], patience: float = 60) -> psutil.Process:
    """The Postgres server that a program starts; `initdb` also runs `postgres`, for a moment."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        for process in psutil.Process(program.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                if process.name() == "postgres" and "-D" in process.cmdline():
                    return process
        time.sleep(0.05)
    raise AssertionError("no Postgres was started")


def ended(processes: list[psutil.Process], patience: float = 30) -> bool:
    deadline = time.monotonic() + patience
    while any(map(is_alive, processes)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not any(map(is_alive, processes))


def test_a_benchmark_that_is_terminated_leaves_no_server_behind(postgres: PostgresServer) -> None:
    run = [sys.executable, str(ROOT / "benchmarks" / "run.py"), "postgres"]
    with subprocess.Popen(run, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as benchmark:
        server = postgres_of(benchmark)
        family = [server, *server.children(recursive=True)]
        benchmark.send_signal(signal.SIGTERM)
        assert benchmark.wait(60) != 0
    assert ended(family)


STARTS_A_SERVER = """
import sys, threading, time
from pathlib import Path
from bfsql_test_support.servers.process import ServerProcess
command = [sys.executable, "-c", "import time; time.sleep(600)"]
server = ServerProcess(command, Path(sys.argv[1]), lambda: True)
starting = threading.Thread(target=server.start)
starting.start()
starting.join()
time.sleep(0.5)
assert server.pid, "it outlives the thread"
print(server.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(not ENDING_WITH_PARENT, reason="There is no setpriv here, which Linux has.")
def test_tests_that_are_killed_leave_no_server_behind(tmp_path: Path) -> None:
    run = [sys.executable, "-c", STARTS_A_SERVER, str(tmp_path / "log")]
    with subprocess.Popen(run, stdout=subprocess.PIPE) as tests:
        assert tests.stdout is not None
        server = psutil.Process(int(tests.stdout.readline()))
        tests.kill()
    assert ended([server])
