"""Files of SQLite, DuckDB, Excel and Parquet as tables: which there are, and their rows."""

import datetime as dt
import gzip
import os
import sqlite3
import struct
import sys
import zipfile
from contextlib import closing, nullcontext, suppress
from decimal import Decimal

import duckdb
import pytest

from bfsql.errors import SourceError
from bfsql.sources import database_files, workbook
from bfsql.sources.relational import Column, ForeignKey, files_in, open_relational
from bfsql_test_support.case_table import case_table
from bfsql_test_support.northwind import northwind
from bfsql_test_support.relational_files import WRITERS, sheet
from bfsql_test_support.relational_files import workbook as write_workbook

LONG = "a" * 100_000


def tables_of(path):
    """Name to table, and to its rows."""
    sources = [open_relational(one) for one in (files_in(path) if path.is_dir() else [path])]
    try:
        tables = {table.name: table for source in sources for table in source.tables}
        return tables, {name: [*table.rows()] for name, table in tables.items()}
    finally:
        for source in sources:
            source.close()


def written(value):
    """A value as a CSV file has it; whole floats are integers in Excel."""
    if isinstance(value, str) and value.endswith(".0"):
        return value[:-2]
    whole = isinstance(value, float) and value.is_integer()
    return "" if value is None else str(int(value) if whole else value)


def database(path, *statements):
    connection = (duckdb if path.suffix == ".duckdb" else sqlite3).connect(path)
    with closing(connection):
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return path


@case_table("form", [form for form in WRITERS if form != "csv"])
def test_the_rows_are_those_of_the_same_tables_as_csv(tmp_path, form):
    tables = northwind()
    _, expected = tables_of(WRITERS["csv"](tmp_path / "csv", tables))
    found, rows = tables_of(WRITERS[form](tmp_path / form, tables))
    for name, table in tables.items():
        assert [column.name for column in found[name].columns] == [*table.rows[0]]
        assert sorted([*map(written, row)] for row in rows[name]) == sorted(
            [*map(written, row)] for row in expected[name]
        )
        if form in {"sqlite", "duckdb"}:
            assert found[name].key == table.key
            declared = {(one.columns, one.table) for one in found[name].foreign_keys}
            assert declared == {((c,), of) for c, (of, _) in table.references.items()}
            assert all(one.referred == tables[one.table].key for one in found[name].foreign_keys)


SQLITE = """
CREATE TABLE kinds (k INTEGER PRIMARY KEY, flag BOOLEAN, born DATE, at DATETIME, odd DATETIME,
    price DECIMAL(9, 2), tags JSON, photo BLOB, loose, length AS (k * 2), "a ""b"" c" TEXT);
INSERT INTO kinds VALUES (1, 1, '2020-02-29', '2020-01-01 10:00:00', 20, 1.25, '{"a": [1]}', x'FF',
    x'00', 'é'), (2, 7, '12020-01-01', NULL, 'soon', 'n/a', '[', NULL, 'text', NULL);
CREATE TABLE parts (a TEXT, b TEXT, KINDS int REFERENCES Kinds, gone REFERENCES missing,
    PRIMARY KEY (b, a)) WITHOUT ROWID;
CREATE TABLE [empty] (x REFERENCES kinds(K));
CREATE VIEW doubled AS SELECT k, length FROM kinds;
CREATE VIRTUAL TABLE search USING fts5(word);
CREATE TABLE search_terms (t);
"""


def test_a_sqlite_file_has_its_declared_keys_types_and_views(tmp_path):
    path = database(tmp_path / "a.db", *SQLITE.split(";\n"))
    tables, rows = tables_of(path)
    assert [*rows] == ["kinds", "parts", "empty", "doubled", "search_terms"]
    moment = dt.datetime(2020, 1, 1, 10)  # noqa: DTZ001 - the file has no zone
    first = (1, True, dt.date(2020, 2, 29), moment, 20, 1.25, {"a": [1]}, None, None, 2, "é")
    second = (2, 7, "12020-01-01", None, "soon", "n/a", "[", None, "text", 4, None)
    assert rows["kinds"] == [first, second]
    assert rows["doubled"] == [(1, 2), (2, 4)]
    assert tables["kinds"].columns[5] == Column("price", "DECIMAL(9, 2)")
    assert tables["parts"].key == ("b", "a")
    assert tables["parts"].foreign_keys == [ForeignKey(("KINDS",), "kinds", ("k",))]
    assert tables["empty"].foreign_keys == [ForeignKey(("x",), "kinds", ("k",))]
    notes = " ".join(tables["kinds"].notes)
    assert "the virtual tables search were left out" in notes
    assert "1 binary values of the column 'photo' were left out" in notes
    assert "1 binary values of the column 'loose' were left out" in notes


