"""What goes wrong with a server: the sentence, and the call after it."""

import asyncio
from typing import Any

import pytest

from bfsql import call
from bfsql.errors import StoreError, StoreUnavailable
from bfsql_neo4j import Neo4jBackend, Neo4jSettings
from bfsql_servers.neo4j import Neo4jServer
from bfsql_servers.port import free_port

SLOW = "UNWIND range(1, 100000000) AS i WITH count(sin(i)) AS n RETURN n"


async def until(cypher: Any, *, running: int) -> None:
    """Wait until so many slow queries are under way on the server."""
    count = (
        "SHOW TRANSACTIONS YIELD currentQuery AS text WHERE text CONTAINS 'sin(i)' "
        "AND NOT text STARTS WITH 'SHOW' RETURN count(*)"
    )
    async with asyncio.timeout(20):
        while await cypher(count) != [[running]]:
            pass


@pytest.fixture
async def graph(cypher: Any, emptied: None) -> None:
    await cypher("CREATE (:T {entity_id: 'a', name: 'Ann'})-[:TO]->(:T {entity_id: 'b'})")


def contains(uri: str, **more: Any) -> Neo4jSettings:
    return Neo4jSettings(uri=uri, search="contains", **more)


async def refused(settings: Neo4jSettings) -> StoreError:
    with pytest.raises(StoreError) as told:
        await Neo4jBackend.open(settings)
    return told.value


async def test_a_wrong_password_is_said_without_the_password(guarded_neo4j: Neo4jServer) -> None:
    told = await refused(contains(guarded_neo4j.uri, username="neo4j", password="guess-me"))
    assert "does not let 'neo4j' in" in str(told)
    assert "guess-me" not in str(told)
    right = contains(guarded_neo4j.uri, password=guarded_neo4j.auth[1])
    await (await Neo4jBackend.open(right)).close()


async def test_an_unknown_database_and_a_wrong_scheme_are_named(neo4j_server) -> None:
    told = await refused(contains(neo4j_server.uri, database="nowhere"))
    assert "'nowhere'" in str(told)
    told = await refused(contains("http://localhost:7474"))
    assert "bolt://" in str(told)


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    told = await refused(contains(f"bolt://127.0.0.1:{free_port()}"))
    assert isinstance(told, StoreUnavailable)
    assert "does not answer" in str(told)


async def test_a_write_over_the_backend_s_own_session_is_refused(graph, neo4j_server) -> None:
    db = await Neo4jBackend.open(contains(neo4j_server.uri))
    with pytest.raises(StoreError, match="Writing in read access mode"):
        await db._reader.records("CREATE (:Written)")
    assert (await db.get_node("a")).entity_type == "T"
    await db.close()


async def test_a_deadline_ends_the_query_and_the_next_call_works(
    graph, neo4j_server, cypher
) -> None:
    db = await Neo4jBackend.open(contains(neo4j_server.uri))
    with pytest.raises(TimeoutError), call.scope(seconds=0.3):
        await db._reader.records(SLOW)
    assert (await db.get_node("a")).id == "a"
    limited = await Neo4jBackend.open(contains(neo4j_server.uri, query_timeout=1.0))
    with pytest.raises(TimeoutError):
        await limited._reader.records(SLOW)
    await limited.close()
    await db.close()


async def test_a_cancelled_call_ends_on_the_server(graph, neo4j_server, cypher) -> None:
    db = await Neo4jBackend.open(contains(neo4j_server.uri))
    task = asyncio.create_task(db._reader.records(SLOW))
    await until(cypher, running=1)
    task.cancel()
    await until(cypher, running=0)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await db.get_node("a")).id == "a"
    await db.close()


async def test_a_restart_of_the_server_costs_one_clear_error_at_most(graph, neo4j_server) -> None:
    db = await Neo4jBackend.open(contains(neo4j_server.uri))
    await asyncio.gather(*(db.get_node("a") for _ in range(4)))
    await asyncio.to_thread(neo4j_server.stop)
    with pytest.raises(StoreUnavailable, match="does not answer"):
        await db.get_node("a")
    await asyncio.to_thread(neo4j_server.start)
    answers = await asyncio.gather(*(db.get_node("a") for _ in range(4)), return_exceptions=True)
    assert all(not isinstance(a, Exception) or isinstance(a, StoreUnavailable) for a in answers)
    assert (await db.get_node("a")).id == "a"
    await db.close()


async def test_after_close_every_call_says_so(graph, neo4j_server) -> None:
    db = await Neo4jBackend.open(contains(neo4j_server.uri))
    await db.close()
    await db.close()
    with pytest.raises(StoreUnavailable, match="was closed"):
        await db.get_node("a")
