"""How long small questions take while the same server answers large ones.

python crowd.py URL SEED    asks for one hop of the seed repeatedly, until it is terminated
"""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from mcp import Client
from timing import median

CLIENTS = 20
QUESTIONS = 25
"""Questions of each client in each pass."""
PAUSE = 0.5
"""Mean seconds that a client waits between two questions."""
PASSES = 2
NO_BOUNDS = {"BFSQL_MAX_NODES": "1000000000", "BFSQL_MAX_EDGES": "1000000000"}


async def report(graph: Path, hub: str, few: Sequence[str]) -> None:
    """Time small questions of many clients, with and without one more that asks for the hub.

    Args:
        graph: The file to serve.
        hub: Its hub.
        few: Nodes with few edges. None is asked for twice, so that no answer is cached.
    """
    print(f"\n{CLIENTS} clients over HTTP ask 1 hop      median   1 of 100 is slower   slowest")
    left = iter(few)
    late: dict[bool, float] = {}
    with _server(graph) as url:
        await _crowd(url, [next(left) for _ in range(CLIENTS)])  # warm-up: imports, statements
        for _ in range(PASSES):
            for with_hub in (False, True):
                seeds = [next(left) for _ in range(CLIENTS * QUESTIONS)]
                with _asking_for(url, hub if with_hub else None) as answers:
                    took = sorted(await _crowd(url, seeds))
                slow = took[-1 - len(took) // 100]
                late[with_hub] = min(slow, late.get(with_hub, slow))
                what = f"and one the hub: {len(answers)} answers" if with_hub else "alone"
                figures = (seconds * 1000 for seconds in (median(took), slow, took[-1]))
                print("{:32}{:8.1f} ms{:18.1f} ms{:7.1f} ms".format(what, *figures))
    print(f"{(late[True] - late[False]) * 1000:.0f} ms more, the better passes (goal: 100)")


@contextmanager
def _server(graph: Path) -> Iterator[str]:
    """The URL of `bfsql serve` over HTTP."""
    command = [sys.executable, "-m", "bfsql", "serve", "--path", str(graph)]
    command += ["--transport", "http", "--port", "0"]
    environment = os.environ | NO_BOUNDS
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stderr
        try:
            yield next(word for word in server.stderr.readline().split() if "://" in word)
        finally:
            server.terminate()


@contextmanager
def _asking_for(url: str, seed: str | None) -> Iterator[list[str]]:
    """Run a client process that asks for the seed; at the end the list has a line per answer."""
    answers: list[str] = []
    if seed is None:
        yield answers
        return
    command = [sys.executable, __file__, url, seed]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as client:
        assert client.stdout
        client.stdout.readline()  # it has started
        try:
            yield answers
        finally:
            client.terminate()
            answers += client.stdout.readlines()


async def _crowd(url: str, seeds: Sequence[str]) -> list[float]:
    """Seconds of each answer; the clients share the seeds."""
    chance = random.Random(7)

    async def client(own: Sequence[str]) -> list[float]:
        took = []
        async with Client(url) as session:
            await session.list_tools()
            for seed in own:
                await asyncio.sleep(chance.uniform(0, 2 * PAUSE))
                start = time.perf_counter()
                answer = await session.call_tool("bfs_query", {"seeds": [seed], "max_hops": 1})
                took.append(time.perf_counter() - start)
                assert not answer.is_error, answer
        return took

    lists = await asyncio.gather(*(client(seeds[n::CLIENTS]) for n in range(CLIENTS)))
    return [seconds for one in lists for seconds in one]


async def _again_and_again(url: str, seed: str) -> None:
    async with Client(url, read_timeout_seconds=600) as session:
        print("begun", flush=True)
        while True:
            answer = await session.call_tool("bfs_query", {"seeds": [seed], "max_hops": 1})
            if answer.is_error:
                raise SystemExit(str(answer.content))
            print("answered", flush=True)


if __name__ == "__main__":
    asyncio.run(_again_and_again(sys.argv[1], sys.argv[2]))
