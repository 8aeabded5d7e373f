"""A server whose graph or configuration changes while it answers."""

import asyncio
import shutil
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp_types import ToolListChangedNotification

from bfsql.models import NodeRecord
from bfsql_sqlite import SqliteSettings, load_graph
from bfsql_test_support.clients import PATIENCE, until
from bfsql_test_support.servers.serve_process import Served, serving
from bfsql_test_support.servers.slow_store import Journal

pytestmark = pytest.mark.slow

Ask = Callable[[], Any]
"""Asks a server how many nodes its graph has now."""


async def graph_of(path: Path, nodes: int) -> Path:
    """Write a graph of some nodes, each of another type, to a new file."""
    await load_graph(
        SqliteSettings(path=path), [NodeRecord(f"n{n}", f"Type{n}") for n in range(nodes)]
    )
    return path


@asynccontextmanager
async def asked(way: str, path: Path, programs: Path) -> AsyncIterator[tuple[Ask, Served | None]]:
    """Serve a file; yields a function by which a client counts types, and any HTTP server."""
    if way == "stdio":
        async with Client(on_stdio(programs, path)) as client:
            yield lambda: types_over_mcp(client), None
        return
    with serving(*([way] if way == "--rest" else []), "--path", str(path)) as served:
        if way == "--rest":
            async with httpx2.AsyncClient(base_url=served.url, timeout=PATIENCE) as api:

                async def ask() -> int:
                    return len((await api.get("/schema")).json()["entity_types"])

                yield ask, served
        else:
            async with Client(f"{served.url}/mcp") as client:
                yield lambda: types_over_mcp(client), served


def on_stdio(programs: Path, path: Path) -> StdioServerParameters:
    return StdioServerParameters(
        command=str(programs / "bfsql"), args=["serve", "--path", str(path)]
    )


async def types_over_mcp(client: Client) -> int:
    answer = await client.call_tool("describe_schema", {})
    assert not answer.is_error, answer.content
    return len(answer.structured_content["entity_types"])


@pytest.mark.parametrize("way", ["stdio", "http", "--rest"])
async def test_a_file_that_is_replaced_is_served_from_the_next_call_on(
    tmp_path: Path, way: str, programs: Path
) -> None:
    """Attack: the embedded file is replaced by a broken one, then by a good one."""
    path = await graph_of(tmp_path / "graph.db", 1)
    second, third = [await graph_of(tmp_path / f"{n}.db", n) for n in (2, 3)]
    broken = tmp_path / "broken"
    broken.write_bytes(third.read_bytes()[:5_000])
    async with asked(way, path, programs) as (ask, served):
        assert await ask() == 1
        second.replace(path)
        assert [await ask() for _ in range(3)] == [2] * 3
        broken.replace(path)
        assert [await ask() for _ in range(3)] == [2] * 3
        path.unlink()
        assert await ask() == 2
        third.replace(path)
        assert [await ask() for _ in range(3)] == [3] * 3
        if served is not None:
            assert await asyncio.to_thread(served.stop) == 0
            told = [line for line in served.log if "cannot be opened" in line]
            assert len(told) == 1
            assert "Traceback" not in "\n".join(served.log)


async def test_rdf_files_are_followed_too(tmp_path: Path) -> None:
    def written(name: str, types: int) -> Path:
        lines = [f"<urn:n{n}> a <urn:Type{n}> ; <urn:next> <urn:n0> ." for n in range(types)]
        path = tmp_path / name
        path.write_text("\n".join(lines), encoding="utf-8")
        return path

    path, second, third = (written(f"{types}.ttl", types) for types in (1, 2, 3))
    broken = tmp_path / "broken"
    broken.write_text("<urn:n0> a <urn:Type0", encoding="utf-8")
    options = ("--path", str(path), "--admin-port", "0")
    with serving(*options) as served:
        async with Client(f"{served.url}/mcp") as client:
            assert await types_over_mcp(client) == 1
            second.replace(path)
            await answered(lambda: types_over_mcp(client), 2)
            broken.replace(path)
            assert [await types_over_mcp(client) for _ in range(3)] == [2] * 3
            ready = httpx2.get(f"{served.admin}/readyz", timeout=PATIENCE)
            assert ready.status_code == 503
            assert "bad syntax" in ready.text
            third.replace(path)
            await answered(lambda: types_over_mcp(client), 3)
            assert httpx2.get(f"{served.admin}/readyz", timeout=PATIENCE).status_code == 200


async def test_a_file_that_is_copied_over_is_served_when_it_is_whole(
    tmp_path: Path, programs: Path
) -> None:
    path = await graph_of(tmp_path / "graph.db", 1)
    second = await graph_of(tmp_path / "second.db", 2)
    async with asked("http", path, programs) as (ask, _):
        assert await ask() == 1
        shutil.copyfile(second, path)
        assert await ask() == 2


