"""A graph that is away, hangs, or cannot be opened: the others answer, and the answer says so."""

import asyncio
from functools import partial
from urllib.parse import urlsplit

import pytest

from bfsql import MemoryBackend, ToolError, open_graph
from bfsql.abc import ForwardingBackend
from bfsql.abc.unavailable import UnavailableBackend
from bfsql.cache import breaker
from bfsql.call import Limits
from bfsql.errors import ConfigurationError, StoreUnavailable
from bfsql.models import EdgeRecord, EntityStub, NodeRecord
from bfsql.models.load import LoadMode, LoadOptions
from bfsql.models.valid_time import TimeKeys
from bfsql_federation import FederationBackend, FederationSettings, Identifiers, Member, member
from bfsql_sparql.backend import SparqlBackend
from bfsql_sparql.load.loader import load_graph
from bfsql_sparql.settings import SparqlSettings
from bfsql_test_support.servers.failing_proxy import failing_proxy
from bfsql_test_support.servers.port import HOST

DRUGS = [
    NodeRecord("RX:1", "Drug", {"name": "Aspirin", "year": 1899}),
    NodeRecord("MESH:1", "Disease", {"name": "Headache"}),
    EdgeRecord("RX:1", "treats", "MESH:1"),
]
TRIALS = [
    NodeRecord("RX:1", "Drug", {"name": "Aspirin", "year": 1897}),
    NodeRecord("T:1", "Trial", {"name": "ISIS-2"}),
    EdgeRecord("T:1", "tests", "RX:1"),
]


class Failing(ForwardingBackend):
    """A graph that can be away, or hang; it counts its requests."""

    failure: str = ""
    asked = 0

    async def _ask(self, method, /, *args, **named):
        await self._fail()
        return await super()._ask(method, *args, **named)

    async def _stream(self, method, /, *args, **named):
        await self._fail()
        async for one in super()._stream(method, *args, **named):
            yield one

    async def _fail(self):
        self.asked += 1
        if self.failure == "hangs":
            await asyncio.sleep(3600)
        if self.failure:
            raise StoreUnavailable(f"It is {self.failure}.")


def federation(**options):
    trials = Failing(MemoryBackend(TRIALS))
    members = [Member("drugs", MemoryBackend(DRUGS)), Member("trials", trials, seconds=0.3)]
    return trials, FederationBackend(members, Identifiers({}), **options)


@pytest.mark.parametrize("failure", ["away", "hangs"])
async def test_the_rest_is_served_and_what_is_missing_is_named(failure):
    trials, backend = federation()
    async with open_graph(backend, hooks=(), cache_records=1000) as graph:
        await graph.counted()
        whole = (await graph.bfs_query("RX:1", 1)).content
        assert {one["id"] for one in whole["nodes"]} == {"RX:1", "MESH:1", "T:1"}
        assert whole["complete"]
        trials.failure = failure
        graph.db.forget_schema()
        async with open_graph(backend, hooks=()) as other:
            found = await other.bfs_query("RX:1", 1)
        assert {one["id"] for one in found.content["nodes"]} == {"RX:1", "MESH:1"}
        assert "complete" not in found.content
        assert [note for note in found.notes if "The graph trials did not answer" in note]
        trials.failure = ""
        async with asyncio.timeout(10):  # the breaker asks it again, in half a second
            async with open_graph(backend, hooks=()) as other:
                while "complete" not in (await other.bfs_query("RX:1", 1)).content:  # noqa: ASYNC110
                    await asyncio.sleep(0.1)
    await backend.close()


async def test_an_entity_that_only_a_silent_graph_may_have_is_not_unknown():
    trials, backend = federation()
    trials.failure = "away"
    async with open_graph(backend, hooks=()) as graph:
        with pytest.raises(StoreUnavailable, match="in no graph that answers, and trials does not"):
            await backend.get_nodes_batch(["T:1"])
        with pytest.raises(ToolError, match="does not answer"):
            await graph.describe_entity("T:1")
        assert (await graph.describe_entity("MESH:1")).content["name"] == "Headache"
    await backend.close()


