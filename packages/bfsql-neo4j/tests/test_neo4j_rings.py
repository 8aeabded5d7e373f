"""Rings in batches: the edges of `edges_batch`, the types of `get_node`, and early ends."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack, aclosing, asynccontextmanager

import pytest
from neo4j import AsyncGraphDatabase, GraphDatabase

from bfsql import call, workers
from bfsql.models.merge import UNTYPED
from bfsql_neo4j import Neo4jBackend, Neo4jSettings, queries
from bfsql_neo4j.indexes import prepare
from bfsql_neo4j.queries import PART
from bfsql_test_support.case_table import case_table

DEGREES = (PART - 1, PART, PART + 1, 2 * PART)
LEAVES = 6 * PART
NOTHING = "MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS"
SMALL = "CREATE (:T {entity_id: 'a'})-[:TO]->(:T {entity_id: 'b'})"
HUB = (
    "CREATE (h:T {entity_id: 'h'}) WITH h "
    f"UNWIND range(1, {LEAVES}) AS i CREATE (h)-[:TO]->(:T {{entity_id: 'n' + i}})"
)
UNDER_WAY = (
    "SHOW TRANSACTIONS YIELD currentQuery AS text WHERE text CONTAINS 'AS leaving' "
    "AND NOT text STARTS WITH 'SHOW' RETURN count(*)"
)


@pytest.fixture
async def made(settings, cypher, emptied):
    """Makes a graph by statements, and opens it."""
    opened = []

    async def make(*texts, **more):
        for text in texts:
            await cypher(text)
        changed = Neo4jSettings.model_validate(
            {"uri": settings.uri, "search": "contains", "preserve_case": True} | more
        )
        await prepare(changed, True)
        opened.append(await Neo4jBackend.open(changed))
        return opened[-1]

    yield make
    for backend in opened:
        await backend.close()


async def ring(backend, *ids):
    return [row async for rows in backend.edges_stream(ids) for row in rows]


async def test_types_are_those_of_get_node_whatever_labels_a_node_has(made):
    backend = await made(
        "CREATE (a:Common:Rare {entity_id: 'a'}), (b:Common {entity_id: 'b'}), "
        "(c {entity_id: 'c'}), (d:Common:Secret {entity_id: 'd'}), (e:Common {entity_id: 42}), "
        "(a)-[:TO]->(b), (a)-[:TO]->(b), (a)-[:SELF]->(a), (c)-[:To]->(a), (a)-[:TO]->(d), "
        "(d)-[:TO]->(b), (e)-[:HIDDEN]->(a), (e)-[:TO]->(b)",
        exclude_labels=["Secret"],
        exclude_types=["HIDDEN"],
    )
    rows = await ring(backend, "a", "b", "d", "nobody")
    [bare] = [s for s, p, _, _, _ in rows if p == "To"]
    assert bare.startswith("neo4j:element:")
    assert {row[:3] for row in rows} == set(await backend.edges_batch(["a", "b", "d"]))
    assert set(rows) == {
        ("a", "TO", "b", "Rare", "Common"),
        ("a", "SELF", "a", "Rare", "Rare"),
        (bare, "To", "a", UNTYPED, "Rare"),
        ("42", "TO", "b", "Common", "Common"),
    }
    for s, _, o, *types in rows:
        assert types == [(await backend.get_node(end)).entity_type for end in (s, o)]


async def test_a_node_of_many_edges_comes_in_parts_each_edge_once(made):
    backend = await made(
        f"UNWIND {list(DEGREES)} AS degree CREATE (h:Hub {{entity_id: 'hub' + degree}}) "
        "WITH h, degree UNWIND range(1, degree) AS i "
        "CREATE (h)-[:TO]->(:Leaf {entity_id: h.entity_id + ':' + i}) "
        "FOREACH (x IN CASE WHEN i % 2 = 0 THEN [1] ELSE [] END | "
        "CREATE (h)<-[:FROM]-(:Leaf {entity_id: h.entity_id + '<' + i}))"
    )
    wanted = [
        row
        for degree in DEGREES
        for i in range(1, degree + 1)
        for row in (
            (f"hub{degree}", "TO", f"hub{degree}:{i}", "Hub", "Leaf"),
            *([(f"hub{degree}<{i}", "FROM", f"hub{degree}", "Leaf", "Hub")] if i % 2 == 0 else []),
        )
    ]
    assert Counter(await ring(backend, *(f"hub{degree}" for degree in DEGREES))) == Counter(wanted)


async def test_labels_and_types_that_are_newer_than_the_schema_are_read(made, cypher):
    backend = await made("CREATE (:Old {entity_id: 'a'})-[:TO]->(:Old {entity_id: 'b'})")
    await cypher("MATCH (a {entity_id: 'a'}) CREATE (a)-[:TO]->(:New {entity_id: 'c'})")
    assert ("a", "TO", "c", "Old", "New") in await ring(backend, "a")
    await cypher("MATCH (a {entity_id: 'a'}) CREATE (a)-[:SINCE]->(:New {entity_id: 'd'})")
    assert ("a", "SINCE", "d", "Old", "New") in await ring(backend, "a")


@pytest.mark.parametrize("degree", [1, PART + 1])
async def test_a_second_bearer_of_an_id_is_left_out_and_that_is_reported(made, cypher, degree):
    backend = await made("CREATE (:T {entity_id: 'a'}), (:T {entity_id: 'x'})-[:TO]->(:T)")
    many = f"UNWIND range(1, {degree}) AS i CREATE (a)-[:TO]->(:T {{entity_id: 'n' + i}})"
    await cypher(f"MATCH (a:T {{entity_id: 'a'}}) {many}")
    await cypher(f"CREATE (a:T {{entity_id: 'a'}}) WITH a {many}")
    with call.scope() as scope:
        assert len(await ring(backend, "a")) == degree
    assert {one.id for one in scope.omissions} == {"a"}
    [reason] = {one.reason for one in scope.omissions}
    bearers = await cypher("MATCH (a:T {entity_id: 'a'}) RETURN elementId(a)")
    assert len(bearers) == 2
    assert all(element in str(reason) for (element,) in bearers)


@pytest.fixture(scope="module")
def loaded(neo4j_server):
    """Settings of a graph with a hub, with a pool of one connection."""
    with GraphDatabase.driver(neo4j_server.uri) as driver, driver.session() as session:
        for text in (NOTHING, SMALL, HUB):
            session.run(text).consume()
    settings = Neo4jSettings(
        uri=neo4j_server.uri, search="contains", pool_size=1, connect_timeout=20.0
    )
    asyncio.run(prepare(settings, True))
    return settings


async def nothing_is_under_way(cypher):
    """Wait until the server has noticed that a connection was closed."""
    async with asyncio.timeout(30):
        while await cypher(UNDER_WAY) != [[0]]:  # noqa: ASYNC110 - servers send no event
            await asyncio.sleep(0.01)


@pytest.fixture
async def hub(loaded):
    backend = await Neo4jBackend.open(loaded)
    yield backend
    await backend.close()


async def test_the_server_holds_less_than_200_bytes_for_an_edge(hub, neo4j_server):
    text, parameters = queries.ring(hub._monitor.schema, ["h"])
    async with AsyncGraphDatabase.driver(neo4j_server.uri) as driver:
        found = await driver.execute_query(f"PROFILE {text}", parameters)
    assert found.summary.profile is not None
    assert found.summary.profile["args"]["GlobalMemory"] < 200 * LEAVES


async def test_a_stream_that_is_left_ends_its_statement_and_frees_its_connection(hub, cypher):
    for _ in range(3):
        async with aclosing(hub.edges_stream(["h"])) as batches:
            async for rows in batches:
                assert LEAVES > len(rows) >= PART
                break
        await nothing_is_under_way(cypher)
        assert await ring(hub, "a") == [("a", "to", "b", "T", "T")]


@asynccontextmanager
async def no_turn_for_large(backend):
    """All turns of large statements are taken; clients leave some to those that have none."""
    async with AsyncExitStack() as taken:
        while backend._reader.large.is_free(""):
            await taken.enter_async_context(backend._reader.large.turn())
        yield


async def test_rings_of_many_nodes_take_turns_and_those_of_few_do_not_wait(hub):
    many = ["a", *(f"unknown {number}" for number in range(workers.SMALL))]
    async with no_turn_for_large(hub):
        large = asyncio.ensure_future(hub.edges_batch(many))
        await asyncio.wait([large], timeout=0.5)
        assert await ring(hub, "a") == [("a", "to", "b", "T", "T")]
        assert not large.done()
    assert await large == [("a", "to", "b")]


async def test_a_hub_is_read_with_a_turn_and_has_no_connection_until_then(hub):
    async with no_turn_for_large(hub):
        large = asyncio.ensure_future(ring(hub, "h"))
        await asyncio.wait([large], timeout=0.5)
        assert await ring(hub, "a") == [("a", "to", "b", "T", "T")]
        assert not large.done()
    assert len(await large) == LEAVES


@case_table("most", [LEAVES - 1, LEAVES])
@case_table("direction", [None, "out", "in"])
async def test_edges_are_counted_in_the_direction_that_is_followed(
    hub, monkeypatch, most, direction
):
    monkeypatch.setattr(queries, "CHUNK", most)
    edges = 0 if direction == "in" else LEAVES
    async with no_turn_for_large(hub):
        reading = asyncio.ensure_future(hub.edges_batch(["h"], direction=direction))
        await asyncio.wait([reading], timeout=2)
        assert reading.done() is (edges <= most)
    assert len(await reading) == edges


async def test_whatever_reads_an_edge_may_need_a_connection_before_it_goes_on(loaded):
    """As many streams as there are connections would wait for each other."""
    backend = await Neo4jBackend.open(loaded.model_copy(update={"pool_size": 2}))

    async def read(entity_id):
        edges = 0
        async for rows in backend.edges_stream([entity_id]):
            edges += len(rows)
            assert await backend.get_node("a")
        return edges

    try:
        assert await asyncio.gather(*map(read, "hhhaaa")) == [LEAVES] * 3 + [1] * 3
    finally:
        await backend.close()


async def test_a_stream_that_is_cancelled_ends_its_statement_and_frees_its_connection(hub, cypher):
    for seconds in (0.0, 0.01, 0.05, 0.1):
        reading = asyncio.ensure_future(ring(hub, "h"))
        await asyncio.sleep(seconds)
        reading.cancel()
        await asyncio.wait([reading])
        await nothing_is_under_way(cypher)
        assert await ring(hub, "a") == [("a", "to", "b", "T", "T")]


async def test_a_stream_past_its_deadline_is_an_error_and_frees_its_connection(hub):
    with call.scope(seconds=0.02), pytest.raises(TimeoutError):
        await ring(hub, "h")
    assert await ring(hub, "a") == [("a", "to", "b", "T", "T")]


async def test_an_idle_connection_that_broke_is_replaced(hub, neo4j_server):
    assert await ring(hub, "a")
    [connections] = hub._reader._driver._pool.connections.values()
    for connection in connections:
        connection.socket._writer.transport.abort()
    assert await ring(hub, "a") == [("a", "to", "b", "T", "T")]
