"""Health of a server whose event loop or store does not answer."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2

from bfsql.graph import Graph, open_graph
from bfsql.memory import MemoryBackend
from bfsql.serving.address import bind
from bfsql.serving.admin import Health, serving_admin
from bfsql.serving.live import LiveGraph
from bfsql.settings import ServeSettings


@asynccontextmanager
async def admin(graph: Graph) -> AsyncIterator[str]:
    """The URL of an admin port."""
    with bind("127.0.0.1", 0) as listener:
        host, port = listener.getsockname()[:2]
        async with serving_admin(listener, LiveGraph(graph, ServeSettings(transport="http"))):
            yield f"http://{host}:{port}"


async def get(url: str, seconds: float = 10) -> httpx2.Response:
    return await asyncio.to_thread(httpx2.get, url, timeout=seconds)


async def test_health_is_answered_while_the_event_loop_does_not_run():
    answers: list[int] = []

    def probe(url: str, path: str) -> None:
        answers.append(httpx2.get(url + path, timeout=60).status_code)

    async with open_graph(MemoryBackend([])) as graph, admin(graph) as url:
        while (await get(f"{url}/readyz")).status_code != 200:
            pass
        probing = [
            threading.Thread(target=probe, args=(url, path)) for path in ("/livez", "/readyz")
        ]
        for thread in probing:
            thread.start()
        for thread in probing:
            thread.join(60)  # in the event loop
        assert answers == [200] * 2


async def test_readiness_never_waits_for_the_store(monkeypatch):
    silent = asyncio.Event()

    async def ping(_: MemoryBackend) -> None:
        await silent.wait()

    monkeypatch.setattr(MemoryBackend, "ping", ping, raising=False)
    monkeypatch.setattr(Health, "probe_seconds", 0.2)
    monkeypatch.setattr(Health, "pause_seconds", 0.0)
    async with open_graph(MemoryBackend([])) as graph, admin(graph) as url:
        first = (await get(f"{url}/readyz")).json()
        assert first["reasons"][0] == "The store has not been queried yet."
        async with asyncio.timeout(10):
            while (document := (await get(f"{url}/readyz")).json())["age"] is None:
                pass
        assert document["reasons"][0] == "The store did not answer within 0.2 s."
        silent.set()
        async with asyncio.timeout(10):
            while not (document := (await get(f"{url}/readyz")).json())["ready"]:
                pass
        assert document["age"] < 10


async def test_a_check_that_is_too_old_and_an_event_loop_that_hangs_are_faults():
    async with open_graph(MemoryBackend([])) as graph:
        health = Health(LiveGraph(graph, ServeSettings(transport="http")))
        checking = asyncio.ensure_future(health.check())
        while health.age is None:  # noqa: ASYNC110 - nothing is signalled
            await asyncio.sleep(0)
        assert (health.alive, health.reasons()) == (True, [])
        health.stale_seconds = health.hung_seconds = 0.0
        assert not health.alive
        assert "the server is busy" in health.reasons()[0]
        checking.cancel()


async def test_the_admin_port_closes_although_a_client_stays_connected():
    async with open_graph(MemoryBackend([])) as graph:
        async with admin(graph) as url:
            address = "127.0.0.1", int(url.rpartition(":")[2])
            client = await asyncio.to_thread(socket.create_connection, address)
            client.sendall(b"GET /livez HTTP/1.1\r\nX-Slow: ")
            [thread] = [one for one in threading.enumerate() if one.name == "admin"]
        await asyncio.to_thread(thread.join, 60)
        assert not thread.is_alive()
        client.close()