@pytest.mark.parametrize(("mode", "place"), [("kill", 0), ("hang", 1), ("limit", 2)])
async def test_a_hundred_clients_ask_a_server_that_fails_once_until_it_is_back(
    mode, place, oxigraph, monkeypatch
):
    monkeypatch.setattr(member, "SILENT_SECONDS", 0.3)
    monkeypatch.setattr(breaker, "PROBE_SECONDS", 0.5)
    monkeypatch.setattr(breaker, "FIRST_PAUSE", 0.1)
    nodes = [NodeRecord(f"urn:{k}", "urn:T") for k in range(20)]
    edges = [
        (f"urn:{k}", f"urn:p{k * to % 3}", f"urn:{to}") for k in range(20) for to in range(k, 20, 3)
    ]
    parts = [[*nodes, *(EdgeRecord(*e) for e in edges if e[1] == f"urn:p{at}")] for at in range(3)]
    there = SparqlSettings(endpoint=oxigraph.query_url, update_endpoint=oxigraph.update_url)
    await load_graph(there, parts[place], LoadOptions(mode=LoadMode.REPLACE))
    pieces, whole, is_over = 0, 0, False

    async def client(number):
        nonlocal pieces, whole
        while not is_over:
            number = (number * 7 + 3) % 20
            found = (await graph.bfs_query(f"urn:{number}", 1)).content
            got = {(e["subject"], e["predicate"], e["object"]) for e in found["edges"]}
            ring = {e for e in edges if f"urn:{number}" in (e[0], e[2])}
            if "complete" in found:
                whole += 1
                assert got == ring
            else:  # the server may have failed after it had told its edges
                pieces += 1
                assert {e for e in ring if e[1] != f"urn:p{place}"} <= got <= ring

    async def until(holds):
        while not holds():  # noqa: ASYNC110 - clients count
            await asyncio.sleep(0.01)

    with failing_proxy(oxigraph.port) as proxy:
        url = oxigraph.query_url.replace(f"{HOST}:{oxigraph.port}", urlsplit(proxy.url).netloc)
        stores = [MemoryBackend(part) for part in parts]
        stores[place] = failing = Failing(await SparqlBackend.open(SparqlSettings(endpoint=url)))
        # No call ends by a limit of its own: what ends it is that the server is known to be away.
        members = [Member(f"g{at}", store, seconds=600) for at, store in enumerate(stores)]
        backend, limits = FederationBackend(members, Identifiers({})), Limits(deadline=None)
        async with (
            open_graph(backend, cache_records=0, limits=limits) as graph,
            asyncio.timeout(100),
            asyncio.TaskGroup() as tasks,
        ):
            for number in range(100):
                tasks.create_task(client(number))
            await until(lambda: whole > 100)
            proxy.switch(mode)
            before = failing.asked
            await until(lambda: pieces > 400)
            assert failing.asked - before <= 250  # of 1,200: one or two of each client, and probes
            proxy.switch("open")
            whole = 0
            await until(lambda: whole > 100)
            is_over = True
        await backend.close()


async def test_what_each_graph_says_is_told():
    _, backend = federation()
    async with open_graph(backend, hooks=()) as graph:
        found = (await graph.describe_entity("RX:1")).content
        assert found["graphs"] == ["drugs", "trials"]
        assert found["differs"] == {"year": {"drugs": 1899, "trials": 1897}}
        assert found["year"] == [1897, 1899]
        only = await graph.bfs_query("*[graphs=trials]", topology_only=True)
        assert {one["id"] for one in only.content["nodes"]} == {"RX:1", "T:1"}
        edges = (await graph.bfs_query("RX:1", 1)).content["edges"]
        assert {(e["predicate"], *e["metadata"]["graphs"]) for e in edges} == {
            ("treats", "drugs"),
            ("tests", "trials"),
        }
    await backend.close()


async def test_what_a_graph_finds_by_meaning_follows_what_is_called_so():
    class ByMeaning(MemoryBackend):
        async def search_entities(self, query, node_types=None):
            return [EntityStub("T:1", "Trial", "ISIS-2", 0.7)]

    members = [Member("drugs", MemoryBackend(DRUGS)), Member("trials", ByMeaning(TRIALS))]
    backend = FederationBackend(members, Identifiers({}))
    found = await backend.search_entities("aspirin")
    assert [(one.id, one.score) for one in found] == [("RX:1", None), ("T:1", 0.7)]
    assert await backend.search_entities("aspirin", ["Disease"]) == []


async def test_a_graph_that_cannot_be_opened_is_opened_later(tmp_path):
    opened = [False]

    async def opening():
        if not opened[0]:
            raise StoreUnavailable("It does not listen.")
        return MemoryBackend(TRIALS)

    late = UnavailableBackend(partial(StoreUnavailable, "It does not listen."), opening)
    members = [Member("drugs", MemoryBackend(DRUGS)), Member("trials", late)]
    backend = FederationBackend(members, Identifiers({}))
    assert await backend.entity_types() == ["Disease", "Drug"]
    assert not await backend.comprehensive()
    assert backend.changed() is None
    opened[0] = True
    async with asyncio.timeout(10):
        while backend.changed() is None:  # noqa: ASYNC110 - a breaker asks
            await asyncio.sleep(0.1)
    await backend.close()
    settings = FederationSettings(members={"a": {"backend": "sqlite", "path": "a.db"}})
    with pytest.raises(Exception, match=r"a\.db"):
        await FederationBackend.open(settings)


async def test_facts_of_all_graphs_have_their_times():
    early = [
        NodeRecord("RX:1", "Drug"),
        NodeRecord("MESH:1", "Disease"),
        EdgeRecord("RX:1", "treats", "MESH:1", {"since": "2000", "until": "2005"}),
    ]
    late = [
        NodeRecord("RX:1", "Drug"),
        NodeRecord("MESH:1", "Disease"),
        EdgeRecord("RX:1", "treats", "MESH:1", {"begin": "2010"}),
    ]
    stores = [
        MemoryBackend(early, TimeKeys(["since"], ["until"])),
        MemoryBackend(late, TimeKeys(["begin"])),
    ]
    members = [Member(name, store) for name, store in zip(("early", "late"), stores, strict=True)]
    async with open_graph(FederationBackend(members, Identifiers({})), hooks=()) as graph:
        for at, number in (("2003", 1), ("2007", 0), ("2011", 1)):
            assert (await graph.bfs_query("RX:1", 1, at=at)).content["edge_count"] == number, at
    stores[1].time_keys = TimeKeys(["begin"], until_included=True)
    with pytest.raises(ConfigurationError, match="early and of late differ in until_included"):
        FederationBackend(members, Identifiers({}))
    for one in members:
        await one.db.close()
