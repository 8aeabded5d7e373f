"""The outline: exact for small graphs, and a sample of large ones."""

import asyncio
from typing import Any

import pytest

from bfsql import open_graph
from bfsql.models import Relation
from bfsql_sparql import backend
from bfsql_sparql.dataset import Refused, Reply, TooSlow

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

TYPED = "\n".join(line for line in GRAPH.splitlines() if "bare" not in line) + "\n"


def assert_counted(outline):
    """Check the outline of `GRAPH`."""
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


async def test_a_small_graph_is_counted_and_a_large_one_the_same_by_the_store(
    each, serve_each, monkeypatch
):
    for graph in [GRAPH, SEVERAL_TYPES]:
        with each(graph):
            monkeypatch.undo()
            small = await (await serve_each(graph)).outline()
            if graph == GRAPH:
                assert_counted(small)
            monkeypatch.setattr(backend, "MOST_EDGES", 4)
            monkeypatch.setattr(backend, "SAMPLE", 4)
            large = await (await serve_each(graph)).outline()
            assert (large.node_counts, large.relations) == (small.node_counts, small.relations)
            assert large.relations_from == "all"


async def test_of_a_graph_that_a_store_cannot_count_the_first_triples_are_a_sample_without_numbers(
    serve, monkeypatch
):
    monkeypatch.setattr(backend, "MOST_EDGES", 4)
    monkeypatch.setattr(backend, "SAMPLE", 4)
    outline = await (await serve(GRAPH, inverse={f"{E}q": f"{E}p"})).outline()
    assert outline.relations_from == "sample"
    assert outline.node_counts == {}
    assert outline.relations
    assert {relation.edges for relation in outline.relations} == {None}


def counts_as(store, count):
    """Have a function waited for before each query that counts; it gets the query's seconds."""
    dataset: Any = store._store.dataset
    ask = dataset.reply

    async def reply(query, seconds=None):
        if "COUNT(" in query:
            await count(seconds)
        answer: Reply = await ask(query, seconds)
        return answer

    dataset.reply = reply


@pytest.mark.parametrize("more", ["", f"<{E}n1> <{E}q> <{E}bare> ."], ids=["typed", "untyped"])
async def test_an_endpoint_that_does_not_count_has_the_same_lists_and_a_sample(
    serve, monkeypatch, more
):
    async def refuse(_):
        raise Refused("COUNT is not supported", 400)

    monkeypatch.setattr(backend, "MOST_EDGES", 4)
    monkeypatch.setattr(backend, "SAMPLE", 4)
    store = await serve(TYPED + more)
    types = await store.entity_types()
    assert types == [f"{E}T", f"{E}U", *(["owl:Thing"] if more else [])]
    counts_as(store, refuse)
    assert await store.entity_types() == types
    assert await store.comprehensive()
    outline = await store.outline()
    assert outline is not None
    assert outline.relations_from == "sample"
    async with open_graph(store) as graph:
        text = (await graph.call("describe_schema", {})).text
    assert "sample" in text


async def test_a_first_count_that_takes_a_minute_delays_the_lists_little_and_no_later_count(
    serve, monkeypatch
):
    late = iter([True])

    async def hang_once(seconds):
        if next(late, False):
            await asyncio.sleep(seconds or 60)
            raise TooSlow("the time for one query is up")

    monkeypatch.setattr(backend, "MOST_EDGES", 4)
    monkeypatch.setattr(backend, "SAMPLE", 4)
    store = await serve(TYPED, schema_timeout=2)
    counts_as(store, hang_once)
    async with asyncio.timeout(10), open_graph(store) as graph:
        answer = await graph.call("describe_schema", {})
    assert answer.content["entity_types"] == [f"{E}T", f"{E}U"]
    assert answer.content["comprehensive"]
    outline = await store.outline()
    assert outline is not None
    assert outline.node_counts == {f"{E}T": 3, f"{E}U": 3}


async def test_of_60_000_relations_the_most_frequent_are_told_from_counts_of_all(serve):
    nodes = [f"<{E}n{n}> <{TYPE}> <{E}T{n % 200}> ." for n in range(201)]
    edges = (
        f"<{E}n{n % 200}> <{E}p{n // 200}> <{E}n{(n * 7 + n // 200) % 200}> ."
        for n in range(60_000)
    )
    outline = await (
        await serve("\n".join([*nodes, *edges, f"<{E}n200> <{E}p0> <{E}n0> ."]))
    ).outline()
    assert outline is not None
    assert outline.relations_from == "all"
    assert outline.relations[0] == Relation(f"{E}T0", f"{E}p0", f"{E}T0", 2)
