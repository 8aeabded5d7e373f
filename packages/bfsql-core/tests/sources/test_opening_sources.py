"""Determining the format of a path, and the errors if there is none."""

from __future__ import annotations

import dataclasses
import gzip
import importlib
import subprocess
import sys

import pytest

from bfsql.errors import SourceError
from bfsql.sources import FORMATS, SourceOptions, open_source, read_all
from bfsql.sources.files import ZSTD

zstd = importlib.import_module(ZSTD)


def test_a_path_that_is_not_there_is_said_at_once(tmp_path):
    with pytest.raises(SourceError, match="no such file or folder"):
        open_source(tmp_path / "gone.csv")


def test_an_unknown_ending_lists_the_known_ones(write):
    with pytest.raises(SourceError, match=r"csv \(\.csv\), tsv .*jsonld \(\.jsonld \.json\)"):
        open_source(write("graph.xyz", ""))


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
        open_source(write("a.jsonl", ""), SourceOptions(format="kgraph"))


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
