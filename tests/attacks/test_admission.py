"""Concurrent calls are limited, in total and per client, and no client starves the others."""

import asyncio
from contextlib import AsyncExitStack

import httpx2
import mcp

from bfsql_test_support.servers.gate import SECONDS, served_gate
from bfsql_test_support.servers.serve_process import Served, serving


def client_at(address: str, served: Served) -> httpx2.AsyncClient:
    """A client of the web API that connects from an address."""
    transport = httpx2.AsyncHTTPTransport(local_address=address)
    return httpx2.AsyncClient(base_url=served.url, transport=transport, timeout=SECONDS)


async def test_attack_2_calls_at_once_are_bounded_and_shared_among_clients():
    options = ["--max-calls", "3", "--max-calls-per-client", "2", "--max-waiting", "4"]
    with served_gate("--rest", *options) as (served, gate):
        async with AsyncExitStack() as stack:
            greedy, modest = [
                await stack.enter_async_context(client_at(address, served))
                for address in ("127.0.0.2", "127.0.0.3")
            ]
            flood = [asyncio.ensure_future(greedy.get(f"/entities/g{n}")) for n in range(20)]
            refused = [await one for one in await finished(flood, 14)]
            assert {one.status_code for one in refused} == {429}
            assert {one.json()["kind"] for one in refused} == {"busy"}
            assert all(int(one.headers["Retry-After"]) >= 1 for one in refused)
            assert len(gate.asked) == 2, "two run and four wait"
            small = asyncio.ensure_future(modest.get("/entities/m0"))
            await gate.until_asked(3)
            assert gate.asked[2] == "m0", "a place was left for another client"
            waiting = [asyncio.ensure_future(modest.get(f"/entities/m{n}")) for n in (1, 2)]
            evicted = await finished([one for one in flood if not one.done()], 2)
            assert {(await one).status_code for one in evicted} == {429}, "the queue is shared"
            gate.opened.set()
            answers = await asyncio.gather(*flood, small, *waiting)
            assert sorted(one.status_code for one in answers) == [200] * 7 + [429] * 16


async def finished(
    tasks: list[asyncio.Task[httpx2.Response]], count: int
) -> list[asyncio.Task[httpx2.Response]]:
    """Wait until `count` of the tasks have ended, and no more; return these."""
    async with asyncio.timeout(SECONDS):
        while sum(one.done() for one in tasks) < count:  # noqa: ASYNC110 - some tasks do not end
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)
    done = [one for one in tasks if one.done()]
    assert len(done) == count
    return done


async def test_over_mcp_a_model_is_reported_when_to_ask_again():
    options = ["--max-calls", "1", "--max-waiting", "0"]
    with served_gate(*options) as (served, gate):
        async with AsyncExitStack() as stack:
            url = f"{served.url}/mcp"
            one, modern, legacy = [
                await stack.enter_async_context(mcp.Client(url, mode=mode))
                for mode in ("auto", "auto", "legacy")
            ]
            first = asyncio.ensure_future(one.call_tool("describe_entity", {"id": "a"}))
            await gate.until_asked(1)
            for client in (modern, legacy):
                refused = await client.call_tool("describe_entity", {"id": "b"})
                assert refused.is_error
                assert "Make this call again in 1 second." in refused.content[0].text
            gate.opened.set()
            assert not (await first).is_error
            assert not (await legacy.call_tool("describe_entity", {"id": "b"})).is_error


async def test_a_rate_for_each_client(films_db):
    with serving("--path", str(films_db), "--rest", "--calls-per-minute", "3") as served:
        async with client_at("127.0.0.2", served) as one, client_at("127.0.0.3", served) as other:
            statuses = [(await one.get("/schema")).status_code for _ in range(4)]
            assert statuses == [200, 200, 200, 429]
            refused = await one.get("/schema")
            assert 1 <= int(refused.headers["Retry-After"]) <= 20
            assert (await other.get("/schema")).status_code == 200


async def test_an_address_that_a_client_claims_is_not_believed(films_db):
    with serving("--path", str(films_db), "--rest", "--calls-per-minute", "1") as served:
        async with client_at("127.0.0.1", served) as forger:
            assert await statuses(forger, "192.0.2.1", "192.0.2.2", None) == [200, 429, 429]


async def test_a_trusted_proxy_names_its_clients(films_db):
    options = ("--rest", "--calls-per-minute", "1", "--trusted-proxies", "127.0.0.2,10.0.0.0/8")
    with serving("--path", str(films_db), *options) as served:
        async with client_at("127.0.0.2", served) as proxy, client_at("127.0.0.3", served) as other:
            named = await statuses(proxy, "192.0.2.1", "192.0.2.2", "192.0.2.3, 192.0.2.2")
            assert named == [200, 200, 429], "what a client sent to the proxy stands first"
            assert await statuses(other, "192.0.2.4", "192.0.2.5") == [200, 429]


async def statuses(client: httpx2.AsyncClient, *claimed: str | None) -> list[int]:
    """The statuses of calls whose X-Forwarded-For has these values."""
    headers = [{} if one is None else {"X-Forwarded-For": one} for one in claimed]
    return [(await client.get("/schema", headers=one)).status_code for one in headers]
