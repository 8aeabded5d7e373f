"""A backend that `bfsql new-backend` of version 0.1 generated runs unchanged.

`data/bfsql-early` is what that version wrote; it is not adapted to later ones.
"""

import os
import shutil
import sys
from pathlib import Path

import pytest

from bfsql_test_support.commands import output
from bfsql_test_support.depth import KIT_OF_EXAMPLES, THOROUGH

GENERATED = Path(__file__).parent / "data" / "bfsql-early"
NO_DRAWN = "not (the_bytes_of_the_reference or graphs_that_hypothesis_makes)"
"""Core draws graphs over a backend with the same eight methods, in `test_eight_methods.py`."""


@pytest.mark.slow
def test_its_tests_pass(tmp_path: Path):
    fewer = () if THOROUGH else ("-k", NO_DRAWN)  # the last -k counts
    folder = shutil.copytree(GENERATED, tmp_path / "bfsql-early")
    env = {**os.environ, "PYTHONPATH": str(folder / "src")}
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    done = output(*command, *KIT_OF_EXAMPLES, *fewer, cwd=folder, env=env, timeout=600)
    assert " passed" in done
