"""Hostile HTTP connections: idle, slow, half sent, unread; other clients are still served."""

import asyncio
import resource
import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx2
import psutil
import pytest
from mcp import Client

from bfsql.models import NodeRecord
from bfsql.serving.connections import Connections
from bfsql_sqlite import SqliteSettings, load_graph
from bfsql_test_support.clients import answers, until
from bfsql_test_support.servers.gate import served_gate
from bfsql_test_support.servers.serve_process import Served, serving

SILENT = b""
HALF_A_HEAD = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
HALF_A_BODY = (
    b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    b"Accept: application/json, text/event-stream\r\nContent-Length: 900000\r\n\r\n{"
)


@contextmanager
def connected(
    server: Served, count: int, sent: bytes, port: int | None = None
) -> Iterator[list[socket.socket]]:
    """Connections that have each sent the same bytes and stay open."""
    address = "127.0.0.1", port or server.port
    with ExitStack() as stack:
        sockets = []
        for _ in range(count):
            connection = socket.create_connection(address, timeout=30)
            sockets.append(stack.enter_context(connection))
            connection.sendall(sent)
        yield sockets


def processor_seconds(server: Served) -> float:
    spent = psutil.Process(server.pid).cpu_times()
    return float(spent.user + spent.system)


def closed(connection: socket.socket) -> bool:
    """Whether the server has closed a connection; reads the data sent before."""
    connection.settimeout(0)
    try:
        while connection.recv(65_536):
            pass
    except BlockingIOError:
        return False
    except ConnectionError:
        return True
    return True


async def test_idle_connections_do_not_end_service(films_db: Path) -> None:
    with (
        serving("--path", str(films_db), max_files=256) as server,
        connected(server, 200, SILENT),
        connected(server, 150, HALF_A_HEAD),
        connected(server, 150, HALF_A_BODY),
    ):
        await answers(server)
        before = processor_seconds(server)
        await asyncio.sleep(1)
        assert processor_seconds(server) - before < 0.5
        await answers(server)
        assert len(server.log) < 20, "\n".join(server.log[:20])
        assert any("max_connections" in line for line in server.log)


async def test_connections_that_have_a_call_under_way_are_not_cut_for_others(
    films_db: Path,
) -> None:
    with (
        serving("--path", str(films_db), "--max-connections", "3") as server,
        connected(server, 50, SILENT) as silent,
    ):
        async with Client(f"{server.url}/mcp", mode="legacy") as client:
            with connected(server, 50, HALF_A_HEAD):
                await until(lambda: all(map(closed, silent)))
                answer = await client.call_tool("describe_schema", {})
                assert not answer.is_error


async def test_slow_and_silent_clients_are_cut_and_idle_sessions_are_not(films_db: Path) -> None:
    timeouts = ("--read-timeout", "1", "--idle-timeout", "2", "--write-timeout", "1")
    with (
        serving("--path", str(films_db), *timeouts) as server,
        connected(server, 1, HALF_A_HEAD) as heads,
        connected(server, 1, HALF_A_BODY) as bodies,
    ):
        async with Client(f"{server.url}/mcp", mode="legacy") as client:
            for slow in (*heads, *bodies):
                assert slow.recv(1_000).startswith(b"HTTP/1.1 408 ")
                await until(lambda one=slow: closed(one))
            # The client's own connections have been idle for longer than this one, and so are
            # closed before it: none is closed while the call is sent.
            with connected(server, 1, SILENT) as silent:
                await until(lambda: closed(silent[0]))
            assert not (await client.call_tool("describe_schema", {})).is_error


async def test_a_server_whose_connections_all_have_calls_under_way_answers_503() -> None:
    with served_gate("--rest", "--max-connections", "2") as (server, gate):
        async with httpx2.AsyncClient(base_url=server.url, timeout=30) as api:
            calls = [asyncio.ensure_future(api.get(f"/entities/{n}")) for n in range(2)]
            await gate.until_asked(2)
            for _ in range(10):
                async with httpx2.AsyncClient(base_url=server.url, timeout=30) as late:
                    refused = await late.get("/schema")
                assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")
                assert "reached its limit of connections" in refused.text
            gate.opened.set()
            assert [(await call).status_code for call in calls] == [200, 200]
            assert (await api.get("/schema")).status_code == 200
        assert len([line for line in server.log if "new ones are refused" in line]) == 1


