"""A process that answers one question at a time, and reports what each answer took.

    python asking.py GRAPH

It reads lines of `[seed, hops]` and prints a `Reply` for each. It runs in any environment that has
`bfsql`, of this commit or another.
"""

from __future__ import annotations

import asyncio
import gc
import json
import resource
import sys
import time
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple, Self

MANY = 10**9


class Taken:
    """The time that a block takes."""

    def __enter__(self) -> Self:
        gc.collect()
        self.wall, self.processor = -time.perf_counter(), -time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall += time.perf_counter()
        self.processor += time.process_time()


class Reply(NamedTuple):
    """Time and memory of one answer, and its counts."""

    wall: float
    """Seconds."""
    processor: float
    """Seconds of all threads."""
    memory: float
    """Peak of the process so far, in megabytes."""
    nodes: int
    edges: int

    @classmethod
    def of(cls, taken: Taken, answer: dict[str, Any]) -> Reply:
        """The reply for an answer."""
        counts = (answer["node_count"], answer["edge_count"])
        return cls(taken.wall, taken.processor, _peak(), *counts)

    def send(self) -> None:
        """Print it."""
        print(json.dumps(self), flush=True)


def _peak() -> float:
    """The peak of this process's memory in megabytes."""
    status = Path("/proc/self/status")
    if status.exists():  # `ru_maxrss` begins with the memory of the parent process
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def questions() -> Iterator[tuple[str, int]]:
    """The questions on standard input."""
    # As the server does; another commit may not have `bfsql.interpreter`.
    gc.set_threshold(20_000, 2, 600)
    for line in sys.stdin:
        seed, hops = json.loads(line)
        yield seed, hops


async def main(path: str) -> None:
    """Answer from the embedded store without bounds; the graph is reopened for each question."""
    import bfsql

    known = {field.name for field in fields(bfsql.Limits)}
    bounds: dict[str, Any] = {"deadline": None, "max_nodes": MANY, "max_edges": MANY}
    limits = bfsql.Limits(**{name: bound for name, bound in bounds.items() if name in known})
    for seed, hops in questions():
        async with bfsql.open_graph("sqlite", path=path, limits=limits) as graph:
            with Taken() as taken:
                answer = await graph.bfs_query([seed], hops)
                text = answer.text.encode()
        Reply.of(taken, json.loads(text)).send()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