DUCKDB = """
CREATE TABLE kinds (i INTEGER PRIMARY KEY, s STRUCT(a INTEGER, b DATE), l VARCHAR[],
    m MAP(INTEGER, INTEGER), b BLOB, d DECIMAL(5, 2), far DATE, t TIMESTAMPTZ, u UUID, o TIME,
    h HUGEINT, j JSON);
INSERT INTO kinds VALUES (1, {'a': 1, 'b': '2020-01-01'}, ['x', NULL], MAP {1: 2}, '\\xFF', 1.5,
    '290000-01-01', '2020-01-01 10:00:00+02', '00000000-0000-0000-0000-000000000001', '10:00',
    170141183460469231731687303715884105727, '[1]');
CREATE SCHEMA other;
CREATE TABLE other.kinds (i INTEGER);
CREATE VIEW doubled AS SELECT i * 2 AS i FROM kinds;
"""


def test_a_duckdb_file_has_its_types_schemas_and_views(tmp_path):
    path = database(tmp_path / "a.duckdb", *DUCKDB.split(";\n"))
    tables, rows = tables_of(path)
    (row,) = rows["kinds"]
    assert row == (
        *(1, {"a": 1, "b": dt.date(2020, 1, 1)}, ["x", None], {"1": 2}, None, Decimal("1.50")),
        *("290000-01-01", dt.datetime(2020, 1, 1, 8, tzinfo=dt.UTC)),
        *("00000000-0000-0000-0000-000000000001", "10:00:00", 2**127 - 1, [1]),
    )
    assert rows["doubled"] == [(2,)]
    assert rows["other.kinds"] == []
    notes = " ".join(note for table in tables.values() for note in table.notes)
    assert "1 binary values of the column 'b' were left out" in notes
    assert [one.name for one in tmp_path.iterdir()] == ["a.duckdb"]


VIEWS = {
    "endless": "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x FROM c) SELECT x FROM c",
    "large": "SELECT count(*) AS n FROM t a, t b, t c, t d, t e, t f, t g, t h",
    "broken": "SELECT * FROM nowhere",
}


@case_table(("form", "outside"), [("duckdb", "read_text"), ("sqlite", "readfile")])
def test_a_view_that_reads_other_files_or_never_ends_is_left_out(
    tmp_path, monkeypatch, form, outside
):
    monkeypatch.setattr(database_files, "VIEW_STEPS", 1_000_000)
    monkeypatch.setattr(database_files, "VIEW_SECONDS", 0.2)
    views = VIEWS | {"outside": f"SELECT * FROM {outside}('{__file__}')"}
    path = tmp_path / f"a.{form}"
    filled = "WITH RECURSIVE c(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM c WHERE a < 1000)"
    database(path, f"CREATE TABLE t AS {filled} SELECT a FROM c")
    for name, view in views.items():
        if form == "sqlite" or name != "broken":  # DuckDB looks for what a view names
            database(path, f"CREATE VIEW {name} AS {view}")
        else:
            database(path, "CREATE TABLE nowhere (a INT)", f"CREATE VIEW {name} AS {view}")
            database(path, "DROP TABLE nowhere")
    tables, rows = tables_of(path)
    assert [*rows] == ["t"]
    assert len(rows["t"]) == 1_000
    reasons = {note.split("'")[1]: note for note in tables["t"].notes}
    assert reasons.keys() == views.keys()
    assert "not end" in reasons["endless"]
    assert "not end" in reasons["large"]
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_a_workbook_has_a_table_for_each_sheet(tmp_path):
    merged = '<mergeCells><mergeCell ref="A1:C1"/><mergeCell ref="B5:B6"/></mergeCells>'
    people = [["Staff 2024"], [], ["id", "team", 2024, None, "id", None], []]
    people += [[1, "x", 0.5, True, "a"], [2, None, 1.0, None, "001"], [3.0, "z", None]]
    days = "".join(
        f'<row><c s="{style}"><v>{value}</v></c></row>'
        for style, value in [(1, 43_831), (2, 43_831.5), (1, 2_958_465), (1, 2_958_466)]
    )
    formula = '<row><c t="str"><f>1</f><v>made</v></c></row><row><c t="e"><v>#N/A</v></c></row>'
    sheets = {
        "people": sheet(people, merged),
        "empty": "<sheetData/>",
        "days": f'<sheetData><row><c t="s"><v>0</v></c></row>{days}{formula}</sheetData>',
    }
    path = write_workbook(tmp_path / "a.xlsx", sheets, "<si><t>day</t></si>")
    with zipfile.ZipFile(path, "a") as file:
        file.writestr("xl/media/image1.png", b"\x89PNG")
    tables, rows = tables_of(path)
    assert [*tables] == ["people", "days"]
    columns = [one.name for one in tables["people"].columns]
    assert columns == ["id", "team", "2024", "column_4", "id_5"]
    first, second = (1, "x", 0.5, True, "a"), (2, "x", 1, None, "001")
    assert rows["people"] == [first, second, (3, "z", None, None, None)]
    assert tables["people"].notes == [
        "each cell of a merged range has its value (2 ranges)",
        "left out above the header: 2 rows",
    ]
    noon = dt.datetime(2020, 1, 1, 12)  # noqa: DTZ001 - Excel has no zones
    dates = [dt.date(2020, 1, 1), noon, dt.date(9999, 12, 31), 2_958_466, "made"]
    assert rows["days"] == [(one,) for one in dates]


