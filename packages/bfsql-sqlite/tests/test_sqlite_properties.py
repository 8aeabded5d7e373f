"""Columns of properties: they select the nodes that the records select, whatever the values."""

import asyncio
import random
import sqlite3
import tempfile
from contextlib import closing, suppress
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bfsql import call
from bfsql.errors import StoreError
from bfsql.models import LoadMode, LoadOptions, NodeRecord, PropertyCondition
from bfsql.models.comparison import scalars
from bfsql.models.condition import Operator
from bfsql_sqlite import (
    SqliteBackend,
    SqliteSettings,
    integer_graph,
    load_graph,
    properties,
    property_spill,
    property_tables,
)
from bfsql_test_support.case_table import case_table

NUMBERS = [0, -0.0, 1, 1.0, 5, 5.5, 2004, 1e16, 1e-7, 10**20, 10**20 + 1, 10**60, -3, 1999]
DATES = ["2004", "2004-05", "2004-05-06", "2004-05-06T07:08:09.25Z", "2004-05-06 07:08+02:00"]
TEXTS = [
    "", " ", "Müller", "muller", "MULLER ", "a", "b", "ab|c", "aaa", "true", "True", "5", " 5.0 ",
    "05", "1e3", "\uff11\uff12", "12", "1\u200b2", "0004", "x\ny", "\0", "zebra", "\u017f",
    "1" * 150, "long " * 60,
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
LITERALS = [str(one) for one in (*NUMBERS, *DATES, *TEXTS)] + ["false", "u", "x", "10**20"]
WRITTEN = st.sampled_from(LITERALS)
CONDITIONS = st.builds(
    lambda key, operator, values: PropertyCondition(
        key, operator, () if operator in {"has", "lacks"} else tuple(values)
    ),
    KEYS | st.just("nowhere"),
    st.sampled_from(get_args(Operator)),
    st.lists(WRITTEN, min_size=1, max_size=2),
)
TYPES = st.none() | st.sets(st.sampled_from(["Trial", "Paper", "owl:Thing", "?"]))


async def selected(backend, types, conditions):
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


async def expected(backend, types, conditions):
    """By the records that the file has."""
    nodes = await backend.get_nodes_batch([f"n{i}" for i in range(10)])
    metadata = await backend.metadata_for_nodes_batch([node.id for node in nodes])
    return sorted(
        node.id
        for node in nodes
        if (types is None or node.entity_type in types)
        and all(one.holds(metadata[node.id]) for one in conditions)
    )


@given(
    RECORDS, st.lists(st.tuples(TYPES, st.lists(CONDITIONS, max_size=2)), min_size=20), st.data()
)
@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
async def test_columns_select_the_nodes_that_the_records_select(records, calls, data):
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
        backend = await SqliteBackend.create(path=path, connections=1)
        try:
            for types, conditions in calls:
                found = await selected(backend, types, conditions)
                assert found == await expected(backend, types, conditions), (types, conditions)
        finally:
            await backend.close()


@given(RECORDS, RECORDS)
@example([NodeRecord("n0", "T", {"\ud800": "a key that is no text"})], [])
@example(  # the values of a list that are met in another order
    [
        NodeRecord("n0", "Trial", {"": 0}),
        NodeRecord("n5", "Paper", {}),
        NodeRecord("n5", "Trial", {"year": 1, "Ä": 0}),
        NodeRecord("n1", "Paper", {"year": 1}),
    ],
    [
        NodeRecord("n0", "Trial", {"id": 0}),
        NodeRecord("n0", "Paper", {"year": 0, "name": 0, "Ä": None}),
        NodeRecord("n5", "Trial", {"year": 0.0, "": 0, "name": 0, "id": 0}),
    ],
)
@settings(deadline=None, max_examples=12, suppress_health_check=list(HealthCheck))
async def test_appending_makes_the_columns_of_one_load(first, more):
    with tempfile.TemporaryDirectory() as folder:
        together, appended = (SqliteSettings(path=Path(folder) / f"{n}.db") for n in range(2))
        await load_graph(together, [*first, *more])
        await load_graph(appended, first)
        await load_graph(appended, more, LoadOptions(LoadMode.APPEND))
        assert columns_of(together.path) == columns_of(appended.path)


def columns_of(path):
    """The content of the tables of properties."""
    with closing(sqlite3.connect(path)) as graph:
        keys = dict(graph.execute("SELECT k, key FROM property"))
        return [
            sorted((keys[at >> 32], at % (1 << 32), *map(repr, row)) for at, *row in rows)
            for table in ("property_value", "property_order", "property_code")
            for rows in [graph.execute(f"SELECT * FROM {table}")]
        ]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("properties") / "graph.db"
    records = [
        NodeRecord(f"n{i:05}", "T", {"year": i % 50, "name": f"Name {i}", "tags": ["a", f"t{i}"]})
        for i in range(5_000)
    ]
    asyncio.run(load_graph(SqliteSettings(path=path), records))
    return path


EVERY = [
    PropertyCondition("year", ">=", ("25",)),
    PropertyCondition("name", "~", ("name 4",)),
    PropertyCondition("name", "<", ("name 3",)),
    PropertyCondition("tags", "!=", ("t7",)),
    PropertyCondition("name", "lacks"),
]


@case_table("seed", range(8))
async def test_damaged_columns_give_an_error_of_the_store_or_an_answer(made, file, seed):
    chance = random.Random(seed)
    file.write_bytes(made.read_bytes())
    with closing(sqlite3.connect(file)) as graph:
        for table, column in (
            ("property_value", "texts"),
            ("property_value", "kinds"),
            ("property_order", "codes"),
            ("property_code", "codes"),
            ("property_code", "nodes"),
        ):
            rows = graph.execute(f"SELECT at, {column} FROM {table}").fetchall()
            for at, blob in rows:
                if blob is None or chance.random() < 0.5:
                    continue
                damaged = bytearray(blob)
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
                damaged = damaged[: chance.choice([len(damaged), len(damaged) - 1])]
                what = chance.choice([bytes(damaged), b"", 5])
                change = f"UPDATE {table} SET {column} = ? WHERE at = ?"
                graph.execute(change, (what, at))
        graph.commit()
    backend = await SqliteBackend.create(path=file, connections=1)
    for one in EVERY:
        with suppress(StoreError):
            found = [b async for b in backend.columns().nodes(None, [one])]
            assert all(batch.handles.max() < 5_000 for batch in found)
    await backend.close()


@case_table("size", ["many", -1, 1 << 40])
async def test_an_impossible_size_of_a_dictionary_is_an_error_of_the_store(made, file, size):
    file.write_bytes(made.read_bytes())
    with closing(sqlite3.connect(file)) as graph:
        graph.execute("UPDATE property SET size = ?", (size,))
        graph.commit()
    with pytest.raises(StoreError, match="damaged"):
        await SqliteBackend.create(path=file, connections=1)


async def test_a_deadline_stops_a_scan_of_records(made, file, monkeypatch):
    file.write_bytes(made.read_bytes())
    with closing(sqlite3.connect(file)) as graph:  # a property without a column
        graph.executescript("DELETE FROM property; DELETE FROM meta WHERE key = 'properties'")
    monkeypatch.setattr(integer_graph, "RECORDS", 1)
    backend = await SqliteBackend.create(path=file, connections=1)
    with call.scope(seconds=0.1), pytest.raises(TimeoutError):
        _ = [batch async for batch in backend.columns().nodes(None, EVERY[:1])]
    assert sum([len(b.handles) async for b in backend.columns().nodes({"T"})]) == 5_000
    await backend.close()


@given(RECORDS)
@settings(deadline=None, max_examples=12, suppress_health_check=list(HealthCheck))
async def test_columns_have_the_values_of_the_records(records):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.db"
        await load_graph(SqliteSettings(path=path), records)
        backend = await SqliteBackend.create(path=path)
        try:
            graph = backend.columns()
            handles = np.arange(graph.size, dtype=np.int32)[::-1].copy()
            ids = await graph.ids(handles)
            metadata = await backend.metadata_for_nodes_batch(ids)
            for key in ["year", "name", "Ä", "", "id", "nowhere"]:
                wanted = [scalars(metadata[i].get(key)) for i in ids]
                values = await graph.property_values(handles, key)
                if values is not None:
                    assert repr([scalars(value) for value in values]) == repr(wanted)
                else:  # a list, an object, or a text that is too long
                    known = [metadata[i].get(key) for i in ids]
                    assert any(isinstance(one, dict | list | str) for one in known)
        finally:
            await backend.close()
