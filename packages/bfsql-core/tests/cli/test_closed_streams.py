"""`bfsql serve` with standard input or output closed."""

import os
import sys

import pytest

from bfsql_test_support.commands import run


@pytest.mark.parametrize(("number", "name"), [(0, "input"), (1, "output")])
def test_on_stdio_a_closed_stream_is_one_sentence(number, name):
    command = (sys.executable, "-m", "bfsql", "serve")
    done = run(*command, preexec_fn=lambda: os.close(number))
    assert done.returncode == 2
    assert done.stderr.startswith(f"Standard {name}, which the client ")
    assert " is closed. " in done.stderr
    assert "Traceback" not in done.stderr
