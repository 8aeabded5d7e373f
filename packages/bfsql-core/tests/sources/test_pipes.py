"""Standard input, FIFOs, and files that change or cannot be read."""

import gc
import gzip
import importlib
import io
import os
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from bfsql.errors import SourceError
from bfsql.models import NodeRecord
from bfsql.sources import SourceOptions, open_source, open_sources
from bfsql.sources.files import ZSTD

fifos = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no FIFOs")


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def standard_input(monkeypatch):
    def holds(content: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    return holds


@pytest.fixture
def fifo(tmp_path):
    threads = []

    def made(name: str, content: bytes) -> Path:
        path = tmp_path / name
        os.mkfifo(path)
        threads.append(threading.Thread(target=path.write_bytes, args=(content,)))
        threads[-1].start()
        return path

    yield made
    for thread in threads:
        thread.join(10)


zstd = importlib.import_module(ZSTD)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd.compress])
def test_standard_input_is_a_source_and_its_copy_is_removed(standard_input, temporary, pack):
    standard_input(pack(b"id,name\n1,Ann\n,x\n"))
    (source,) = open_sources(["-"], SourceOptions(format="csv"))
    assert source.account.name == "standard input"
    node, refusal = source.records
    assert node == NodeRecord("1", "", {"name": "Ann"})
    assert str(refusal) == "standard input, line 3: id is missing"
    assert list(temporary.iterdir()) == []


def test_faults_of_standard_input_name_it(standard_input, temporary):
    standard_input(b"a,b\n1,2\n")
    with pytest.raises(SourceError, match=r"^standard input: no column is recognized as ids"):
        open_sources(["-"], SourceOptions(format="csv"))
    standard_input(b'{"nodes": [')
    (source,) = open_sources(["-"], SourceOptions(format="json"))
    with pytest.raises(SourceError, match=r"^standard input: is not JSON"):
        list(source.records)
    del source
    gc.collect()  # the tracebacks of the errors may be part of reference cycles
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("named", [None, "kgraph", "graphrag", "cvs"])
def test_standard_input_needs_a_format(standard_input, named):
    standard_input(b"id\n1\n")
    with pytest.raises(SourceError, match=r"^standard input: .*name one with --format: csv"):
        open_sources(["-"], SourceOptions(format=named))


def test_empty_and_closed_standard_input_say_so(standard_input, monkeypatch):
    standard_input(b"")
    with pytest.raises(SourceError, match="standard input: it was empty"):
        open_source("-", SourceOptions(format="jsonl"))
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(SourceError, match="standard input: is closed"):
        open_source("-", SourceOptions(format="jsonl"))


@fifos
def test_a_fifo_is_read_as_a_file_of_its_name(fifo, temporary):
    path = fifo("n.csv", b"id\n1\n")
    assert list(open_source(path)) == [NodeRecord("1", "", {})]
    assert list(temporary.iterdir()) == []


@fifos
def test_a_fifo_that_ends_early_or_is_empty(fifo):
    packed = gzip.compress(b"id\n" + b"".join(b"n%d\n" % n for n in range(9999)))
    path = fifo("n.csv.gz", packed[:-2000])
    with pytest.raises(SourceError, match=r"n\.csv\.gz: this is not a gzip file, or it is damaged"):
        list(open_source(path))
    with pytest.raises(SourceError, match=r"e\.csv: it was empty"):
        open_source(fifo("e.csv", b""))


def test_a_descriptor_is_read_as_the_shell_passes_it():
    reading, writing = os.pipe()
    os.write(writing, b"id\n1\n")
    os.close(writing)
    try:
        with pytest.raises(SourceError, match="name the format with --format"):
            open_source(f"/dev/fd/{reading}")
        found = list(open_source(f"/dev/fd/{reading}", SourceOptions(format="csv")))
    finally:
        os.close(reading)
    assert found == [NodeRecord("1", "", {})]


@pytest.mark.parametrize("change", ["longer", "gone", "touched"])
@pytest.mark.parametrize("name", ["n.csv", "kg/entities.jsonl"])
def test_a_file_that_changes_while_it_is_read_is_an_error(write, tmp_path, name, change):
    path = write(name, '{"entity_id": "a"}\n' if name != "n.csv" else "id\na\nb\n")
    write("kg/relationships.jsonl", "")
    stream = open_source(path if name == "n.csv" else path.parent)
    next(stream)
    if change == "gone":
        path.unlink()
    elif change == "longer":
        with path.open("a") as more:
            more.write("\n")
    else:
        os.utime(path, (1, 1))
    with pytest.raises(SourceError, match="was changed while it was being read"):
        list(stream)


def test_a_file_that_may_not_be_read_says_so(write):
    path = write("n.csv", "id\na\n")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(SourceError, match="cannot be read: Permission denied"):
        open_source(path)


def test_a_folder_is_no_table(tmp_path):
    (tmp_path / "n.csv").mkdir()
    with pytest.raises(SourceError, match="this folder is empty"):
        open_source(tmp_path / "n.csv")
