"""The cache is bounded, and callers cannot modify what it holds."""

import copy
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfsql.cache import CachedGraphDb
from bfsql.cache.singleflight import CachedMethod
from bfsql.cache.store import FOREVER, CacheBudget, GenerationalCache
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, EntityStub, Node, NodeRecord, Omission

HUB = 60_000


def records_held(db: CachedGraphDb) -> int:
    """The number of cached records, counted one by one."""
    total = 0
    rings = (one.cache for one in db._rings.values())
    parts = (db, *rings, db._node_metadata, db._edge_metadata)
    for method in (value for part in parts for value in vars(part).values()):
        if not isinstance(method, CachedMethod) or method is db._schema:
            continue
        for held in (method._held, method._unknown):
            for generation in (held._young, held._old):
                total += held._weigh(generation.values.values())
    return total


def spoil(value: Any) -> None:
    """Modify everything mutable in an answer."""
    match value:
        case Node(metadata=metadata):
            spoil(metadata)
        case EntityStub() | str() | bool():
            return
        case dict():
            for inner in value.values():
                spoil(inner)
            value.clear()
            value["spoiled"] = True
        case list():
            for inner in value:
                spoil(inner)
            value.append("spoiled")


@pytest.fixture
def generous() -> Any:
    """A backend whose nodes include metadata, and which returns its own objects."""

    class Generous(MemoryBackend):
        node_metadata = {"a": {"name": "Ay", "list": [[1]]}, "b": {}}  # noqa: RUF012 - shared on purpose

        async def get_node(self, entity_id: str) -> Node:
            return Node(entity_id, "Drug", self.node_metadata[entity_id])

        async def get_nodes_batch(self, ids):
            return [Node(i, "Drug", self.node_metadata[i]) for i in ids]

        async def metadata_for_node(self, entity_id: str):
            return self.node_metadata[entity_id]

        async def metadata_for_nodes_batch(self, ids):
            return {i: self.node_metadata[i] for i in ids}

    return Generous([NodeRecord("a", "Drug"), NodeRecord("b", "Drug"), EdgeRecord("a", "p", "b")])


async def test_spoiling_every_answer_changes_no_later_one(memory, primitives):
    backend, _ = memory
    db = CachedGraphDb(backend)
    for ask in primitives:
        wanted = repr(await ask(CachedGraphDb(backend)))
        for _ in range(3):
            answer = await ask(db)
            assert repr(answer) == wanted
            spoil(answer)


async def test_what_nodes_bring_along_cannot_be_changed_by_a_caller(generous):
    db = CachedGraphDb(generous)
    wanted = {"a": {"name": "Ay", "list": [[1]]}, "b": {}}
    for _ in range(3):
        for node in [*await db.get_nodes_batch(["a", "b"]), await db.get_node("a")]:
            assert node.metadata == wanted[node.id]
            if isinstance(node.metadata, dict):
                spoil(node.metadata)


async def test_what_the_backend_does_to_its_own_objects_later_changes_nothing(generous):
    db = CachedGraphDb(generous)
    wanted = copy.deepcopy(generous.node_metadata)
    await db.get_nodes_batch(["a", "b"])
    await db.metadata_for_nodes_batch(["a", "b"])
    for metadata in generous.node_metadata.values():
        spoil(metadata)
    assert {node.id: node.metadata for node in await db.get_nodes_batch(["a", "b"])} == wanted
    assert await db.metadata_for_nodes_batch(["a", "b"]) == wanted


@pytest.mark.parametrize(
    "value",
    [
        memoryview(b"raw"),
        {"nested": memoryview(b"raw")},
        [MappingProxyType({"a": [1]})],
        {1, 2},
        (1, [2]),
        b"raw",
        type("Local", (), {"__eq__": lambda a, b: type(a) is type(b), "__hash__": None})(),
        lambda: None,
    ],
    ids=["view", "nested view", "read-only", "set", "tuple", "bytes", "local class", "function"],
)
async def test_values_that_are_hard_to_copy_are_held_all_the_same(value):
    class Odd(MemoryBackend):
        asked = 0

        async def metadata_for_node(self, entity_id: str):
            Odd.asked += 1
            return MappingProxyType({"value": value})

    db = CachedGraphDb(Odd())
    first, *again = [await db.metadata_for_node("a") for _ in range(3)]
    assert all(metadata == first for metadata in again)
    assert Odd.asked == 1


