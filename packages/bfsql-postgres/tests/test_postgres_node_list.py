"""Entities by type and properties: what the database leaves out never meets the conditions."""

from contextlib import aclosing

import asyncpg
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as settings_
from hypothesis import strategies as st

from bfsql import call
from bfsql.memory import MemoryBackend
from bfsql.models import NodeRecord
from bfsql.models.condition import PropertyCondition
from bfsql_postgres import PostgresBackend, connection, indexes, load_graph, node_list
from bfsql_postgres.indexes import prepare
from bfsql_test_support.case_table import case_table
from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.listings import assert_listed, graph_of
from bfsql_test_support.nasty_values import (
    LITERALS,
    NOT_UNICODE,
    OPERATORS,
    TEXTS,
    VALUES,
    every_condition,
    nodes_of,
)


def by_record(records):
    """What the reference says of each node."""
    memory = MemoryBackend(records)
    return {i: (memory._types[i], memory._node_metadata[i]) for i in memory._types}


# --- kgraph's tables -----------------------------------------------------------------


@pytest.fixture(scope="module")
def nasty():
    """A node for each value, in JSON and in a column."""
    return nodes_of([*VALUES, None, *NOT_UNICODE])


@case_table("kind", ["json", "jsonb"])
@case_table("key", ["x", "name", "synonyms"])
async def test_no_entity_that_meets_a_condition_is_left_out(  # noqa: PLR0917
    settings, owner, opened, nasty, kind, key
):
    await load_graph(settings, nasty)
    if kind == "jsonb":
        await owner.execute("DELETE FROM entity WHERE properties::text LIKE '%\\\\u%'")
        await owner.execute("ALTER TABLE entity ALTER properties TYPE jsonb")
    backend = await opened()
    ids = [row[0] for row in await owner.fetch("SELECT entity_id FROM entity")]
    graph = by_record(nasty) if kind == "json" else await graph_of(backend, ids)
    if kind == "json":
        assert sorted(graph) == sorted(ids)
    for condition in every_condition(key):
        await assert_listed(backend, graph, [condition])


# --- tables of one's own -------------------------------------------------------------

COLUMNS = {
    "txt": ("text", TEXTS),
    "short": ("varchar(300)", [one for one in TEXTS if len(one) <= 300]),
    "padded": ("char(20)", [one for one in TEXTS if len(one) <= 20]),
    "flag": ("bool", ["true", "false"]),
    "whole": ("int", ["0", "-1", "7", "2003", "2004", "2005", "2147483647"]),
    "big": ("bigint", ["0", "2004", "9007199254740993", "9223372036854775807", "-5"]),
    "real": ("float4", ["0.1", "2004", "NaN", "Infinity", "1e30", "15", "-0"]),
    "double": ("float8", ["0.1", "2004", "NaN", "-Infinity", "1e300", "15", "5e-324", "7"]),
    "exact": (
        "numeric",
        ["0.1", "2004", "NaN", "1e400", "1e-400", "15.0", "0.1000000000000000055511", "7",
         "9007199254740993", "1e70", "2004.0000000000000000001", "10000000000000001"],
    ),
    "day": (
        "date",
        ["2004-05-06", "2004-01-01", "0001-01-01", "9999-12-31", "10000-01-01", "infinity",
         "-infinity", "2004-12-31", "2005-01-01", "0044-03-15 BC", "2004-05-31", "2004-04-30"],
    ),
    "moment": (
        "timestamp",
        ["2004-05-06 10:20:30.25", "2004-05-06 10:20", "2005-01-01", "2004-12-31 23:59:59.999999",
         "2004-05-06 10:20:30.5", "infinity", "9999-12-31 23:59:59"],
    ),
    "zoned": (
        "timestamptz",
        ["2004-05-06 10:20:30.25Z", "2004-05-06 12:20+02", "2005-01-01+02", "2004-12-31 23:30-02",
         "2004-05-05 22:30Z"],
    ),
    "clock": ("time", ["10:20", "23:59:59.5"]),
    "took": ("interval", ["1 day", "2004 years"]),
    "code": ("uuid", ["00000000-0000-0000-0000-000000002004"]),
    "hue": ("colour", ["red", "Ünal"]),
    "bits": ("bytea", [r"\x61"]),
    "words": ("text[]", ["{}", '{abc,NULL,"Ünal"}', "{{a},{12}}", "{2004-05-06}", "{' x'}"]),
    "figures": ("float8[]", ["{}", "{12,NaN}", "{2004}"]),
    "days": ("date[]", ["{2004-05-06}"]),
    "doc": (
        "jsonb",
        ["null", '"abc"', "12", "12.50", "2.004e3", "true", '["abc", 1.5]', "[]", '{"a": 1}',
         '"2004-05-06"', '"1.5"'],
    ),
    "raw": (
        "json",
        ["null", '"abc"', "1.5e1", "12.50", "1e400", "false", '["ab\\u0063"]', '"a\\u0000b"',
         '"\\ud800"', '"\\u00dcnal"', "2004", '"12"'],
    ),
}  # fmt: skip


