"""Very many records of one node or edge: merged as they come, with the result of merging all."""

import random
import tracemalloc

from bfsql.loading import intake, staged
from bfsql.models import EdgeRecord, EvidenceRecord, NodeRecord
from bfsql_sqlite import SqliteBackend, SqliteSettings, bulk_graph, load_graph
from bfsql_test_support.case_table import case_table

EDGE = ("a", "p", "b")


def of_one(kind, number):
    yield from (NodeRecord("a", "T"), NodeRecord("b", "T"), EdgeRecord(*EDGE))
    for i in range(number):
        known = {"note": "x" * 100, "k": i % 10}
        if kind == "node":
            yield NodeRecord("a", "T", known)
        elif kind == "edge":
            yield EdgeRecord(*EDGE, known)
        else:
            yield EvidenceRecord(*EDGE, {"document_id": f"d{i % 10}", "text_span": "x" * 100})


async def load(path, records):
    return await load_graph(SqliteSettings(path=path), records)


async def stage(_, records):
    async with staged(records) as staging:
        await staging.run(staging.merge)
        return staging.report


@case_table("kind", ["node", "edge", "evidence"])
@case_table("into", [load, stage])
async def test_memory_does_not_grow_with_the_records_of_one_thing(
    tmp_path, monkeypatch, kind, into
):
    monkeypatch.setattr(bulk_graph, "BATCH_EDGES", 5_000)
    peaks = []
    for number in (10_000, 40_000):
        tracemalloc.start(1)
        try:
            report = await into(tmp_path / f"{number}.db", of_one(kind, number))
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
        assert (report.nodes, report.edges) == (2, 1)
        assert report.duplicate_nodes == number * (kind == "node")
        assert report.duplicate_edges == number * (kind == "edge")
        assert report.evidence == 10 * (kind == "evidence")
    # The confidences of an edge, of which this one has none, would be its result.
    assert peaks[1] < 1.3 * peaks[0] + 1_000_000


def drawn(chance):
    some = [None, 1, 1.0, True, "x", ["x", 2], {"y": 1}]
    for _ in range(60):
        known = {key: chance.choice(some) for key in "abc" if chance.random() < 0.5}
        item = {"document_id": chance.choice("de"), "text_span": chance.choice("st")} | known
        named = {"name": chance.choice(["a", "A", "An a"])}
        edge = {"confidence": chance.choice([0.5, 1, 0.25])} if chance.random() < 0.5 else {}
        if chance.random() < 0.2:
            edge["provenance"] = [item]
        yield NodeRecord("a", chance.choice(["", "T", "U"]), known | named)
        yield EdgeRecord(*EDGE, known | edge)
        yield EvidenceRecord(*chance.choice([EDGE, ("b", "p", "a")]), item)


async def merged(path, seed):
    report = await load(path, drawn(random.Random(seed)))
    async with staged(drawn(random.Random(seed))) as staging:
        await staging.run(lambda: (staging.merge_nodes(), staging.merge_edges()))
        staged_graph = [*staging.nodes(), *staging.edges()]
        counts = [
            (one.duplicate_nodes, one.duplicate_edges, one.evidence, one.unattached_evidence)
            for one in (report, staging.report)
        ]
    backend = await SqliteBackend.create(path=path)
    try:
        node = await backend.metadata_for_nodes_batch(["a"])
        edge = await backend.metadata_for_edges_batch([EDGE])
    finally:
        await backend.close()
    return counts, report.retyped_examples, report.edges, node, edge, staged_graph


@case_table("seed", range(8))
async def test_records_merged_in_parts_are_what_all_at_once_would_be(tmp_path, monkeypatch, seed):
    whole = await merged(tmp_path / "whole.db", seed)
    with monkeypatch.context() as patched:
        patched.setattr(intake, "BATCH", 3)
        patched.setattr(bulk_graph, "BATCH_EDGES", 7)
        assert await merged(tmp_path / "parts.db", seed) == whole
