"""A slow, busy, killed or full server costs one call an error, and the next call works."""

import asyncio
from contextlib import asynccontextmanager
from typing import TypeVar

import asyncpg
import pytest

from bfsql import call
from bfsql.errors import StoreError, StoreUnavailable, ToolError
from bfsql.graph import open_graph
from bfsql.tools import Limits
from bfsql_postgres import PostgresBackend, PostgresSettings, load_graph
from bfsql_postgres.connection import OWN_WAY
from bfsql_test_support.case_table import case_table
from bfsql_test_support.missing import missing
from bfsql_test_support.servers.folder import folder
from bfsql_test_support.servers.pgbouncer import POOL_SIZE
from bfsql_test_support.servers.postgres import PostgresServer
from bfsql_test_support.servers.unavailable import Unavailable

T = TypeVar("T")

RING = [("a", "p", "b")]


@asynccontextmanager
async def held(owner, table="relationship"):
    """Lock a table: statements that use it wait until this context ends."""
    async with owner.transaction():
        await owner.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        yield


async def until(holds, seconds=60):
    async with asyncio.timeout(seconds):
        while not await holds():  # noqa: ASYNC110 - servers send no event
            await asyncio.sleep(0.01)


@pytest.fixture
async def busy(database):
    """Makes checks whether the reader has a given number of statements running on the server."""
    watcher = await asyncpg.connect(database.superuser_url)

    def as_many_as(number):
        async def holds():
            found = await watcher.fetchval(
                "SELECT count(*) FROM pg_stat_activity WHERE usename = $1 AND state <> 'idle'",
                database.reader,
            )
            return found == number

        return holds

    yield as_many_as
    await watcher.close()


both_ways = case_table("pooled", {"direct": False, "pooled": True})


# --- cancelled --------------------------------------------------------------


@both_ways
async def test_a_cancelled_question_is_gone_from_the_server_within_a_second(
    small, owner, busy, pooled
):
    backend = await small(pooled=pooled, pool_size=1)
    async with held(owner):
        asked = asyncio.ensure_future(backend.edges_batch(["a"]))
        await until(busy(1))
        asked.cancel()
        await until(busy(0))
        with pytest.raises(asyncio.CancelledError):
            await asked
    assert {tuple(edge) for edge in await backend.edges_batch(["a"])} == set(RING)


@both_ways
async def test_an_answer_that_its_client_gives_up_leaves_nothing_on_the_server(
    small, owner, busy, pooled
):
    backend = await small(pooled=pooled)
    async with open_graph(backend) as graph:
        async with held(owner, "bundle_evidence"):
            asked = asyncio.ensure_future(graph.bfs_query(["a"], max_hops=2))
            await until(busy(1))
            asked.cancel()
            await until(busy(0))
            with pytest.raises(asyncio.CancelledError):
                await asked
        assert (await graph.bfs_query(["a"], max_hops=2)).content["edge_count"] == 2


@both_ways
async def test_an_answer_past_its_deadline_leaves_nothing_on_the_server(small, owner, busy, pooled):
    backend = await small(pooled=pooled)
    async with open_graph(backend, limits=Limits(deadline=0.4)) as graph:
        async with held(owner):
            with pytest.raises(ToolError) as late:
                await graph.bfs_query(["a"], max_hops=2)
            await until(busy(0))
        assert late.value.kind == "deadline"
    async with open_graph(backend, limits=Limits(deadline=None)) as graph:
        assert (await graph.bfs_query(["a"], max_hops=2)).content["edge_count"] == 2


async def test_a_closed_graph_leaves_nothing_on_the_server(small, owner, busy, database):
    backend = await small(pool_size=2)
    async with held(owner):
        asked = asyncio.ensure_future(backend.edges_batch(["a"]))
        await until(busy(1))
        await backend.close()
        with pytest.raises(StoreError, match="is closed; open it again"):
            await asked
    await until(busy(0))
    with pytest.raises(StoreError, match="is closed; open it again"):
        await backend.edges_batch(["a"])


