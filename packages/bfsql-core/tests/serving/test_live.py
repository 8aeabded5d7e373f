"""The graph of a server whose store changes."""

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bfsql.call import Caller
from bfsql.errors import ToolError
from bfsql.graph import Graph, open_graph
from bfsql.memory import MemoryBackend
from bfsql.models import NodeRecord
from bfsql.serving import live
from bfsql.settings import ServeSettings
from bfsql.settings.roles import Role


class Store:
    """A store whose graph changes on demand, and is then slow to open."""

    def __init__(self) -> None:
        self.version = 0
        self.opening = 0
        self.may_open = asyncio.Event()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Graph]:
        """A graph of one node, whose type names the version."""
        store, version = self, self.version
        if version:
            self.opening += 1
            await self.may_open.wait()

        class Backend(MemoryBackend):
            def changed(self) -> int | None:
                return None if store.version == version else store.version

        async with open_graph(Backend([NodeRecord("n", f"Type{version}")])) as graph:
            yield graph


async def type_of(graph: live.LiveGraph) -> str:
    async with graph.call() as current:
        [name] = (await current.describe_schema()).content["entity_types"]
        return str(name)


async def until(graph: live.LiveGraph, wanted: str) -> None:
    async with asyncio.timeout(30):
        while await type_of(graph) != wanted:  # noqa: ASYNC110 - there is no event
            await asyncio.sleep(0.01)


async def test_a_cancelled_opening_reports_nothing():
    reports: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, report: reports.append(report))
    store = Store()
    store.version = 1
    opening = asyncio.ensure_future(live.open_live(store.open, ServeSettings()).__aenter__())
    while not store.opening:  # noqa: ASYNC110 - there is no event
        await asyncio.sleep(0)
    opening.cancel()
    await asyncio.wait([opening])
    assert opening.cancelled()
    del opening
    gc.collect()
    assert not reports


async def test_the_end_does_not_wait_for_a_graph_that_is_being_opened(monkeypatch):
    monkeypatch.setattr(live, "FOLLOW_SECONDS", 0.1)
    store = Store()
    async with asyncio.timeout(30), live.open_live(store.open, ServeSettings()) as graph:
        store.version = 1
        assert await type_of(graph) == "Type0"
        assert store.opening == 1


async def test_calls_wait_for_a_slow_store_once(monkeypatch):
    monkeypatch.setattr(live, "FOLLOW_SECONDS", 0.5)
    time, store = asyncio.get_running_loop().time, Store()
    async with live.open_live(store.open, ServeSettings()) as graph:
        store.version = 1
        assert await type_of(graph) == "Type0"
        began = time()
        assert [await type_of(graph) for _ in range(100)] == ["Type0"] * 100
        assert time() - began < 30, "a hundred waits would take fifty seconds"
        assert store.opening == 1
        store.may_open.set()
        await until(graph, "Type1")


async def test_identities_are_bounded_and_a_graph_in_use_stays_open():
    role = Role(name="own", settings={"claims": "{sub}"})
    settings = ServeSettings(transport="http", max_identities=2, roles=(role,))
    log: list[str] = []

    @asynccontextmanager
    async def identity(_: Role, own: str) -> AsyncIterator[Graph]:
        log.append(f"opened {own}")
        async with open_graph(MemoryBackend([NodeRecord("n", own)])) as graph:
            yield graph
        log.append(f"closed {own}")

    @asynccontextmanager
    async def factory() -> AsyncIterator[Graph]:
        async with Store().open() as graph:
            graph.open_identity = identity
            yield graph

    async def ask(served: live.LiveGraph, own: str) -> str:
        async with served.call(caller=Caller(role="own"), identity=own) as graph:
            [name] = (await graph.describe_schema()).content["entity_types"]
            await asyncio.sleep(0)
            return str(name)

    async with live.open_live(factory, settings) as served:
        with pytest.raises(ToolError, match="takes claims"):
            await ask(served, "")
        assert await asyncio.gather(*(ask(served, one) for one in "ABBAAB")) == [*"ABBAAB"]
        assert log == ["opened A", "opened B"]
        async with served.graph(Caller(role="own"), "A"):
            assert [await ask(served, one) for one in "CBC"] == [*"CBC"]
            async with served.graph(Caller(role="own"), "C"):
                with pytest.raises(ToolError, match="Too many identities"):
                    await ask(served, "D")
        assert "closed A" not in log
    assert [one for one in log if "opened" in one] == [f"opened {one}" for one in "ABCBC"]
    assert sorted(one for one in log if "closed" in one) == [f"closed {one}" for one in "ABBCC"]
