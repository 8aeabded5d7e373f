"""What is this backend's own: its file."""

from pathlib import Path

import pytest

from bfsql.errors import StoreError
from bfsql.models import EdgeRecord, EvidenceRecord, LoadMode, LoadOptions, NodeRecord
from bfsql_early import EarlyBackend, EarlySettings
from bfsql_early.loader import load_graph

EXAMPLE = Path(__file__).parent.parent / "example.json"


async def test_the_example_can_be_read() -> None:
    backend = await EarlyBackend.create(path=EXAMPLE)
    assert await backend.entity_types() == ["Drink", "Ingredient"]


async def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"gone\.json cannot be read: .* Check --path"):
        await EarlyBackend.create(path=tmp_path / "gone.json")


async def test_what_is_no_graph_is_neither_read_nor_replaced(tmp_path: Path) -> None:
    path = tmp_path / "diary.json"
    path.write_text('"Dear diary"', encoding="utf-8")
    with pytest.raises(StoreError, match="is no graph"):
        await load_graph(EarlySettings(path=path), [])
    assert path.read_text(encoding="utf-8") == '"Dear diary"'


async def test_a_load_tells_what_it_did(tmp_path: Path) -> None:
    report = await load_graph(
        EarlySettings(path=tmp_path / "graph.json"),
        [
            NodeRecord("tea", "Drink", {"name": "Tea"}),
            NodeRecord("tea", "Drink", {"name": "Cha"}),
            EdgeRecord("tea", "MADE_OF", "water"),
            EvidenceRecord("tea", "MADE_OF", "water", {"text_span": "Boil it."}),
            EvidenceRecord("tea", "MADE_OF", "sand", {"text_span": "Never."}),
        ],
    )
    assert (report.nodes, report.edges, report.evidence) == (1, 1, 1)
    assert (report.duplicate_nodes, report.unattached_evidence) == (1, 1)
    assert (report.dangling_edges, report.dangling_examples) == (1, ["water"])


async def test_a_graph_that_is_there_stays_or_takes_what_is_new(tmp_path: Path) -> None:
    settings = EarlySettings(path=tmp_path / "graph.json")
    tea = [NodeRecord("tea", "Drink"), NodeRecord("water", "Ingredient")]
    await load_graph(settings, [*tea, EdgeRecord("tea", "MADE_OF", "water")])
    with pytest.raises(StoreError, match=r"--replace .* or --append"):
        await load_graph(settings, tea, LoadOptions())
    append = LoadOptions(
        LoadMode.APPEND, remove=[NodeRecord("water", ""), NodeRecord("wine", "")], create_nodes=True
    )
    report = await load_graph(settings, [EdgeRecord("milk", "GOES_WITH", "tea")], append)
    assert (report.nodes, report.edges, report.created_examples) == (2, 1, ["milk"])
    assert (report.removed_nodes, report.removed_edges) == (1, 1)
    assert report.not_there_examples == ["wine"]
