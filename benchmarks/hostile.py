"""What the most expensive calls cost a server, and what they cost its other clients.

    nox -s benchmarks -- hostile [--store postgres] [--deadline 10] [--seconds 60] [--clients 8]

The graph has three hubs, each with two thirds of all nodes. Each call runs on a server of its own;
then clients repeat them, eight at a time each, beside one that makes small calls.

python hostile.py --beside URL ADMIN SECONDS    makes the small calls, in a process of its own
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import itertools
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

import httpx2
import psutil
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from pydantic import SecretStr

from bfsql.models import EdgeRecord, NodeRecord
from bfsql_neo4j import Neo4jSettings
from bfsql_neo4j.load.loader import load_graph as neo4j_load
from bfsql_postgres import PostgresSettings
from bfsql_postgres.load.loader import load_graph as postgres_load
from bfsql_sqlite import SqliteSettings
from bfsql_sqlite import load_graph as sqlite_load
from bfsql_test_support import results
from bfsql_test_support.servers.folder import folder
from bfsql_test_support.servers.neo4j import Neo4jServer
from bfsql_test_support.servers.postgres import PostgresServer

Times = dict[str, dict[str, int]]
"""Milliseconds of each small call: the median, the 99th percentile and the maximum."""
HUBS = 3
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "path of 8 steps": (
        "bfs_query",
        {"seeds": ["n0"], "path": ["--"] * 8, "show": "ends", "measure": "count 1", "limit": 1},
    ),
    "step repeated 8 times": (
        "bfs_query",
        {"seeds": ["n0"], "path": ["--{1,8}"], "to": ["n1"], "where": ["score>=1"]},
    ),
    "200 conditions": (
        "bfs_query",
        {
            "seeds": ["n0"],
            "max_hops": 5,
            "sort_by": "-note",
            "where": [f"score!={number}" for number in range(200)],
        },
    ),
    "everything, sorted": ("bfs_query", {"seeds": ["n0"], "max_hops": 5, "sort_by": "-note"}),
    "groups of all": (
        "bfs_query",
        {"seeds": ["*[note~note]"], "facets": ["note:1000", "name:1000"], "limit": 0},
    ),
    "measures": (
        "bfs_query",
        {"seeds": ["T0:*"], "path": ["--", "--"], "measure": ["count 1", "max 1.score"]},
    ),
    "intersection": ("intersect_subgraphs", {"seeds": ["n0", "n1", "n2"], "k": 4}),
    "cycles": ("bfs_query", {"seeds": ["n0"], "path": ["--", "--", "--"], "where": ["3 = 0"]}),
}


def records(nodes: int, edges: int) -> Iterator[NodeRecord | EdgeRecord]:
    """The graph: hubs, and edges that prefer some nodes."""
    degree = nodes * 2 // 3
    chance = random.Random(5)
    for number in range(nodes):
        note = f"note {chance.randrange(1_000_000)}"
        known = {"name": f"name {number}", "score": chance.randrange(1000), "note": note}
        yield NodeRecord(f"n{number}", f"T{number % 5}", known)
    predicates = itertools.cycle(f"p{number}" for number in range(8))
    for hub in range(HUBS):
        for end in chance.sample(range(nodes), degree):
            yield EdgeRecord(f"n{hub}", next(predicates), f"n{end}")
    for _ in range(edges - HUBS * degree):
        one, other = (int(nodes * chance.random() ** power) for power in (4, 2))
        yield EdgeRecord(f"n{one}", next(predicates), f"n{other}")


@dataclass
class Server:
    """`bfsql serve` over HTTP, with tokens."""

    url: str
    admin: str
    process: psutil.Process

    def memory(self) -> float:
        """Resident memory of the process, in MB."""
        return float(self.process.memory_info().rss / 1e6)

    def processor(self) -> float:
        """Seconds of processor time so far."""
        times = self.process.cpu_times()
        return float(times.user + times.system)


@dataclass
class Store:
    """How `bfsql serve` opens the graph."""

    options: Sequence[str]
    environment: Mapping[str, str]


@asynccontextmanager
async def _loaded(store: str, place: Path, nodes: int, edges: int) -> AsyncIterator[Store]:
    """The graph in a store; servers are started for it."""
    graph = records(nodes, edges)
    if store == "embedded":
        path = place / "hubs.db"
        await sqlite_load(SqliteSettings(path=path), graph)
        yield Store(("--path", str(path)), {})
    elif store == "postgres":
        postgres = PostgresServer.embedded(place)
        postgres.start()
        try:
            async with postgres.database() as database:
                await postgres_load(PostgresSettings(dsn=SecretStr(database.owner_url)), graph)
                yield Store(("--backend", "postgres"), {"DATABASE_URL": database.reader_url})
        finally:
            postgres.stop()
    else:
        neo4j = Neo4jServer.large(place)
        neo4j.start()
        try:
            await neo4j_load(Neo4jSettings(uri=neo4j.uri, preserve_case=True), graph)
            options = ("--backend", "neo4j", "--preserve-case")
            yield Store(options, {"NEO4J_URI": neo4j.uri, "NEO4J_PASSWORD": ""})
        finally:
            neo4j.stop()


@contextmanager
def _serving(store: Store, deadline: float) -> Iterator[Server]:
    names = ["beside", *(f"hostile{number}" for number in range(8))]
    hashes = {name: hashlib.sha256(_token(name).encode()).hexdigest() for name in names}
    with TemporaryDirectory(prefix="bfsql-bench-") as tokens_folder:
        tokens = Path(tokens_folder) / "tokens"
        tokens.write_text("".join(f"{name} sha256:{code}\n" for name, code in hashes.items()))
        command = [sys.executable, "-m", "bfsql", "serve", *store.options]
        command += ["--transport", "http", "--port", "0", "--admin-port", "0", "--stateless"]
        command += ["--deadline", str(deadline), "--bearer-tokens", str(tokens)]
        with _started(command, store.environment) as server:
            yield server


@contextmanager
def _started(command: Sequence[str], environment: Mapping[str, str]) -> Iterator[Server]:
    environment = {**os.environ, **environment}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stderr
        try:
            # A store may log its choices before.
            ends = (line.split()[-1] for line in server.stderr if line.strip())
            admin, url = itertools.islice((end for end in ends if end.startswith("http://")), 2)
            Thread(target=server.stderr.read, daemon=True).start()  # the pipe must not fill
            yield Server(url, admin, psutil.Process(server.pid))
        finally:
            server.terminate()


def _token(name: str) -> str:
    return f"bfsql_{name}_{'0' * 40}"


@asynccontextmanager
async def _client(url: str, name: str) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {_token(name)}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=600) as http,
        Client(streamable_http_client(url, http_client=http), read_timeout_seconds=600) as client,
    ):
        yield client


async def _asked(url: str, name: str, what: str) -> tuple[float, str]:
    """Seconds that a call takes, and the beginning of its answer or error."""
    async with _client(url, name) as client:
        start = time.perf_counter()
        answer = await client.call_tool(*CALLS[what])
        seconds = time.perf_counter() - start
    text = getattr(answer.content[0], "text", "")
    return seconds, text[:70] if answer.is_error else "answered"


@asynccontextmanager
async def _watched(read: Callable[[], float]) -> AsyncIterator[list[float]]:
    """The largest value of a gauge while the context lasts, as the only item of a list."""
    most = [0.0]

    async def watch() -> None:
        while True:
            most[0] = max(most[0], read())
            await asyncio.sleep(0.05)

    task = asyncio.ensure_future(watch())
    try:
        yield most
    finally:
        task.cancel()


async def _alone(store: Store, deadline: float) -> None:
    print(f"\nalone, deadline {deadline:g} s      seconds   peak MB   after MB   CPU s after")
    for what in CALLS:
        with _serving(store, deadline) as server:
            async with _watched(server.memory) as peak:
                seconds, outcome = await _asked(server.url, "hostile0", what)
            ended = server.processor()
            await asyncio.sleep(3)
            after = (server.memory(), server.processor() - ended)
            figures = f"{seconds:10.1f}{peak[0]:10.0f}{after[0]:11.0f}{after[1]:14.2f}"
            print(f"{what:26}{figures}  {outcome}")


async def _together(
    store: Store, deadline: float, seconds: float, clients: int
) -> dict[int, Times]:
    """The times of small calls, beside no hostile client and beside some."""
    beside: dict[int, Times] = {}
    with _serving(store, deadline) as server:
        await _beside(server, 15)  # the store counts its graph, and plans its first statements
        beside[0] = await _beside(server, 20)
        print(f"\n{'nothing beside':26}{_sentence(beside[0])}")
        took: list[float] = []
        end = time.perf_counter() + seconds

        async def repeat(number: int) -> None:
            for what in itertools.islice(itertools.cycle(CALLS), number, None):
                if time.perf_counter() > end:
                    break
                took.append((await _asked(server.url, f"hostile{number // 8}", what))[0])

        async with _watched(server.memory) as peak:
            hostile = [asyncio.ensure_future(repeat(number)) for number in range(8 * clients)]
            beside[clients] = await _beside(server, seconds - 3)
            print(f"{f'{clients} hostile x 8':26}{_sentence(beside[clients])}")
            await asyncio.gather(*hostile)
        ended = server.processor()
        await asyncio.sleep(3)
        print(
            f"{len(took)} hostile calls, the latest {max(took):.1f} s; peak {peak[0]:.0f} MB, then "
            f"{server.memory():.0f} MB; processor time after the last "
            f"{server.processor() - ended:.2f} s"
        )
    return beside


async def _beside(server: Server, seconds: float) -> Times:
    """What a client in another process measures that makes small calls."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, __file__, "--beside", server.url, server.admin, str(seconds)),
        stdout=subprocess.PIPE,
    )
    printed, _ = await process.communicate()
    measured: Times = json.loads(printed)
    return measured


