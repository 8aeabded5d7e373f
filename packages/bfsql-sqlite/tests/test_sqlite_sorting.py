"""A load whose records are merged in many small batches."""

import pytest

from bfsql.models import EdgeRecord, EvidenceRecord, NodeRecord
from bfsql.models.load import LoadMode, LoadOptions
from bfsql_sqlite import SqliteBackend, SqliteSettings, bulk, bulk_graph, duckdb_tables, load_graph
from bfsql_test_support.suites.agreement import assert_agreed

RECORDS = [
    *(NodeRecord(f"n{i}", "thing", {"name": f"name {i}"} if i % 3 else {}) for i in range(40)),
    *(
        EdgeRecord(f"n{i * 7 % 41}", f"P{i % 3}", f"n{i * i % 40}", {"i": i} if i % 2 else {})
        for i in range(150)
    ),
    *(
        EvidenceRecord(f"n{i * 7 % 41}", f"P{i % 3}", f"n{i * i % 40}", {"document_id": f"n{i}"})
        for i in range(0, 40, 3)
    ),
]


@pytest.mark.parametrize("rows", [1, 7])
async def test_records_in_small_batches_make_the_same_graph(file, monkeypatch, rows):
    monkeypatch.setattr(bulk_graph, "BATCH_EDGES", rows)
    monkeypatch.setattr(bulk_graph, "BATCH", rows)
    monkeypatch.setattr(duckdb_tables, "BATCH", rows)
    report = await load_graph(SqliteSettings(path=file), RECORDS)
    backend = await SqliteBackend.create(path=file, connections=1)
    try:
        await assert_agreed(backend, RECORDS)
    finally:
        await backend.close()
    assert report.dangling_edges > 0
    assert report.dangling_examples == ["n40"]
    assert sorted(path.name for path in file.parent.iterdir()) == ["graph.db"]


async def test_ids_and_metadata_with_line_breaks_and_nul_are_kept(file):
    odd = 'a\nb\r\0,"c"'
    records = [
        NodeRecord(odd, "T\n", {"name": "x\ny\0"}),
        EdgeRecord(odd, "P\r\n", "", {"\n": "\0"}),
        EvidenceRecord(odd, "P\r\n", "", {"document_id": odd, "text_span": "one\ntwo"}),
    ]
    await load_graph(SqliteSettings(path=file), records)
    backend = await SqliteBackend.create(path=file, connections=1)
    try:
        await assert_agreed(backend, records)
    finally:
        await backend.close()


async def test_evidence_without_an_edge_is_counted(file):
    records = [
        *(NodeRecord(id_, "T") for id_ in "ab"),
        EdgeRecord("a", "P", "b"),
        *(EvidenceRecord(*triple, {"text_span": "so"}) for triple in ("aPb", "bPa", "aQb", "aPc")),
    ]
    report = await load_graph(SqliteSettings(path=file), records)
    assert (report.edges, report.evidence, report.unattached_evidence) == (1, 1, 3)
    assert report.duplicate_edges == 0


async def test_metadata_that_is_longer_than_what_duckdb_stores_is_kept(file):
    long = {"text": "\0ä" * duckdb_tables.LONGEST}
    records = [
        *(NodeRecord(id_, "T", {**long, "name": id_}) for id_ in "aba"),
        EdgeRecord("a", "P", "b", long),
        EdgeRecord("a", "P", "b", {"x": 1}),
        EvidenceRecord("a", "P", "b", {"text_span": "so " * duckdb_tables.LONGEST}),
    ]
    await load_graph(SqliteSettings(path=file), records[:3])
    await load_graph(SqliteSettings(path=file), records[3:], LoadOptions(LoadMode.APPEND))
    await load_graph(SqliteSettings(path=file), [], LoadOptions(LoadMode.APPEND))
    backend = await SqliteBackend.create(path=file, connections=1)
    try:
        await assert_agreed(backend, records)
    finally:
        await backend.close()


@pytest.mark.slow
async def test_many_long_texts_fit_into_the_memory_of_a_load(file, monkeypatch):
    monkeypatch.setitem(bulk.CONFIG, "memory_limit", "100MB")
    nodes = (NodeRecord(f"n{i}", "T", {"text": f"{i} {'x' * 50_000}"}) for i in range(2_000))
    assert (await load_graph(SqliteSettings(path=file), nodes)).nodes == 2_000
