"""How the server runs each statement: index seeks and no scans; and how many there are."""

import asyncio
from functools import partial

import pytest
from neo4j import AsyncGraphDatabase, GraphDatabase

from bfsql.graph import open_graph
from bfsql_neo4j import Neo4jBackend, Neo4jSettings, queries
from bfsql_neo4j.indexes import prepare
from bfsql_neo4j.values import ELEMENT
from bfsql_test_support.case_table import case_table

QUESTIONS = {
    "nodes": queries.nodes,
    "stubs": queries.stubs,
    "node_metadata": queries.node_metadata,
    "node_elements": queries.node_elements,
    "ring": queries.ring,
    "leaving": partial(queries.ring, direction="out"),
    "entering": partial(queries.ring, direction="in"),
}
NOTHING = "MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS"
CHAIN = (
    "UNWIND range(0, 299) AS i CREATE (p:Person {key: 'p' + i, name: 'P' + i})-[:SAW]->"
    "(m:Movie {key: 'm' + i, title: 'M' + i})-[:SHOWN_AT]->(c:Cinema {key: 'c' + i}) "
    "FOREACH (x IN CASE WHEN i % 3 = 0 THEN [1] ELSE [] END | SET m:Person)"
)
IDENTITIES = [["key"], ["Person=name", "Movie=title", "key"]]


@pytest.fixture(scope="module", params=IDENTITIES, ids=["one property", "one a label"])
def chain(request, neo4j_server):
    """Settings of a chain of 900 nodes with three labels, some of which have two of them."""
    with GraphDatabase.driver(neo4j_server.uri) as driver, driver.session() as session:
        for text in (NOTHING, CHAIN):
            session.run(text).consume()
    settings = Neo4jSettings(uri=neo4j_server.uri, id_property=request.param)
    asyncio.run(prepare(settings, True))
    return settings


@pytest.fixture
async def backend(chain):
    opened = await Neo4jBackend.open(chain)
    yield opened
    await opened.close()


def operators(plan):
    inner = [operators(child) for child in plan.get("children", ())]
    return {plan["operatorType"].split("@")[0]}.union(*inner)


async def profiled(server, text, parameters):
    async with AsyncGraphDatabase.driver(
        server.uri, auth=server.auth, notifications_min_severity="OFF"
    ) as driver:
        found = await driver.execute_query(f"PROFILE {text}", parameters)
        assert found.summary.profile is not None
        return operators(found.summary.profile)


@case_table("question", list(QUESTIONS))
@case_table("elements", [False, True])
async def test_nodes_and_rings_are_sought_by_index(backend, neo4j_server, question, elements):
    schema = backend._monitor.schema
    ids = ["p1", "P2", "m3", "M4", "c5", "42"] + ([f"{ELEMENT}4:x:1"] if elements else [])
    assert not schema.scans
    text, parameters = QUESTIONS[question](schema, ids)
    done = await profiled(neo4j_server, text, parameters)
    assert "NodeIndexSeek" in done
    assert not {name for name in done if "Scan" in name}


async def test_edges_are_sought_by_their_ends(backend, neo4j_server):
    edges = [[0, "4:x:1", "SAW", "4:x:2"]]
    text, parameters = queries.edge_metadata(backend._monitor.schema, edges)
    done = await profiled(neo4j_server, text, parameters)
    assert {"NodeByElementIdSeek", "Expand(Into)"} <= done
    assert not {name for name in done if "Scan" in name}


@case_table("full", {"topology": False, "full": True})
async def test_an_answer_takes_a_statement_a_hop_one_for_its_seeds_and_three_for_metadata(
    backend, statements, full
):
    [node] = list(await backend.search_entities("P7"))[:1]
    texts = statements(backend)
    for hops in (1, 2, 3):
        async with open_graph(backend) as graph:  # an empty cache
            texts.clear()
            answer = (await graph.bfs_query([node.id], hops, topology_only=not full)).content
            assert answer["node_count"] == min(hops, 2) + 1
            assert full == all("metadata" in one for one in (*answer["nodes"], *answer["edges"]))
            most = 1 + hops + 3 * full  # one less if the first ring comes quickly
            assert most - 1 <= len(texts) <= most
