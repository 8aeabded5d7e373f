"""Columns of properties: they select the nodes that the records select, whatever the values."""
# ruff: noqa: ASYNC240 - a test waits for its files

import asyncio
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bfsql import call
from bfsql.errors import StoreError
from bfsql.models import NodeRecord, PropertyCondition
from bfsql.models.condition import Operator
from bfsql.models.load import LoadMode, LoadOptions
from bfsql_sqlite import (
    SqliteBackend,
    SqliteSettings,
    integer_graph,
    load_graph,
    properties,
    property_spill,
    property_tables,
)

NUMBERS = [0, -0.0, 1, 1.0, 5, 5.5, 2004, 1e16, 1e-7, 10**20, 10**20 + 1, 10**60, -3, 1999]
DATES = ["2004", "2004-05", "2004-05-06", "2004-05-06T07:08:09.25Z", "2004-05-06 07:08+02:00"]
TEXTS = [
    "", " ", "Müller", "muller", "MULLER ", "a", "b", "ab|c", "aaa", "true", "True", "5", " 5.0 ", "05",
    "1e3", "１２", "12", "1\u200b2", "0004", "x\ny", "\0", "zebra", "ſ", "1" * 150, "long " * 60,
    "9" * 250, "éclair", "100000000000000000001", "\ud800", "NaN", "1999-12-31", "24/08/2017",
]  # fmt: skip
SCALARS = st.sampled_from([*NUMBERS, *DATES, *TEXTS, True, False])
VALUES = (
    SCALARS
    | st.none()
    | st.floats(width=32)
    | st.text(max_size=3)
    | st.lists(SCALARS, max_size=3)
    | st.sampled_from([{}, {"a": 1}, [{"a": 5}, "a"], [0.5] * 9, list(range(120)), [["a"], 5]])
)
KEYS = st.sampled_from(["year", "name", "Ä", "", "id"])
RECORDS = st.lists(
    st.builds(
        NodeRecord,
        st.integers(0, 9).map("n{}".format),
        st.sampled_from(["Trial", "Paper", ""]),
        st.dictionaries(KEYS, VALUES, max_size=4),
    ),
    min_size=1,
    max_size=12,
)
WRITTEN = st.sampled_from([str(one) for one in (*NUMBERS, *DATES, *TEXTS)] + ["false", "u", "x"])
CONDITIONS = st.builds(
    lambda key, operator, values: PropertyCondition(
        key, operator, () if operator in {"has", "lacks"} else tuple(values)
    ),
    KEYS | st.just("nowhere"),
    st.sampled_from(get_args(Operator)),
    st.lists(WRITTEN, min_size=1, max_size=2),
)
TYPES = st.none() | st.sets(st.sampled_from(["Trial", "Paper", "owl:Thing", "?"]))


async def selected(
    backend: SqliteBackend, types: Any, conditions: list[PropertyCondition]
) -> list[str]:
    graph = backend.columns()
    ids = []
    async for batch in graph.nodes(types, conditions):
        assert batch.types.tolist() == (await graph.types(batch.handles)).tolist()
        ids += await graph.ids(batch.handles)
    streamed = [
        node
        async for nodes in backend.nodes_stream(entity_types=types, conditions=conditions)
        for node in nodes
    ]
    assert sorted(node.id for node in streamed) == sorted(ids)
    assert sorted(streamed) == sorted(await backend.get_nodes_batch(ids))
    return sorted(ids)


async def expected(
    backend: SqliteBackend, types: Any, conditions: list[PropertyCondition]
) -> list[str]:
    """By the records that the file has."""
    nodes = await backend.get_nodes_batch([f"n{i}" for i in range(10)])
    metadata = await backend.metadata_for_nodes_batch([node.id for node in nodes])
    return sorted(
        node.id
        for node in nodes
        if (types is None or node.entity_type in types)
        and all(one.holds(metadata[node.id]) for one in conditions)
    )


@given(RECORDS, st.lists(st.tuples(TYPES, st.lists(CONDITIONS, max_size=2)), min_size=20), st.data())
@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
async def test_columns_select_the_nodes_that_the_records_select(
    records: list[NodeRecord], calls: list[Any], data: st.DataObject
) -> None:
    older = data.draw(st.booleans())
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(property_spill, "MOST_VALUES", data.draw(st.sampled_from([1, 500_000])))
        patch.setattr(property_spill, "MOST_PAIRS", data.draw(st.sampled_from([1, 2_000_000])))
        patch.setattr(property_spill, "KEYS", data.draw(st.sampled_from([2, 2_000])))
        for name, small in (("VALUES", 2), ("NODES", 4), ("ROWS", 1)):
            if data.draw(st.booleans()):
                for module in (property_tables, properties, integer_graph):
                    patch.setattr(module, name, small, raising=False)
        patch.setattr(properties, "FEW_HITS", data.draw(st.sampled_from([0, 1_000])))
        path = Path(folder) / "graph.db"
        await load_graph(SqliteSettings(path=path), records)
        if older:
            make_older(path)
        backend = await SqliteBackend.create(path=path, connections=1)
        try:
            for types, conditions in calls:
                found = await selected(backend, types, conditions)
                assert found == await expected(backend, types, conditions), (types, conditions)
        finally:
            await backend.close()


def make_older(path: Path) -> None:
    """Give a file the layout 3, which has no columns."""
    with closing(sqlite3.connect(path)) as graph:
        for table in ("property", "property_value", "property_order", "property_code"):
            graph.execute(f"DROP TABLE {table}")
        graph.execute("DELETE FROM meta WHERE key = 'properties'")
        graph.execute("PRAGMA user_version = 3")
        graph.commit()
