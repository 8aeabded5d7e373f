"""A real graph, loaded, with the figures that the protocol's author publishes for it."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from bfsql.memory import MemoryBackend
from bfsql.models import GraphRecord, Refusal
from bfsql.sources import read_all
from bfsql_sparql import SparqlBackend

STORES = ["files", "oxigraph", "fuseki", "virtuoso", "rdf4j"]


@pytest.fixture(scope="module")
def records(medlit: Path) -> list[GraphRecord]:
    stream = list(read_all([medlit]))
    return [record for record in stream if not isinstance(record, Refusal)]


@pytest.fixture(scope="module", params=STORES)
def store(request: pytest.FixtureRequest, place: Callable[..., Any]) -> Any:
    return place(request.param)


@pytest.fixture
async def backend(store: Any, records: list[GraphRecord]) -> AsyncIterator[SparqlBackend]:
    async with store.filled(records) as opened:
        yield opened


async def ring(backend: SparqlBackend, ids: set[str]) -> set[tuple[str, str, str]]:
    return {(s, p, o) for s, p, o in await backend.edges_batch(sorted(ids))}


async def known(backend: SparqlBackend, edges: set[tuple[str, str, str]]) -> set[str]:
    ends = sorted({end for s, _, o in edges for end in (s, o)})
    return {node.id for node in await backend.get_nodes_batch(ends)}


async def test_the_schema_has_19_types_and_16_predicates(backend, records) -> None:
    memory = MemoryBackend(records)
    assert await backend.entity_types() == await memory.entity_types()
    assert await backend.predicates() == await memory.predicates()
    assert (len(await backend.entity_types()), len(await backend.predicates())) == (19, 16)
    assert await backend.comprehensive()


async def test_two_hops_from_desmopressin_reach_84_nodes_and_99_edges(backend) -> None:
    first = await ring(backend, {"RxNorm:3251"})
    edges = first | await ring(backend, await known(backend, first))
    nodes = await known(backend, edges)
    assert len(nodes) == 84
    assert sum({s, o} <= nodes for s, _, o in edges) == 99


async def test_one_hop_from_two_seeds_reaches_35_nodes_and_37_edges(backend) -> None:
    edges = await ring(backend, {"RxNorm:3251", "MeSH:D003480"})
    assert len(await known(backend, edges)) == 35
    assert len(edges) == 37


async def test_two_entities_have_two_neighbours_in_common(backend) -> None:
    seeds = {"RxNorm:3251", "MeSH:D003480"}
    one, other = [await known(backend, await ring(backend, {seed})) for seed in sorted(seeds)]
    assert (one & other) - seeds == {"PMC11128938", "DBPedia:Cushing's_disease"}


async def test_all_of_it_is_as_in_memory(backend, records) -> None:
    memory = MemoryBackend(records)
    ids = [record.id for record in records if hasattr(record, "id")]
    assert sorted(await backend.get_nodes_batch(ids)) == sorted(await memory.get_nodes_batch(ids))
    edges = await ring(backend, set(ids))
    assert edges == set(await memory.edges_batch(ids))
    assert await backend.metadata_for_nodes_batch(ids) == await memory.metadata_for_nodes_batch(ids)
    assert await backend.metadata_for_edges_batch(edges) == await memory.metadata_for_edges_batch(
        edges
    )
    for entity_id in ("RxNorm:3251", "MeSH:D003480", "PMC11128938"):
        found = await backend.provenance_for_node(entity_id, 20)
        assert found == await memory.provenance_for_node(entity_id, 20)
        assert found["total"] > 0


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("desmopressin", "RxNorm:3251"),
        ("RxNorm:3251", "RxNorm:3251"),
        ("Cushing Syndrome", "MeSH:D003480"),
    ],
)
async def test_names_find_their_entities(backend, query: str, best: str) -> None:
    assert next(stub.id for stub in await backend.search_entities(query)) == best
