"""A slow, busy or killed server costs one call an error, and the next call works."""

import asyncio
import gc
import os
import socket

import psutil
import pytest
from neo4j import GraphDatabase

from bfsql import call
from bfsql.errors import StoreError, StoreUnavailable, ToolError
from bfsql.graph import open_graph
from bfsql.tools import Limits
from bfsql.tools.operations import translate_errors
from bfsql_neo4j import Neo4jBackend, Neo4jSettings
from bfsql_neo4j.indexes import prepare
from bfsql_test_support.case_table import case_table
from bfsql_test_support.servers.process import is_alive

LEAVES = 40_000
"""Neighbours of the hub; the server takes tenths of a second for a ring of so many."""
CHAIN = "CREATE (:T {entity_id: 'hub'})-[:TO]->(:T {entity_id: 'a'})-[:TO]->(:T {entity_id: 'b'})"
HUB = (
    f"MATCH (h:T {{entity_id: 'hub'}}) UNWIND range(1, {LEAVES}) AS i "
    "CALL (h, i) { CREATE (h)-[:TO]->(:T {entity_id: 'leaf' + i}) } IN TRANSACTIONS"
)
NO_EDGES = "MATCH ()-[r]->() CALL (r) { DELETE r } IN TRANSACTIONS"
NOTHING = "MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS"
UNDER_WAY = (
    "SHOW TRANSACTIONS YIELD currentQuery AS text WHERE text STARTS WITH 'UNWIND $values' "
    "OR text CONTAINS 'sin(i)' AND NOT text STARTS WITH 'SHOW' RETURN count(*)"
)
CONTENT = (
    "MATCH (n) RETURN labels(n) AS labels, keys(n) AS keys, count(*)",
    "SHOW INDEXES YIELD name, type RETURN name, type ORDER BY name",
)
SLOW = "UNWIND range(1, 10000000000) AS i WITH count(sin(i)) AS n RETURN n"


async def until(cypher, *, running, seconds=30):
    """Wait until a number of the backend's statements are running on the server."""
    async with asyncio.timeout(seconds):
        while await cypher(UNDER_WAY) != [[running]]:
            pass


@pytest.fixture
def collected():
    """Collects garbage after the test, while its filters of warnings are still in force."""
    yield
    gc.collect()


def cancels_connecting(test):
    """Marks a test that may cancel a call while the driver opens a connection.

    The driver leaves the socket of such a connection to the garbage collector.
    """
    ignored = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
    return pytest.mark.usefixtures("collected")(ignored(test))


@pytest.fixture(scope="module")
def hub(neo4j_server):
    """Settings of a graph with a hub, which no test changes."""
    with GraphDatabase.driver(neo4j_server.uri) as driver, driver.session() as session:
        for text in (NO_EDGES, NOTHING, CHAIN, HUB):
            session.run(text).consume()
    settings = Neo4jSettings(uri=neo4j_server.uri, search="contains")
    asyncio.run(prepare(settings, True))
    yield {"uri": settings.uri, "search": "contains"}
    with GraphDatabase.driver(neo4j_server.uri) as driver, driver.session() as session:
        session.run(NO_EDGES).consume()


async def test_an_answer_that_its_client_gives_up_is_gone_from_the_server_at_once(hub, cypher):
    async with open_graph("neo4j", **hub) as graph:
        asked = asyncio.ensure_future(graph.bfs_query(["hub"], max_hops=2))
        await until(cypher, running=1)
        asked.cancel()
        await until(cypher, running=0)
        with pytest.raises(asyncio.CancelledError):
            await asked
        assert (await graph.bfs_query(["b"], max_hops=1)).content["edge_count"] == 1


async def test_an_answer_past_its_deadline_leaves_nothing_on_the_server(hub, cypher):
    backend = await Neo4jBackend.create(**hub)
    async with open_graph(backend, limits=Limits(deadline=0.1)) as graph:
        with pytest.raises(ToolError) as late:
            await graph.bfs_query(["hub"], max_hops=2)
        assert late.value.kind == "deadline"
        await until(cypher, running=0)
    async with open_graph(backend, limits=Limits(deadline=None)) as graph:
        assert (await graph.bfs_query(["b"], max_hops=1)).content["edge_count"] == 1
    await backend.close()


async def test_a_closed_graph_leaves_nothing_on_the_server(hub, cypher):
    backend = await Neo4jBackend.create(**hub)
    asked = asyncio.ensure_future(backend._reader.records(SLOW))
    await until(cypher, running=1)
    await backend.close()
    with pytest.raises(StoreUnavailable, match="is closed; open it again"):
        await asked
    await until(cypher, running=0)


async def test_a_pool_that_is_exhausted_is_reported_and_works_again(hub, cypher):
    backend = await Neo4jBackend.create(**hub, pool_size=1, connect_timeout=1.0)
    slow = asyncio.ensure_future(backend._reader.records(SLOW))
    await until(cypher, running=1)
    with pytest.raises(StoreUnavailable, match=r"none of 1 connections was free within 1 s"):
        await backend.edges_from("a")
    await backend.ping()  # of the server, which answers
    slow.cancel()
    await asyncio.wait([slow])
    assert await backend.edges_from("a") == [("a", "to", "b")]
    await backend.close()