@case_table(("form", "columns"), [("sqlite", 2_000), ("duckdb", 2_000), ("xlsx", 2_000)])
def test_a_table_may_have_2000_columns(tmp_path, form, columns):
    if form == "xlsx":
        numbers = [*range(columns)]
        cells = sheet([[f"c{n}" for n in numbers], numbers])
        path = write_workbook(tmp_path / "a.xlsx", {"t": cells})
    else:
        names = ", ".join(f"c{n} INT" for n in range(columns))
        values = ", ".join(map(str, range(columns)))
        path = tmp_path / f"a.{form}"
        database(path, f"CREATE TABLE t ({names})", f"INSERT INTO t VALUES ({values})")
    tables, rows = tables_of(path)
    assert len(tables["t"].columns) == columns
    assert rows["t"] == [tuple(range(columns))]


# --- files that cannot be read ---


def cut(path, size):
    os.truncate(path, size)
    return path


def locked(path):
    database(path, "CREATE TABLE t (a)")
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN EXCLUSIVE")
    return writer


def half_written(path):
    """A copy of a file with the journal of a transaction that has not ended."""
    with closing(sqlite3.connect(path.with_name("b"), isolation_level=None)) as connection:
        connection.execute("PRAGMA cache_size = 1")
        connection.execute("CREATE TABLE t AS SELECT zeroblob(100000) AS a")
        connection.execute("BEGIN")
        connection.execute("UPDATE t SET a = zeroblob(200000)")
        for end in ("", "-journal"):
            content = path.with_name(f"b{end}").read_bytes()
            path.with_name(f"{path.name}{end}").write_bytes(content)


def opened(path):
    return duckdb.connect(path)


def packed(path):
    whole = database(path.with_name("b"), "CREATE TABLE t (a)").read_bytes()
    path.write_bytes(gzip.compress(whole))


def own_graph(path):
    from bfsql_sqlite.connection import APPLICATION_ID

    return database(path, "CREATE TABLE t (a)", f"PRAGMA application_id = {APPLICATION_ID}")


def newer(path):
    """A file whose version is that of a DuckDB to come; its checksum is right."""
    database(path, "CREATE TABLE t (a INT)")
    with path.open("r+b") as file:
        head = file.read(4096)
        head = head[8:12] + (10_000).to_bytes(8, "little") + head[20:]
        checksum = 5381
        for (number,) in struct.iter_unpack("<Q", head):
            checksum ^= number * 0xBF58476D1CE4E5B9 % 2**64
        file.seek(0)
        file.write(struct.pack("<Q", checksum) + head)


def encrypted(path):
    with closing(duckdb.connect()) as connection:
        with suppress(duckdb.Error):  # older versions do not know it
            connection.execute("SET force_mbedtls_unsafe = 'true'")
        connection.execute(f"ATTACH '{path}' AS e (ENCRYPTION_KEY 'k'); CREATE TABLE e.t (a INT)")


def endless(path):
    """The table's pages refer to one page each, 580 times: it has 580 ** 4 rows."""
    database(path, "CREATE TABLE t (a)", "CREATE TABLE u AS SELECT zeroblob(20000) AS a")
    with path.open("r+b") as file:
        for number in range(2, 7):
            places = range(4096 - 5 * 580, 4096, 5)
            cells = ((number + 1).to_bytes(4, "big") + b"\x01") * len(places)
            head = b"\x05" + struct.pack(">HHHBI", 0, len(places), places[0], 0, number + 1)
            page = head + b"".join(place.to_bytes(2, "big") for place in places)
            page = page.ljust(places[0], b"\0") + cells
            if number == 6:
                leaf = b"\x0d" + struct.pack(">HHHBH", 0, 1, 4091, 0, 4091)
                page = leaf.ljust(4091, b"\0") + b"\x03\x01\x02\x01\x01"
            file.seek(4096 * (number - 1))
            file.write(page)
    return path


def book(path, xml="", texts=""):
    return write_workbook(path, {"t": xml}, texts)


