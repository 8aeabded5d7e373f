"""Each distinct request reaches the backend once while its answer is cached."""

import asyncio
from typing import Any

import pytest

from bfsql import call, engine
from bfsql.abc import GraphDbInterface
from bfsql.cache import CachedGraphDb
from bfsql.memory import MemoryBackend
from bfsql.models import BfsQuery, Edge, EntityStub, Node, NodeRecord, Omission


async def test_every_primitive_is_asked_once_and_answers_the_same_again(memory, primitives):
    backend, watch = memory
    db = CachedGraphDb(backend)
    cold = [await ask(db) for ask in primitives]
    asked = len(watch.calls)
    assert [await ask(db) for ask in primitives] == cold
    assert len(watch.calls) == asked
    assert max(watch.single_keys().values()) == 1


async def test_a_backend_of_only_the_eight_is_asked_once_for_each_thing(bare, primitives):
    backend, watch = bare
    db = CachedGraphDb(backend)
    primitives = primitives[1:]  # a search with types is a different request from one without
    cold = [await ask(db) for ask in primitives]
    assert [await ask(db) for ask in primitives] == cold
    assert max(watch.single_keys().values()) == 1


async def test_a_traversal_over_the_eight_reads_each_id_once(bare):
    backend, watch = bare
    query = BfsQuery(seeds=["a"], max_hops=3)
    await engine.bfs_query(CachedGraphDb(backend), query)
    assert max(watch.single_keys().values()) == 1
    assert watch.count("get_node") == 3


async def test_batches_and_singles_share_what_they_hold(memory):
    backend, watch = memory
    db = CachedGraphDb(backend)
    edge = Edge("a", "acts on", "b")
    await db.get_nodes_batch(["a", "b"])
    await db.metadata_for_nodes_batch(["a", "b"])
    await db.metadata_for_edges_batch([tuple(edge)])
    batches = len(watch.calls)
    assert (await db.get_node("a")).id == "a"
    assert (await db.metadata_for_node("b"))["name"] == "Bee"
    assert (await db.metadata_for_edge(edge))["sources"] == ["doc:1"]
    assert len(watch.calls) == batches
    await db.get_node("c")
    assert [node.id for node in await db.get_nodes_batch(["c"])] == ["c"]
    assert watch.count("get_nodes_batch") == 1


async def test_a_batch_asks_only_for_what_is_not_held(memory):
    backend, watch = memory
    db = CachedGraphDb(backend)
    await db.get_nodes_batch(["a"])
    found = await db.get_nodes_batch(["a", "b", "c", "b"])
    assert sorted(node.id for node in found) == ["a", "b", "c"]
    assert watch.calls == [("get_nodes_batch", (["a"],)), ("get_nodes_batch", (["b", "c"],))]


async def test_a_ring_is_held_by_its_ends(memory):
    backend, watch = memory
    db = CachedGraphDb(backend)
    both = await db.edges_batch(["a", "b"])
    alone = await db.edges_batch(["b"])
    assert set(alone) == {("a", "acts on", "b"), ("b", "acts on", "c")}
    assert set(both) == {*alone, ("a", "acts on", "a")}
    assert watch.count("edges_batch") == 1


@pytest.mark.parametrize("method", ["edges_from", "edges_to", "get_node", "metadata_for_node"])
async def test_an_unknown_id_is_remembered_for_a_short_time_only(memory, method):
    backend, watch = memory
    now = 0.0
    db = CachedGraphDb(backend, clock=lambda: now)
    for _ in range(3):
        with pytest.raises(KeyError):
            await getattr(db, method)("nobody")
    assert watch.count(method) == 1
    now = 6.0
    with pytest.raises(KeyError):
        await getattr(db, method)("nobody")
    assert watch.count(method) == 2


async def test_what_was_unknown_is_found_when_the_store_has_it(memory):
    backend, _ = memory
    now = 0.0
    db = CachedGraphDb(backend, clock=lambda: now)
    assert await db.get_nodes_batch(["new"]) == []
    MemoryBackend.__init__(backend, [NodeRecord("new", "Drug")])
    assert await db.get_nodes_batch(["new"]) == []
    now = 5.5
    assert [node.id for node in await db.get_nodes_batch(["new"])] == ["new"]
    now = 1e9
    assert (await db.get_node("new")).id == "new"


async def test_unknown_ids_of_a_batch_are_not_asked_for_again_at_once(memory):
    backend, watch = memory
    db = CachedGraphDb(backend)
    for _ in range(3):
        assert [node.id for node in await db.get_nodes_batch(["a", "nobody"])] == ["a"]
        assert list(await db.metadata_for_nodes_batch(["a", "nobody"])) == ["a"]
    assert len(watch.calls) == 2