# --- late, or full ----------------------------------------------------------


@both_ways
async def test_a_statement_over_its_time_is_reported_and_the_next_one_works(
    small, owner, busy, pooled
):
    backend = await small(pooled=pooled, statement_timeout=0.2, pool_size=1)
    async with held(owner):
        with pytest.raises(StoreUnavailable) as late:
            await backend.edges_batch(["a"])
        await until(busy(0))
    assert "stopped a statement: canceling statement due to statement timeout" in str(late.value)
    assert "raise --statement-timeout, which is 0.2 s" in str(late.value)
    assert {tuple(edge) for edge in await backend.edges_batch(["a"])} == set(RING)


@both_ways
async def test_the_time_that_a_call_has_left_ends_its_statement(small, owner, busy, pooled):
    backend = await small(pooled=pooled)
    async with held(owner):
        with call.scope(seconds=0.2), pytest.raises(TimeoutError):
            await backend.edges_batch(["a"])
        await until(busy(0))
    assert await backend.edges_batch(["b"])


async def test_a_pool_that_is_exhausted_is_reported_and_works_again(small, owner, busy):
    backend = await small(pool_size=2, connect_timeout=0.3)
    async with held(owner):
        first = [asyncio.ensure_future(backend.edges_batch([one])) for one in "ab"]
        await until(busy(2))
        with pytest.raises(StoreUnavailable) as full:
            await backend.get_nodes_batch(["a"])
        await backend.ping()  # of the server, which answers
    assert "All 2 connections to the Postgres server at" in str(full.value)
    assert "raise --pool-size" in str(full.value)
    assert [len(ring) for ring in await asyncio.gather(*first)] == [1, 2]
    assert len(await backend.get_nodes_batch(["a", "b"])) == 2


async def test_a_client_with_many_statements_leaves_a_connection_to_others(small, owner, busy):
    backend = await small(pool_size=4)

    async def of(client, answer):
        with call.scope(caller=call.Caller(subject=client)):
            return await answer

    async with held(owner):
        rings = [asyncio.ensure_future(of("large", backend.edges_batch([s]))) for s in "abcdef"]
        await until(busy(3))
        own = asyncio.ensure_future(of("large", backend.get_nodes_batch(["a"])))
        async with asyncio.timeout(10):
            assert len(await of("small", backend.get_nodes_batch(["a"]))) == 1
        assert not own.done()
    assert [len(ring) for ring in await asyncio.gather(*rings)] == [1, 2, 1, 0, 0, 0]
    assert len(await own) == 1


async def test_a_server_that_is_full_is_reported_and_works_again(postgres, small_records):
    async with postgres.database() as database:
        await load_graph(PostgresSettings(dsn=database.owner_url), small_records)
        await database.run(f"ALTER ROLE {database.reader} CONNECTION LIMIT 1")
        first = await PostgresBackend.create(database.reader_url, pool_size=1)
        with pytest.raises(StoreUnavailable, match="no free connection: too many connections"):
            await PostgresBackend.create(database.reader_url)
        assert len(await first.get_nodes_batch(["a"])) == 1
        await database.run(f"ALTER ROLE {database.reader} CONNECTION LIMIT -1")
        second = await PostgresBackend.create(database.reader_url)
        assert len(await second.get_nodes_batch(["a"])) == 1
        await first.close()
        await second.close()


# --- gone -------------------------------------------------------------------


@pytest.fixture(scope="module")
def own():
    """A server that a test may kill, unlike `postgres`, which is shared."""
    with folder() as place:
        try:
            server = PostgresServer.embedded(place)
        except Unavailable as none:
            missing("postgres", str(none))
        server.start()
        yield server
        server.stop()


