"""Pipes, and files that change or cannot be read."""

import os

import pytest

from bfsql.errors import SourceError
from bfsql.sources import SourceOptions, open_source


@pytest.mark.parametrize("source", ["-", os.devnull, "e.csv"])
def test_pipes_and_devices_are_no_sources(tmp_path, source):
    if source == "e.csv":
        if not hasattr(os, "mkfifo"):
            pytest.skip("this system has no FIFOs")
        source = tmp_path / source
        os.mkfifo(source)
    for options in (SourceOptions(), SourceOptions(format="csv")):
        with pytest.raises(SourceError, match="pipe or a device; save its content as a file"):
            open_source(source, options)


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