async def test_answers_are_good_for_the_time_to_live_and_no_longer(memory, primitives):
    backend, watch = memory
    now = 100.0
    db = CachedGraphDb(backend, ttl=10.0, clock=lambda: now)
    for ask in primitives:
        await ask(db)
    cold = len(watch.calls)
    now = 109.9
    for ask in primitives:
        await ask(db)
    assert len(watch.calls) == cold
    now = 120.0
    for ask in primitives:
        await ask(db)
    assert len(watch.calls) == 2 * cold


async def test_types_and_predicates_outlive_a_flood_of_other_answers(memory):
    backend, watch = memory
    db = CachedGraphDb(backend, maxsize=4)
    for _ in range(3):
        await db.entity_types()
        await db.predicates()
        for number in range(20):
            await db.search_entities(str(number))
    assert (watch.count("entity_types"), watch.count("predicates")) == (1, 1)


@pytest.mark.parametrize("fault", [ConnectionError("gone"), TimeoutError(), ValueError("broken")])
async def test_failures_are_not_kept(memory, primitives, fault):
    backend, watch = memory
    for ask in primitives[:-2]:
        db = CachedGraphDb(backend)
        watch.failures = [fault]
        with pytest.raises(type(fault)):
            await ask(db)
        await ask(db)


async def test_a_key_error_about_no_id_is_a_failure_like_any_other(memory):
    backend, watch = memory
    db = CachedGraphDb(backend)
    for ask in (db.entity_types, lambda: db.search_entities("a")):
        watch.failures = [KeyError("a bug")]
        with pytest.raises(KeyError, match="a bug"):
            await ask()
        assert await ask()


async def test_two_caches_share_nothing(memory):
    backend, watch = memory
    await CachedGraphDb(backend).get_node("a")
    await CachedGraphDb(backend).get_node("a")
    assert watch.count("get_node") == 2


class Respelling(GraphDbInterface):
    """Accepts ids in any case and returns them in upper case."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    async def get_node(self, entity_id: str) -> Node:
        if not entity_id.isalpha():
            raise KeyError(entity_id)
        return Node(entity_id.upper(), "Letter")

    async def get_nodes_batch(self, ids: Any) -> list[Node]:
        self.batches.append(list(ids))
        await asyncio.sleep(0)
        upper = dict.fromkeys(i.upper() for i in ids if i.isalpha())
        return [Node(i, "Letter") for i in upper]

    async def search_entities(self, query: str, node_types: Any = None) -> list[EntityStub]:
        return []

    async def edges_from(self, entity_id: str) -> list[Edge]:
        return []

    edges_to = edges_from

    async def metadata_for_node(self, entity_id: str) -> dict[str, Any]:
        return {}

    async def metadata_for_edge(self, edge: Edge) -> dict[str, Any]:
        return {}

    async def entity_types(self) -> list[str]:
        return ["Letter"]

    predicates = entity_types


@pytest.mark.parametrize("asked", [["a"], ["a", "b"], ["a", "A"], ["B", "a"]])
async def test_ids_in_another_spelling_bring_their_canonical_nodes_cold_and_warm(asked):
    db = CachedGraphDb(Respelling())
    wanted = {i.upper() for i in asked}
    for _ in range(2):
        assert {node.id for node in await db.get_nodes_batch(asked)} == wanted
        for entity_id in asked:
            assert (await db.get_node(entity_id)).id == entity_id.upper()


async def test_callers_that_ask_in_another_spelling_at_once_share_a_flight():
    backend = Respelling()
    db = CachedGraphDb(backend)
    answers = await asyncio.gather(*(db.get_nodes_batch(["a", "b"]) for _ in range(5)))
    assert all({node.id for node in found} == {"A", "B"} for found in answers)
    assert backend.batches == [["a", "b"]]


async def test_a_caller_that_wants_part_of_a_respelled_flight_gets_its_own_answer():
    db = CachedGraphDb(Respelling())
    both, one = await asyncio.gather(db.get_nodes_batch(["a", "b"]), db.get_nodes_batch(["a"]))
    assert {node.id for node in both} == {"A", "B"}
    assert [node.id for node in one] == ["A"]


async def test_what_a_search_without_hits_left_out_is_reported_again():
    class Partial(MemoryBackend):
        async def search_entities(self, query, node_types=None):
            call.omitted(Omission("tea", "out"))
            return []

    db = CachedGraphDb(Partial())
    for _ in range(2):
        with call.scope() as scope:
            assert await db.search_entities("tea") == []
            assert scope.omissions == (Omission("tea", "out"),)
