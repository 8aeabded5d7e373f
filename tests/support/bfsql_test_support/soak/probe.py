"""A client in its own process that measures how long small calls take.

    python -m bfsql_test_support.soak.probe HOST:PORT PID...

It reads the calls as JSON from standard input, makes one after the other until it is killed, and
prints a JSON array for each that was answered. It runs alone in its process and uses no library,
so that no other client delays its measurements. PIDs are the processes of the server, the proxy
and the store: while one of these, or the probe, waits for a processor, the machine is busy, and
the time of a call says nothing about the server.
"""

import http.client
import itertools
import json
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from bfsql_test_support.raw_mcp import tool_call
from bfsql_test_support.servers.module_process import piped

PAUSE = 0.1
"""Seconds between two calls."""


class Probed(NamedTuple):
    """A call that was answered."""

    start: float
    """`time.monotonic()`, which is the same in all processes."""
    seconds: float
    waited: float
    """Longest time in seconds for which one of the processes waited for a processor."""
    tool: str


@contextmanager
def probing(
    address: str, pids: Sequence[int], calls: Sequence[tuple[str, dict[str, Any]]]
) -> Iterator[list[Probed]]:
    """Make the calls in turn while the block runs.

    Args:
        pids: Processes that a call passes through.
    """
    with piped(__name__, address, *map(str, pids)) as process:
        assert process.stdin
        assert process.stdout
        output, found = process.stdout, list[Probed]()
        reading = threading.Thread(
            target=lambda: found.extend(Probed(*json.loads(line)) for line in output), daemon=True
        )
        reading.start()
        process.stdin.write(json.dumps(calls))
        process.stdin.close()
        try:
            yield found
        finally:
            process.kill()
            reading.join()


def _waited(pid: int | str) -> int:
    """Nanoseconds for which the threads of a process have waited for a processor; 0 if unknown."""
    waited = 0
    for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with suppress(OSError, IndexError):
            waited += int(task.read_text("ascii").split()[1])
    return waited


def _answered(connection: http.client.HTTPConnection, tool: str, arguments: Any) -> bool:
    try:
        connection.request("POST", "/mcp", *tool_call(tool, arguments, "probe"))
        answer = json.loads(connection.getresponse().read())
    except (OSError, http.client.HTTPException, json.JSONDecodeError):  # a refusal is plain text
        connection.close()
        return False
    return not answer.get("result", {"isError": True}).get("isError", False)


def main() -> None:
    """Measure until the process is killed."""
    pids = ["self", *sys.argv[2:]]
    connection = http.client.HTTPConnection(sys.argv[1], timeout=60)
    for tool, arguments in itertools.cycle(json.loads(sys.stdin.read())):
        before = [_waited(pid) for pid in pids]
        start = time.monotonic()
        answered = _answered(connection, tool, arguments)
        seconds = time.monotonic() - start
        waited = max(_waited(pid) - was for pid, was in zip(pids, before, strict=True)) / 1e9
        if answered:
            print(json.dumps([start, seconds, waited, tool]), flush=True)  # noqa: T201
        time.sleep(PAUSE)


if __name__ == "__main__":
    main()
