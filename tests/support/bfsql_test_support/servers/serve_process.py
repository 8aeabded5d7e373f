"""`bfsql serve` and `bfsql explore` as separate processes, queried over HTTP.

They are forked from a process that has imported what they need, which takes more than a second of
processor time for each process otherwise. Starts from nothing are in the tests of the command line,
of the pages for newcomers, and of what is installed from wheels.
"""

import importlib
import multiprocessing
import os
import re
import resource
import runpy
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

START_SECONDS = 120
FORKING = multiprocessing.get_context("forkserver")
FORKING.set_forkserver_preload(
    [
        *("__main__", "bfsql.cli.load", "bfsql.cli.serve", "bfsql.cli.tool"),
        *("bfsql.rest.app", "bfsql.server.mcp"),
        *("bfsql.serving.connections", "bfsql.serving.draining", "bfsql_sqlite.backend"),
        *("bfsql_test_support.occupied_loops", __name__),
    ]
)


@dataclass
class Served:
    """A running server: its addresses, its process, and its log so far."""

    process: multiprocessing.process.BaseProcess
    reading: threading.Thread | None = None
    """The thread that reads the log."""
    url: str = ""
    """Its URL without a path."""
    admin: str = ""
    """URL of health and metrics, without a path; empty without `--admin-port`."""
    log: list[str] = field(default_factory=list)
    """Lines of standard error."""

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self.process.pid is not None
        return self.process.pid

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.url.rpartition(":")[2])

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def wait(self, seconds: float) -> int | None:
        """The exit code, when the log is complete; None if it still runs after these seconds."""
        self.process.join(seconds)
        if self.process.exitcode is not None and self.reading:
            self.reading.join()
        return self.process.exitcode

    def stop(self, seconds: float = 30) -> int | None:
        """Send SIGTERM and wait; return the exit code."""
        self.send(signal.SIGTERM)
        return self.wait(seconds)


@contextmanager
def serving(
    *options: str, env: Mapping[str, str] | None = None, max_files: int | None = None
) -> Iterator[Served]:
    """Run `bfsql serve` with the options, on a free port, and stop it at the end.

    Args:
        options: Options after `serve --transport http --port 0`.
        env: The process's environment; None for this one's.
        max_files: Most files that the process may open.
    """

    with _started("serve", "--transport", "http", *options, env=env, max_files=max_files) as served:
        yield served


@contextmanager
def exploring(*options: str, env: Mapping[str, str] | None = None) -> Iterator[Served]:
    """Run `bfsql explore` with the arguments, on a free port, and stop it at the end."""
    with _started("explore", "--no-browser", *options, env=env) as served:
        yield served


@contextmanager
def _started(
    command: str, *options: str, env: Mapping[str, str] | None, max_files: int | None = None
) -> Iterator[Served]:
    log, errors = FORKING.Pipe(duplex=False)
    arguments = [command, "--port", "0", *options]
    process = FORKING.Process(
        target=_run, args=(arguments, dict(os.environ if env is None else env), errors, max_files)
    )
    process.start()
    errors.close()
    served = Served(process)
    greeted = threading.Event()
    served.reading = threading.Thread(target=_read, args=(served, log, greeted), daemon=True)
    served.reading.start()
    try:
        greeted.wait(START_SECONDS)
        assert served.url, "\n".join(served.log)
        yield served
    finally:
        process.kill()
        process.join()
        served.reading.join()


def _run(
    arguments: list[str], environment: dict[str, str], errors: Connection, max_files: int | None
) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for number, target in enumerate((nothing, nothing, errors.fileno())):
        os.dup2(target, number)
    os.close(nothing)
    errors.close()
    if max_files is not None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max_files, max_files))
    run_command(arguments, environment)


def run_command(arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    """Run the command as `python -m bfsql` would, in a forked process."""
    _take(environment)
    from bfsql.cli.command import main
    from bfsql_test_support.occupied_loops import watch_served_loops

    watch_served_loops()
    sys.argv = ["bfsql", *arguments]
    main()


def run_script(arguments: Sequence[str], environment: Mapping[str, str], *, strict: bool) -> None:
    """Run a file as `python` would, or `python -W error` if it is strict, in a forked process."""
    _take(environment)
    if strict:
        warnings.simplefilter("error")
    file, *_ = sys.argv = list(arguments)
    sys.path.insert(0, str(Path(file).parent))
    runpy.run_path(file, run_name="__main__")


def _take(environment: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    sys.path[1:1] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    importlib.invalidate_caches()


def _read(served: Served, log: Connection, greeted: threading.Event) -> None:
    with os.fdopen(os.dup(log.fileno()), encoding="utf-8", errors="replace") as lines:
        log.close()
        for line in lines:
            served.log.append(line.rstrip("\n"))
            if found := re.match(r"Health and metrics are at (\S+)", line):
                served.admin = found[1]
            if not served.url and (found := re.search(r"answers at (http://[^/\s]+)", line)):
                served.url = found[1]
                greeted.set()
    greeted.set()