@pytest.fixture
async def columns(owner):
    """A table with a column of each type, and a row for each value."""
    await owner.execute("CREATE TYPE colour AS ENUM ('red', 'Ünal')")
    listed = ", ".join(f"{name} {kind}" for name, (kind, _) in COLUMNS.items())
    await owner.execute(f"CREATE TABLE things (id serial PRIMARY KEY, kind text, {listed})")
    await owner.execute("CREATE TABLE links (subject int, object int)")
    await owner.execute("INSERT INTO things (kind) VALUES (NULL), (''), ('T')")
    for name, (kind, values) in COLUMNS.items():
        await owner.execute(
            f"INSERT INTO things (kind, {name}) "
            f"SELECT 'T', value::{kind} FROM unnest($1::text[]) AS value",
            [value for value in values if "\0" not in value],
        )


@case_table("key", list(COLUMNS))
async def test_no_row_of_any_type_that_meets_a_condition_is_left_out(columns, owner, opened, key):
    backend = await opened(nodes="things: type=kind", edges="links")
    ids = [row[0] for row in await owner.fetch("SELECT id::text FROM things")]
    graph = await graph_of(backend, ids)
    # Everyday runs compare each literal with every other column.
    some = LITERALS if THOROUGH else LITERALS[[*COLUMNS].index(key) % 2 :: 2]
    for condition in every_condition(key, some):
        await assert_listed(backend, graph, [condition])
    both = [PropertyCondition(key, "has"), PropertyCondition("txt", "lacks")]
    await assert_listed(backend, graph, both, ["T"])
    await assert_listed(backend, graph, [], ["owl:Thing", "\0"])


# --- indexes ---------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["x", "name"])
async def test_an_index_on_a_property_is_proposed_used_and_leaves_nothing_out(  # noqa: PLR0917
    settings, owner, opened, nasty, key, monkeypatch
):
    monkeypatch.setattr(indexes, "SCAN_LIMIT", 1)
    await load_graph(settings, nasty)
    await owner.execute("ANALYZE entity")
    proposed = await prepare(settings, apply=True)
    assert len([one for one in proposed if f"'{key}'" in one or f'"{key}"' in one]) >= 1
    assert await prepare(settings, apply=False) == []
    backend = await opened()
    graph = by_record(nasty)
    for condition in every_condition(key):
        await assert_listed(backend, graph, [condition])
    assert backend.filters_exactly(PropertyCondition(key, "=", ("abc",)))
    plans = await plans_of(backend, owner, every_condition(key)[:2] + parts_of(key))
    assert all("Seq Scan" not in plan and "Index" in plan for plan in plans), plans


async def test_several_conditions_by_indexes_leave_nothing_out_and_repeat_nothing(
    settings, owner, opened, nasty, monkeypatch
):
    monkeypatch.setattr(indexes, "SCAN_LIMIT", 1)
    await load_graph(settings, nasty)
    await owner.execute("ANALYZE entity")
    await prepare(settings, apply=True)
    backend, graph = await opened(), by_record(nasty)
    for step in (7, 11, 13):
        for both in zip(every_condition("x")[::step], every_condition("name"), strict=False):
            await assert_listed(backend, graph, both, ["T"] if step == 7 else None)
            await assert_listed(backend, graph, [*both, PropertyCondition("synonyms", "has")])


def parts_of(key):
    """Parts of a text, which trigrams find for names."""
    return [PropertyCondition(key, "~", ("abcd",))] if key == "name" else []


async def plans_of(backend, owner, conditions):
    """How the server lists the nodes that meet a condition, if a scan is out of the question."""
    await owner.execute("SET enable_seqscan = off; SET search_path = pg_catalog")
    found = []
    for condition in conditions:
        [(selection, values)] = backend._list.statements(None, [condition])
        rows = await owner.fetch(f"EXPLAIN {selection.rows.statement}", *values)
        found.append("\n".join(row[0] for row in rows))
    return found


