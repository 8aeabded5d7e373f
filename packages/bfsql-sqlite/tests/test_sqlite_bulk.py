"""Tables that DuckDB reads result in the same file and report as their records do."""

import asyncio
import gzip
import importlib
import json
import sqlite3
import sys
from collections import Counter
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from unittest.mock import patch

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from bfsql.errors import BfsqlError, SourceError, StoreError
from bfsql.loading import Reading
from bfsql.models import LoadMode, LoadOptions
from bfsql.sources import SourceOptions
from bfsql.sources.files import ZSTD
from bfsql_sqlite import SqliteSettings, bulk, load_graph
from bfsql_sqlite.bulk import RECORD_BY_RECORD
from bfsql_sqlite.bulk_graph import BulkGraph
from bfsql_sqlite.plugin import plugin
from bfsql_test_support.case_table import case_table
from bfsql_test_support.commands import run

zstd = importlib.import_module(ZSTD)

CREATING = LoadOptions(LoadMode.REPLACE, create_nodes=True, default_type="Node")


def outcome(paths, options, how, file, bulk):
    """The contents of the file's tables and the report, or the error.

    In mode APPEND, the first path is loaded into the file beforehand.
    """
    if how.mode is LoadMode.APPEND:
        first, *paths = paths
        there = Reading(plugin, [first], options, how=replace(how, mode=LoadMode.REPLACE))
        there.records.sources = ()
        try:
            asyncio.run(load_graph(SqliteSettings(path=file), there.records, there.how))
        except BfsqlError:
            file.unlink(missing_ok=True)
    reading = Reading(plugin, paths, options, how=how)
    if not bulk:
        reading.records.sources = ()
    try:
        report = asyncio.run(load_graph(SqliteSettings(path=file), reading.records, reading.how))
    except BfsqlError as error:
        return str(error)
    report = reading.completed(report)
    for source in report.sources:
        source.notes = [note for note in source.notes if not note.startswith(RECORD_BY_RECORD)]
    return content(file), asdict(report) | {"place": "", "backup": ""}


def content(file):
    with closing(sqlite3.connect(file)) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return {
            name: sorted(map(repr, plain(name, connection.execute(f'SELECT * FROM "{name}"'))))
            for (name,) in names
        }


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def plain(name, rows):
    """Rows with metadata as values, without the load's identity and what bare records lack."""
    if name == "meta":
        return (row for row in rows if row[0] not in {"load", "name_keys"})
    if name in {"detail", "edge"}:
        return ((n, sorted(json.loads(data).items())) for n, data in rows)
    return rows


def check(folder, *paths, how=CREATING, **options):
    """Whether a table was read in bulk; checks that record by record gives the same outcome."""
    given, done = SourceOptions(**options), []
    real = bulk._Load._in_bulk

    def in_bulk(*args):
        done.append(real(*args))
        return done[-1]

    with patch("bfsql_sqlite.bulk._Load._in_bulk", in_bulk):
        found = outcome(paths, given, how, folder / "bulk.db", bulk=True)
    assert found == outcome(paths, given, how, folder / "records.db", bulk=False)
    return any(table is not None for table in done)


def test_two_tables(tmp_path):
    nodes, edges = tmp_path / "nodes.csv", tmp_path / "edges.csv"
    nodes.write_text(
        'id,type,name,mass\na,Drug,"Aspirin, ""the"" one",1.50\nb,,Ä,\n\na,Drug,Acetyl,2\n\n'
    )
    edges.write_text(
        "\n\nsubject,predicate,object,weight,confidence\na,treats,b,1,0.5\na,treats,b,2,0.9\n"
        "a,,b,,\nx,treats,a,true,\na,treats,b,,"
    )
    assert check(tmp_path, nodes, edges)


