"""The outline of a graph in a database."""

from __future__ import annotations

from typing import Any

import asyncpg

from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, NodeRecord, Outline
from bfsql_postgres import outline

RECORDS = [
    *(NodeRecord(f"t{i:03}", "Trial", {"name": f"t{i}", "phase": i % 3}) for i in range(60)),
    NodeRecord("d", "Disease", {"name": "Gout"}),
    NodeRecord("odd", "", {"name": "untyped"}),
    *(EdgeRecord(f"t{i:03}", "studies", "d", {"weight": i / 10}) for i in range(40)),
    EdgeRecord("t001", "studies", "d", {"weight": 0.1}),
    EdgeRecord("odd", "is", "d"),
    EdgeRecord("t001", "studies", "nobody"),
]


def counts(found: Outline) -> tuple[Any, ...]:
    return dict(found.node_counts), list(found.relations)


async def test_counts_and_properties_are_those_of_the_records(load, opened):
    await load(RECORDS)
    found = await (await opened()).outline()
    wanted = await MemoryBackend(RECORDS).outline()
    assert found == wanted


async def test_of_large_tables_blocks_are_drawn_and_the_outline_is_a_sample(
    load, opened, owner: asyncpg.Connection, monkeypatch
):
    await load(RECORDS)
    for (table,) in await owner.fetch(
        "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace "
        "AND relkind = 'r'"
    ):
        await owner.execute(f'ANALYZE "{table}"')
    monkeypatch.setattr(outline, "COUNTED", 10)
    found = await (await opened()).outline()
    wanted = await MemoryBackend(RECORDS).outline()
    assert found.sampled
    assert counts(found) == counts(wanted), "all blocks of so few rows are drawn"
