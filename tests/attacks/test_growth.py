"""Processor time does not grow with the square of what an author or a caller chooses."""

from __future__ import annotations

import subprocess
import sys

from bfsql_test_support import growth


def test_no_time_grows_with_the_square_of_what_others_choose():
    command = [sys.executable, "-m", "bfsql_test_support.growth"]
    ran = subprocess.run(command, check=False, capture_output=True, text=True, timeout=3_000)
    squares = [line for line in ran.stdout.splitlines() if line.endswith("SQUARE")]
    assert not squares, "\n".join(squares)
    assert ran.returncode == 0, ran.stderr


def test_a_square_is_found():
    square = growth.Case("a square", lambda n: n, lambda n: [None for _ in range(n * n // 16)])
    straight = growth.Case("a line", lambda n: n, lambda n: [None for _ in range(n * 64)])
    assert growth.measured(square).is_square
    assert not growth.measured(straight).is_square
