"""When the backend is opened and closed, and what cancels a call."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from mcp import Client

from bfsql.errors import StoreError
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, NodeRecord, Triple
from bfsql.server import BfsqlServer, create_server
from bfsql_test_support.raw_mcp import HELLO, INITIALIZE, INITIALIZED, message

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parent / "films_server.py"
ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])
PATIENCE = 60
"""Seconds until a process counts as hung; a busy machine takes ten to start one."""


class Slow(MemoryBackend):
    """Never returns edges; signals that they are requested, and that the request is cancelled."""

    def __init__(self, records: list[NodeRecord | EdgeRecord]) -> None:
        super().__init__(records)
        self.asked = asyncio.Event()
        self.given_up = asyncio.Event()

    async def edges_batch(self, ids: object) -> list[Triple]:
        self.asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.given_up.set()
        return []


@ERAS
async def test_a_backend_is_opened_and_closed_once_with_the_server(records, era):
    happened: list[str] = []

    class Watched(MemoryBackend):
        async def close(self) -> None:
            happened.append("closed")

    async def factory(*, name: str) -> Watched:
        happened.append(f"opened {name}")
        return Watched(records)

    server = create_server(factory, name="films")
    assert happened == []
    async with Client(server, mode=era) as client:
        for _ in range(2):
            await client.call_tool("describe_schema", {})
        assert happened == ["opened films"]
    assert happened == ["opened films", "closed"]


async def test_over_http_all_clients_share_one_open_backend(records):
    opened: list[MemoryBackend] = []

    def factory() -> MemoryBackend:
        opened.append(MemoryBackend(records))
        return opened[-1]

    async with (
        served(create_server(factory, instructions="Hello.")) as url,
        Client(url) as modern,
        Client(url, mode="legacy") as legacy,
    ):
        for client in (modern, legacy):
            assert (client.instructions or "").endswith("Hello.")
            assert not (await client.call_tool("describe_schema", {})).is_error
    assert len(opened) == 1


@ERAS
async def test_a_call_that_the_client_gives_up_stops_its_store_queries(records, era):
    slow = Slow(records)
    async with Client(create_server(slow), mode=era) as client:
        await given_up(client, slow)


@ERAS
async def test_over_http_a_call_that_the_client_gives_up_stops_its_store_queries(records, era):
    slow = Slow(records)
    async with served(create_server(slow)) as url, Client(url, mode=era) as client:
        await given_up(client, slow)


async def given_up(client: Client, slow: Slow) -> None:
    arguments = {"seeds": ["film:1"], "max_hops": 1}
    calling = asyncio.create_task(client.call_tool("bfs_query", arguments))
    await asyncio.wait_for(slow.asked.wait(), PATIENCE)
    assert not slow.given_up.is_set()
    calling.cancel()
    await asyncio.wait_for(slow.given_up.wait(), PATIENCE)
    with pytest.raises(asyncio.CancelledError):
        await calling


@asynccontextmanager
async def served(server: BfsqlServer) -> AsyncIterator[str]:
    """The server over HTTP in this process, as in a program that embeds it."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(server.streamable_http_app(), log_config=None, ws="none")
        running = uvicorn.Server(config)
        serving = asyncio.create_task(running.serve(sockets=[listening]))
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        running.should_exit = True
        await serving


# --- as processes -------------------------------------------------------------


def test_standard_output_carries_json_rpc_and_nothing_else():
    requests = [
        message(1, "initialize", HELLO),
        INITIALIZED,
        message(2, "tools/call", call("search_entities", {"query": "Meg"})),
    ]
    with stdio_process() as process:
        assert process.stdin
        assert process.stdout
        answers = []
        for request in requests:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            if "id" in request:
                answers.append(json.loads(process.stdout.readline()))
        out, err = process.communicate(timeout=PATIENCE)
    assert [answer["id"] for answer in answers] == [1, 2]
    assert "Meg Ryan" in answers[1]["result"]["content"][0]["text"]
    assert (out, process.returncode) == ("", 0)
    said: list[str] = [f"{how}: {word}" for word in WORDS for how in ("print", "write", "child")]
    assert [line for line in err.splitlines() if line.endswith(WORDS)] == said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_on_stdio_a_signal_closes_the_store_and_ends_with_0(number, programs):
    with stdio_process(programs / "python") as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(json.dumps(INITIALIZE) + "\n")
        process.stdin.flush()
        assert process.stdout.readline()
        process.send_signal(number)
        assert process.wait(PATIENCE) == 0
        assert process.stderr
        assert "write: closed" in process.stderr.read()
        assert process.stdout.read() == ""


def test_a_client_that_goes_away_at_once_leaves_no_traceback(programs):
    with stdio_process(programs / "python") as process:
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert "Traceback" not in err


def test_noise_on_standard_input_does_not_end_the_server(programs):
    lines = ["this is no JSON", '{"jsonrpc": "2.0", "id": 1}', '"\\ud800"']
    lines.append(json.dumps(message(7, "initialize", HELLO)))
    with stdio_process(programs / "python") as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write("\n".join(lines) + "\n")
        process.stdin.flush()
        for line in process.stdout:
            if json.loads(line).get("id") == 7:
                break
        out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert "instructions" in line
    assert out == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_over_http_a_signal_closes_the_store_and_ends_with_0(over_http, number):
    running = over_http()
    async with Client(running.url) as client:
        assert not (await client.call_tool("describe_schema", {})).is_error
    code, out, _ = await asyncio.to_thread(running.stop, number)
    assert code == 0
    assert "write: closed" in out


async def test_a_store_that_cannot_be_opened_says_why(stdio):
    def factory() -> MemoryBackend:
        raise StoreError("There is no graph here.")

    with pytest.raises(ExceptionGroup) as caught:
        async with Client(create_server(factory), mode="legacy"):
            pass
    assert caught.group_contains(StoreError, match="There is no graph here")


WORDS = ("opened", "searched", "closed")


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def stdio_process(python: Path | str = sys.executable) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    command = [str(python), str(SCRIPT), "{}"]
    return subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env={**os.environ}
    )