def test_the_admin_port_limits_connections_and_cuts_half_requests(films_db: Path) -> None:
    options = ("--path", str(films_db), "--admin-port", "0", "--read-timeout", "1")
    with serving(*options) as server:
        port = int(server.admin.rpartition(":")[2])
        with connected(server, 300, b"GET /livez HTTP/1.1\r\nX-Slow: ", port=port) as half:
            assert httpx2.get(f"{server.admin}/livez", timeout=5).text == "ok\n"
            assert sum(not closed(one) for one in half) <= Connections.max_of_admin_port
            slow = next(one for one in half if not closed(one))
            slow.settimeout(30)
            assert slow.recv(1_000).startswith(b"HTTP/1.1 408 ")
        assert any("that of the admin port" in line for line in server.log)


@pytest.mark.parametrize("of_admin_port", [False, True])
def test_a_request_with_two_lengths_is_refused_and_its_connection_closed(
    films_db: Path, of_admin_port: bool
) -> None:
    """RFC 9112, section 6.1: otherwise a proxy that reads `Content-Length` smuggles a request."""
    with serving("--rest", "--path", str(films_db), "--admin-port", "0") as server:
        port = int(server.admin.rpartition(":")[2]) if of_admin_port else server.port
        smuggled = b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        head = b"POST /tools/x HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n"
        sent = head + b"Content-Length: 5\r\n\r\n0\r\n\r\n" + smuggled
        with connected(server, 1, sent, port=port) as [one]:
            answer = b"".join(iter(lambda: one.recv(65_536), b""))
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b"both Content-Length and Transfer-Encoding" in answer
        assert answer.count(b"HTTP/1.1 ") == 1


async def test_a_process_without_files_sheds_connections_and_says_so_once(films_db: Path) -> None:
    with serving("--path", str(films_db)) as server:
        await answers(server)
        process = server.pid
        few = psutil.Process(server.pid).num_fds() + 10
        before = resource.prlimit(process, resource.RLIMIT_NOFILE)
        resource.prlimit(process, resource.RLIMIT_NOFILE, (few, before[1]))
        with connected(server, 100, SILENT) as silent:
            await until(lambda: sum(map(closed, silent)) >= 80)
            spent = processor_seconds(server)
            await asyncio.sleep(1)
            assert processor_seconds(server) - spent < 0.5
        resource.prlimit(process, resource.RLIMIT_NOFILE, before)
        await answers(server)
        assert len(server.log) < 20, "\n".join(server.log[:20])
        assert (
            len([line for line in server.log if "has reached its limit of open files" in line]) == 1
        )


async def test_answers_that_are_not_read_are_cut_when_too_much_waits(tmp_path: Path) -> None:
    """Below 64 MB of unread data in total, connections stay open for `write_timeout`."""
    size, calls = 16_000_000, 6
    text = NodeRecord("large", "Text", {"text": "x" * size})
    await load_graph(SqliteSettings(path=tmp_path / "large.db"), [text])
    options = ("--rest", "--path", str(tmp_path / "large.db"), "--write-timeout", "600")
    with serving(*options, "--max-tokens", "0") as server, ExitStack() as stack:
        unread = [stack.enter_context(socket.socket()) for _ in range(calls)]
        ended = select.poll()
        for connection in unread:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            connection.connect(("127.0.0.1", server.port))
            connection.sendall(b"GET /entities/large HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            ended.register(connection, select.POLLHUP | select.POLLERR)
        assert await asyncio.to_thread(ended.poll, 60_000)
        await asyncio.sleep(1)  # time for two checks of all connections
        cut = {descriptor for descriptor, _ in ended.poll(0)}
        kept = [connection for connection in unread if connection.fileno() not in cut]
        assert 64_000_000 - size < len(kept) * size < 64_000_000 + len(kept) * 5_000_000
        kept[0].settimeout(60)
        received = 0
        while received < size:
            received += len(kept[0].recv(1_000_000))
        answer = httpx2.get(f"{server.url}/schema", timeout=60)
        assert answer.status_code == 200
