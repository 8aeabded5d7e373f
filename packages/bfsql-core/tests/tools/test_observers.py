"""What observers receive about tool calls, calls to the store, and the cache."""

import asyncio
import logging
from contextlib import suppress
from typing import Any

import pytest

import bfsql
from bfsql import call
from bfsql.call import Caller
from bfsql.errors import StoreUnavailable, ToolError
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, NodeRecord
from bfsql.observer import ObservedCall, Observer
from bfsql.tools import Limits
from bfsql_test_support.backends.columns import ColumnsOverMemory
from bfsql_test_support.hooks import Watcher

RECORDS = [
    *(NodeRecord(f"n:{i}", "Thing", {"name": f"Thing {i}"}) for i in range(6)),
    *(EdgeRecord("n:0", "NEAR", f"n:{i}", {"note": "x"}) for i in range(1, 6)),
]


class Recorder(Observer):
    """Records everything that it receives."""

    def __init__(self) -> None:
        self.began: list[tuple[str, str]] = []
        self.ended: list[ObservedCall] = []
        self.store: list[tuple[str, bool]] = []
        self.cache: list[tuple[str, int, int]] = []

    def call_began(self, seen: ObservedCall) -> None:
        self.began.append((seen.request_id, seen.tool))

    def call_ended(self, seen: ObservedCall) -> None:
        self.ended.append(seen)

    def store_called(self, method: str, seconds: float, *, failed: bool) -> None:
        assert seconds >= 0
        self.store.append((method, failed))

    def cache_asked(self, method: str, hits: int, misses: int) -> None:
        self.cache.append((method, hits, misses))


