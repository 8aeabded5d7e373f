"""A server that is stopped while it answers, and clients that leave."""

import asyncio
import json
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client

from bfsql_test_support.raw_mcp import HELLO, INITIALIZED, message
from bfsql_test_support.servers.serve_process import Served, serving
from bfsql_test_support.servers.slow_store import NODES, Journal

pytestmark = pytest.mark.slow

ERAS = ("auto", "legacy")
CLIENTS = 4
PATIENCE = 60
"""Seconds until a server counts as hung; a busy machine takes ten to start one."""


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path)


async def test_a_stop_during_a_call_loses_no_answer_over_mcp(journal: Journal) -> None:
    """Attack: on SIGTERM, clients of the 2025 protocol received an empty 200 for running calls."""
    with serving(*journal.options(2), env=journal.env) as served:
        async with clients(served, *ERAS, "legacy", "auto") as (*busy, late, later):
            calls = [asyncio.create_task(walk(one, f"n{n}")) for n, one in enumerate(busy)]
            await journal.until(lambda seen: seen.count("began") == len(calls))
            served.send(signal.SIGTERM)
            refused = await until_refused(late)
            answers = await asyncio.gather(*calls)
            assert (await walk(later, "n9")).is_error
        code = await ended(served)
    assert [answer.structured_content["node_count"] for answer in answers] == [3, 3]
    assert "is shutting down" in text(refused)
    assert (code, tracebacks(served)) == (0, [])


async def test_a_stop_during_a_call_loses_no_answer_of_the_web_api(journal: Journal) -> None:
    with serving("--rest", *journal.options(2), env=journal.env) as served:
        calling = asyncio.create_task(asyncio.to_thread(posted, served, "n1"))
        await journal.until(lambda seen: seen.count("began") == 1)
        served.send(signal.SIGTERM)
        while (refused := await asyncio.to_thread(posted, served, "n9"))[0] == 200:
            pass
        status, _, document = await calling
        code = await ended(served)
    assert (status, document["node_count"]) == (200, 3)
    assert (refused[0], refused[1]["Retry-After"], refused[2]["kind"]) == (503, "5", "stopping")
    assert refused[1]["Connection"] == "close", "behind a proxy, the next call goes elsewhere"
    assert (code, tracebacks(served)) == (0, [])


@pytest.mark.parametrize("signals", [1, 2])
async def test_calls_that_outlast_the_grace_end_with_an_error(
    journal: Journal, signals: int
) -> None:
    """A second signal ends the grace period."""
    grace = "0.5" if signals == 1 else "600"
    options = ["--grace", grace, *journal.options(600)]
    with serving(*options, env=journal.env) as served:
        async with clients(served, *ERAS, "auto") as (*busy, late):
            calls = [asyncio.create_task(walk(one, f"n{n}")) for n, one in enumerate(busy)]
            await journal.until(lambda seen: seen.count("began") == len(calls))
            served.send(signal.SIGTERM)
            if signals > 1:
                await until_refused(late)  # two signals that wait together are one
                served.send(signal.SIGTERM)
            answers = await asyncio.gather(*calls)
        code = await ended(served)
    assert ["was stopped before" in text(answer) for answer in answers] == [True, True]
    assert all(answer.is_error for answer in answers)
    assert journal.count("cancelled") == 2
    assert (code, tracebacks(served)) == (0, [])


async def test_a_request_of_the_web_api_that_outlasts_the_grace_is_a_503(journal: Journal) -> None:
    """Attack: after the grace period, the web API answered 500 and logged a traceback."""
    options = ["--rest", "--grace", "0.5", *journal.options(600)]
    with serving(*options, env=journal.env) as served:
        calling = asyncio.create_task(asyncio.to_thread(posted, served, "n1"))
        await journal.until(lambda seen: seen.count("began") == 1)
        served.send(signal.SIGTERM)
        status, headers, document = await calling
        code = await ended(served)
    assert (status, headers["Retry-After"], document["kind"]) == (503, "5", "stopping")
    assert "was stopped before" in document["detail"]
    assert journal.count("cancelled") == 1
    assert (code, tracebacks(served)) == (0, [])