@case_table(
    "row",
    [
        *("id,type,name,mass", "c", "d,x,y,z,w", ",T,n,1", "null,T,n,1", 'd,T,"a\nb",1'),
        *('d,T,"a" ,1', 'd,T, "a",1', 'd,T,"a"b,1', "d,T,a\rb,1", "d,T,a\0b,1", 'd,T,"a'),
    ],
)
def test_a_table_with_an_odd_row_is_read_record_by_record(tmp_path, row):
    table = tmp_path / "t.csv"
    text = f"id,type,name,mass\na,T,n,1\n{row}\nb,T,n,1\n"
    table.write_text(text, newline="")
    assert not check(tmp_path, table)


def test_every_edge_has_the_number_of_its_records_on_request(tmp_path):
    draw = Random(1)
    pairs = [f"n{draw.randrange(9)},p,n{draw.randrange(9)}" for _ in range(100)]
    edges, how = tmp_path / "edges.csv", replace(CREATING, count_duplicates=True)
    edges.write_text("\n".join(["subject,predicate,object", *pairs]))
    assert not check(tmp_path, edges, how=how)
    wanted = sorted(Counter(pairs).values())
    with closing(sqlite3.connect(tmp_path / "bulk.db")) as connection:
        found = connection.execute("SELECT metadata FROM edge").fetchall()
    assert sorted(json.loads(data)["multiplicity"] for (data,) in found) == wanted


def test_texts_that_are_read_as_empty_are_counted_in_bulk(tmp_path):
    nodes, edges = tmp_path / "nodes.csv", tmp_path / "edges.csv"
    nodes.write_text("id,type,name\na,t,None\nb,NaN,null\nb,t,None\nc,t,C\n", encoding="utf-8")
    edges.write_text("from,rel,to\na,None,b\nnull,None,b\na,,b\nc,p,b\n", encoding="utf-8")
    assert check(tmp_path, nodes, edges)
    found = outcome([nodes, edges], SourceOptions(), CREATING, tmp_path / "a.db", bulk=True)
    assert isinstance(found, tuple)
    notes = [note for one in found[1]["sources"] for note in one["notes"]]
    assert sorted(notes) == [
        f'{told}; --null-text "" keeps such texts'
        for told in (
            "name: read as empty: None 2, null 1",
            "rel: read as empty: None 1",
            "type: read as empty: NaN 1",
        )
    ]


def test_a_path_is_no_pattern(tmp_path):
    folder = tmp_path / "[ab]*?'{x}"
    folder.mkdir()
    (tmp_path / "a1").mkdir()
    for name, id_ in (("a[1].csv", "right"), ("a1.csv", "wrong"), ("a*.csv", "right too")):
        (folder / name).write_text(f"id,type\n{id_},T\n")
        (tmp_path / "a1" / name).write_text("id,type\nwrong,T\n")
    assert check(folder, folder / "a[1].csv", folder / "a*.csv")
    with closing(sqlite3.connect(folder / "bulk.db")) as connection:
        ids = connection.execute("SELECT id FROM node ORDER BY n").fetchall()
    assert ids == [("right",), ("right too",)]


