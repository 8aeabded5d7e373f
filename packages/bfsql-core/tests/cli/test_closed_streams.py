"""`bfsql serve` with standard input or output closed."""

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(("number", "name"), [(0, "input"), (1, "output")])
def test_on_stdio_a_closed_stream_is_one_sentence(number, name):
    command = [sys.executable, "-m", "bfsql", "serve"]
    done = subprocess.run(
        command,
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        preexec_fn=lambda: os.close(number),
    )
    assert done.returncode == 2
    assert done.stderr.startswith(f"Standard {name}, which the client ")
    assert " is closed. " in done.stderr
    assert "Traceback" not in done.stderr