async def _make_small_calls(url: str, admin: str, seconds: float) -> None:
    chance = random.Random(1)
    took: dict[str, list[float]] = {"search": [], "1 hop": [], "/livez": []}
    end = time.perf_counter() + seconds

    async def look() -> None:
        async with httpx2.AsyncClient(timeout=600) as http:
            while time.perf_counter() < end:
                start = time.perf_counter()
                with suppress(httpx2.HTTPError):
                    await http.get(f"{admin}/livez")
                took["/livez"].append(time.perf_counter() - start)
                await asyncio.sleep(0.1)

    looking = asyncio.ensure_future(look())
    async with _client(url, "beside") as client:
        while time.perf_counter() < end:
            number = chance.randrange(1_000, 50_000)
            small: dict[str, tuple[str, dict[str, Any]]] = {
                "search": ("search_entities", {"query": f"name {number}"}),
                "1 hop": ("bfs_query", {"seeds": [f"n{number}"], "max_hops": 1, "limit": 10}),
            }
            for what, arguments in small.items():
                start = time.perf_counter()
                await client.call_tool(*arguments)
                took[what].append(time.perf_counter() - start)
            await asyncio.sleep(0.05)
    await looking
    print(json.dumps({what: _percentiles(values) for what, values in took.items()}))


def _percentiles(values: list[float]) -> dict[str, int]:
    ordered = sorted(round(1000 * value) for value in values)
    late = ordered[-1 - len(ordered) // 100]
    return {"p50 ms": ordered[len(ordered) // 2], "p99 ms": late, "max ms": ordered[-1]}


def _sentence(measured: Times) -> str:
    parts = (
        f"{what} {' '.join(f'{key[:3]} {value}' for key, value in times.items())} ms"
        for what, times in measured.items()
    )
    return ", ".join(parts)


def main(arguments: list[str]) -> None:
    """Load the graph and run every call alone, then all of them beside small calls."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", choices=("embedded", "postgres", "neo4j"), default="embedded")
    parser.add_argument("--nodes", type=int, default=300_000, help="of the graph")
    parser.add_argument("--edges", type=int, default=2_000_000, help="of the graph")
    parser.add_argument("--deadline", type=float, default=10.0, help="of a call, in seconds")
    parser.add_argument("--seconds", type=float, default=60.0, help="of the calls together")
    parser.add_argument("--clients", type=int, default=8, help="hostile clients, up to 8")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/")
    given = parser.parse_args(arguments)
    rows = asyncio.run(_report(given))
    if given.save:
        results.save("hostile", rows, ("store", "hostile clients", "call"))


async def _report(given: argparse.Namespace) -> list[dict[str, Any]]:
    beside: dict[int, Times] = {}
    with folder() as place:
        async with _loaded(given.store, place, given.nodes, given.edges) as store:
            await _alone(store, given.deadline)
            for clients in sorted({1, given.clients}):
                beside |= await _together(store, given.deadline, given.seconds, clients)
    return [
        {"store": given.store, "hostile clients": clients, "call": what, **times}
        for clients, measured in beside.items()
        for what, times in measured.items()
    ]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--beside"]:
        asyncio.run(_make_small_calls(sys.argv[2], sys.argv[3], float(sys.argv[4])))
    else:
        main(sys.argv[1:])