@case_table("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@case_table(("end", "pack"), [("\n", "gz"), ("\r\n", "zst")])
def test_tables_that_are_packed_or_in_another_encoding(tmp_path, encoding, end, pack):
    table = tmp_path / f"t.tsv.{pack}"
    compress = {"gz": gzip.compress, "zst": zstd.compress}[pack]
    rows = ["subject\tobject\tnote", "ä\tb\t1", "b\tä\t", "", "x\ty\t\t", '"q"\tb\t"a\tb"']
    table.write_bytes(compress(end.join(rows).encode(encoding)))
    assert check(tmp_path, table, encoding=None if encoding == "utf-16" else encoding)


def test_a_header_in_a_file_of_its_own_and_ids_in_groups(tmp_path):
    contents = {
        "people-header.csv": "id:ID(P),name,age:int,tags:string[],:LABEL\n",
        "people.csv": "1,Ann,041,a;b,Person;Boss\n2,Bo,x,,Person\n",
        "films.csv": "id:ID(F),title\n1,One\n",
        "likes.csv": ":START_ID(P),:END_ID(F),:TYPE,stars:double\n1,1,LIKES,4.50\n3,1,,\n",
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
    assert check(tmp_path, *(tmp_path / name for name in contents))


def test_what_the_reader_of_records_reads(tmp_path):
    table, graph = tmp_path / "t.csv", tmp_path / "g.gexf"
    table.write_text("id,name\na,b\n")
    graph.write_text('<gexf><graph><nodes><node id="1" label="a"/></nodes></graph></gexf>')
    assert not check(tmp_path, graph)
    assert check(tmp_path, table, graph)
    table.write_text("id , name\na , b\n")
    assert not check(tmp_path, table)


def test_a_table_of_edges_with_evidence(tmp_path):
    edges = tmp_path / "e.csv"
    rows = ["subject,object,provenance", "a,b,said so", "a,b,", "a,b,said so", "a,c,x", "b,c,"]
    edges.write_text("\n".join(rows))
    assert check(tmp_path, edges)


def test_records_of_one_edge_in_several_batches(tmp_path):
    one, two = tmp_path / "1.csv", tmp_path / "2.csv"
    one.write_text("subject,object,w\n" + "a,b,1\na,b,2\na,c,\n" * 20)
    two.write_text("subject,object\n" + "a,b\na,d\nb,b\n" * 20)
    with patch("bfsql_sqlite.bulk_graph.BATCH_EDGES", 7):
        assert check(tmp_path, one, two)


@pytest.mark.slow
def test_what_is_added_to_a_graph(tmp_path):
    nodes, edges, more = (tmp_path / name for name in ("n.csv", "e.jsonl", "m.csv"))
    nodes.write_text("id,type,name,mass\na,Drug,Aspirin,1\nb,,Ä,\n")
    edges.write_text('{"subject": "b", "predicate": "p", "object": "a", "w": [1, {"k": null}]}\n')
    more.write_text("subject,predicate,object,w\na,q,b,1\nb,p,a,2\nb,p,c,\n")
    appending = replace(CREATING, mode=LoadMode.APPEND)
    assert check(tmp_path, nodes, edges, more, how=appending)
    assert check(tmp_path, more, nodes, edges, how=appending)
    edges.write_text('{"subject": "b", "predicate": "p", "object": "a", "provenance": "seen"}\n')
    assert check(tmp_path, edges, nodes, how=appending)
    assert not check(tmp_path, nodes, edges, how=appending)  # JSON Lines, but the same outcome


@case_table("phase", ["reading", "merging", "writing"])
async def test_a_load_that_is_cancelled_leaves_the_old_file(tmp_path, phase):
    table, file = tmp_path / "t.csv", tmp_path / "graph.db"
    table.write_text("subject,object\n" + "".join(f"{i},{i % 5000}\n" for i in range(300_000)))
    file.touch()
    begun, loop = asyncio.Event(), asyncio.get_running_loop()

    def progress(now, _):
        if now == phase:
            loop.call_soon_threadsafe(begun.set)

    reading = Reading(plugin, [table], how=replace(CREATING, progress=progress))
    loading = asyncio.create_task(
        load_graph(SqliteSettings(path=file), reading.records, reading.how)
    )
    await begun.wait()
    loading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await loading
    assert file.read_bytes() == b""
    assert names(tmp_path) == ["graph.db", "t.csv"]


FULL = """
import resource, sys
from bfsql.cli import main
from bfsql_sqlite import bulk

number = bulk.BulkGraph.number

def with_a_full_disk(graph):
    # Less than a block of DuckDB: how many blocks it spills differs from run to run.
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
    number(graph)

if sys.argv.pop() == "spills":
    bulk.CONFIG |= {"memory_limit": "30MB", "threads": "1"}
    bulk.BulkGraph.number = with_a_full_disk
else:
    resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000))
sys.argv[0] = "bfsql"
main()
"""


@case_table(("when", "rows"), [("at once", 100_000), ("spills", 300_000)])
def test_a_disk_that_is_full_is_reported_and_leaves_the_old_file(tmp_path, when, rows):
    pytest.importorskip("resource", reason="limits on a file's size are a matter of POSIX")
    table, file = tmp_path / "t.csv", tmp_path / "graph.db"
    table.write_text("subject,object\n" + "".join(f"{i},{i % 5000}\n" for i in range(rows)))
    file.touch()
    done = run(sys.executable, "-c", FULL, "load", table, "--path", file, when, timeout=300)
    [told] = done.stderr.splitlines()
    assert ("duckdb_temp" in told) == (when == "spills")
    assert "cannot be written: " in told
    assert "The previous content is unchanged" in told
    assert file.read_bytes() == b""
    assert names(tmp_path) == ["graph.db", "t.csv"]


def notes(folder, *paths, how=CREATING):
    """The report's notes for each table."""
    reading = Reading(plugin, paths, how=how)
    file = SqliteSettings(path=folder / "graph.db")
    report = reading.completed(asyncio.run(load_graph(file, reading.records, reading.how)))
    return [source.notes for source in report.sources]


def test_the_report_tells_why_tables_are_read_record_by_record(tmp_path):
    nodes, edges = tmp_path / "nodes.csv", tmp_path / "edges.csv"
    nodes.write_text("id,type\na,T\nb,T\n")
    edges.write_text("subject,object\na,b\n")
    assert notes(tmp_path, nodes, edges) == [[], []]
    edges.write_text('subject,object\na,"b\nc"\n')
    odd = "one of its rows has no id, repeats the header or has several lines in a cell"
    assert notes(tmp_path, nodes, edges) == [[], [f"{RECORD_BY_RECORD}: {odd}"]]
    edges.write_text('subject,object\na,b\na,"b\nb,a\n')
    unread = "one of its lines cannot be read in bulk"
    assert notes(tmp_path, nodes, edges) == [[], [f"{RECORD_BY_RECORD}: {unread}"]]
    edges.write_text("subject,object\na,b\n")
    real, done = BulkGraph.number, []

    def number(graph):
        done.append(graph)
        real(graph)
        if len(done) == 1:
            raise duckdb.OutOfMemoryException

    with patch.object(BulkGraph, "number", number):
        [[too_little], none] = notes(tmp_path, nodes, edges)
    assert too_little.startswith(f"{RECORD_BY_RECORD}: there was too little of 1GB of memory")
    assert none == []


def test_memory_that_does_not_suffice_is_reported_and_leaves_the_old_file(tmp_path):
    table, file = tmp_path / "t.jsonl", tmp_path / "graph.db"
    table.write_text('{"id": "a"}\n')
    file.touch()
    reading = Reading(plugin, [table], how=CREATING)
    with (
        patch.object(
            BulkGraph, "number", side_effect=duckdb.OutOfMemoryException("(1.0 GiB used)")
        ),
        pytest.raises(StoreError) as told,
    ):
        asyncio.run(load_graph(SqliteSettings(path=file), reading.records, reading.how))
    assert str(told.value) == (
        f"{file} cannot be written: merging its records takes more memory than the 1 or 2 GB that "
        "a load may use, or more space for temporary files than its disk has; load fewer files or "
        "columns at once, or free space on the disk. The previous content is unchanged."
    )
    assert file.read_bytes() == b""


TEXTS = st.sampled_from(
    [
        *("", "a", "b", "c", "B", "ä", "🜁", "null", "NaN", "NULL", " ", " a", "a b", "0", "007"),
        *("1", "1.0", "1.50", "1e5", "1e-05", "true", "True", "-3", "a|b", "x;y|", ";", "|", "'"),
        *('""', '"a"', 'a"b', 'a"', '"a"b', '"x,y"', '"x""y"', '"x"";y"', "id", "type"),
        *("\\", "\\n", "\ufeff", "\x01", "\u2028", "\x85", "[1]", "{}", "#", "subject", "object"),
        *("a\tb", "name", '"\t"', "한", "[null]", "+1", "1_000", "Infinity", "x" * 300),
    ]
)
HEADERS = [
    ["id"],
    ["id", "type"],
    ["id", "type", "name", "mass"],
    ["id", "category", "name", "synonyms", "x"],
    ["x:ID(G)", "name", "n:int", "f:float[]", ":LABEL"],
    ["x:ID(H)", "b:boolean", ":IGNORE", "s:string"],
    ["subject", "object"],
    ["subject", "predicate", "object"],
    ["subject", "predicate", "object", "w", "confidence"],
    ["subject", "predicate", "object", "knowledge_source", "multiplicity", "confidences"],
    [":START_ID(G)", ":END_ID(H)", ":TYPE", "w:double"],
    ["subject", "predicate", "object", "provenance"],
    ["source", "target", "type", "weight"],
]


@st.composite
def tables(draw):
    """The file suffix and the content of a table."""
    tabs = draw(st.booleans())
    separator = "\t" if tabs else draw(st.sampled_from(",,,;|"))
    header = draw(st.sampled_from(HEADERS))
    width = len(header)
    even = st.lists(TEXTS, min_size=width, max_size=width)
    ragged = st.lists(TEXTS, min_size=0, max_size=width + 2)
    rows = draw(st.lists(st.one_of(even, even, even, ragged, st.just(header)), max_size=12))
    end = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    lines = [separator.join(row) for row in [header, *rows]]
    text = end.join(lines) + draw(st.sampled_from(["", end, end + end]))
    data = text.encode()
    if draw(st.integers(0, 9)) == 0:
        data += b'"'
    elif draw(st.integers(0, 9)) == 0:
        data += b"\xff" + draw(st.sampled_from([b"", b",a,b", b"\n"]))
    return (".tsv" if tabs else ".csv"), draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + data


VALUES = st.one_of(
    TEXTS,
    st.sampled_from([None, True, 0, 7, -3, 1.0, 1.5, 1e300, 2**63, 10**30, 0.1 + 0.2]),
    st.sampled_from([[], ["a", None], [1, 1.0], {"k": "v"}, {"k": [{"l": None}]}, [[]], {}]),
)
KEYS = st.sampled_from(
    [
        *("id", "type", "name", "synonyms", "mass", "label", "subject", "predicate", "object", "w"),
        *("confidence", "provenance", "multiplicity", "x y", "ä"),
    ]
)
ODD_LINES = st.sampled_from(
    [
        *("", " ", "{", "[]", "1", "null", "{}", '{"id": "a", "id": "b"}', '{"id": "\\ud800"}'),
        *('{"id": "a", "name": "\\ud800 \\u0000"}', '{"id": "\\u0000"}', '{"id": "a\\nb"}'),
        *('{"subject": "a", "object": "b", "w": NaN}', '{"id": "a", "x": 1e999, "y": -Infinity}'),
        *(
            '  {"subject":"a" ,"object":"\\u00e4","w":1.50e0} ',
            '{"id": 1, "n": 100000000000000000}',
        ),
        *('{"id": "a", "name": "x"} {"id": "b"}', '{"subject": "a", "object": "b", }', "\ufeff{}"),
    ]
)


@st.composite
def json_tables(draw):
    """The same for JSONL."""
    header = draw(st.sampled_from(HEADERS[:9] + HEADERS[-2:]))
    row, texts = (st.fixed_dictionaries(dict.fromkeys(header, some)) for some in (VALUES, TEXTS))
    some = st.dictionaries(st.one_of(KEYS, st.sampled_from(header)), VALUES, max_size=5)
    lines = [json.dumps(dict(zip(header, "abcdefgh", strict=False)))]
    for _ in range(draw(st.integers(0, 12))):
        written = st.one_of(texts, texts, row, some).map(
            lambda value: json.dumps(value, ensure_ascii=draw(st.booleans()))
        )
        lines.append(draw(st.one_of(written, written, written, ODD_LINES)))
    end = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    data = (end.join(lines) + draw(st.sampled_from(["", end]))).encode()
    if draw(st.integers(0, 9)) == 0:
        data += b'\n{"id": "\xff"}\n'
    return ".jsonl", draw(st.sampled_from([b"", b"", b"\xef\xbb\xbf"])) + data


COLUMNS = [
    *[(pa.string(), TEXTS)] * 4,
    (pa.large_string(), TEXTS),
    (pa.dictionary(pa.int8(), pa.string()), TEXTS),
    (pa.string_view(), TEXTS),
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.uint64(), st.integers(0, 2**64 - 1)),
    (pa.float64(), st.floats()),
    (pa.float32(), st.floats(width=32)),
    (pa.bool_(), st.booleans()),
    (pa.null(), st.none()),
    (pa.binary(), st.sampled_from([b"a", b"\xff", b"\x00", b""])),
    (pa.date32(), st.dates()),
    (pa.timestamp("ns"), st.integers(-(2**63) + 1, 2**63 - 1)),
    (pa.timestamp("us", "UTC"), st.datetimes()),
    (pa.timestamp("s"), st.integers(-(10**12), 10**12)),
    (pa.decimal128(10, 2), st.decimals(-1000, 1000, places=2)),
    (pa.list_(pa.string()), st.lists(st.one_of(st.none(), TEXTS), max_size=3)),
    (pa.struct([("a", pa.int8())]), st.fixed_dictionaries({"a": st.integers(0, 9)})),
    (pa.map_(pa.string(), pa.int8()), st.dictionaries(TEXTS, st.integers(0, 9), max_size=2)),
]


@st.composite
def parquet_tables(draw):
    """The same for Parquet."""
    header = draw(st.sampled_from(HEADERS[:4] + HEADERS[6:10] + HEADERS[-2:]))
    count = draw(st.integers(0, 12))
    columns = {}
    for name in header:
        type_, values = draw(st.sampled_from(COLUMNS))
        nullable = values if draw(st.booleans()) else st.one_of(st.none(), values)
        found = draw(st.lists(nullable, min_size=count, max_size=count))
        columns[name] = pa.array(found, type_)
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink, row_group_size=draw(st.sampled_from([3, 100])))
    return ".parquet", sink.getvalue().to_pybytes()


