"""`bfsql serve` and `bfsql explore` as separate processes, queried over HTTP."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

START_SECONDS = 120


@dataclass
class Served:
    """A running server: its addresses, its process, and its log so far."""

    process: subprocess.Popen[str]
    url: str = ""
    """Its URL without a path."""
    admin: str = ""
    """URL of health and metrics, without a path; empty without `--admin-port`."""
    log: list[str] = field(default_factory=list)
    """Lines of standard error."""

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.url.rpartition(":")[2])

    def stop(self, seconds: float = 30) -> int:
        """Send SIGTERM and wait; return the exit code."""
        self.process.terminate()
        return self.process.wait(seconds)


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
    def limited() -> None:
        assert max_files is not None
        resource.setrlimit(resource.RLIMIT_NOFILE, (max_files, max_files))

    with subprocess.Popen(
        [sys.executable, "-m", "bfsql", command, "--port", "0", *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
        # Unsafe if several servers are started in threads, one of which may hold a lock.
        preexec_fn=None if max_files is None else limited,  # noqa: PLW1509
    ) as process:
        served = Served(process)
        greeted = threading.Event()
        reading = threading.Thread(target=_read, args=(served, greeted), daemon=True)
        reading.start()
        try:
            greeted.wait(START_SECONDS)
            assert served.url, "\n".join(served.log)
            yield served
        finally:
            process.kill()
            process.wait()
            reading.join()


def _read(served: Served, greeted: threading.Event) -> None:
    assert served.process.stderr
    for line in served.process.stderr:
        served.log.append(line.rstrip("\n"))
        if found := re.match(r"Health and metrics are at (\S+)", line):
            served.admin = found[1]
        if not served.url and (found := re.search(r"answers at (http://[^/\s]+)", line)):
            served.url = found[1]
            greeted.set()
    greeted.set()