async def test_a_statement_has_the_id_of_its_call_beside_it_and_all_may_write_here(hub, cypher):
    backend = await Neo4jBackend.create(**hub)
    with call.scope(request_id="one-1"):
        asked = asyncio.ensure_future(backend._reader.records(SLOW))
    await until(cypher, running=1)
    found = await cypher(
        "SHOW TRANSACTIONS YIELD metaData, currentQuery WHERE currentQuery CONTAINS 'sin(i)' "
        "AND NOT currentQuery STARTS WITH 'SHOW' RETURN metaData"
    )
    assert found == [[{"app": "bfsql", "request_id": "one-1"}]]
    asked.cancel()
    await asyncio.wait([asked])
    await backend.ping()
    told = await backend.may_write()
    assert "which has no roles, so anybody may change everything" in str(told)
    await backend.close()


async def test_what_an_operator_ends_is_reported_and_the_next_call_works(hub, cypher):
    backend = await Neo4jBackend.create(**hub)
    asked = asyncio.ensure_future(backend._reader.records(SLOW))
    await until(cypher, running=1)
    [[name]] = await cypher(
        "SHOW TRANSACTIONS YIELD transactionId AS id, currentQuery AS text "
        "WHERE text CONTAINS 'sin(i)' AND NOT text STARTS WITH 'SHOW' RETURN id"
    )
    await cypher("TERMINATE TRANSACTIONS $name", name=name)
    with pytest.raises(StoreError, match="Neo4j at bolt"):
        await asked
    assert await backend.edges_from("a") == [("a", "to", "b")]
    await backend.close()


async def test_a_server_without_enough_memory_is_an_error_that_says_what_takes_less(hub, caplog):
    backend = await Neo4jBackend.create(**hub)
    # Each part of a list counts as the whole list, so that this takes little memory.
    text = (
        "WITH [i IN range(1, 100000) | i] AS list UNWIND range(1, 10000) AS i "
        "RETURN size(collect(list[0..1]))"
    )
    with (
        pytest.raises(ToolError, match="does not have enough memory for this call") as raised,
        translate_errors(Limits(), "the tool"),
    ):
        await backend._reader.records(text)
    assert "fewer seeds" in str(raised.value)
    assert "dbms.memory" not in str(raised.value)
    assert "dbms.memory.transaction.total.max" in caplog.text
    await backend.close()


@pytest.mark.stops_server
@cancels_connecting
async def test_a_server_killed_in_the_middle_of_an_answer_is_one_error_and_the_next_call_works(
    hub, cypher, neo4j_server
):
    backend = await Neo4jBackend.create(**hub)  # with four connections that no call uses meanwhile
    await asyncio.gather(*(backend.edges_from("a") for _ in range(4)))
    async with open_graph("neo4j", **hub) as graph:
        before = await graph.bfs_query(["b"], max_hops=1)
        asked = asyncio.ensure_future(graph.bfs_query(["hub"], max_hops=2))
        await until(cypher, running=1)
        processes = neo4j_server.process.family()
        await asyncio.to_thread(neo4j_server.kill)
        try:
            assert processes
            assert not any(map(is_alive, processes))
            with pytest.raises(StoreUnavailable, match="does not answer"):
                await backend.ping()
            with pytest.raises(ToolError) as gone:
                await asked
            assert gone.value.kind == "store"
            assert "does not answer; try again later" in str(gone.value)
        finally:
            await asyncio.to_thread(neo4j_server.start)
        assert (await graph.bfs_query(["a"], max_hops=1)).content["edge_count"] == 2
        assert (await graph.bfs_query(["b"], max_hops=1)).text == before.text
    found = await asyncio.gather(*(backend.edges_from("a") for _ in range(4)))
    assert found == [[("a", "to", "b")]] * 4
    await backend.close()


async def test_a_query_over_its_own_time_is_reported_and_the_next_call_works(hub, cypher):
    backend = await Neo4jBackend.create(**hub)  # opening may take longer than 1 s on a busy machine
    reader = backend._reader
    reader._settings = reader._settings.model_copy(update={"query_timeout": 1.0})
    with pytest.raises(TimeoutError):
        await backend._reader.records(SLOW)
    await until(cypher, running=0)
    assert await backend.edges_from("a") == [("a", "to", "b")]
    await backend.close()


async def test_after_close_every_call_says_so(hub):
    backend = await Neo4jBackend.create(**hub)
    await backend.close()
    await backend.close()
    with pytest.raises(StoreUnavailable, match="is closed"):
        await backend.edges_from("a")


@case_table(
    "text",
    [
        "CREATE (:Written)",
        "MATCH (n) DETACH DELETE n",
        "MATCH (n) SET n.name = 'x'",
        "CREATE INDEX FOR (n:T) ON (n.name)",
        "DROP INDEX entity_names IF EXISTS",
        "CALL db.createLabel('Written')",
        "CALL () { CREATE (:Written) } IN TRANSACTIONS RETURN 1",
    ],
)
async def test_a_write_over_the_backend_s_own_session_is_refused(hub, cypher, text):
    async def content():
        return [await cypher(one) for one in CONTENT]

    backend, before = await Neo4jBackend.create(**hub), await content()
    with pytest.raises(StoreError):
        await backend._reader.records(text)
    assert await content() == before
    assert await backend.metadata_for_node("a") == {}
    await backend.close()


async def test_connections_send_at_once(settings, neo4j_server):
    backend = await Neo4jBackend.open(settings)
    try:
        port = int(neo4j_server.uri.rpartition(":")[2])
        found = psutil.Process().net_connections("tcp")
        sockets = [socket.socket(fileno=os.dup(c.fd)) for c in found if c.raddr[1:] == (port,)]
        options = [one.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) for one in sockets]
        for one in sockets:
            one.close()
    finally:
        await backend.close()
    assert options
    assert all(options)