async def test_a_client_that_disconnects_ends_its_statement(journal: Journal) -> None:
    """Attack: if a client of the 2025 protocol left, its statement ran until the deadline."""
    with serving("--deadline", "600", *journal.options(600), env=journal.env) as served:
        await asyncio.to_thread(call_and_leave, served, journal)
        await journal.until(lambda seen: seen.count("cancelled") == 1)


@pytest.mark.parametrize("ways", [["--rest"], []])
async def test_an_idle_server_stops_with_open_streams_and_half_sent_requests(
    journal: Journal, ways: list[str]
) -> None:
    """Neither waits for an answer, so neither delays the stop."""
    with serving(*ways, "--grace", "600", *journal.options(0), env=journal.env) as served:
        async with clients(served, *([] if ways else ERAS)) as opened:
            for one in opened:
                assert not (await walk(one, "n1")).is_error
            with closing(HTTPConnection("127.0.0.1", served.port)) as half:
                half.putrequest("POST", "/tools/bfs_query" if ways else "/mcp")
                half.putheader("Content-Length", "100")
                half.putheader("Content-Type", "application/json")
                half.endheaders(b"{")
                await asyncio.sleep(0.2)
                served.send(signal.SIGTERM)
                code = await ended(served)
    assert (code, tracebacks(served)) == (0, [])


def test_on_stdio_a_stop_during_a_call_loses_no_answer(journal: Journal, programs: Path) -> None:
    command = [programs / "bfsql", "serve", *journal.options(1)]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=journal.env
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(line(1, "initialize", HELLO) + "\n")
        process.stdin.flush()
        process.stdout.readline()
        process.stdin.write(json.dumps(INITIALIZED) + "\n")
        process.stdin.write(line(2, "tools/call", WALK) + "\n")
        process.stdin.flush()
        asyncio.run(journal.until(lambda seen: seen.count("began") == 1))
        process.send_signal(signal.SIGTERM)
        answer = json.loads(process.stdout.readline())
        assert process.wait(PATIENCE) == 0
        assert process.stderr
        assert "Traceback" not in process.stderr.read()
    assert answer["result"]["structuredContent"]["node_count"] == 3


def test_on_stdio_the_end_of_the_input_ends_a_call_and_the_server(
    journal: Journal, programs: Path
) -> None:
    command = [programs / "bfsql", "serve", "--deadline", "600", *journal.options(600)]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=journal.env
    ) as process:
        assert process.stdin
        process.stdin.write(line(1, "initialize", HELLO) + "\n")
        process.stdin.write(json.dumps(INITIALIZED) + "\n")
        process.stdin.write(line(2, "tools/call", WALK) + "\n")
        process.stdin.flush()
        asyncio.run(journal.until(lambda seen: seen.count("began") == 1))
        process.stdin.close()
        assert process.wait(PATIENCE) == 0
    assert journal.count("cancelled") == 1


async def test_ten_stops_under_load_lose_no_answer(journal: Journal) -> None:
    ways = [["--rest"], [], ["--stateless"], [], []] * 2
    options = ["--log-level", "info", "--log-format", "json", *journal.options(0.2)]
    with ExitStack() as stack:
        starting = (serving(*way, *options, env=journal.env) for way in ways)
        servers = [stack.enter_context(start) for start in starting]
        given = await asyncio.gather(*map(loaded, servers, ways))
        codes = [await ended(server) for server in servers]
    assert min(given) >= CLIENTS
    assert [answered(server) for server in servers] == given
    assert codes == [0] * len(ways)
    assert [tracebacks(server) for server in servers] == [[]] * len(ways)


def answered(server: Served) -> int:
    """The number of calls answered, from the log at the level info in JSON."""
    records = [json.loads(line) for line in server.log if line.startswith("{")]
    return sum(record.get("outcome") == "ok" for record in records)


