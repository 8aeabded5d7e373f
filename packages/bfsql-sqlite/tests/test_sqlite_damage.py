"""Files that were damaged, or made to do harm: every call answers, or says so."""

import asyncio
import gc
import random
import sqlite3
import tracemalloc
from contextlib import closing, suppress

import pytest

from bfsql import open_graph
from bfsql.errors import StoreDamaged, StoreError, ToolError
from bfsql.models import EdgeRecord, EvidenceRecord, NodeRecord
from bfsql.models.load import LoadMode, LoadOptions
from bfsql_sqlite import SqliteSettings, load_graph
from bfsql_sqlite.connection import read_only
from bfsql_sqlite.queries import rows_for
from bfsql_test_support.case_table import case_table
from bfsql_test_support.depth import THOROUGH

APPEND = LoadOptions(LoadMode.APPEND)

CALLS = [
    ("describe_schema", {}),
    ("search_entities", {"query": "person 1"}),
    ("search_entities", {"query": "persn", "node_types": ["person"]}),
    ("bfs_query", {"seeds": ["p1"], "max_hops": 3, "fields": ["score"]}),
    ("bfs_query", {"seeds": ["person:*"], "where": ["score>2", "born<2001-01-01"]}),
    ("bfs_query", {"seeds": ["person:*"], "where": ["note~NOTE"], "facets": ["score", "note"]}),
    ("bfs_query", {"seeds": ["person:*"], "path": ["-KNOWS->", "-LIKES->"], "sort_by": "-score"}),
    ("describe_entity", {"id": "p1"}),
    ("describe_entities", {"ids": ["p1", "p2", "t1"]}),
    ("intersect_subgraphs", {"seeds": ["p1", "p2"], "k": 2}),
]
CHANGES = 40_000 if THOROUGH else 60
VALUES = [
    *(
        "-1",
        "1 << 40",
        "-(1 << 62)",
        "1.5",
        "''",
        "x'ff'",
        "zeroblob(9)",
        "'[1]'",
        "'{\"name\":1}'",
    ),
    *("CAST(x'ff41' AS TEXT)", "replace(hex(zeroblob(50000)), '0', '[')"),
    *("CAST({0} AS BLOB)", "substr({0}, 2)", "{0} || {0}"),
]
PAGE = 4096


def records():
    for i in range(40):
        known = {"name": f"Person {i}", "score": i % 7, "note": f"note {i}", "born": f"20{i:02}"}
        yield NodeRecord(f"p{i}", "person", known)
        yield NodeRecord(f"t{i}", "thing", {"tags": ["a", f"b{i}"], "name": f"Thing {i}"})
        yield EdgeRecord(f"p{i}", "KNOWS", f"p{i // 2}", {"since": i})
        yield EdgeRecord(f"p{i}", "LIKES", f"t{i // 3}")
        yield EvidenceRecord(
            f"p{i}", "LIKES", f"t{i // 3}", {"document_id": "t1", "text_span": "x"}
        )


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    """The content of a small graph file."""
    path = tmp_path_factory.mktemp("graph") / "graph.db"
    asyncio.run(load_graph(SqliteSettings(path=path), records()))
    return path.read_bytes()


async def complaints(path):
    """The errors of a file in all calls, each of which has to be one that its reader can act on."""
    found = []
    try:
        async with open_graph("sqlite", path=path, connections=1) as opened:
            for tool, arguments in CALLS:
                try:
                    await opened.call(tool, arguments)
                except ToolError as error:
                    cause = error.__cause__
                    if error.kind in ("internal", "store") and not isinstance(cause, StoreDamaged):
                        raise
                    found.append(str(cause or error))
    except StoreError as error:
        found.append(str(error))
    return found


def altered(path, content, *statements):
    """Write a graph, then change it by statements, where its constraints allow it."""
    path.write_bytes(content)
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            with suppress(sqlite3.IntegrityError):
                connection.execute(statement)
        connection.commit()


def columns(path):
    """Each table with each of its columns."""
    query = "SELECT m.name, c.name FROM sqlite_master AS m, pragma_table_info(m.name) AS c"
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(f"{query} WHERE m.type = 'table'").fetchall()


def flipped(path, content, chance):
    at, changed = chance.randrange(len(content)), bytearray(content)
    end = min(len(content), at + chance.choice([1, 8, 200]))
    changed[at:end] = chance.choice([b"\0", b"\xff", bytes([chance.randrange(256)])]) * (end - at)
    path.write_bytes(changed if chance.random() < 0.9 else changed[:at])


def overwritten(path, content, chance):
    path.write_bytes(content)
    table, column = chance.choice(columns(path))
    value, rest = (
        chance.choice(VALUES).replace("{0}", column),
        chance.choice(["", f" WHERE {column} > 2"]),
    )
    altered(path, content, f"UPDATE OR REPLACE {table} SET {column} = {value}{rest}")


@pytest.mark.slow
@case_table("damage", [flipped, overwritten])
async def test_every_call_on_a_damaged_file_answers_or_says_so(graph, tmp_path, damage):
    path, chance, noticed = tmp_path / "graph.db", random.Random(7), 0
    path.write_bytes(graph)
    assert await complaints(path) == []
    for number in range(CHANGES):
        path = tmp_path / f"{number}.db"
        damage(path, graph, chance)
        noticed += bool(await complaints(path))
        if number % 5 == 0:
            with suppress(StoreError):
                await load_graph(SqliteSettings(path=path), records(), options=APPEND)
    assert noticed > CHANGES / 20