FAR = '<sheetData><row r="1"><c r="A1"><v>1</v></c><c r="XFD1048576"><v>1</v></c></row></sheetData>'
UNREADABLE = {
    "no database": ("a.sqlite", lambda path: path.write_bytes(b"x" * 4096), "or is encrypted"),
    "no table": ("a.sqlite", lambda path: database(path, "PRAGMA user_version = 1"), "no table"),
    "locked": ("a.sqlite", locked, "another program is writing to it"),
    "cut": (
        "a.sqlite",
        lambda path: cut(database(path, "CREATE TABLE t (a)"), 300),
        "is it complete?",
    ),
    "half written": ("a.sqlite", half_written, "was killed; open it once"),
    "endless": ("a.sqlite", endless, "a read does not end"),
    "packed": ("a.sqlite.gz", packed, "unpack it first"),
    "our own": ("a.db", own_graph, "is a graph that bfsql load made"),
    "newer": ("a.duckdb", newer, "install a newer DuckDB"),
    "encrypted": ("a.duckdb", encrypted, "into a file without a key"),
    "open elsewhere": ("a.duckdb", opened, "close the program that has it open"),
    "cut duckdb": (
        "a.duckdb",
        lambda path: cut(database(path, "CREATE TABLE t (a INT)"), 5_000),
        "is it complete?",
    ),
    "encrypted workbook": (
        "a.xlsx",
        lambda path: path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)),
        "is not an Excel workbook, or is encrypted",
    ),
    "no sheet": ("a.xlsx", lambda path: book(path, "<sheetData/>"), "has no sheet with cells"),
    "XML that is cut": ("a.xlsx", lambda path: book(path, "<sheetData>"), "is not an Excel"),
    "far cells": ("a.xlsx", lambda path: book(path, FAR), "spans more than 16,777,216 cells"),
    "merged cells": (
        "a.xlsx",
        lambda path: book(
            path, sheet([[1]], '<mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells>')
        ),
        "spans more than 16,777,216 cells",
    ),
    "repeated texts": (
        "a.xlsx",
        lambda path: book(
            path,
            "<sheetData>" + '<row><c t="s"><v>0</v></c></row>' * 50_000 + "</sheetData>",
            f"<si><t>{LONG}</t></si>",
        ),
        "repeats long texts",
    ),
}


@case_table(("name", "make", "words"), UNREADABLE)
def test_a_damaged_or_hostile_file_of_tables_is_refused_in_a_sentence(tmp_path, name, make, words):
    path = tmp_path / name
    made = make(path)
    program = closing(made) if hasattr(made, "close") else nullcontext()
    with program, pytest.raises(SourceError) as raised:
        tables_of(path)
    assert str(raised.value).startswith(f"{path}: ")
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


def test_parts_of_a_workbook_are_counted_before_they_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(workbook, "MOST_BYTES", 2_000_000)
    cells = sheet([[1], [2]], f"<!--{' ' * 3_000_000}-->")
    path = write_workbook(tmp_path / "a.xlsx", {"t": cells})
    with pytest.raises(SourceError, match=r"unpacks to 3,.*; remove far-off"):
        open_relational(path)
    # A part may be larger than the file says.
    content = path.read_bytes()
    size = zipfile.ZipFile(path).getinfo("xl/worksheets/sheet0.xml").file_size
    path.write_bytes(content.replace(size.to_bytes(4, "little"), (100).to_bytes(4, "little")))
    with pytest.raises(SourceError, match="is not an Excel workbook, or is encrypted or damaged"):
        open_relational(path)


@case_table(("module", "extra"), [("duckdb", "duckdb"), ("python_calamine", "xlsx")])
def test_a_missing_library_is_named(tmp_path, monkeypatch, module, extra):
    path = WRITERS[extra](tmp_path / "a", northwind())
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SourceError, match=rf'pip install "bfsql-core\[{extra}\]"'):
        open_relational(path)


# --- SQLite's log ---


@pytest.fixture
def writer(tmp_path):
    """A connection that has written a row to the log, and one to the file."""
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t (a)")
        connection.execute("INSERT INTO t VALUES (1)")
        connection.commit()
        yield connection


def test_rows_in_the_log_are_read_and_later_ones_are_not(tmp_path, writer):
    source = open_relational(tmp_path / "a.db")
    rows = [(n,) for n in range(300_000)]  # the log is much larger than the file
    writer.execute("PRAGMA wal_autocheckpoint = 0")
    with writer:
        writer.executemany("INSERT INTO t VALUES (?)", rows)
    (table,) = source.tables
    assert [*table.rows()] == [*table.rows()] == [(1,)]
    source.close()
    assert tables_of(tmp_path / "a.db")[1] == {"t": [(1,), *rows]}


def test_nothing_is_written_beside_a_file_without_a_log(tmp_path, writer):
    writer.close()
    before = {one.name: one.read_bytes() for one in tmp_path.iterdir()}
    assert tables_of(tmp_path / "a.db")[1] == {"t": [(1,)]}
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == before