async def test_a_hub_in_a_small_cache_is_passed_on_and_not_held():
    edges = [EdgeRecord("hub", "p", f"n{i}") for i in range(HUB)]
    backend = MemoryBackend([NodeRecord("hub", "Hub"), *edges])
    db = CachedGraphDb(backend, maxsize=1_000)
    for _ in range(2):
        assert len(await db.edges_batch(["hub"])) == HUB
        assert len(await db.edges_from("hub")) == HUB
        assert records_held(db) <= 1_000


async def test_a_hub_in_a_large_cache_is_held_and_counted():
    edges = [EdgeRecord("hub", "p", f"n{i}") for i in range(HUB)]
    db = CachedGraphDb(MemoryBackend([NodeRecord("hub", "Hub"), *edges]))
    await db.edges_batch(["hub"])
    assert records_held(db) == HUB + 1


async def test_what_is_used_again_outlives_what_is_not(memory):
    backend, watch = memory
    db = CachedGraphDb(backend, maxsize=40)
    for number in range(200):
        await db.get_node("a")
        await db.search_entities(f"nothing {number}")
    assert watch.count("get_node") == 1
    await db.search_entities("nothing 0")
    assert watch.count("search_entities") == 201


async def test_a_method_that_is_no_longer_called_gives_its_room_back(memory):
    backend, _ = memory
    db = CachedGraphDb(backend, maxsize=20)
    for number in range(9):
        await db.search_entities(f"nothing {number}")
    for _ in range(5):
        for ids in (["a"], ["b"], ["c"], ["x"], ["y"], ["z"]):
            await db.edges_batch(ids)
            assert records_held(db) <= 20
    assert not db._search._held._old.values


KEYS = [f"n{i}" for i in range(12)]


@given(
    st.integers(0, 40),
    st.lists(
        st.tuples(
            st.sampled_from(
                ["edges_batch", "get_nodes_batch", "metadata_for_nodes_batch", "edges_from", "ttl"]
            ),
            st.lists(st.sampled_from([*KEYS, "nobody"]), min_size=1, max_size=8),
        ),
        max_size=40,
    ),
)
async def test_never_more_than_maxsize_is_held_and_answers_stay_right(maxsize, calls):
    backend = MemoryBackend(
        [
            *(NodeRecord(i, "T", {"name": i}) for i in KEYS),
            *(EdgeRecord("n0", "p", i) for i in KEYS),
        ]
    )
    now = 0.0
    db = CachedGraphDb(backend, maxsize, ttl=100.0, clock=lambda: now)
    for method, ids in calls:
        match method:
            case "ttl":
                now += 30.0
            case "edges_from":
                if ids[0] != "nobody":
                    assert await db.edges_from(ids[0]) == await backend.edges_from(ids[0])
            case "metadata_for_nodes_batch":
                assert await db.metadata_for_nodes_batch(
                    ids
                ) == await backend.metadata_for_nodes_batch(ids)
            case _:
                cached = await getattr(db, method)(ids)
                direct = await getattr(backend, method)(ids)
                assert sorted({str(x) for x in cached}) == sorted({str(x) for x in direct})
        assert records_held(db) <= maxsize


def test_answers_found_while_the_generation_turns_are_all_given():
    budget = CacheBudget(10)
    held: GenerationalCache[str] = GenerationalCache(budget, len)
    held.put({"a": 1, "b": 2, "c": 3}, FOREVER, {})
    budget.take(3)  # a reservation elsewhere moves these three to the old generation
    held.put({"d": 4}, FOREVER, {})
    assert held.find(["a", "b", "c", "d"], 0.0) == {"a": 1, "b": 2, "c": 3, "d": 4}
    assert held.find(["a", "b", "c", "d"], 0.0) == {"a": 1, "b": 2, "c": 3, "d": 4}


def test_what_is_used_again_keeps_its_time_and_what_was_left_out_of_it():
    budget = CacheBudget(20)
    held: GenerationalCache[str] = GenerationalCache(budget, len)
    gap = Omission("a")
    held.put({"a": 1, "b": 2}, 50.0, {"a": (gap,)})
    held.turn()
    assert held.find(["a", "b"], 40.0) == {"a": 1, "b": 2}
    held.turn()
    assert held.find(["a", "b"], 49.0) == {"a": 1, "b": 2}
    assert held.omissions(["a", "b"]) == [gap]
    assert held.find(["a", "b"], 50.0) == {}
    assert held.omissions(["a", "b"]) == []
