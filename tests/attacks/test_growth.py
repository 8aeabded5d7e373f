"""Processor time does not grow with the square of what an author or a caller chooses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bfsql_test_support import growth


def test_no_time_grows_with_the_square_of_what_others_choose():
    command = [sys.executable, "-m", "bfsql_test_support.growth"]
    ran = subprocess.run(command, check=False, capture_output=True, text=True, timeout=3_000)
    assert ran.stdout.count("\n") > 100
    squares = [line for line in ran.stdout.splitlines() if line.endswith("SQUARE")]
    assert not squares, "\n".join(squares)
    assert ran.returncode == 0, ran.stderr


def test_a_square_is_found():
    square = growth.Case("a square", lambda n: n, lambda n: [None for _ in range(n * n // 16)])
    straight = growth.Case("a line", lambda n: n, lambda n: [None for _ in range(n * 64)])
    assert growth.measured(square).is_square
    assert not growth.measured(straight).is_square


@pytest.mark.parametrize("key", ["id", "name"])
def test_a_load_of_a_text_of_many_marks_ends(tmp_path: Path, key: str):
    record = {"id": "n", key: "\u0301\u0323" * 200_000}
    (tmp_path / "a.jsonl").write_text(json.dumps(record), "utf-8")
    command = [sys.executable, "-m", "bfsql", "load", "a.jsonl", "--path", "a.bfsql"]
    ran = subprocess.run(
        command, check=False, cwd=tmp_path, capture_output=True, text=True, timeout=90
    )
    assert "now holds 1 node" in ran.stdout, ran.stderr