async def test_ordinary_columns_are_compared_by_their_own_indexes(columns, owner, opened):
    for key in ("whole", "double", "exact", "day", "moment", "zoned"):
        await owner.execute(f"CREATE INDEX ON things ({key})")
    backend = await opened(nodes="things: type=kind", edges="links")
    keys = ("whole", "double", "exact", "day", "moment", "zoned")
    plans = await plans_of(
        backend, owner, [PropertyCondition(key, ">=", ("2004",)) for key in keys]
    )
    assert all("Seq Scan" not in plan for plan in plans), plans


async def test_most_of_what_does_not_meet_a_condition_stays_in_the_database(settings, opened):
    records = [
        NodeRecord(f"n{i}", "T", {"name": f"Name {i}", "year": 1900 + i, "day": f"20{i}-05-06"})
        for i in range(10, 100)
    ]
    await load_graph(settings, records)
    backend, graph = await opened(), by_record(records)
    for key, operator, value in [
        ("name", "=", "name 20"),
        ("name", "~", "name 2"),
        ("name", ">=", "name 5"),
        ("year", "=", "1950"),
        ("year", ">", "1980"),
        ("day", "=", "2050-05"),
        ("none", "has", ""),
        ("name", "lacks", ""),
    ]:
        condition = PropertyCondition(key, operator, (value,) if value else ())
        assert await assert_listed(backend, graph, [condition]) <= 1, condition
    both = [PropertyCondition("year", ">=", ("1950",)), PropertyCondition("name", "~", ("5",))]
    assert await assert_listed(backend, graph, both, ["T"]) == 0
    assert await assert_listed(backend, graph, [], ["U"]) == 0


@case_table(
    ("value", "values", "certain"),
    [
        ("142", [142, 142.5, "143", "1.5e2", " 144", [145], "abc", None], {1, 2, 3}),
        ("abc", ["abc", "ABC", "abcd", " abc", ["abc"], 12, None], {0, 1}),
    ],
)
async def test_a_scan_compares_only_rows_again_that_are_not_certain(
    settings, opened, value, values, certain
):
    records = [NodeRecord(f"n{i}", "T", {"x": one}) for i, one in enumerate(values)]
    await load_graph(settings, records)
    backend = await opened()
    condition = PropertyCondition("x", ">" if value.isdigit() else "=", (value,))
    assert backend.filters_exactly(condition)
    assert await assert_listed(backend, by_record(records), [condition]) == 0
    [(selection, sent)] = backend._list.statements(None, [condition])
    rows = await backend._list._pool.fetch(selection.rows.statement, *sent)
    without_properties = [row for row in rows if row[2] == node_list._DECIDED]
    assert {row[0] for row in without_properties} == {f"n{i}" for i in certain}
    assert len(rows) > len(certain)
    assert not any(any(row[3:]) for row in without_properties)


async def test_the_server_keeps_its_plans_of_lists_by_one_value_and_by_a_part_of_a_name(
    settings, owner, opened
):
    records = [NodeRecord(f"n{i}", "T", {"name": f"Name {i}"}) for i in range(50_000)]
    await load_graph(settings, records)
    await prepare(settings, apply=True)
    await owner.execute("ANALYZE entity")
    backend = await opened()
    for operator in ("=", "~"):
        condition = PropertyCondition("name", operator, ("name 4057",))
        for _ in range(7):  # five with a plan for this value
            assert await assert_listed(backend, by_record(records), [condition]) == 0
    plans = await backend._list._pool.fetch(
        "SELECT generic_plans FROM pg_prepared_statements WHERE statement LIKE 'WITH found%'"
    )
    assert [row[0] for row in plans] == [2, 2]


@pytest.mark.parametrize("indexed", [True, False])
async def test_json_that_becomes_unreadable_later_is_no_error(settings, owner, opened, indexed):
    await load_graph(settings, [NodeRecord(f"n{i}", "T", {"x": f"text {i}"}) for i in range(5)])
    if not indexed:
        partial = "indrelid = 'entity'::regclass AND indpred IS NOT NULL"
        name = await owner.fetchval(f"SELECT indexrelid::regclass FROM pg_index WHERE {partial}")
        await owner.execute(f"DROP INDEX {name}")
    backend = await opened()
    condition = PropertyCondition("x", "=", ("text 3",))
    [(selection, _)] = backend._list.statements(None, [condition])
    assert ("count(*) > 0" in selection.rows.statement) == indexed
    for _ in range(2):
        stream = backend.nodes_stream(conditions=[condition])
        found = [node async for batch in stream for node in batch]
        assert [node.id for node in found] == ["n3"]
        await owner.execute(
            "UPDATE entity SET properties = '{\"x\": \"\\u0000\"}' WHERE entity_id = 'n1'"
        )


# --- several rows of a node ----------------------------------------------------------------