async def test_a_call_is_observed_from_its_beginning_to_its_answer():
    seen = Recorder()
    async with bfsql.open_graph(MemoryBackend(RECORDS), hooks=[], observers=[seen]) as graph:
        answer = await graph.call(
            "bfs_query",
            {"seeds": "n:0", "max_hops": "1"},
            caller=Caller("someone"),
            request_id="abc",
        )
    assert seen.began == [("abc", "bfs_query")]
    [ended] = seen.ended
    assert ended.arguments["max_hops"] == 1
    assert ended.caller == Caller("someone")
    assert ended.seconds > 0
    assert ended.error is None
    assert ended.size == len(answer.text.encode())
    assert ended.tokens == -(-ended.size // 3)
    assert ended.rows == {"nodes": 6, "edges": 5}
    assert (ended.nodes, ended.edges) == (6, 5)
    assert ended.cut == ()


async def test_calls_to_the_store_and_what_the_cache_had_are_observed():
    seen = Recorder()
    async with bfsql.open_graph(MemoryBackend(RECORDS), hooks=[], observers=[seen]) as graph:
        assert {("entity_types", False), ("predicates", False)} <= set(seen.store)
        seen.store, seen.cache = [], []
        await graph.describe_entities(["n:0", "n:1"])
        first, seen.store = seen.store, []
        assert ("metadata_for_node", False) in first or ("metadata_for_nodes_batch", False) in first
        assert all(misses and not hits for method, hits, misses in seen.cache)
        seen.cache = []
        await graph.describe_entities(["n:0", "n:1"])
        assert seen.store == []
        assert seen.cache
        assert all(hits and not misses for method, hits, misses in seen.cache)


@pytest.mark.parametrize(
    ("backend", "expected"),
    [
        (MemoryBackend(RECORDS), ("nodes_stream", False)),
        (ColumnsOverMemory(RECORDS), ("columns.nodes", False)),
    ],
)
async def test_a_list_of_entities_is_observed(backend, expected):
    seen = Recorder()
    async with bfsql.open_graph(backend, hooks=[], observers=[seen]) as graph:
        seen.store = []
        await graph.bfs_query(["Thing[name~1]"])
    assert {one for one in seen.store if "nodes" in one[0] and "batch" not in one[0]} == {expected}


@pytest.mark.parametrize(
    ("tool", "arguments", "kind"),
    [
        ("bfs_query", {"seeds": "n:77", "max_hops": 1}, "unknown_entity"),
        ("bfs_query", {"max_hops": 1}, "missing_argument"),
        ("no_such_tool", {}, "unknown_tool"),
        ("describe_entity", "no object", "missing_argument"),
    ],
)
async def test_a_call_that_fails_is_observed_with_its_kind(tool, arguments, kind):
    seen = Recorder()
    async with bfsql.open_graph(MemoryBackend(RECORDS), hooks=[], observers=[seen]) as graph:
        with pytest.raises(ToolError):
            await graph.call(tool, arguments)
    [ended] = seen.ended
    assert (ended.tool, ended.size, ended.rows) == (tool, 0, {})
    if isinstance(arguments, dict):
        assert ended.error == kind


async def test_what_was_cut_is_observed():
    names = [NodeRecord(f"m:{i:04}", "Thing", {"name": "x" * 40}) for i in range(400)]
    edges = [EdgeRecord("m:0000", "NEAR", f"m:{i:04}") for i in range(1, 400)]
    edges += [EdgeRecord("m:0001", "NEAR", f"n:{i}") for i in range(6)]
    backend = MemoryBackend([*names, *RECORDS, *edges])
    seen = Recorder()
    limits = Limits(max_tokens=2_000, max_nodes=402)
    async with bfsql.open_graph(backend, hooks=[], limits=limits, observers=[seen]) as graph:
        await graph.bfs_query("m:0000", 2)
        await graph.bfs_query("n:5", 1)
    assert [ended.cut for ended in seen.ended] == [("nodes", "tokens"), ()]


class Down(MemoryBackend):
    """Fails requests for nodes if `down`; requests for metadata wait for `gate`."""

    down = False
    request_id = ""

    def __init__(self) -> None:
        super().__init__(RECORDS)
        self.reached, self.gate = asyncio.Event(), asyncio.Event()

    async def get_nodes_batch(self, ids: Any) -> Any:
        self.request_id = call.current_request_id()
        if self.down:
            raise StoreUnavailable("It is down.")
        return await super().get_nodes_batch(ids)

    async def metadata_for_node(self, entity_id: str) -> Any:
        self.reached.set()
        await self.gate.wait()


async def test_a_store_that_fails_and_a_call_taken_back_are_observed():
    seen, backend = Recorder(), Down()
    async with bfsql.open_graph(backend, hooks=[], observers=[seen]) as graph:
        cancelled = asyncio.ensure_future(graph.describe_entity("n:0"))
        await backend.reached.wait()
        cancelled.cancel()
        with suppress(asyncio.CancelledError):
            await cancelled
        backend.down = True
        with pytest.raises(ToolError):
            await graph.describe_entity("n:1")
    assert [ended.error for ended in seen.ended] == ["cancelled", "store"]
    assert ("get_nodes_batch", True) in seen.store


async def test_the_id_of_a_call_reaches_the_store_and_the_error():
    backend = Down()
    async with bfsql.open_graph(backend, hooks=[]) as graph:
        backend.down = True
        with pytest.raises(ToolError, match="report to the operator: incident my-id"):
            await graph.call("describe_entity", {"id": "n:1"}, request_id="my-id")
        assert backend.request_id == "my-id"
        with call.scope(request_id="around"), pytest.raises(ToolError, match="incident around"):
            await graph.call("describe_entity", {"id": "n:1"})
        with pytest.raises(ToolError, match=r"incident [0-9a-f]{16}"):
            await graph.call("describe_entity", {"id": "n:1"})


async def test_an_observer_that_fails_breaks_no_call_and_is_logged_once(caplog):
    class Failing(Observer):
        def call_began(self, seen: ObservedCall) -> None:
            raise RuntimeError("too curious")

        def cache_asked(self, method: str, hits: int, misses: int) -> None:
            raise RuntimeError("too curious")

    seen, hook = Recorder(), Watcher()
    observers = [Failing(), seen]
    with caplog.at_level(logging.WARNING, "bfsql"):
        async with bfsql.open_graph(
            MemoryBackend(RECORDS), hooks=[hook], observers=observers
        ) as graph:
            for _ in range(3):
                assert (await graph.bfs_query("n:0", 1)).text
    assert len(seen.ended) == 3
    assert len(hook.seen) == 3
    assert [record.getMessage() for record in caplog.records] == [
        f"The observer test_an_observer_that_fails_breaks_no_call_and_is_logged_once.<locals>."
        f"Failing.{event} failed: RuntimeError: too curious; later failures of it are not logged"
        for event in ("cache_asked", "call_began")
    ]
