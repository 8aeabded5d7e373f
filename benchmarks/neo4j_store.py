"""Neo4j: loading in batches, then cold answers compared with Cypher written by hand."""

from __future__ import annotations

import time
from typing import Any

import neo4j_nodes
from by_hand import ByHand, Triple
from graphs import TYPES, heavy_tailed
from neo4j import AsyncDriver, AsyncGraphDatabase
from remote import questions, report_answers

from bfsql.models.merge import merge_edges
from bfsql_neo4j import Neo4jBackend, Neo4jSettings
from bfsql_neo4j.load.loader import load_graph
from bfsql_test_support.servers.folder import folder
from bfsql_test_support.servers.neo4j import Neo4jServer

LABELS = "|".join(TYPES)

RING = f"""
UNWIND $ids AS id MATCH (n:{LABELS} {{entity_id: id}})
WITH id, [(n)-[r]->(m) | [type(r), m.entity_id]] AS leaving,
     [(n)<-[r]-(m) | [type(r), m.entity_id]] AS entering
RETURN collect([id, leaving, entering])
"""
LABELS_OF = f"""
UNWIND $ids AS id MATCH (n:{LABELS} {{entity_id: id}}) RETURN collect([id, labels(n)[0]])
"""
NODE_DETAIL = f"""
UNWIND $ids AS id MATCH (n:{LABELS} {{entity_id: id}}) RETURN collect([id, properties(n)])
"""
# A comprehension, because a third MATCH is planned as a walk over all edges of each subject.
EDGE_DETAIL = f"""
UNWIND $triples AS t
MATCH (a:{LABELS} {{entity_id: t[0]}}) MATCH (b:{LABELS} {{entity_id: t[2]}})
WITH t, [(a)-[r]->(b) WHERE type(r) = t[1] | properties(r)] AS several
RETURN collect([t, several])
"""


class Neo4jByHand(ByHand):
    """One session per statement, and one record: a record per row takes twice as long to unpack.

    Args:
        driver: The driver of the database; the caller closes it.
    """

    def __init__(self, driver: AsyncDriver) -> None:
        self._driver = driver

    async def ring(self, ids: list[str]) -> list[Triple]:
        ring: list[Triple] = []
        for i, leaving, entering in await self._rows(RING, ids=ids):
            ring += [(i, p, o) for p, o in leaving]
            ring += [(s, p, i) for p, s in entering]
        return ring

    async def types(self, ids: list[str]) -> dict[str, str]:
        return dict(await self._rows(LABELS_OF, ids=ids))

    async def node_details(self, ids: list[str]) -> dict[str, dict[str, Any]]:
        return {i: _without_id(metadata) for i, metadata in await self._rows(NODE_DETAIL, ids=ids)}

    async def edge_details(self, triples: list[Triple]) -> list[dict[str, Any]]:
        rows = await self._rows(EDGE_DETAIL, triples=[list(triple) for triple in triples])
        found = {(s, p, o): metadata for (s, p, o), metadata in rows}
        return [merge_edges(found[triple]) for triple in triples]

    async def _rows(self, statement: str, **parameters: Any) -> list[Any]:
        async with self._driver.session(default_access_mode="READ", fetch_size=-1) as session:
            [[rows]] = [record async for record in await session.run(statement, parameters)]
            return list(rows)


def _without_id(metadata: dict[str, Any]) -> dict[str, Any]:
    metadata.pop("entity_id")
    return metadata


async def report(nodes: int, edges: int, hub: int, turns: int) -> None:
    """Print all figures of the Neo4j backend, on a server started for the run."""
    with folder() as place:
        server = Neo4jServer.large(place)
        server.start()
        try:
            settings = Neo4jSettings(uri=server.uri, preserve_case=True)
            start = time.perf_counter()
            report = await load_graph(settings, heavy_tailed(nodes, edges, hub))
            seconds = time.perf_counter() - start
            print(
                f"\nneo4j         {report.nodes:,} nodes and {report.edges:,} triples in "
                f"{seconds:.1f} s, {report.edges / seconds:,.0f} edges a second"
            )
            await _compare(server.uri, nodes, turns)
        finally:
            server.stop()


async def _compare(uri: str, nodes: int, turns: int) -> None:
    backend = await Neo4jBackend.create(uri, preserve_case=True)
    try:
        async with AsyncGraphDatabase.driver(uri) as driver:
            goal = "goals: 1.3 x by hand; per node 30 x"
            await report_answers(backend, Neo4jByHand(driver), questions(nodes), turns, goal)
            await neo4j_nodes.report(backend, driver, turns)
    finally:
        await backend.close()
