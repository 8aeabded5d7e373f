"""Tables that DuckDB reads make the file, and the report, that their records make."""

import asyncio
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from bfsql.errors import BfsqlError, SourceError
from bfsql.loading import Reading
from bfsql.models import LoadMode, LoadOptions, LoadReport
from bfsql.sources import SourceOptions
from bfsql_sqlite import SqliteSettings, bulk, load_graph
from bfsql_sqlite.plugin import plugin

CREATING = LoadOptions(LoadMode.REPLACE, create_nodes=True, default_type="Node")
Outcome = tuple[dict[str, list[Any]], dict[str, Any]] | str


def outcome(
    paths: tuple[Path, ...], options: SourceOptions, how: LoadOptions, file: Path, bulk: bool
) -> Outcome:
    """What is in the tables of the file, and the report; or the error."""
    reading = Reading(plugin, paths, options, how=how)
    if not bulk:
        reading.records.tables = ()
    try:
        report = asyncio.run(load_graph(SqliteSettings(path=file), reading.records, reading.how))
    except BfsqlError as error:
        return str(error)
    return content(file), asdict(reading.completed(report)) | {"place": ""}


def content(file: Path) -> dict[str, list[Any]]:
    with closing(sqlite3.connect(file)) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return {
            name: sorted(map(repr, plain(name, connection.execute(f'SELECT * FROM "{name}"'))))
            for (name,) in names
        }


def plain(name: str, rows: Iterator[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Metadata as values, and without the identity of a load."""
    if name == "meta":
        return (row for row in rows if row[0] != "load")
    if name in {"detail", "edge"}:
        return ((n, sorted(json.loads(data).items())) for n, data in rows)
    return rows


def check(folder: Path, *paths: Path, how: LoadOptions = CREATING, **options: Any) -> bool:
    """Whether the tables were read in bulk; the outcome is the same in any case."""
    given, done = SourceOptions(**options), []

    def write_tables(*args: Any) -> LoadReport | None:
        done.append(bulk.write_tables(*args))
        return done[-1]

    with patch("bfsql_sqlite.loader.write_tables", write_tables):
        found = outcome(paths, given, how, folder / "bulk.db", bulk=True)
    assert found == outcome(paths, given, how, folder / "records.db", bulk=False)
    return done != [None]


def test_two_tables(tmp_path: Path) -> None:
    nodes, edges = tmp_path / "nodes.csv", tmp_path / "edges.csv"
    nodes.write_text(
        'id,type,name,mass\na,Drug,"Aspirin, ""the"" one",1.50\nb,,Ä,\n\na,Drug,Acetyl,2\n'
        "id,type,name,mass\nc\nd,x,y,z,w\n,T,n,1\nnull,T,n,1\n"
    )
    edges.write_text(
        "subject,predicate,object,weight,confidence\na,treats,b,1,0.5\na,treats,b,2,0.9\n"
        "a,,b,,\nx,treats,a,true,\na,treats,b,,\n,p,b,,\nsubject,predicate,object,weight,confidence\n"
    )
    assert check(tmp_path, nodes, edges)


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
def tables(draw: st.DrawFn) -> tuple[str, bytes]:
    """The ending of a name and the content of a table."""
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


@given(
    st.lists(tables(), min_size=1, max_size=3),
    st.booleans(),
    st.sampled_from(["", "Thing"]),
    st.sampled_from([False, False, False, True]),
)
@settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
def test_whatever_the_tables_are(
    contents: list[tuple[str, bytes]], create: bool, default_type: str, strict: bool
) -> None:
    how = LoadOptions(
        LoadMode.REPLACE, create_nodes=create, default_type=default_type or "Node", strict=strict
    )
    with TemporaryDirectory() as name:
        folder = Path(name)
        paths = [folder / f"{at}{suffix}" for at, (suffix, _) in enumerate(contents)]
        for path, (_, data) in zip(paths, contents, strict=True):
            path.write_bytes(data)
        try:
            Reading(plugin, paths)
        except SourceError:
            return
        event(f"in bulk: {check(folder, *paths, how=how, default_type=default_type)}")