@given(
    st.lists(st.one_of(tables(), json_tables(), parquet_tables()), min_size=1, max_size=3),
    st.tuples(st.booleans(), st.booleans()),
    st.sampled_from(["", "Thing"]),
    st.sampled_from([False, False, False, True]),
    st.sampled_from([3, 50, 1_000_000]),
)
@settings(deadline=None, max_examples=12, suppress_health_check=list(HealthCheck))
def test_whatever_the_tables_are(contents, flags, default_type, strict, batch):
    append, create = flags
    mode = LoadMode.APPEND if append and len(contents) > 1 else LoadMode.REPLACE
    how = LoadOptions(mode, create_nodes=create, default_type=default_type or "Node", strict=strict)
    with TemporaryDirectory() as name:
        folder = Path(name)
        paths = [folder / f"{at}{suffix}" for at, (suffix, _) in enumerate(contents)]
        for path, (_, data) in zip(paths, contents, strict=True):
            path.write_bytes(data)
        try:
            Reading(plugin, paths)
        except SourceError:
            return
        with (
            patch("bfsql_sqlite.bulk_table._BLOCK", batch),
            patch("bfsql_sqlite.bulk_graph.BATCH_EDGES", batch),
            patch("bfsql_sqlite.old_graph.BATCH", batch),
        ):
            event(f"{mode} in bulk: {check(folder, *paths, how=how, default_type=default_type)}")
