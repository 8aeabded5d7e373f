"""Processor time does not grow with the square of what an author or a caller chooses."""

import json
import sys
from pathlib import Path

import pytest

from bfsql_test_support import growth
from bfsql_test_support.commands import run


def test_no_time_grows_with_the_square_of_what_others_choose():
    ran = run(sys.executable, "-m", "bfsql_test_support.growth", timeout=3_000)
    assert ran.stdout.count("\n") > 100
    squares = [line for line in ran.stdout.splitlines() if line.endswith("SQUARE")]
    assert not squares, "\n".join(squares)
    assert ran.returncode == 0, ran.stderr


def test_a_square_is_found(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(growth, "LEAST", 0.01)
    square = growth.Case("a square", lambda n: n, lambda n: [None for _ in range(n * n // 16)])
    straight = growth.Case("a line", lambda n: n, lambda n: [None for _ in range(n * 64)])
    assert growth.measured(square).is_square
    assert not growth.measured(straight).is_square


@pytest.mark.parametrize("key", ["id", "name"])
def test_a_load_of_a_text_of_many_marks_ends(tmp_path: Path, key: str):
    record = {"id": "n", key: "\u0301\u0323" * 200_000}
    (tmp_path / "a.jsonl").write_text(json.dumps(record), "utf-8")
    command = (sys.executable, "-m", "bfsql", "load", "a.jsonl", "--path", "a.bfsql")
    ran = run(*command, cwd=tmp_path, timeout=90)
    assert "now holds 1 node" in ran.stdout, ran.stderr