@pytest.fixture
async def on_own(own, small_records):
    """A database with the small graph on `own`, in the schema `public`."""
    async with own.database() as database:
        await load_graph(PostgresSettings(dsn=database.owner_url), small_records)
        yield database


async def test_a_server_killed_in_the_middle_of_an_answer_is_one_error_and_the_next_call_works(
    own, on_own
):
    backend = await PostgresBackend.create(on_own.reader_url)
    holder = await asyncpg.connect(on_own.owner_url)
    watcher = await asyncpg.connect(on_own.superuser_url)
    waiting = "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    async with open_graph(backend) as graph:
        await holder.execute("BEGIN; LOCK TABLE relationship IN ACCESS EXCLUSIVE MODE")
        asked = asyncio.ensure_future(graph.bfs_query(["a"], max_hops=2))
        await until(lambda: watcher.fetchval(waiting))
        await asyncio.to_thread(own.kill)
        with pytest.raises(ToolError) as lost:
            await asked
        assert lost.value.kind == "store"
        cause = lost.value.__cause__
        assert isinstance(cause, StoreUnavailable)
        assert str(cause).endswith("lost during a statement. The next call connects again.")
        with pytest.raises(ToolError) as gone:
            await graph.bfs_query(["b"], max_hops=1)
        assert "cannot be reached: Connection refused" in str(gone.value.__cause__)
        await asyncio.to_thread(own.start)
        assert (await graph.bfs_query(["a"], max_hops=2)).content["edge_count"] == 2
    for connection in (holder, watcher):
        connection.terminate()
    await backend.close()


async def test_a_server_that_restarts_between_two_calls_is_not_noticed(own, on_own):
    backend = await PostgresBackend.create(on_own.reader_url, pool_size=4)
    for end in (own.restart, lambda: (own.kill(), own.start())):
        rings = await asyncio.gather(*(backend.edges_batch(["b"]) for _ in range(8)))
        assert {len(ring) for ring in rings} == {2}
        await asyncio.to_thread(end)
    rings = await asyncio.gather(*(backend.edges_batch(["b"]) for _ in range(8)))
    assert {len(ring) for ring in rings} == {2}
    await backend.close()


async def test_a_connection_that_an_operator_ends_is_replaced(small, owner, busy, database):
    backend = await small(pool_size=1)
    ends = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = "
    async with held(owner):
        asked = asyncio.ensure_future(backend.edges_batch(["a"]))
        await until(busy(1))
        await database.run(f"{ends}'{database.reader}'")
        with pytest.raises(StoreUnavailable, match="was lost during a statement"):
            await asked
    assert len(await backend.edges_batch(["a"])) == 1


async def test_connections_are_reused_and_idle_ones_are_closed(small, database, monkeypatch):
    watcher = await asyncpg.connect(database.superuser_url)

    async def pids():
        query = "SELECT pid FROM pg_stat_activity WHERE usename = $1"
        return {row["pid"] for row in await watcher.fetch(query, database.reader)}

    backend = await small(pool_size=4)
    before = await pids()
    for _ in range(3):
        await asyncio.gather(*(backend.edges_batch(["a"]) for _ in range(8)))
    used = await pids() - before
    assert 1 <= len(used) <= 4
    for _ in range(3):
        await backend.edges_batch(["b"])
    assert await pids() - before == used
    monkeypatch.setattr("bfsql_postgres.connection._IDLE", 0.01)
    await asyncio.gather(*(backend.edges_batch(["a"]) for _ in range(8)))

    async def none_is_used():
        return not used & await pids()

    await until(none_is_used)
    assert len(await backend.edges_batch(["a"])) == 1
    await watcher.close()


# --- nothing is written -----------------------------------------------------


