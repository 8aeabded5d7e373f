"""No id changes a query: its text is the intended one, with another IRI in it."""

import re

import pytest

from bfsql.models import Edge
from bfsql_testing.conformance.graphs import HOSTILE

HARMLESS = "urn:bfsql:harmless"
GRAMMAR = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:[^\x00-\x20<>\"{}|^`\\\ud800-\udfff]*")
"""IRIREF of SPARQL 1.1, for absolute IRIs."""
FRAGMENTS = (
    "http://example.org/a> } SERVICE <http://evil.example/> { ?s ?p ?o } #",
    "<http://example.org/a> . ?x ?y ?z",
    "http://example.org/a>\n} ; DROP ALL #",
    "dbr:a> ?p ?o } UNION { ?s ?p ?o . FILTER(true",
    "urn:bfsql:a> ?p ?o . <urn:b",
    "http://example.org/\\u003E } #",
    "http://example.org/a%3E",
    "http://example.org/${x}",
    '"literal"@en',
    "_:b0",
    "?s",
    "<<http://example.org/a>>",
    "\ud800",
    "",
    "x" * 5_000,
)
DATA = """
<urn:bfsql:harmless> <http://example.org/p> <http://example.org/o> .
_:s <http://www.w3.org/1999/02/22-rdf-syntax-ns#subject> <urn:bfsql:harmless> .
_:s <http://www.w3.org/1999/02/22-rdf-syntax-ns#predicate> <http://example.org/p> .
_:s <http://www.w3.org/1999/02/22-rdf-syntax-ns#object> <http://example.org/o> .
_:s <urn:bfsql:confidence> "0.5" .
"""


async def ask_everything(backend, id_):
    """Send all queries about an entity, and about edges with it in each position."""
    await backend.get_nodes_batch([id_])
    await backend.edges_batch([id_])
    await backend.metadata_for_nodes_batch([id_])
    edges = [(id_, "http://example.org/p", "http://example.org/o")]
    edges += [("http://example.org/o", id_, "http://example.org/o")]
    edges += [("http://example.org/o", "http://example.org/p", id_)]
    for edge in edges:
        await backend.metadata_for_edges_batch([edge])
    await backend.provenance_for_node(id_, 20)


async def test_a_query_about_a_hostile_id_is_the_query_about_any_other(each, serve, texts_of):
    backend = await serve(DATA)
    texts = texts_of(backend)
    await ask_everything(backend, "harmless")
    intended = list(texts)
    for id_ in [*HOSTILE, *FRAGMENTS]:
        with each(id_):
            texts.clear()
            await ask_everything(backend, id_)
            iri = backend._mapping.ids.iri(id_)
            if iri is None:
                assert texts == []
                continue
            assert GRAMMAR.fullmatch(iri)
            swapped = [text.replace(f"<{HARMLESS}>", f"<{iri}>") for text in intended]
            # A refused query is repeated with a harmless IRI: was the id the cause?
            own = [text for text in texts if "urn:bfsql:/nothing" not in text]
            assert own == swapped
            assert all(f"<{iri}>" in text for text in own)


async def test_a_hostile_id_is_unknown_and_the_next_call_works(each, serve):
    backend = await serve(DATA)
    asks = (
        backend.get_node,
        backend.edges_from,
        backend.edges_to,
        backend.metadata_for_node,
        lambda one: backend.metadata_for_edge(Edge(one, "http://example.org/p", one)),
    )
    for id_ in [*HOSTILE, *FRAGMENTS]:
        for ask in asks:
            with each(id_, ask), pytest.raises(KeyError):
                await ask(id_)
        with each(id_):
            assert (await backend.get_node("harmless")).entity_type == "owl:Thing"


async def test_each_server_takes_hostile_ids_for_unknown_ones(serve_each):
    backend = await serve_each(DATA)
    hostile = [*HOSTILE, *FRAGMENTS]
    assert [node.id for node in await backend.get_nodes_batch([*hostile, "harmless"])] == [
        "harmless"
    ]
    ring = await backend.edges_batch([*hostile, "harmless"])
    assert set(ring) == {("harmless", "http://example.org/p", "http://example.org/o")}
    assert list(await backend.metadata_for_nodes_batch([*hostile, "harmless"])) == ["harmless"]
    for id_ in hostile:
        with pytest.raises(KeyError):
            await backend.get_node(id_)