@case_table(
    "statement",
    [
        "UPDATE offsets SET base = 1 << 60 WHERE k = 1",
        "UPDATE offsets SET base = -(1 << 60)",
        "UPDATE property SET size = 1 << 30",
        "UPDATE node SET n = 1 << 40 WHERE n = 3",
        "UPDATE type SET t = 1 << 40 WHERE t = 1",
        "UPDATE type SET name = 'zzz' WHERE t = 0",
        "UPDATE predicate SET name = x'ff' WHERE p = 0",
        "UPDATE node_types SET types = zeroblob(length(types) * 100)",
        "DELETE FROM predicate WHERE p = 0",
        "UPDATE meta SET value = '1' WHERE key = 'nodes'",
    ],
)
async def test_a_schema_that_cannot_be_is_said_and_takes_no_memory(graph, tmp_path, statement):
    path = tmp_path / "graph.db"
    altered(path, graph, statement)
    tracemalloc.start()
    try:
        complaint, *_ = await complaints(path)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()
    assert "is damaged and cannot be read as a graph" in complaint
    assert f"bfsql load SOURCE --path {path} --replace" in complaint


async def test_damaged_properties_fail_the_schema_that_would_show_them(graph, tmp_path):
    path = tmp_path / "graph.db"
    altered(path, graph, "UPDATE detail SET metadata = '[1]' WHERE n = 70")
    async with open_graph("sqlite", path=path) as opened:
        with pytest.raises(ToolError, match="is damaged, and has to be loaded again") as caught:
            await opened.describe_schema()
        assert isinstance(caught.value.__cause__, StoreDamaged)
        assert "person" in (await opened.describe_entity("p1")).text


def endless(content, table, path):
    """Make a table whose pages refer to each other, so that a scan of it has 300 ** 9 rows."""
    path.write_bytes(content)
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT rootpage FROM sqlite_master WHERE name = ?"
        (root,) = connection.execute(query, (table,)).fetchone()
    before = len(content) // PAGE
    pages, numbers = [], [*range(before + 1, before + 10)]
    for child in numbers:
        cells, count = child.to_bytes(4, "big") + b"\x01", 300  # the child, and a key
        places = [PAGE - 5 * number for number in range(1, count + 1)]
        header = b"\x05\0\0" + count.to_bytes(2, "big") + places[-1].to_bytes(2, "big") + b"\0"
        page = header + child.to_bytes(4, "big") + b"".join(at.to_bytes(2, "big") for at in places)
        pages.append(page.ljust(places[-1], b"\0") + cells * count)
    leaf = content[(root - 1) * PAGE : root * PAGE]
    changed = bytearray(content + b"".join([*pages[1:], leaf]))
    changed[(root - 1) * PAGE : root * PAGE] = pages[0]
    changed[28:32] = (len(changed) // PAGE).to_bytes(4, "big")
    path.write_bytes(changed)


@case_table("table", ["type", "predicate", "node_types", "property", "block"])
async def test_a_table_without_an_end_is_damage_and_not_a_call_that_hangs(graph, tmp_path, table):
    endless(graph, table, tmp_path / "graph.db")
    assert "is damaged" in (await complaints(tmp_path / "graph.db"))[0]


FOREIGN = {
    "view": "CREATE VIEW more AS SELECT randomblob(1000000000)",
    "trigger": "CREATE TRIGGER more AFTER INSERT ON node BEGIN DELETE FROM node; END",
    "virtual table": "CREATE VIRTUAL TABLE more USING fts5(text)",
    "table": "CREATE TABLE more (x)",
    "index": "CREATE INDEX more ON node (abs(t))",
    "column": "ALTER TABLE node ADD COLUMN more AS (zeroblob(1000000000))",
}


@case_table("statement", FOREIGN)
async def test_a_file_with_more_than_the_tables_of_a_graph_is_not_opened(
    graph, tmp_path, statement
):
    path = tmp_path / "graph.db"
    altered(path, graph, statement)
    [complaint] = await complaints(path)
    assert f"{path} was not made by bfsql, or was changed by another program: its " in complaint
    assert "Load it again: bfsql load SOURCE" in complaint
    with pytest.raises(StoreError, match="was not made by bfsql"):
        await load_graph(SqliteSettings(path=path), records(), options=APPEND)
    replace = LoadOptions(LoadMode.REPLACE)
    assert (await load_graph(SqliteSettings(path=path), records(), options=replace)).nodes == 80


def test_a_graph_is_opened_with_the_protections_of_sqlite(graph, tmp_path):
    (tmp_path / "graph.db").write_bytes(graph)
    with closing(read_only(tmp_path / "graph.db")) as connection:
        for pragma, value in (("trusted_schema", 0), ("cell_size_check", 1), ("query_only", 1)):
            assert connection.execute(f"PRAGMA {pragma}").fetchone() == (value,), pragma
        with pytest.raises(sqlite3.OperationalError, match="too many attached"):
            connection.execute("ATTACH ':memory:' AS other")
        endless_count = (
            "WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
        )
        with pytest.raises(sqlite3.OperationalError, match="interrupted"):
            connection.execute(endless_count).fetchone()


def test_rows_that_are_left_early_do_not_touch_a_closed_file(monkeypatch):
    raised = []
    monkeypatch.setattr("sys.unraisablehook", raised.append)
    connection = sqlite3.connect(":memory:")
    rows = rows_for(connection, lambda n: f"VALUES {', '.join(['(?)'] * n)}", [1, 2, 3])
    first = next(rows)
    connection.close()
    del rows
    gc.collect()
    assert (first, raised) == ((1,), [])
