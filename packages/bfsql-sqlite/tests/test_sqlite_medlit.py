"""A real graph, with the figures that the protocol's author publishes for it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bfsql.memory import MemoryBackend
from bfsql.models import GraphRecord, Refusal
from bfsql.sources import read_all
from bfsql_sqlite import SqliteBackend, SqliteSettings, load_graph


@pytest.fixture(scope="module")
def records(medlit: Path) -> list[GraphRecord]:
    stream = list(read_all([medlit]))
    assert not [record for record in stream if isinstance(record, Refusal)]
    return [record for record in stream if not isinstance(record, Refusal)]


@pytest.fixture
async def backend(records, tmp_path: Path) -> AsyncIterator[SqliteBackend]:
    path = tmp_path / "medlit.db"
    report = await load_graph(SqliteSettings(path=path), records)
    assert (report.nodes, report.edges + report.duplicate_edges) == (1_900, 2_184)
    opened = await SqliteBackend.create(path=path)
    yield opened
    await opened.close()


async def test_the_schema_has_19_types_and_16_predicates(backend: SqliteBackend) -> None:
    assert len(await backend.entity_types()) == 19
    assert len(await backend.predicates()) == 16
    assert len(await backend.next_steps()) < 500


async def test_two_hops_from_desmopressin_reach_84_nodes_and_99_edges(backend) -> None:
    first = set(await backend.edges_batch(["RxNorm:3251"]))
    near = sorted({end for s, _, o in first for end in (s, o)})
    known = [node.id for node in await backend.get_nodes_batch(near)]
    edges = first | set(await backend.edges_batch(known))
    ends = sorted({end for s, _, o in edges for end in (s, o)})
    nodes = {node.id for node in await backend.get_nodes_batch(ends)}
    assert len(nodes) == 84
    assert sum({s, o} <= nodes for s, _, o in edges) == 99


async def test_all_of_it_is_as_in_memory(backend, records) -> None:
    memory = MemoryBackend(records)
    ids = [record.id for record in records if hasattr(record, "id")]
    assert sorted(await backend.get_nodes_batch(ids)) == sorted(await memory.get_nodes_batch(ids))
    ring = set(await backend.edges_batch(ids))
    assert ring == set(await memory.edges_batch(ids))
    assert await backend.metadata_for_nodes_batch(ids) == await memory.metadata_for_nodes_batch(ids)
    assert await backend.metadata_for_edges_batch(ring) == await memory.metadata_for_edges_batch(
        ring
    )
    for entity_id in ("RxNorm:3251", "MeSH:D003480", "PMC11128938"):
        found = await backend.provenance_for_node(entity_id, 20)
        assert found == await memory.provenance_for_node(entity_id, 20)
        assert found["total"] > 0


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("desmopressin", "RxNorm:3251"),
        ("desmopresin", "RxNorm:3251"),
        ("RxNorm:3251", "RxNorm:3251"),
        ("cushing disease", "DBPedia:Cushing's_disease"),
        ("Cushing Syndrome", "MeSH:D003480"),
    ],
)
async def test_names_find_their_entities(backend, query: str, best: str) -> None:
    assert next(stub.id for stub in await backend.search_entities(query)) == best
