"""The first ring is read while the seeds are looked up, or instead of looking them up."""

import asyncio
import json
from collections import defaultdict
from collections.abc import Sequence

import pytest

from bfsql import Limits
from bfsql.cache import CachedGraphDb
from bfsql.cache.singleflight import UNKNOWN_SECONDS
from bfsql.engine import numbered
from bfsql.errors import ToolError
from bfsql.graph import Graph
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, GraphRecord, Node, NodeRecord

RECORDS = [
    NodeRecord("a", "Person", {"name": "Ada"}),
    NodeRecord("b", "Person", {"name": "Bo"}),
    NodeRecord("c", "Place", {"name": "Cork"}),
    NodeRecord("lonely", "Place", {"name": "Lone"}),
    EdgeRecord("a", "knows", "b", {"since": 1999}),
    EdgeRecord("b", "lives_in", "c"),
]
MORE = [*RECORDS, NodeRecord("d", "Place"), EdgeRecord("c", "near", "d")]


class Plain(MemoryBackend):
    """Records its calls, and blocks those of one method until the gate opens."""

    def __init__(self, records: Sequence[GraphRecord] = RECORDS) -> None:
        super().__init__(records)
        self.calls: list[str] = []
        self.arrived: dict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self.held_back = ""
        self.gate = asyncio.Event()

    async def called(self, method: str) -> None:
        self.calls.append(method)
        self.arrived[method].set()
        if method == self.held_back:
            await self.gate.wait()

    async def get_nodes_batch(self, ids: Sequence[str]) -> list[Node]:
        await self.called("nodes")
        return await super().get_nodes_batch(ids)

    async def edges_batch(self, ids, *, predicates=None, direction=None):
        await self.called("ring")
        return await super().edges_batch(ids, predicates=predicates, direction=direction)

    async def metadata_for_nodes_batch(self, ids, keys=None):
        await self.called("node metadata")
        return await super().metadata_for_nodes_batch(ids, keys)

    async def metadata_for_edges_batch(self, edges, keys=None):
        await self.called("edge metadata")
        return await super().metadata_for_edges_batch(edges, keys)


class Typed(Plain):
    """Returns a ring with the types of both ends."""

    async def edges_stream(self, ids, *, predicates=None, direction=None):
        ring = await self.edges_batch(ids, predicates=predicates, direction=direction)
        types = self._types.get
        yield [(s, p, o, types(s), types(o)) for s, p, o in ring]


def graph_of(backend: Plain, **limits: float) -> Graph:
    return Graph(CachedGraphDb(backend), "", Limits(**limits), schema=None)


async def test_a_ring_with_types_saves_looking_the_seeds_up():
    backend = Typed()
    answer = await graph_of(backend).bfs_query(["a"], 2, topology_only=True)
    assert json.loads(answer.text)["node_count"] == 3
    assert backend.calls == ["ring", "ring"]


async def test_a_ring_without_types_is_read_while_the_seeds_are_looked_up():
    backend = Plain()
    backend.held_back = "nodes"
    asking = asyncio.create_task(graph_of(backend).bfs_query(["a"], 1, topology_only=True))
    await asyncio.gather(backend.arrived["nodes"].wait(), backend.arrived["ring"].wait())
    backend.gate.set()
    assert json.loads((await asking).text)["edge_count"] == 1
    assert sorted(backend.calls) == ["nodes", "nodes", "ring"]


@pytest.mark.parametrize("backend_type", [Plain, Typed])
async def test_the_answers_are_those_of_a_graph_without_a_cache(backend_type):
    for seeds in (["a"], ["lonely"], ["a", "lonely"], ["c", "b"]):
        ahead = await graph_of(backend_type()).bfs_query(seeds, 1)
        plain = Graph(MemoryBackend(RECORDS), "", Limits(), schema=None)
        assert ahead.text == (await plain.bfs_query(seeds, 1)).text


async def test_a_slow_ring_does_not_hold_the_seeds_up(monkeypatch):
    monkeypatch.setattr(numbered, "AT_ONCE", 0.0)
    backend = Typed()
    backend.held_back = "ring"
    asking = asyncio.create_task(graph_of(backend).bfs_query(["a", "nobody"], 1))
    with pytest.raises(ToolError, match="nobody"):
        await asking
    assert backend.calls[:2] == ["ring", "nodes"]


async def test_an_isolated_node_may_get_edges_later(monkeypatch):
    backend, now = Typed(), [0.0]
    db = CachedGraphDb(backend, clock=lambda: now[0])
    graph = Graph(db, "", Limits(), schema=None)
    assert json.loads((await graph.bfs_query(["lonely"], 1)).text)["edge_count"] == 0
    backend._leaving["lonely"] = [("lonely", "near", "c")]
    backend._edge_metadata["lonely", "near", "c"] = {}
    now[0] += UNKNOWN_SECONDS + 1
    assert json.loads((await graph.bfs_query(["lonely"], 1)).text)["edge_count"] == 1


async def test_metadata_of_few_records_is_read_at_the_same_time():
    backend = Plain()
    backend.held_back = "node metadata"
    asking = asyncio.create_task(graph_of(backend).bfs_query(["a"], 1))
    await backend.arrived["edge metadata"].wait()
    backend.gate.set()
    assert json.loads((await asking).text)["edges"][0]["metadata"] == {"since": 1999}


async def test_where_there_may_be_no_room_the_edges_wait_for_the_nodes():
    backend = Plain(MORE)
    backend.held_back = "node metadata"
    asking = asyncio.create_task(graph_of(backend, max_tokens=500).bfs_query(["b", "c"], 1))
    await backend.arrived["node metadata"].wait()
    for _ in range(20):
        await asyncio.sleep(0)
    assert "edge metadata" not in backend.calls
    backend.gate.set()
    await asking
    assert "edge metadata" in backend.calls
