"""SPARQL: Oxigraph and Fuseki, cold answers compared with VALUES queries written by hand."""

from __future__ import annotations

import asyncio
import http.client
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from by_hand import ByHand, Triple
from graphs import heavy_tailed
from remote import questions, report_answers

from bfsql.models import EdgeRecord, GraphRecord
from bfsql_sparql import SparqlBackend, SparqlSettings
from bfsql_sparql.load.loader import load_graph
from bfsql_test_support.servers.folder import folder
from bfsql_test_support.servers.fuseki import FusekiServer
from bfsql_test_support.servers.oxigraph import OxigraphServer
from bfsql_test_support.servers.sparql import SparqlServer

SERVERS: tuple[Callable[[Path], SparqlServer], ...] = (OxigraphServer, FusekiServer.large)
BASE = "urn:bfsql:"
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
NAME = "http://www.w3.org/2000/01/rdf-schema#label"
SYNONYM = "http://www.w3.org/2004/02/skos/core#altLabel"

LEAVING = "SELECT ?s ?p ?o {{ VALUES ?s {{ {0} }} ?s ?p ?o FILTER(isIRI(?o) && ?p != <{1}>) }}"
ENTERING = "SELECT ?s ?p ?o {{ VALUES ?o {{ {0} }} ?s ?p ?o FILTER(isIRI(?s) && ?p != <{1}>) }}"
TYPES = "SELECT ?s ?o {{ VALUES ?s {{ {0} }} ?s <{1}> ?o }}"
DETAIL = "SELECT ?s ?p ?o {{ VALUES ?s {{ {0} }} ?s ?p ?o FILTER(isLiteral(?o)) }}"
PART = 1_000


class SparqlByHand(ByHand):
    """One keep-alive connection; a request per thousand nodes of a ring and per direction.

    Args:
        url: The URL for queries.
    """

    def __init__(self, url: str) -> None:
        self._path = urlsplit(url).path
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    async def ring(self, ids: list[str]) -> list[Triple]:
        rows = [*await self._rows(LEAVING, ids), *await self._rows(ENTERING, ids)]
        return [(s, _short(p), o) for s, p, o in rows]

    async def types(self, ids: list[str]) -> dict[str, str]:
        return {i: _short(entity_type) for i, entity_type in await self._rows(TYPES, ids)}

    async def node_details(self, ids: list[str]) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {i: {} for i in ids}
        for i, key, value in await self._rows(DETAIL, ids):
            if key == NAME:
                found[i]["name"] = value
            elif key == SYNONYM:
                found[i].setdefault("synonyms", []).append(value)
            else:
                name = _short(key)
                found[i][name] = int(value) if name == "total_mentions" else value
        return found

    async def edge_details(self, triples: list[Triple]) -> list[dict[str, Any]]:
        return [{} for _ in triples]

    async def _rows(self, query: str, ids: list[str]) -> list[tuple[str, ...]]:
        return await asyncio.to_thread(self._asked, query, ids)

    def _asked(self, query: str, ids: list[str]) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = []
        for start in range(0, len(ids), PART):
            values = " ".join(f"<{i}>" for i in ids[start : start + PART])
            body = urlencode({"query": query.format(values, RDF_TYPE)})
            headers = {
                "Content-Type": "application/x-www-form-urlencoded",
                "Accept": "application/sparql-results+json",
            }
            document = json.loads(self._sent(body, headers))
            names = document["head"]["vars"]
            rows += [
                tuple([one[name]["value"] for name in names])
                for one in document["results"]["bindings"]
            ]
        return rows

    def _sent(self, body: str, headers: dict[str, str]) -> bytes:
        """Send a request; retry if the server closed the connection, as Fuseki does after 30 s."""
        try:
            return self._posted(body, headers)
        except http.client.RemoteDisconnected:
            return self._posted(body, headers)

    def _posted(self, body: str, headers: dict[str, str]) -> bytes:
        self._connection.request("POST", self._path, body, headers)
        return self._connection.getresponse().read()


def _short(iri: str) -> str:
    return iri.removeprefix(BASE)


def _without_metadata(records: Iterator[GraphRecord]) -> Iterator[GraphRecord]:
    """Distinct edges, one triple each; with metadata, even a multiplicity, it would be six."""
    seen: set[tuple[str, str, str]] = set()
    for record in records:
        if not isinstance(record, EdgeRecord):
            yield record
        elif (edge := (record.subject, record.predicate, record.object)) not in seen:
            seen.add(edge)
            yield EdgeRecord(*edge)


async def report(nodes: int, edges: int, hub: int, turns: int) -> None:
    """Print all figures of the SPARQL backend, on new servers; first with a tenth of the graph."""
    for part in (10, 1):
        for server in SERVERS:
            await _report(server, (nodes // part, edges // part, hub // part), turns)


async def _report(
    make: Callable[[Path], SparqlServer], size: tuple[int, int, int], turns: int
) -> None:
    nodes = size[0]
    with folder() as place:
        server = make(place)
        server.start()
        try:
            settings = SparqlSettings(
                endpoint=server.query_url, update_endpoint=server.update_url, base=BASE
            )
            start = time.perf_counter()
            report = await load_graph(settings, _without_metadata(heavy_tailed(*size)))
            seconds = time.perf_counter() - start
            triples = server.count()
            print(
                f"\n{server.name:13} {report.nodes:,} nodes, {report.edges:,} edges, {triples:,} "
                f"triples in {seconds:.1f} s, {triples / seconds:,.0f} triples a second"
            )
            await _compare(settings, server, nodes, turns)
        finally:
            server.stop()


async def _compare(settings: SparqlSettings, server: SparqlServer, nodes: int, turns: int) -> None:
    backend = await SparqlBackend.open(settings)
    floor = SparqlByHand(server.query_url)
    try:
        goal = "goals: 1.5 x by hand; per node 20 x"
        await report_answers(backend, floor, questions(nodes), turns, goal)
    finally:
        floor.close()
        await backend.close()
