"""The outline: exact for small graphs, and a sample of large ones."""

from collections.abc import Awaitable, Callable

import pytest

from bfsql.models import Relation
from bfsql_sparql import SparqlBackend, backend

Serve = Callable[..., Awaitable[SparqlBackend]]

E = "http://example.org/"
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
SUBCLASS = "http://www.w3.org/2000/01/rdf-schema#subClassOf"
CLASS = "http://www.w3.org/2002/07/owl#Class"
GRAPH = "\n".join(
    [
        *(f"<{E}n{i}> <{TYPE}> <{E}{'TU'[i % 2]}> ." for i in range(6)),
        *(f'<{E}n{i}> <{E}status> "{("open", "closed")[i % 3 > 0]}" .' for i in range(6)),
        *(f"<{E}n{i}> <{E}p> <{E}n{j}> ." for i in range(3) for j in range(3)),
        f"<{E}n1> <{E}q> <{E}bare> .",
        f"<{E}n1> <{E}q> _:blank .",
    ]
)


async def test_nodes_edges_and_properties_are_counted(serve_each: Serve) -> None:
    outline = await (await serve_each(GRAPH)).outline()
    assert outline.node_counts == {f"{E}T": 3, f"{E}U": 3, "owl:Thing": 1}
    assert outline.relations == [
        Relation(f"{E}T", f"{E}p", f"{E}T", 4),
        Relation(f"{E}T", f"{E}p", f"{E}U", 2),
        Relation(f"{E}U", f"{E}p", f"{E}T", 2),
        Relation(f"{E}U", f"{E}p", f"{E}U", 1),
        Relation(f"{E}U", f"{E}q", "owl:Thing", 1),
    ]
    assert [one.name for one in outline.node_properties[f"{E}T"]] == [f"{E}status"]
    assert not outline.sampled


SEVERAL_TYPES = "\n".join(
    [
        GRAPH,
        f"<{E}n0> <{TYPE}> <{E}S> .",
        f"<{E}S> <{SUBCLASS}> <{E}T> .",
        f"<{E}n3> <{TYPE}> <{E}T> .",
        f"<{E}T> <{TYPE}> <{CLASS}> .",
        f"<{E}n2> <{E}q> <{E}T> .",
        f"<{E}n5> <{E}q> <{E}n5> .",
        f"<{E}n4> <urn:bfsql:/entityType> <{E}V> .",
        f"<{E}n2> <{TYPE}> <{E}V> .",
    ]
)


@pytest.mark.parametrize("graph", [GRAPH, SEVERAL_TYPES], ids=["one type", "several types"])
async def test_a_large_graph_is_counted_by_the_store_as_a_small_one_is(
    serve_each: Serve, monkeypatch: pytest.MonkeyPatch, graph: str
) -> None:
    small = await (await serve_each(graph)).outline()
    monkeypatch.setattr(backend, "MOST_EDGES", 4)
    monkeypatch.setattr(backend, "SAMPLE", 4)
    large = await (await serve_each(graph)).outline()
    assert (large.node_counts, large.relations) == (small.node_counts, small.relations)
    assert large.relations_from == "all"


async def test_of_a_graph_that_a_store_cannot_count_the_first_triples_are_a_sample_without_numbers(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "MOST_EDGES", 4)
    monkeypatch.setattr(backend, "SAMPLE", 4)
    outline = await (await serve(GRAPH, inverse={f"{E}q": f"{E}p"})).outline()
    assert outline.relations_from == "sample"
    assert outline.node_counts == {}
    assert outline.relations
    assert {relation.edges for relation in outline.relations} == {None}