ROWS = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.sampled_from(["T", "U", "", None]),
        st.sampled_from(["abc", "Ünal", "12", None]),
        st.none() | st.integers(0, 3),
        st.sampled_from([["abc"], ["x", "Y"], [], None]),
    ),
    max_size=10,
)
CONDITIONS = st.lists(
    st.builds(
        PropertyCondition,
        st.sampled_from(["name", "whole", "synonyms", "other_types", "none"]),
        st.sampled_from(OPERATORS),
        st.lists(
            st.sampled_from(["abc", "unal", "12", "1", "2", "x", "T"]), min_size=1, max_size=2
        ).map(tuple),
    ),
    max_size=3,
)
TYPES = st.none() | st.sets(st.sampled_from(["T", "U", "owl:Thing", "z"]), max_size=2)


@given(first=ROWS, second=ROWS, listings=st.lists(st.tuples(CONDITIONS, TYPES), max_size=4))
@settings_(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
@pytest.mark.parametrize("collation", ['"C"', '"default"'])
async def test_an_entity_of_several_rows_meets_conditions_by_all_of_them(
    database, collation, first, second, listings
):
    async with database.schema() as schema:
        owner = await asyncpg.connect(database.owner_url, server_settings={"search_path": schema})
        for table, rows in (("a", first), ("b", second)):
            of = collation if table == "a" else '"C"'
            await owner.execute(
                f"CREATE TABLE {table} (id text COLLATE {of}, kind text, name text, whole int, "
                "also text[])"
            )
            await owner.executemany(
                f"INSERT INTO {table} VALUES ($1, $2, $3, $4, $5)",
                [(f"n{number}", *rest) for number, *rest in rows],
            )
        await owner.execute("CREATE TABLE links (subject text, object text)")
        await owner.close()
        backend = await PostgresBackend.create(
            database.reader_url,
            schema=schema,
            nodes=["a: type=kind, aliases=also", "b: type=kind, aliases=also"],
            edges=["links"],
        )
        try:
            graph = await graph_of(backend, [f"n{number}" for number in range(5)])
            for conditions, types in listings:
                await assert_listed(backend, graph, conditions, types)
        finally:
            await backend.close()


@case_table(
    ("key", "written", "asks"),
    [
        ("whole", "3", False),
        ("label", "a", False),
        ("flag", "true", False),
        ("none", "3", False),
        ("label", "3", True),
        ("whole", "a", True),
    ],
)
async def test_values_of_other_kinds_are_not_asked_for_where_the_type_of_a_column_excludes_them(
    database, schema, key, written, asks
):
    owner = await asyncpg.connect(database.owner_url, server_settings={"search_path": schema})
    await owner.execute("DROP TABLE IF EXISTS box, links")
    await owner.execute("CREATE TABLE box (id text PRIMARY KEY, whole int, label text, flag bool)")
    await owner.execute("CREATE TABLE links (subject text, object text)")
    await owner.close()
    tables = {"schema": schema, "nodes": ["box"], "edges": ["links"]}
    backend = await PostgresBackend.create(database.reader_url, **tables)
    unlike = PropertyCondition(key, "=", (written,)).unlike
    assert unlike is not None
    assert bool(backend._list.statements(["box"], [unlike])) == asks
    await backend.close()


# --- names and values stay data --------------------------------------------------------------


@case_table("pooled", {"direct": False, "pooled": True})
async def test_a_list_that_is_left_half_way_gives_its_connection_back(
    settings, opened, pooled, monkeypatch
):
    monkeypatch.setattr(connection, "BATCH", 10)
    monkeypatch.setattr(node_list, "SMALL", 5)
    await load_graph(settings, [NodeRecord(f"n{i:02}", "T", {"x": i}) for i in range(35)])
    backend = await opened(pooled=pooled, pool_size=1)
    for _ in range(3):
        async with aclosing(backend.nodes_stream()) as batches:
            async for nodes in batches:
                assert len(nodes) == 10
                break
    some = backend.nodes_stream(conditions=[PropertyCondition("x", ">=", ("20",))])
    assert [len(nodes) async for nodes in some] == [10, 5]
    for first, batches in ((30, [5]), (29, [6]), (35, [0])):  # in one round trip, and by a cursor
        few = backend.nodes_stream(conditions=[PropertyCondition("x", ">=", (str(first),))])
        found = [nodes async for nodes in few]
        assert list(map(len, found)) == batches
        assert {node.id for nodes in found for node in nodes} == {f"n{i}" for i in range(first, 35)}
    with call.scope(seconds=0), pytest.raises(TimeoutError):
        async for _ in backend.nodes_stream():
            pass
