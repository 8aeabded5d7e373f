"""A working directory in which the backend `toy` is installed, and ways to run `bfsql` there."""

import contextlib
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bfsql.cli import bfsql
from bfsql_test_support import commands
from bfsql_test_support.distributions import install
from bfsql_test_support.servers.forked_commands import start_command

NODES = """id,type,name
f:1,Film,Sleepless in Seattle
f:2,Film,"You've Got Mail"
p:1,Person,Tom Hanks
p:2,Person,Meg Ryan
,Person,Nobody
"""

EDGES = """subject,predicate,object
p:1,ACTED_IN,f:1
p:2,ACTED_IN,f:1
p:1,ACTED_IN,f:2
p:2,ACTED_IN,f:2
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with nodes.csv (line 6 is invalid) and edges.csv."""
    site = tmp_path / "site"
    names = {"toy": "plugin", "frozen": "read_only", "of_old": "of_old", "ended": "ended"}
    names |= {"failing": "failing", "replacing": "replacing"}
    install(
        site,
        "bfsql-toy",
        **{name: f"bfsql_test_support.backends.toy:{it}" for name, it in names.items()},
    )
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("BFSQL_BACKEND", "toy")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "nodes.csv").write_text(NODES, encoding="utf-8")
    (tmp_path / "edges.csv").write_text(EDGES, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(folder: Path) -> Callable[..., Result]:
    """Runs `bfsql` in this process."""

    def run_here(*args: str) -> Result:
        return CliRunner().invoke(bfsql, args, prog_name="bfsql")

    return run_here


@pytest.fixture
def loaded(run: Callable[..., Result]) -> Callable[..., Result]:
    """Like `run`, after loading the two tables into toy.json."""
    assert run("load", "nodes.csv", "edges.csv", "--allow-refused").exit_code == 0
    return run


@pytest.fixture
def environment(folder: Path) -> dict[str, str]:
    """Environment variables for a separate process in which `toy` is installed too."""
    return os.environ | {"PYTHONPATH": str(folder / "site"), "COLUMNS": "100"}


@pytest.fixture
def process(environment: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs `bfsql` in a separate process."""
    return partial(commands.run, sys.executable, "-m", "bfsql", env=environment)


@pytest.fixture
def terminal(environment: dict[str, str]) -> Callable[..., str]:
    """Runs `bfsql` in a forked process on a terminal; returns everything displayed."""

    def run_on_terminal(*args: str, typed: str = "") -> str:
        ours, theirs = pty.openpty()
        os.write(ours, typed.encode())
        variables = environment | {"TERM": "xterm"}
        process = start_command("bfsql", args, str(Path.cwd()), variables, [theirs] * 3)
        os.close(theirs)
        seen = b""
        # On Linux, reading a terminal whose other side is closed raises an error.
        with contextlib.suppress(OSError):
            while more := os.read(ours, 65_536):
                seen += more
        process.join()
        os.close(ours)
        return seen.decode()

    return run_on_terminal
