"""JanusGraph in memory: loading in batches, then cold answers compared with Gremlin by hand."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

from by_hand import ByHand, Triple
from graphs import heavy_tailed
from gremlin_python.driver.driver_remote_connection import DriverRemoteConnection
from gremlin_python.process.anonymous_traversal import traversal
from gremlin_python.process.graph_traversal import __
from gremlin_python.process.traversal import Column, P, T
from remote import questions, report_answers

from bfsql.models.json_properties import SUFFIX
from bfsql.models.merge import merge_edges
from bfsql_gremlin import GremlinBackend, GremlinSettings
from bfsql_gremlin.load.loader import load_graph
from bfsql_gremlin.values import SUPPLIED
from bfsql_test_support.servers.folder import folder
from bfsql_test_support.servers.gremlin import GremlinServer


class GremlinByHand(ByHand):
    """One request per step, over gremlinpython's own transport, which needs a thread.

    Args:
        connection: The connection to the server; the caller closes it.
    """

    def __init__(self, connection: Any) -> None:
        self._g = traversal().with_remote(connection)

    async def ring(self, ids: list[str]) -> list[Triple]:
        row = (
            __.project("s", "p", "o")
            .by(__.out_v().values("entity_id"))
            .by(T.label)
            .by(__.in_v().values("entity_id"))
            .select(Column.values)
        )
        edges = self._vertices(ids).both_e().dedup()
        return [(s, p, o) for s, p, o in await _rows(edges.map(row))]

    async def types(self, ids: list[str]) -> dict[str, str]:
        rows = self._vertices(ids).project("i", "t").by("entity_id").by(T.label)
        return dict(await _rows(rows.select(Column.values)))

    async def node_details(self, ids: list[str]) -> dict[str, dict[str, Any]]:
        found = await _rows(self._vertices(ids).value_map().by(__.unfold()))
        return {properties.pop("entity_id"): _read(properties) for properties in found}

    async def edge_details(self, triples: list[Triple]) -> list[dict[str, Any]]:
        subjects = list({s for s, _, _ in triples})
        row = (
            __.project("s", "p", "o", "m")
            .by(__.out_v().values("entity_id"))
            .by(T.label)
            .by(__.in_v().values("entity_id"))
            .by(__.value_map())
            .select(Column.values)
        )
        wanted: dict[Triple, list[dict[str, Any]]] = {triple: [] for triple in triples}
        for s, p, o, metadata in await _rows(self._vertices(subjects).out_e().map(row)):
            if (s, p, o) in wanted:
                wanted[s, p, o].append(_read(metadata))
        return [merge_edges(wanted[triple]) for triple in triples]

    def _vertices(self, ids: list[str]) -> Any:
        return self._g.V().has("entity_id", P.within(ids))


def _read(properties: dict[str, Any]) -> dict[str, Any]:
    """Metadata, with the values that a load has written as JSON."""
    return {
        key.removesuffix(SUFFIX): json.loads(value) if key.endswith(SUFFIX) else value
        for key, value in properties.items()
        if key != SUPPLIED
    }


async def _rows(steps: Any) -> list[Any]:
    rows: list[Any] = await asyncio.to_thread(steps.to_list)
    return rows


async def report(nodes: int, edges: int, hub: int, turns: int) -> None:
    """Print all figures of the Gremlin backend, on a server started for the run."""
    with folder() as place:
        server = GremlinServer.large(place)
        server.start()
        try:
            settings = GremlinSettings(uri=[server.uri])
            start = time.perf_counter()
            report = await load_graph(settings, heavy_tailed(nodes, edges, hub))
            seconds = time.perf_counter() - start
            print(
                f"\ngremlin       {report.nodes:,} nodes and {report.edges:,} triples in "
                f"{seconds:.1f} s, {report.edges / seconds:,.0f} edges a second"
            )
            await _compare(server.uri, nodes, turns)
        finally:
            server.kill()


async def _compare(uri: str, nodes: int, turns: int) -> None:
    backend = await GremlinBackend.create(uri)
    connection = await asyncio.to_thread(DriverRemoteConnection, uri, "g")
    try:
        goal = "goal: 1.5 x by hand"
        await report_answers(backend, GremlinByHand(connection), questions(nodes), turns, goal)
    finally:
        await asyncio.to_thread(connection.close)
        await backend.close()