@both_ways
async def test_a_role_that_may_write_is_refused_by_the_server(
    request, small, database, schema, pooled
):
    await small()
    url = f"{database.owner_url}?default_transaction_read_only=off"
    if pooled:
        url = request.getfixturevalue("pgbouncer").url(database.name, database.owner)
    backend = await PostgresBackend.create(url, schema=schema, transaction_pooling=pooled)
    for write in (
        f"DELETE FROM {schema}.entity",
        f"UPDATE {schema}.entity SET name = 'x' RETURNING name",
        f"CREATE TABLE {schema}.mine ()",
        f"DROP TABLE {schema}.entity",
        f"WITH gone AS (DELETE FROM {schema}.entity RETURNING 1) SELECT * FROM gone",
    ):
        with pytest.raises(StoreError, match="in a read-only transaction"):
            await backend._pool.fetch(write)
    assert len(await backend.get_nodes_batch(["a", "b", "c"])) == 3
    await backend.close()


async def test_a_reader_has_no_right_to_write_whatever_it_sets(small, schema):
    backend = await small(pool_size=1)
    await backend._pool.fetch("SET default_transaction_read_only = off")
    for write in (
        f"DELETE FROM {schema}.entity",
        f"CREATE TABLE {schema}.mine ()",
        "CREATE TEMPORARY TABLE mine ()",
    ):
        with pytest.raises(StoreError, match="permission denied"):
            await backend._pool.fetch(write)
    assert len(await backend.get_nodes_batch(["a", "b", "c"])) == 3


# --- behind a pooler --------------------------------------------------------


async def test_a_pooler_that_nobody_spoke_of_is_reported_with_the_setting_that_helps(
    pgbouncer, small, small_records, database, schema
):
    url = pgbouncer.url(database.name, database.reader)
    with pytest.raises(StoreError) as refused:
        await PostgresBackend.create(url, schema=schema)
    assert "unsupported startup parameter" in str(refused.value)
    assert "add --transaction-pooling" in str(refused.value)
    with pytest.raises(StoreError, match="add --transaction-pooling"):
        await load_graph(PostgresSettings(dsn=url, schema_=schema), small_records)
    backend = await PostgresBackend.create(url, schema=schema, transaction_pooling=True)
    assert len(await backend.edges_batch(["a"])) == 1
    await backend.close()


async def test_a_cancelled_statement_ends_where_the_graph_is_closed_at_once(small, owner, busy):
    backend = await small()
    async with held(owner):
        late = asyncio.ensure_future(backend.edges_batch(["a"]))
        await until(busy(1))
        late.cancel()
        await asyncio.gather(late, return_exceptions=True)
        await backend.close()
        await until(busy(0))


async def test_no_setting_and_no_transaction_reaches_the_next_client_of_the_pooler(
    pgbouncer, small, owner, busy, database
):
    names = ["default_transaction_read_only", "transaction_read_only", "statement_timeout"]
    names += [name.lower() for name in OWN_WAY]
    show = "SELECT pg_backend_pid(), " + ", ".join(f"current_setting('{n}')" for n in names)
    plain = await asyncpg.connect(database.reader_url)
    usual = tuple(await plain.fetchrow(show))[1:]
    await plain.close()

    backend = await small(pooled=True, statement_timeout=0.3)
    await asyncio.gather(*(backend.edges_batch(["a"]) for _ in range(20)))
    async with held(owner):
        late = [asyncio.ensure_future(backend.edges_batch(["a"])) for _ in range(POOL_SIZE)]
        await until(busy(POOL_SIZE))
        late[0].cancel()
        await asyncio.gather(*late, return_exceptions=True)
    await until(busy(0))

    url = pgbouncer.url(database.name, database.reader)
    clients = [await asyncpg.connect(url, statement_cache_size=0) for _ in range(POOL_SIZE)]
    for client in clients:  # each holds one of the pooler's connections during its transaction
        await client.execute("BEGIN")
    found = [tuple(await client.fetchrow(show)) for client in clients]
    assert len({pid for pid, *_ in found}) == POOL_SIZE
    assert {tuple(values) for _, *values in found} == {usual}
    for client in clients:
        await client.close()