async def test_sighup_reads_the_configuration_without_losing_a_call(tmp_path: Path) -> None:
    """Attack: SIGHUP used to end the server."""
    journal = Journal(tmp_path)
    configuration = tmp_path / "bfsql.toml"

    def configure(description: str, **others: str) -> None:
        server = {"graph_description": description, **others}
        lines = [f'{name} = "{value}"' for name, value in server.items()]
        configuration.write_text("\n".join(lines), encoding="utf-8")

    configure("Before.")
    options = ["--config", str(configuration), *journal.options(2)]
    with serving(*options, env=journal.env) as served:
        async with Client(f"{served.url}/mcp", mode="legacy") as client:

            async def description() -> str:
                answer = await client.call_tool("describe_schema", {})
                found: str = answer.structured_content["graph_description"]
                return found

            assert await description() == "Before."
            walk = {"seeds": ["n1"], "max_hops": 1}
            calling = asyncio.create_task(client.call_tool("bfs_query", walk))
            await journal.until(lambda seen: seen.count("began") == 1)
            configure("After.", host="127.0.0.9")
            served.send(signal.SIGHUP)
            await answered(description, "After.")
            assert not calling.done() or journal.count("ended") == 1
            assert (await calling).structured_content["node_count"] == 3
            configure("Wrong.", deadline="soon")
            served.send(signal.SIGHUP)
            await logged(served, "The new configuration cannot be used")
            assert await description() == "After."
            configure("Last.")
            served.send(signal.SIGHUP)
            await answered(description, "Last.")
        assert await asyncio.to_thread(served.stop) == 0
    assert journal.count("cancelled") == 0
    assert any("read only at the start: host" in line for line in served.log)
    assert "Traceback" not in "\n".join(served.log)


async def test_a_reload_accepts_no_setting_that_needs_trust(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = await graph_of(tmp_path / "graph.db", 1)
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "bfsql.toml"
    file.write_text(f"deadline = 9\n[backend]\npath = '{path}'", encoding="utf-8")
    with serving() as served:
        await logged(served, f"The graph comes from {file}, found in the working directory.")
        file.write_text("record = 'calls.jsonl'", encoding="utf-8")
        served.send(signal.SIGHUP)
        await logged(served, "previous one stays in effect. bfsql.toml was found in the working")
        assert await asyncio.to_thread(served.stop) == 0
    assert not (tmp_path / "calls.jsonl").exists()


async def answered(ask: Callable[[], Any], wanted: Any) -> None:
    """Wait until a question has an answer."""

    async def holds() -> bool:
        return bool(await ask() == wanted)

    await until(holds)


async def logged(served: Served, text: str) -> None:
    await until(lambda: any(text in line for line in served.log))


async def test_clients_over_http_learn_that_descriptions_have_changed(tmp_path: Path) -> None:
    path = await graph_of(tmp_path / "graph.db", 1)
    second = await graph_of(tmp_path / "second.db", 2)
    with serving("--path", str(path)) as served:
        url = f"{served.url}/mcp"
        async with learning(url, "auto") as modern, learning(url, "legacy") as legacy:
            second.replace(path)
            for client in (modern, legacy):
                await client.learned()
                assert '"Type1' in await client.descriptions()
            served.send(signal.SIGHUP)
            await legacy.descriptions()
            assert await asyncio.to_thread(served.stop) == 0
            assert not legacy.changes.qsize(), "the descriptions are as they were"
    assert "Traceback" not in "\n".join(served.log)


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_a_client_on_stdio_learns_that_descriptions_have_changed(
    tmp_path: Path, era: str, programs: Path
) -> None:
    path = await graph_of(tmp_path / "graph.db", 1)
    second = await graph_of(tmp_path / "second.db", 2)
    async with learning(on_stdio(programs, path), era) as client:
        second.replace(path)
        await client.learned()
        assert '"Type1' in await client.descriptions()


@dataclass
class Learning:
    """A client that has listed the tools and is notified of changes."""

    client: Client
    changes: asyncio.Queue[None]

    async def learned(self) -> None:
        """Make a call, which detects the change, and wait for the server's notification."""
        await types_over_mcp(self.client)
        await asyncio.wait_for(self.changes.get(), PATIENCE)

    async def descriptions(self) -> str:
        """The descriptions of all tools."""
        listed = await self.client.list_tools(cache_mode="refresh")
        return "".join(tool.description or "" for tool in listed.tools)


@asynccontextmanager
async def learning(server: str | StdioServerParameters, era: str) -> AsyncIterator[Learning]:
    """A client of an era; in the later era, clients must subscribe to notifications."""
    changes: asyncio.Queue[None] = asyncio.Queue()

    async def note(message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            changes.put_nowait(None)

    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(Client(server, mode=era, message_handler=note))
        assert client.server_capabilities.tools.list_changed
        made = Learning(client, changes)
        assert '"Type1' not in await made.descriptions()
        if era == "auto":
            events = await stack.enter_async_context(client.listen(tools_list_changed=True))

            async def follow() -> None:
                async for _ in events:
                    changes.put_nowait(None)

            following = asyncio.create_task(follow())
            stack.callback(following.cancel)
        yield made
