"""The server beside the bare MCP SDK, which answers with the same bytes that are ready in memory.

python served.py ANSWERS [PORT]    serves the SDK's answers, over stdio or HTTP
"""

from __future__ import annotations

import asyncio
import http.client
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import Any

from graphs import HUB, name_of
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import CallToolResult, ListToolsResult, TextContent

from bfsql_test_support.raw_mcp import INITIALIZE, INITIALIZED, message, tool_call

CALLS = 100
Ask = Callable[[dict[str, Any]], bytes]
"""Makes a call of `bfs_query`, and returns the message with the answer."""


def questions(nodes: int) -> dict[str, dict[str, Any]]:
    """Calls of `bfs_query` with small and large answers."""
    few = {"seeds": [name_of(nodes * 9 // 10)], "topology_only": True}
    return {
        "1 kB": {**few, "max_hops": 1, "limit": 8},
        "8.5 kB": {**few, "max_hops": 2, "limit": 75},
        "70 kB": {"seeds": [HUB], "max_hops": 1, "limit": 320},
    }


def report(graph: Path, nodes: int, turns: int) -> None:
    """Print the processor time of a warm answer of the server, and of the SDK's.

    Args:
        graph: A file of `graphs.heavy_tailed`.
        nodes: Number of its nodes.
        turns: Turns of each comparison; the fastest count.
    """
    serve = [sys.executable, "-m", "bfsql", "serve", "--path", str(graph), "--max-tokens", "0"]
    print("\nwarm answers, processor time of the server     bfsql   SDK, the same bytes   ratio")
    for way, client in (("stdio", _over_stdio), ("HTTP", _over_http)):
        for what, arguments in questions(nodes).items():
            with ExitStack() as stack:
                ours = stack.enter_context(client(serve))
                answer = json.loads(_ask(ours, arguments))["result"]
                answers = graph.with_name("answer.json")
                answers.write_text(json.dumps(answer["structuredContent"]), encoding="utf-8")
                sdk = stack.enter_context(client([sys.executable, __file__, str(answers)]))
                took = [_milliseconds(side, arguments, turns) for side in (ours, sdk)]
            size = len(answer["content"][0]["text"])
            figures = f"{took[0]:9.2f} ms{took[1]:14.2f} ms{took[0] / took[1]:14.2f}"
            print(f"{way:6}{what:8}({size:6,} characters)          {figures}", flush=True)


class Side:
    """A server and a client of it."""

    def __init__(self, process: Popen[bytes], ask: Ask) -> None:
        self.process, self.ask = process, ask


def _ask(side: Side, arguments: dict[str, Any]) -> bytes:
    return side.ask({"name": "bfs_query", "arguments": arguments})


def _milliseconds(side: Side, arguments: dict[str, Any], turns: int) -> float:
    """Processor time of an answer: the fastest turn, after one that fills the caches."""
    took = []
    for _ in range(turns + 1):
        start = _processor_time(side.process.pid)
        for _ in range(CALLS):
            _ask(side, arguments)
        took.append((_processor_time(side.process.pid) - start) / CALLS * 1000)
    return min(took[1:])


def _processor_time(pid: int) -> float:
    """Seconds of all threads of a process (Linux)."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text("ascii").split()[0]) for task in tasks) / 1e9


@contextmanager
def _over_stdio(command: Sequence[str]) -> Iterator[Side]:
    with Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL) as process:
        assert process.stdin
        assert process.stdout
        source, target = process.stdout, process.stdin

        def send(*messages: dict[str, Any]) -> None:
            target.writelines(json.dumps(one).encode() + b"\n" for one in messages)
            target.flush()

        def ask(params: dict[str, Any]) -> bytes:
            send(message(1, "tools/call", params))
            return source.readline()

        send(INITIALIZE)
        source.readline()
        send(INITIALIZED)
        yield Side(process, ask)
        target.close()


@contextmanager
def _over_http(command: Sequence[str]) -> Iterator[Side]:
    options = ["--transport", "http", "--port", "0"] if "-m" in command else ["0"]
    with Popen(
        [*command, *options], stdin=DEVNULL, stdout=PIPE, stderr=subprocess.STDOUT
    ) as process:
        assert process.stdout
        words = iter(process.stdout.readline, b"")
        url = next(word for line in words for word in line.decode().split() if "://" in word)
        connection = http.client.HTTPConnection(url.split("/")[2])

        def ask(params: dict[str, Any]) -> bytes:
            request = tool_call(params["name"], params["arguments"], "benchmark")
            connection.request("POST", "/mcp", *request)
            text = connection.getresponse().read()
            return text if text.startswith(b"{") else text.partition(b"data: ")[2]

        try:
            yield Side(process, ask)
        finally:
            connection.close()
            process.terminate()


def _serve_sdk(answers: Path, port: int | None) -> None:
    """Serve one answer to all calls with what the SDK has."""
    content = json.loads(answers.read_text("utf-8"))
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False)

    async def call(_: object, __: object) -> CallToolResult:
        block = TextContent(type="text", text=text)
        return CallToolResult(content=[block], structured_content=content)

    async def tools(_: object, __: object) -> ListToolsResult:
        return ListToolsResult(tools=[])

    server = Server("sdk", on_call_tool=call, on_list_tools=tools)

    async def over_stdio() -> None:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    if port is None:
        asyncio.run(over_stdio())
    else:
        import uvicorn

        uvicorn.run(server.streamable_http_app(), port=port, access_log=False)


if __name__ == "__main__":
    _serve_sdk(Path(sys.argv[1]), int(sys.argv[2]) if sys.argv[2:] else None)
