"""How many calls a server answers, and how long small ones take beside large ones.

    nox -s benchmarks -- crowd [--workers 2] [--seconds 5] [--rounds 4] [GRAPH ...]
    nox -s benchmarks -- crowd --beside

measures calls a second and memory, by graph and by size of answers, of one process and of several
workers in turns: 10000 or 100000 nodes, with ten times as many edges. `--beside` measures small
calls on one graph of a server while eight clients ask for the hub of another.

python crowd.py URL SEED CLIENTS     each client asks for one hop of the seed, until terminated
python crowd.py URL SECONDS FILE     makes the calls of the file on 16 connections; prints how many
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
from graphs import HUB, heavy_tailed, name_of
from mcp import Client
from timing import median

from bfsql_sqlite import SqliteSettings
from bfsql_sqlite import load_graph as sqlite_load
from bfsql_test_support.raw_mcp import tool_call

CLIENTS = 20
QUESTIONS = 25
"""Questions of each client in each pass."""
PAUSE = 0.5
"""Mean seconds that a client waits between two questions."""
PASSES = 2
CONNECTIONS = 16
"""Of the client that makes as many calls as it can."""
NO_BOUNDS = {"BFSQL_MAX_NODES": "1000000000", "BFSQL_MAX_EDGES": "1000000000"}


async def report(
    graph: Path, hub: str, few: Sequence[str], other: Path | None = None, asking: int = 1
) -> None:
    """Time small questions of many clients, with and without more that ask for the hub.

    Args:
        graph: The file to serve.
        hub: Its hub.
        few: Nodes with few edges. None is asked for twice, so that no answer is cached.
        other: Another graph of the same server, whose hub is asked for.
        asking: Number of clients that ask for the hub.
    """
    print(f"\n{CLIENTS} clients over HTTP ask 1 hop      median   1 of 100 is slower   slowest")
    left = iter(few)
    late: dict[bool, float] = {}
    with _server(graph, *([str(other)] if other else [])) as (first, _):
        root, url, of_hub = "/".join(first.split("/")[:3]), first, first
        if other:
            url, of_hub = (f"{root}/mcp/{one.stem}" for one in (graph, other))
        await _crowd(url, [next(left) for _ in range(CLIENTS)])  # warm-up: imports, statements
        for _ in range(PASSES):
            for with_hub in (False, True):
                seeds = [next(left) for _ in range(CLIENTS * QUESTIONS)]
                with _asking_for(of_hub, hub if with_hub else None, asking) as answers:
                    took = sorted(await _crowd(url, seeds))
                slow = took[-1 - len(took) // 100]
                late[with_hub] = min(slow, late.get(with_hub, slow))
                what = f"and {asking} the hub: {len(answers)} answers" if with_hub else "alone"
                figures = (seconds * 1000 for seconds in (median(took), slow, took[-1]))
                print("{:32}{:8.1f} ms{:18.1f} ms{:7.1f} ms".format(what, *figures))
    more, ratio = (late[True] - late[False]) * 1000, late[True] / late[False]
    print(f"{more:.0f} ms more, {ratio:.1f} x, the better passes (goal: 100; of another graph 2 x)")


def main(arguments: list[str]) -> None:
    """Print calls a second and memory of one process and of several workers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="*", type=int, default=[10_000, 100_000], metavar="GRAPH")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=5, help="of each round")
    parser.add_argument("--rounds", type=int, default=4, help="of each kind of server, in turns")
    parser.add_argument("--beside", action="store_true", help="small calls beside large ones")
    given = parser.parse_args(arguments)
    if given.beside:
        _beside(20_000)
        return
    print("nodes   answer     workers   calls/s   CPU ms a call   memory MB   times one process")
    for nodes in given.graphs:
        with TemporaryDirectory(prefix="bfsql-bench-") as folder:
            graph = Path(folder) / "graph.db"
            records = heavy_tailed(nodes, 10 * nodes, nodes // 10)
            asyncio.run(sqlite_load(SqliteSettings(path=graph), records))
            _measure(graph, nodes, given.workers, given.seconds, given.rounds)


def _beside(nodes: int) -> None:
    """Report small questions on a graph beside eight clients at the hub of an equal one."""
    with TemporaryDirectory(prefix="bfsql-bench-") as folder:
        graphs = [Path(folder) / name for name in ("small.db", "large.db")]
        for graph in graphs:
            records = heavy_tailed(nodes, 10 * nodes, nodes * 17 // 20)
            asyncio.run(sqlite_load(SqliteSettings(path=graph), records))
        few = [name_of(number) for number in range(nodes // 4, nodes)]
        asyncio.run(report(graphs[0], HUB, few, graphs[1], asking=8))


def _questions(nodes: int) -> dict[str, list[dict[str, Any]]]:
    """Calls of `bfs_query` by the size of their answers."""
    few = [name_of(number) for number in range(nodes // 2, nodes // 2 + 200)]
    return {
        "1 kB": [{"seeds": [one], "topology_only": True, "limit": 8} for one in few],
        "9 kB": [{"seeds": [o], "topology_only": True, "max_hops": 2, "limit": 75} for o in few],
        "70 kB": [{"seeds": [HUB], "topology_only": True, "limit": 320}],
    }


def _measure(graph: Path, nodes: int, workers: int, seconds: float, rounds: int) -> None:
    calls = graph.with_suffix(".json")
    numbers = (1, workers)
    with (
        _server(graph, "--stateless") as one,
        _server(graph, "--stateless", "--workers", str(workers)) as several,
    ):
        for size, questions in _questions(nodes).items():
            calls.write_text(json.dumps(questions))
            rates: dict[int, list[float]] = {number: [] for number in numbers}
            costs: dict[int, list[float]] = {number: [] for number in numbers}
            for turn in range(rounds + 1):
                for number, (url, pid) in zip(numbers, (one, several), strict=True):
                    before = _processor(pid)
                    command = [sys.executable, __file__, url, str(seconds), str(calls)]
                    made = int(subprocess.run(command, check=True, capture_output=True).stdout)
                    if turn:  # the first fills the caches
                        rates[number].append(made / seconds)
                        costs[number].append(1000 * (_processor(pid) - before) / made)
            for number, (_, pid) in zip(numbers, (one, several), strict=True):
                rate, cost = statistics.median(rates[number]), statistics.median(costs[number])
                ratio = rate / statistics.median(rates[1])
                memory = sum(each.memory_full_info().pss for each in _tree(pid)) / 1e6
                figures = f"{rate:10.0f}{cost:16.2f}{memory:12.0f}{ratio:20.2f}"
                print(f"{nodes:<8}{size:10}{number:8}{figures}", flush=True)


def _tree(pid: int) -> list[psutil.Process]:
    return [psutil.Process(pid), *psutil.Process(pid).children()]


def _processor(pid: int) -> float:
    """Seconds of processor time of a server and its workers."""
    return sum(each.cpu_times().user + each.cpu_times().system for each in _tree(pid))


async def _as_many_as_possible(url: str, seconds: float, questions: Sequence[Any]) -> int:
    """Make calls without a pause, each connection one after the other; return how many."""
    _, _, authority, path = url.split("/", 3)
    host, port = authority.split(":")
    requests = []
    for arguments in questions:
        body, headers = tool_call("bfs_query", arguments, "benchmark")
        lines = [f"{name}: {value}" for name, value in headers.items()]
        head = [f"POST /{path} HTTP/1.1", f"Host: {authority}", f"Content-Length: {len(body)}"]
        requests.append("\r\n".join([*head, *lines, "", body]).encode())
    end, made = time.perf_counter() + seconds, 0

    async def connection(number: int) -> None:
        nonlocal made
        reader, writer = await asyncio.open_connection(host, int(port), limit=10_000_000)
        for request in itertools.islice(itertools.cycle(requests), number, None):
            if time.perf_counter() > end:
                break
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            _, _, length = head.lower().partition(b"content-length:")
            if length:
                await reader.readexactly(int(length.split()[0]))
            else:
                await reader.readuntil(b"\r\n0\r\n\r\n")
            made += 1
        writer.close()

    await asyncio.gather(*(connection(number) for number in range(CONNECTIONS)))
    return made


@contextmanager
def _server(graph: Path, *options: str) -> Iterator[tuple[str, int]]:
    """The URL of `bfsql serve` over HTTP, and its process."""
    command = [sys.executable, "-m", "bfsql", "serve", str(graph), *options]
    command += ["--transport", "http", "--port", "0", "--max-calls-per-client", "64"]
    environment = os.environ | NO_BOUNDS
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stderr
        try:
            url = next(word for word in server.stderr.readline().split() if "://" in word)
            yield url, server.pid
        finally:
            server.terminate()


@contextmanager
def _asking_for(url: str, seed: str | None, clients: int) -> Iterator[list[str]]:
    """Run a process whose clients ask for the seed; at the end the list has a line per answer."""
    answers: list[str] = []
    if seed is None:
        yield answers
        return
    command = [sys.executable, __file__, url, seed, str(clients)]
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


async def _again_and_again(url: str, seed: str, clients: int) -> None:
    async def client() -> None:
        async with Client(url, read_timeout_seconds=600) as session:
            print("begun", flush=True)
            while True:
                answer = await session.call_tool("bfs_query", {"seeds": [seed], "max_hops": 1})
                if answer.is_error:
                    raise SystemExit(str(answer.content))
                print("answered", flush=True)

    await asyncio.gather(*(client() for _ in range(clients)))


if __name__ == "__main__":
    if Path(sys.argv[3]).exists():
        asked = json.loads(Path(sys.argv[3]).read_text())
        print(asyncio.run(_as_many_as_possible(sys.argv[1], float(sys.argv[2]), asked)))
    else:
        asyncio.run(_again_and_again(sys.argv[1], sys.argv[2], int(sys.argv[3])))
