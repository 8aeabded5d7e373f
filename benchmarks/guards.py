"""What all safeguards of a server add to a small call over HTTP.

python guards.py PATH    serves the graph without safeguards
"""

from __future__ import annotations

import asyncio
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx2
import psutil
from graphs import name_of
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from bfsql.server import create_server
from bfsql.serving.address import bind, url
from bfsql.serving.tokens import new_token, token_line

CALLS = 250
"""Calls to each server in a turn."""
ERAS = ("auto", "legacy")


@dataclass
class _Way:
    """A running server, and the times of its calls."""

    url: str
    process: psutil.Process
    seconds: list[float] = field(default_factory=list)
    """Wall time of each call, as the client sees it."""
    processor: list[float] = field(default_factory=list)
    """Processor time of the server per call, the mean of each turn."""


async def report(path: Path, nodes: int, turns: int) -> None:
    """Compare small calls to `bfsql serve` with everything on and to the SDK's server on uvicorn.

    The calls alternate, so that other load on the machine slows both. No two calls to a server
    ask for the same node, so that the store is read.

    Args:
        path: The graph to serve.
        nodes: Its number of nodes.
        turns: Turns of `CALLS` calls to each server.
    """
    token = new_token()
    await _report_start(path, token, turns)
    print("\na small call over HTTP         processor     client, median")
    for era in ERAS:
        with _bare(path) as bare, _guarded(path, token) as guarded:
            for turn in range(turns + 1):
                first = nodes // 2 + turn * CALLS
                with_token = partial(_client, token=token, era=era)
                await _turn(bare, guarded, with_token, [name_of(first + n) for n in range(CALLS)])
                if not turn:  # warm-up: imports, statements
                    bare.seconds, bare.processor = [], []
                    guarded.seconds, guarded.processor = [], []
        _print_difference(era, bare, guarded)


async def _report_start(path: Path, token: str, turns: int) -> None:
    print("\nfirst answer over HTTP         processor     client, fastest")
    ways = {"nothing on": partial(_bare, path), "everything on": partial(_guarded, path, token)}
    fastest: list[float] = []
    took: dict[str, list[tuple[float, float]]] = {what: [] for what in ways}
    for _ in range(turns):
        for what, begin in ways.items():
            start = time.perf_counter()
            with begin() as way:
                async with _client(way, token, ERAS[0]) as client:
                    await client.list_tools()
                took[what].append((_processor_seconds(way), time.perf_counter() - start))
    for what, pairs in took.items():
        processor, seconds = map(min, zip(*pairs, strict=True))
        fastest.append(seconds)
        print(f"{what:27}{processor * 1000:10.0f} ms{seconds * 1000:15.0f} ms")
    print(f"{(fastest[1] - fastest[0]) * 1000:+.0f} ms for the client (goal: at most 50)")


def _print_difference(era: str, bare: _Way, guarded: _Way) -> None:
    processor = [min(way.processor) * 1000 for way in (bare, guarded)]
    client = [statistics.median(way.seconds) * 1000 for way in (bare, guarded)]
    for n, what in enumerate(("nothing on", "everything on")):
        print(f"{f'{what}, {era}':27}{processor[n]:10.2f} ms{client[n]:15.2f} ms")
    share = (client[1] / client[0] - 1) * 100
    print(
        f"{client[1] - client[0]:+.2f} ms and {share:+.0f} % for the client, "
        f"{processor[1] - processor[0]:+.2f} ms of processor time (goal: at most 0.5 ms and 5 %)"
    )


async def _turn(
    bare: _Way, guarded: _Way, client_of: Callable[[_Way], Client], seeds: list[str]
) -> None:
    ways = (bare, guarded)
    async with client_of(bare) as one, client_of(guarded) as other:
        for client in (one, other):
            await client.list_tools()
        began = [_processor_seconds(way) for way in ways]
        for seed in seeds:
            for way, client in zip(ways, (one, other), strict=True):
                start = time.perf_counter()
                answer = await client.call_tool("bfs_query", {"seeds": [seed], "max_hops": 1})
                way.seconds.append(time.perf_counter() - start)
                assert not answer.is_error, answer
        for way, before in zip(ways, began, strict=True):
            way.processor.append((_processor_seconds(way) - before) / len(seeds))


def _client(way: _Way, token: str, era: str) -> Client:
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60)
    return Client(streamable_http_client(way.url, http_client=http), mode=era)


def _processor_seconds(way: _Way) -> float:
    used = way.process.cpu_times()
    return float(used.user + used.system)


@contextmanager
def _guarded(path: Path, token: str) -> Iterator[_Way]:
    """`bfsql serve` with tokens, limits, a log line for each call, and metrics."""
    with TemporaryDirectory(prefix="bfsql-bench-") as folder:
        tokens = Path(folder) / "tokens.txt"
        tokens.write_text(token_line("benchmark", token) + "\n")
        options = ("--bearer-tokens", str(tokens), "--calls-per-minute", "1000000")
        seen = ("--log-level", "info", "--admin-port", "0", "--port", "0")
        command = ("-m", "bfsql", "serve", "--path", str(path), "--transport", "http")
        with _running(*command, *options, *seen) as way:
            yield way


@contextmanager
def _bare(path: Path) -> Iterator[_Way]:
    """The MCP server as a program can run it without `bfsql serve`."""
    with _running(__file__, str(path)) as way:
        yield way


@contextmanager
def _running(*arguments: str) -> Iterator[_Way]:
    with TemporaryDirectory(prefix="bfsql-bench-") as folder:
        log = Path(folder) / "log"
        with log.open("w") as written:
            server = subprocess.Popen([sys.executable, *arguments], stderr=written)
        try:
            while (found := re.search(r"answers at (\S+)", log.read_text())) is None:
                if server.poll() is not None:
                    raise SystemExit(log.read_text())
                time.sleep(0.005)
            yield _Way(found[1], psutil.Process(server.pid))
        finally:
            server.terminate()
            server.wait()


def _serve_bare(path: str) -> None:
    import uvicorn

    app = create_server("sqlite", path=path).streamable_http_app()
    # The socket of `bfsql serve`: its connections send small answers at once (TCP_NODELAY).
    with bind("127.0.0.1", 0) as listener:
        sys.stderr.write(f"answers at {url(listener, '/mcp')}\n")
        sys.stderr.flush()
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", ws="none"))
        asyncio.run(server.serve(sockets=[listener]))


if __name__ == "__main__":
    _serve_bare(sys.argv[1])
