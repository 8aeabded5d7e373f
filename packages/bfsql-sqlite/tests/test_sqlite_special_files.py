"""Paths that are not regular files: `bfsql load` writes into none of them."""

import os
import socket
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner

from bfsql.cli import bfsql


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nodes.csv").write_text("id\na\n", encoding="utf-8")
    return tmp_path


def load(*args):
    return CliRunner().invoke(bfsql, ["load", "nodes.csv", *args], prog_name="bfsql")


def special_file(path, kind):
    if kind == "FIFO":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)  # the path of a socket may have about a hundred characters
    else:
        if os.geteuid():
            pytest.skip("only the superuser may make a device")
        type_ = stat.S_IFCHR if kind == "character device" else stat.S_IFBLK
        try:
            os.mknod(path, 0o666 | type_, os.makedev(1, 3) if type_ == stat.S_IFCHR else 0)
        except PermissionError:
            pytest.skip("this system makes no devices")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no such files")
@pytest.mark.parametrize("mode", [[], ["--replace"], ["--append"]])
@pytest.mark.parametrize("kind", ["character device", "block device", "FIFO", "socket"])
def test_a_special_file_is_not_replaced(folder, kind, mode):
    special_file(folder / "graph.db", kind)
    (folder / "link.db").symlink_to("graph.db")
    before = (folder / "graph.db").stat()
    for path in ("graph.db", "link.db"):
        wrong = load("--path", path, *mode)
        assert (wrong.exit_code, wrong.stdout) == (2, "")
        assert wrong.stderr.endswith(
            f"graph.db is a {kind}, so no graph is put there. Name a regular file with --path.\n"
        )
    assert (folder / "graph.db").stat() == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no such files")
def test_a_special_file_is_not_overwritten_with_a_backup(folder):
    assert load("--path", "graph.db").exit_code == 0
    os.mkfifo("graph.db.bak")
    wrong = load("--path", "graph.db", "--replace")
    assert wrong.exit_code == 2
    assert "graph.db.bak exists but does not contain a BFS-QL graph" in wrong.stderr
    assert stat.S_ISFIFO(Path("graph.db.bak").stat().st_mode)
