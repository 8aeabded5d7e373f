"""Determining the format of a path, and the errors if there is none."""

import dataclasses
import gzip
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from bfsql.errors import SourceError
from bfsql.sources import FORMATS, SourceOptions, open_source, open_sources, read_all
from bfsql.sources.files import ZSTD

zstd = importlib.import_module(ZSTD)


def test_a_path_that_is_not_there_is_said_at_once(tmp_path):
    with pytest.raises(SourceError, match="no such file or folder"):
        open_source(tmp_path / "gone.csv")


def test_an_unknown_ending_lists_the_known_ones(write):
    with pytest.raises(SourceError, match=r"csv \(\.csv\), tsv .*jsonld \(\.jsonld \.json\)"):
        open_source(write("graph.xyz", "x"))


TURTLE = "# people\n@prefix e: <http://e.org/> .\ne:a e:p e:b .\n"
TRIPLE = "# people\n<http://e.org/a> <http://e.org/p> <http://e.org/b> .\n"
RDF_XML = """<?xml version="1.0"?><!-- a -->
<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e.org/">
<r:Description r:about="http://e.org/a"><e:p r:resource="http://e.org/b"/></r:Description></r:RDF>
"""
JSON_LD = '{"@context": {"e": "http://e.org/"}, "@id": "e:a", "e:p": {"@id": "e:b"}}'
XML = '<{0} xmlns="http://{0}"><graph edgedefault="directed">{1}</graph></{0}>'
GRAPHML = XML.format("graphml", '<node id="a"/><node id="b"/><edge source="a" target="b"/>')
GEXF = XML.format(
    "gexf",
    '<nodes><node id="a"/><node id="b"/></nodes><edges><edge source="a" target="b"/></edges>',
)
CONTENTS = {
    "turtle": TURTLE,
    "ntriples": TRIPLE,
    "nquads": TRIPLE.replace(" .", " <http://e.org/g> ."),
    "rdfxml": RDF_XML,
    "jsonld": JSON_LD,
    "graphml": GRAPHML,
    "gexf": GEXF,
}


@pytest.mark.parametrize(("format_", "content"), CONTENTS.items(), ids=CONTENTS)
def test_plain_content_decides_whatever_the_name_says(read, format_, content):
    for ending in ("rdf", "ttl", "nt", "nq", "graphml", "gexf", "xml", "csv", "data"):
        found = read(f"g.{ending}", content)
        assert [(edge.subject[-1], edge.object[-1]) for edge in found.edges] == [("a", "b")], ending
        assert found.reasons == []
        known = f".{ending}" in FORMATS[found.account.format].suffixes or ending in {"xml", "data"}
        noted = [n for n in found.account.notes if f"although its name ends in .{ending}" in n]
        assert len(noted) == (not known), ending
        assert known or found.account.format == format_


@pytest.mark.parametrize("ending", ["graphml", "gexf", "rdf", "ttl", "csv", "jsonl"])
def test_compressed_content_without_its_ending_says_what_to_rename(write, ending):
    path = write("g.gz", GRAPHML).rename(write(f"g.{ending}", ""))
    with pytest.raises(SourceError, match="compressed by gzip; rename it"):
        list(open_source(path))


def test_the_format_option_wins_over_the_ending(write):
    path = write("graph.txt", "from,to\na,b\n")
    assert len(list(open_source(str(path), SourceOptions(format="csv")))) == 1


def test_an_unknown_format_lists_the_known_ones(write):
    with pytest.raises(SourceError, match="no format 'cvs'; the formats are: kgraph, csv"):
        open_source(write("a.csv", "id\n"), SourceOptions(format="cvs"))


def test_a_folder_that_is_no_bundle_says_what_it_lacks(tmp_path, write):
    with pytest.raises(SourceError, match="this folder is empty"):
        open_source(tmp_path)
    with pytest.raises(SourceError, match="this folder is empty"):
        open_source(tmp_path, SourceOptions(format="csv"))
    with pytest.raises(SourceError, match="the format 'kgraph' is for folders"):
        open_source(write("a.jsonl", "{}"), SourceOptions(format="kgraph"))


def test_a_file_of_no_bytes_is_called_empty(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    packed, others = ("csv.gz", "csv.zst"), ("xlsx", "sqlite", "db", "duckdb", "parquet", "xls")
    for ending in ("csv", "json", "jsonld", "gexf", "rdf", *packed, *others):
        Path(f"a.{ending}").touch()
        with pytest.raises(SourceError, match=rf"^a\.{ending}: is empty; get the file again"):
            list(open_source(f"a.{ending}"))
    for ending in ("ttl", "nq", "jsonl"):  # whose empty files are graphs
        Path(f"a.{ending}").touch()
        (found,) = open_sources([f"a.{ending}"])
        assert (list(found.records), found.account.notes) == ([], ["it is empty"])


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv.gz", b"id,name\n", "not a gzip file"),
        (
            "a.csv",
            gzip.compress(b"id\n", mtime=0),
            r"compressed by gzip; rename it so that it ends in \.gz",
        ),
        ("a.csv.zst", b"id,name\n", "not a Zstandard file"),
        ("a.csv.zst", zstd.compress(b"id\n" * 99)[:-3], "not a Zstandard file, or it is damaged"),
        ("a.csv", zstd.compress(b"id\n"), r"compressed by Zstandard; .* ends in \.zst"),
        ("a.csv", b"PK\x03\x04rest", "a zip archive"),
        ("a.json", b"PAR1rest", "a Parquet table"),
        ("a.jsonl", b"SQLite format 3\x00", "an SQLite database"),
    ],
)
def test_what_is_not_the_text_it_should_be_says_so(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SourceError, match=said):
        list(open_source(tmp_path / name))


def test_one_bad_path_of_several_is_said_before_any_record(write, tmp_path):
    with pytest.raises(SourceError, match="gone"):
        read_all([write("a.csv", "id\na\n"), tmp_path / "gone.csv"])
    assert list(read_all([])) == []


def test_every_option_is_documented_where_help_texts_look():
    names = {field.name for field in dataclasses.fields(SourceOptions)}
    assert {"format", "id_column", "object_column", "prefixes", "languages"} <= names
    assert all(known.summary for known in FORMATS.values())


def test_neither_networkx_nor_pyoxigraph_is_imported_before_it_is_needed():
    code = (
        "import sys, bfsql.sources; sys.exit(bool({'networkx', 'pyoxigraph'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
