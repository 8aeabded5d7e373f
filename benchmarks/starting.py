"""The server: time to the first answer, and the time that it adds to an answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from graphs import name_of
from mcp import Client
from timing import median

import bfsql
from bfsql.server import create_server
from bfsql_test_support.raw_mcp import INITIALIZE, INITIALIZED, message

SEARCH = message(1, "tools/call", {"name": "search_entities", "arguments": {"query": "the hub"}})
LIST = message(1, "tools/list")


def report_start(path: Path, turns: int) -> None:
    """Compare the first answer with importing `mcp` alone, `--help` with `--version`."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # of compiling, not of starting, is 0.5 s
    took = []
    for _ in range(turns):
        commands = ["-c", "pass"], ["-c", "import mcp"], ["-m", "bfsql", "--version"]
        plain = [_seconds([sys.executable, *one]) for one in (*commands, ["-m", "bfsql", "--help"])]
        took.append((*plain, _first_answer(path, SEARCH), _first_answer(path, LIST)))
    nothing, importing, version, help_, answer, listed = (
        median(list(one)) for one in zip(*took, strict=True)
    )
    print(f"\nfirst answer of bfsql serve   {answer:.2f} s after its start")
    print(f"importing mcp alone           {importing:.2f} s")
    print(f"  ratio                       {answer / importing:.2f} (goal: 1.3)")
    print(f"tools/list as first call      {listed:.2f} s: {listed - answer:+.2f} s")
    print(f"bfsql --help                  {help_:.3f} s (goal: 0.15)")
    print(f"bfsql --version               {version:.3f} s: ratio {help_ / version:.2f}")
    print(f"python -c pass                {nothing:.3f} s: ratio {help_ / nothing:.1f}")


def _seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def _first_answer(path: Path, request: dict[str, Any]) -> float:
    command = [sys.executable, "-m", "bfsql", "serve", "--path", str(path)]
    start = time.perf_counter()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for one in (INITIALIZE, INITIALIZED, request):
            server.stdin.write(json.dumps(one).encode() + b"\n")
        server.stdin.flush()
        for line in server.stdout:
            if json.loads(line).get("id") == 1:
                break
        else:
            raise SystemExit("bfsql serve ended without an answer; its reason is above")
        took = time.perf_counter() - start
        server.stdin.close()
    return took


async def report_tool_path(path: Path, nodes: int, turns: int) -> None:
    """Compare a warm answer of 100 KB through an in-memory client with the operation alone."""
    limits = bfsql.Limits(max_tokens=0)
    arguments = {
        "seeds": [name_of(nodes * 9 // 10)],
        "max_hops": 2,
        "topology_only": True,
        "limit": 1000,
    }
    async with bfsql.open_graph("sqlite", path=path, limits=limits) as graph:
        size = len((await graph.call("bfs_query", arguments)).text)
        alone = await _median_of(lambda: graph.call("bfs_query", arguments), turns * 4)
        for structured in (True, False):
            server = create_server(graph.db, limits=limits, structured_content=structured)
            async with Client(server) as client:
                await client.list_tools()
                call = partial(client.call_tool, "bfs_query", arguments)
                through = await _median_of(call, turns * 4)
            what = "with structured content" if structured else "text alone"
            print(
                f"tools/call of {size / 1000:.0f} KB, {what}: {(through - alone) * 1000:.1f} ms "
                f"more than the operation's {alone * 1000:.1f} ms, client included (goal: 3)"
            )


async def _median_of(ask: Callable[[], Awaitable[object]], turns: int) -> float:
    took = []
    for _ in range(turns):
        start = time.perf_counter()
        await ask()
        took.append(time.perf_counter() - start)
    return median(took)