async def loaded(server: Served, way: list[str]) -> int:
    """Stop a server that clients call without a pause; return the number of answers."""
    load = Load(server.url)
    ask = ask_the_api if way == ["--rest"] else ask_over_mcp
    asking = asyncio.gather(*(ask(load, n) for n in range(CLIENTS)))
    while not all(load.answers):
        assert not asking.done()
        await asyncio.sleep(0.02)
    server.send(signal.SIGTERM)
    await asking
    return sum(load.answers)


@dataclass
class Load:
    """The calls of several clients to one server."""

    url: str
    answers: list[int] = field(default_factory=lambda: [0] * CLIENTS)

    def arguments(self, n: int) -> dict[str, Any]:
        """The arguments of a client's next call; no two calls are the same."""
        return {"seeds": [f"n{(7 * n + self.answers[n]) % NODES}"], "max_hops": 1}


async def ask_over_mcp(load: Load, n: int) -> None:
    """Call until the server refuses or can no longer be reached."""
    try:
        async with Client(f"{load.url}/mcp", mode=ERAS[n % 2]) as client:
            while True:
                answer = await client.call_tool("bfs_query", load.arguments(n))
                if answer.is_error:
                    assert "is shutting down" in text(answer)
                    return
                assert answer.structured_content["node_count"] == 3
                load.answers[n] += 1
    except BaseExceptionGroup as group:
        if not load.answers[n] or group.split(httpx2.TransportError)[1] is not None:
            raise


async def ask_the_api(load: Load, n: int) -> None:
    """The same over the web API."""
    async with httpx2.AsyncClient(base_url=load.url, timeout=PATIENCE) as client:
        while True:
            try:
                answer = await client.post("/tools/bfs_query", json=load.arguments(n))
            except httpx2.TransportError:
                return
            if answer.status_code != 200:
                assert (answer.status_code, answer.json()["kind"]) == (503, "stopping")
                return
            assert answer.json()["node_count"] == 3
            load.answers[n] += 1


# --- asking -------------------------------------------------------------------


@asynccontextmanager
async def clients(served: Served, *eras: str) -> AsyncIterator[list[Client]]:
    async with AsyncExitStack() as stack:
        url = f"{served.url}/mcp"
        yield [await stack.enter_async_context(Client(url, mode=era)) for era in eras]


async def walk(client: Client, seed: str) -> Any:
    return await client.call_tool("bfs_query", {"seeds": [seed], "max_hops": 1})


async def until_refused(client: Client) -> Any:
    """Call until the server refuses, since the signal takes a moment to arrive."""
    while not (answer := await client.call_tool("describe_schema", {})).is_error:
        pass
    return answer


def text(answer: Any) -> str:
    found: str = answer.content[0].text
    return found


def posted(served: Served, seed: str) -> tuple[int, Any, Any]:
    """Call a tool of the web API on a new connection; return status, headers and document."""
    answer = httpx2.post(
        f"{served.url}/tools/bfs_query", json={"seeds": [seed], "max_hops": 1}, timeout=PATIENCE
    )
    return answer.status_code, answer.headers, answer.json()


async def ended(served: Served) -> int:
    return await asyncio.to_thread(served.wait, PATIENCE)


def tracebacks(served: Served) -> list[str]:
    words = ("Traceback", "Exception", "ERROR", '"error"')
    return [line for line in served.log if any(word in line for word in words)]


WALK = {"name": "bfs_query", "arguments": {"seeds": ["n1"], "max_hops": 1}}


def line(*about: Any) -> str:
    return json.dumps(message(*about))


def call_and_leave(served: Served, journal: Journal) -> None:
    """Act as a client of the 2025 protocol that closes its connection during a call."""
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-11-25",
    }
    connection = HTTPConnection("127.0.0.1", served.port, timeout=PATIENCE)
    connection.request("POST", "/mcp", line(1, "initialize", HELLO), headers)
    answer = connection.getresponse()
    headers["Mcp-Session-Id"] = answer.headers["Mcp-Session-Id"]
    answer.read()
    connection.request("POST", "/mcp", json.dumps(INITIALIZED), headers)
    connection.getresponse().read()
    connection.request("POST", "/mcp", line(2, "tools/call", WALK), headers)
    asyncio.run(journal.until(lambda seen: seen.count("began") == 1))
    connection.close()
