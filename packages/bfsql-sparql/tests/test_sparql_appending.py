"""Adding to a graph and taking out of it: what is left is what one load of the same would give."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bfsql.errors import LoadRefused
from bfsql.models import EdgeRecord, EvidenceRecord, GraphRecord, NodeRecord
from bfsql.models.load import LoadMode, LoadOptions
from bfsql_servers.sparql import SparqlServer
from bfsql_sparql import SparqlBackend, SparqlSettings
from bfsql_sparql.loader import load_graph

APPEND = LoadOptions(LoadMode.APPEND)
OTHER = "urn:graph:other"
IDS = ("a", "b", "c", "d")
PREDICATES = ("p", "q")

Held = dict[str, Any]


@pytest.fixture
def server(sparql_server: SparqlServer) -> SparqlServer:
    sparql_server.clear()
    return sparql_server


@pytest.fixture
def there(server: SparqlServer, place: Callable[..., Any]) -> SparqlSettings:
    given: SparqlSettings = place(server.name).settings
    return given


async def held(settings: SparqlSettings) -> Held:
    """Everything that the backend says about the ids and predicates of these tests."""
    backend = await SparqlBackend.open(settings)
    try:
        nodes = await backend.get_nodes_batch(IDS)
        edges = sorted(set(await backend.edges_batch(IDS)))
        return {
            "nodes": sorted((node.id, node.entity_type) for node in nodes),
            "metadata": await backend.metadata_for_nodes_batch(IDS),
            "edges": {edge: await backend.metadata_for_edges_batch([edge]) for edge in edges},
            "types": await backend.entity_types(),
            "evidence": {id_: await backend.provenance_for_node(id_, 50) for id_ in IDS},
        }
    finally:
        await backend.close()


GRAPH: list[GraphRecord] = [
    NodeRecord("a", "T", {"name": "one", "year": 1999}),
    NodeRecord("b", "T", {"name": "two", "synonyms": ["deux"]}),
    EdgeRecord("a", "p", "b", {"confidence": 0.5, "note": "told"}),
    EdgeRecord("b", "q", "a"),
    EvidenceRecord("a", "p", "b", {"document_id": "d", "text_span": "It does."}),
]
MORE: list[GraphRecord] = [
    NodeRecord("a", "U", {"name": "eins", "year": 2000}),
    NodeRecord("c", "", {}),
    EdgeRecord("a", "p", "b", {"confidence": 0.75}),
    EdgeRecord("b", "q", "a"),
    EdgeRecord("b", "p", "c", {"note": "new"}),
    EvidenceRecord("b", "q", "a", {"document_id": "d", "text_span": "It does, too."}),
    EvidenceRecord("a", "p", "b", {"text_span": "It does.", "section": "end"}),
]


async def test_appending_gives_what_one_load_gives(
    server: SparqlServer, there: SparqlSettings
) -> None:
    await load_graph(there, [*GRAPH, *MORE])
    once = await held(there)
    statements = server.count()
    server.load("<urn:old> <urn:is> <urn:there> .", OTHER)
    await load_graph(there, GRAPH)
    report = await load_graph(there, MORE, APPEND)
    assert (report.nodes, report.edges) == (3, 3)
    assert (report.duplicate_nodes, report.duplicate_edges) == (1, 2)
    assert await held(there) == once
    assert server.count() == statements + (server.name == "rdf4j")
    assert server.count(OTHER) == 1


async def test_removing_leaves_what_one_load_of_the_rest_gives(
    server: SparqlServer, there: SparqlSettings
) -> None:
    rest = [GRAPH[1], NodeRecord("c", "T", {"name": "drei"}), EdgeRecord("b", "q", "c", {"n": 1})]
    await load_graph(there, rest)
    once, statements = await held(there), server.count()
    await load_graph(there, [*GRAPH, *rest[1:], EdgeRecord("b", "p", "c", {"n": 2})])
    away = [NodeRecord("a", ""), NodeRecord("ü", ""), EdgeRecord("b", "p", "c")]
    away += [EdgeRecord("b", "p", "b")]
    report = await load_graph(there, [], replace(APPEND, remove=away))
    assert (report.removed_nodes, report.removed_edges, report.not_there) == (1, 3, 2)
    assert report.not_there_examples == ["node '\\xfc'", "edge 'b' 'p' 'b'"]
    assert (report.nodes, report.edges) == (2, 1)
    assert await held(there) == once
    assert server.count() == statements
