"""Many short-lived `bfsql serve` processes, forked from one that has imported what they need.

Importing takes more than a second of processor time per process.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

START_SECONDS = 60


@dataclass
class Forked:
    """One server: its process id and the file of its standard error."""

    pid: int
    errors: Path

    @property
    def log(self) -> list[str]:
        """The lines logged so far."""
        return self.errors.read_text(encoding="utf-8").splitlines()

    @property
    def url(self) -> str:
        """The URL without a path; waits until the server listens."""
        end = time.monotonic() + START_SECONDS
        while not (found := re.search(r"answers at (http://[^/\s]+)", "\n".join(self.log))):
            assert time.monotonic() < end, self.log
            time.sleep(0.02)
        return found[1]

    @property
    def answers(self) -> int:
        """The number of calls answered, from its log at the level info in JSON."""
        records = [json.loads(line) for line in self.log if line.startswith("{")]
        return sum(record.get("outcome") == "ok" for record in records)

    def stop(self) -> None:
        """Send SIGTERM."""
        os.kill(self.pid, signal.SIGTERM)


@contextmanager
def forked(
    commands: Sequence[Sequence[str]], folder: Path, env: Mapping[str, str]
) -> Iterator[tuple[list[Forked], list[int]]]:
    """Run servers.

    Args:
        commands: The options of each, after `serve --transport http --port 0`.
        folder: For their logs.
        env: Their environment.

    Yields:
        The servers, and a list that receives their exit codes when the context ends.
    """
    codes: list[int] = []
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-m", "bfsql_test_support.servers.serve_forks", str(folder)],
        stdin=pipe,
        stdout=pipe,
        text=True,
        env=env,
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(json.dumps(commands) + "\n")
        process.stdin.flush()
        pids = json.loads(process.stdout.readline())
        try:
            yield [Forked(pid, folder / f"{n}.log") for n, pid in enumerate(pids)], codes
            codes.extend(json.loads(process.communicate(timeout=START_SECONDS)[0]))
        finally:
            if process.poll() is None:
                for pid in pids:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)


def main() -> None:
    """Fork a server for each command, then print the exit codes."""
    import bfsql.cli.serve
    import bfsql.rest.app
    import bfsql.server.mcp
    import bfsql.serving.connections
    import bfsql.serving.draining  # noqa: F401 - for the processes that are forked

    commands = json.loads(sys.stdin.readline())
    pids = [_fork(command, Path(sys.argv[1]) / f"{n}.log") for n, command in enumerate(commands)]
    print(json.dumps(pids), flush=True)  # noqa: T201 - to the test
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    print(json.dumps(codes), flush=True)  # noqa: T201 - likewise


def _fork(command: list[str], errors: Path) -> int:
    errors.touch()
    pid = os.fork()
    if not pid:
        os.dup2(os.open(errors, os.O_WRONLY), 2)
        from bfsql.cli.command import main as bfsql

        sys.argv = ["bfsql", "serve", "--transport", "http", "--port", "0", *command]
        try:
            bfsql()
        except SystemExit as ended:
            os._exit(ended.code if isinstance(ended.code, int) else ended.code is not None)
        os._exit(0)
    return pid


if __name__ == "__main__":
    main()
