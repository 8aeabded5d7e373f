"""Staging merges records in any order as the reference in memory does."""

import asyncio
import sqlite3
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bfsql.errors import StoreError
from bfsql.loading import StagedEdge, StagedNode, staged
from bfsql.loading.staging import Numbers
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, EvidenceRecord, GraphRecord, LoadReport, NodeRecord
from bfsql.models.json_values import decode, encode
from bfsql_testing.conformance.graphs import GRAPHS


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder for temporary files, which must be empty after the test."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield tmp_path
    assert not list(tmp_path.iterdir())


async def merged(
    records: list[GraphRecord],
) -> tuple[list[StagedNode], list[StagedEdge], LoadReport]:
    nodes: list[StagedNode] = []
    edges: list[StagedEdge] = []

    async def write_node(node: StagedNode) -> None:
        nodes.append(node)

    async def write_edge(edge: StagedEdge) -> None:
        edges.append(edge)

    async with staged(records) as staging:
        await staging.run(staging.merge)
        await staging.feed(staging.nodes(), write_node)
        await staging.feed(staging.edges(), write_edge)
    return nodes, edges, staging.report


def in_json(record: GraphRecord) -> GraphRecord:
    def plain(metadata: Any) -> Any:
        return decode(encode(metadata))

    if isinstance(record, NodeRecord):
        return NodeRecord(record.id, record.entity_type, plain(record.metadata))
    triple = (record.subject, record.predicate, record.object)
    if isinstance(record, EdgeRecord):
        return EdgeRecord(*triple, plain(record.metadata))
    return EvidenceRecord(*triple, plain(record.item))


@pytest.mark.parametrize("name", GRAPHS)
async def test_the_kits_graphs_come_out_as_the_reference_has_them(name: str) -> None:
    records = [in_json(record) for record in GRAPHS[name]()]
    nodes, edges, report = await merged(records)
    memory = MemoryBackend(records)
    assert {n.id: (n.entity_type, n.metadata) for n in nodes} == {
        id_: (type_, memory._node_metadata[id_]) for id_, type_ in memory._types.items()
    }
    known = memory._types.keys()
    assert {tuple(edge[:3]): edge.metadata for edge in edges} == {
        triple: found
        for triple, found in memory._edge_metadata.items()
        if {triple[0], triple[2]} <= known
    }
    assert [n.id for n in nodes] == sorted(known)
    assert [edge[:3] for edge in edges] == sorted(edge[:3] for edge in edges)
    assert report.nodes + report.duplicate_nodes == sum(isinstance(r, NodeRecord) for r in records)
    assert (report.nodes, report.edges) == (len(nodes), len(edges))
    assert report.edges + report.dangling_edges == len(memory._edge_metadata)


async def test_what_belongs_to_nothing_is_counted() -> None:
    item = {"document_id": "d", "text_span": "words"}
    nodes, edges, report = await merged(
        [
            EvidenceRecord("a", "p", "b", item),
            EvidenceRecord("a", "q", "b", item),
            EvidenceRecord("a", "p", "gone", item),
            EdgeRecord("a", "p", "gone"),
            EdgeRecord("lost", "p", "gone"),
            EdgeRecord("a", "p", "b"),
            EdgeRecord("a", "p", "b"),
            NodeRecord("b", "T"),
            NodeRecord("a", "T"),
        ]
    )
    assert (len(nodes), len(edges)) == (2, 1)
    assert report == LoadReport(
        nodes=2,
        edges=1,
        evidence=1,
        duplicate_edges=1,
        dangling_edges=2,
        dangling_examples=["gone", "lost"],
        described_ends=2,
        undescribed_ends=2,
        undescribed_sample=["gone", "lost"],
        unattached_evidence=2,
    )


async def test_what_cannot_be_held_is_refused_with_its_reason() -> None:
    loop: dict[str, Any] = {}
    loop["again"] = loop

    def check(record: GraphRecord) -> None:
        if isinstance(record, NodeRecord) and record.id == "13":
            raise ValueError("it brings bad luck")

    records = [
        NodeRecord("13", "T"),
        NodeRecord("half \ud800", "T"),
        NodeRecord("a", "T", loop),
        EdgeRecord("a", "\udfff", "b"),
        EvidenceRecord("x" * 100, "\udfff", "b", {}),
    ]
    async with staged(records, check=check) as staging:
        staging.merge()
        assert not list(staging.nodes())
        assert not list(staging.edges())
    assert staging.report.refused == 5
    said = [(str(refusal.path), refusal.reason) for refusal in staging.report.refusals]
    assert said[0] == ("node '13'", "it brings bad luck")
    assert said[1][1].startswith("it contains half of a surrogate pair")
    assert said[2] == ("node 'a'", "its metadata is nested too deeply, or contains itself")
    assert said[3][0] == r"edge 'a' '\udfff' 'b'"
    assert said[4][0].startswith(f"evidence for edge '{'x' * 60}...'")


async def test_cancelling_ends_the_reading_and_removes_the_file(temporary: Path) -> None:
    reading, ended = threading.Event(), threading.Event()

    def endless() -> Iterator[GraphRecord]:
        try:
            while True:
                yield NodeRecord("a", "T")
                reading.set()
        finally:
            ended.set()

    async def load() -> None:
        records = endless()
        try:
            async with staged(records):
                pass
        finally:
            records.close()

    task = asyncio.ensure_future(load())
    await asyncio.to_thread(reading.wait, 30)
    assert await asyncio.to_thread(lambda: list(temporary.iterdir()))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


async def test_an_error_of_the_source_is_the_sources() -> None:
    def broken() -> Iterator[GraphRecord]:
        yield NodeRecord("a", "T")
        raise RuntimeError("line 7")

    with pytest.raises(RuntimeError, match="line 7"):
        async with staged(broken()):
            pass


async def test_a_file_that_cannot_be_written_is_a_sentence(temporary: Path) -> None:
    async def load() -> None:
        async with staged([NodeRecord("a", "T")]) as staging:
            staging.close()
            await staging.run(lambda: list(staging.nodes()))

    with pytest.raises(StoreError, match=r"cannot be sorted in a temporary file.*TMPDIR"):
        await load()


def test_numbers_that_were_forgotten_are_found_in_the_file() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE node (n INTEGER PRIMARY KEY, id TEXT UNIQUE)")
        number = Numbers(connection, "node", "n", "id", in_memory=3)
        names = [f"id {i % 7}" for i in range(50)]
        first = {name: number[name] for name in names}
        assert [number[name] for name in names] == [first[name] for name in names]
        assert sorted(first.values()) == [1, 2, 3, 4, 5, 6, 7]
        assert len(number) <= 3
