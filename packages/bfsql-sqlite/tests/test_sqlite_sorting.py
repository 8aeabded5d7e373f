"""Sorting on disk, and a load whose edges do not fit into memory."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from bfsql_trials.agreement import assert_agreed
from hypothesis import given, settings
from hypothesis import strategies as st

from bfsql.errors import LoadRefused, StoreError
from bfsql.models import EdgeRecord, EvidenceRecord, GraphRecord, NodeRecord
from bfsql_sqlite import SqliteBackend, SqliteSettings, external_sort, load_graph
from bfsql_sqlite.external_sort import Sorter, SpillError
from bfsql_sqlite.staged_graph import _Order

KEYS = st.lists(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 3), max_size=9), max_size=9)


@given(KEYS)
@settings(deadline=None)
@pytest.mark.usefixtures("short_runs")
def test_rows_come_in_order_with_all_their_columns(added: list[list[int]]) -> None:
    with TemporaryDirectory() as folder:
        alone, paired = Sorter(Path(folder), "alone"), Sorter(Path(folder), "paired")
        count = 0
        for keys in added:
            column = np.array(keys, np.uint64)
            alone.add(column)
            paired.add(column, np.arange(count, count + len(keys)))
            count += len(keys)
        everything = [key for keys in added for key in keys]
        assert [k for (chunk,) in alone.chunks() for k in chunk.tolist()] == sorted(everything)
        pairs = [
            pair
            for chunk in paired.chunks()
            for pair in zip(*map(np.ndarray.tolist, chunk), strict=True)
        ]
        assert [key for key, _ in pairs] == sorted(everything)
        assert sorted(place for _, place in pairs) == list(range(count))
        assert all(everything[place] == key for key, place in pairs)


@pytest.fixture
def short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external_sort, "RUN", 7)
    monkeypatch.setattr(external_sort, "BLOCK", 3)


def test_a_run_that_cannot_be_written_is_an_error(tmp_path: Path, short_runs: None) -> None:
    with pytest.raises(SpillError, match="No such file"):
        Sorter(tmp_path / "nowhere", "rows").add(np.arange(8, dtype=np.uint64))


RECORDS: list[GraphRecord] = [
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


async def test_edges_that_are_sorted_on_disk_are_the_same(file: Path, short_runs: None) -> None:
    report = await load_graph(SqliteSettings(path=file), RECORDS)
    backend = await SqliteBackend.create(path=file, connections=1)
    try:
        await assert_agreed(backend, RECORDS)
    finally:
        await backend.close()
    assert report.dangling_edges > 0
    assert report.dangling_examples == ["n40"]
    assert sorted(path.name for path in file.parent.iterdir()) == ["graph.db"]


async def test_no_room_for_sorting_is_told_and_leaves_nothing(
    file: Path, short_runs: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise SpillError("No space left on device")

    monkeypatch.setattr(Sorter, "_spill", full)
    with pytest.raises(StoreError, match=r"graph\.db cannot be written: No space left"):
        await load_graph(SqliteSettings(path=file), RECORDS)
    assert list(file.parent.iterdir()) == []


def test_a_graph_with_more_nodes_than_can_be_numbered_is_refused() -> None:
    with pytest.raises(LoadRefused, match="2,000 predicates between 2,000,000,000 nodes"):
        _Order(2_000_000_000, 2_000)
