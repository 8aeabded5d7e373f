"""The outline of a graph in a database."""

import pytest

from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, NodeRecord
from bfsql_postgres import outline
from bfsql_test_support.case_table import case_table

RECORDS = [
    *(NodeRecord(f"t{i:03}", "Trial", {"name": f"t{i}", "phase": i % 3}) for i in range(60)),
    NodeRecord("d", "Disease", {"name": "Gout"}),
    NodeRecord("odd", "", {"name": "untyped"}),
    *(EdgeRecord(f"t{i:03}", "studies", "d", {"weight": i / 10}) for i in range(40)),
    EdgeRecord("t001", "studies", "d", {"weight": 0.1}),
    EdgeRecord("odd", "is", "d"),
    EdgeRecord("t001", "studies", "nobody"),
]


def counts(found):
    return dict(found.node_counts), list(found.relations)


async def test_counts_and_properties_are_those_of_the_records(load, opened):
    await load(RECORDS)
    found = await (await opened()).outline()
    wanted = await MemoryBackend(RECORDS).outline()
    assert found == wanted


@pytest.fixture
async def large(load, owner, monkeypatch):
    """The records in tables that count as large."""
    await load(RECORDS)
    for (table,) in await owner.fetch(
        "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace "
        "AND relkind = 'r'"
    ):
        await owner.execute(f'ANALYZE "{table}"')
    monkeypatch.setattr(outline, "COUNT_LIMIT", 10)
    monkeypatch.setattr(outline, "SAMPLE_ROWS", 1)


async def test_large_tables_are_counted_as_a_whole(large, opened):
    found = await (await opened()).outline()
    wanted = await MemoryBackend(RECORDS).outline()
    assert counts(found) == counts(wanted)
    assert found.relations_from == "all"


@case_table("pooled", [False, True])
async def test_relations_of_large_tables_that_take_too_long_are_a_sample_without_numbers(
    large, opened, pooled, monkeypatch
):
    monkeypatch.setattr(outline, "SAMPLE_ROWS", 200_000)  # all blocks of so few rows are drawn
    found = await (await opened(pooled=pooled, schema_timeout=1e-6)).outline()
    wanted = await MemoryBackend(RECORDS).outline()
    assert found.relations_from == "sample"
    assert found.node_counts == {}
    assert found.relations == [one._replace(edges=None) for one in wanted.relations]
