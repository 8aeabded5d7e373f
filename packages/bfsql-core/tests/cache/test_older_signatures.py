"""Backends with older signatures answer as others do; signatures are inspected once."""

import inspect
from collections import Counter

import pytest

from bfsql import open_graph
from bfsql.abc import Abilities, ForwardingBackend, GraphDbInterface
from bfsql.cache import CachedGraphDb, CircuitBreakerBackend
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, EntityStub, NodeRecord
from bfsql.models.valid_time import TimeKeys
from bfsql_test_support.backends.author_style import SHOP, RestBackend
from bfsql_test_support.backends.in_memory import BareBackend
from bfsql_test_support.backends.recording import watched

HITS = [EntityStub("a", "Drug"), EntityStub("b", "Gene"), EntityStub("a", "Drug")]


class Positional(MemoryBackend):
    async def search_entities(self, query, node_types=None):
        self.given = node_types
        return HITS


class Keyword(MemoryBackend):
    async def search_entities(self, query, *, node_types=None):
        self.given = node_types
        return HITS


class Anything(MemoryBackend):
    async def search_entities(self, query, **more):
        self.given = more.get("node_types")
        return HITS


class Variadic(MemoryBackend):
    async def search_entities(self, query, *more):
        self.given = more[0] if more else None
        return HITS


class PositionalOnly(MemoryBackend):
    async def search_entities(self, query, node_types=None, /):
        self.given = node_types
        return HITS


class Without(MemoryBackend):
    given = None

    async def search_entities(self, query):
        return HITS


class WithALimit(MemoryBackend):
    given = None

    async def search_entities(self, query, limit=10):
        assert limit == 10
        return HITS


@pytest.mark.parametrize("kind", [Positional, Keyword, Anything, Variadic, PositionalOnly])
async def test_types_are_passed_where_they_are_taken(kind):
    backend = kind()
    found = await CachedGraphDb(backend).search_entities("x", ["Gene"])
    assert found == [EntityStub("b", "Gene")]
    assert backend.given == ["Gene"]


@pytest.mark.parametrize("kind", [Without, WithALimit])
async def test_types_are_kept_from_a_backend_that_does_not_take_them(kind):
    found = await CachedGraphDb(kind()).search_entities("x", ["Gene"])
    assert found == [EntityStub("b", "Gene")]


@pytest.mark.parametrize("kind", [Positional, Without, Anything, WithALimit])
async def test_without_types_every_hit_comes_once_in_order(kind):
    db = CachedGraphDb(kind())
    for no_types in (None, []):
        assert await db.search_entities("x", no_types) == HITS[:2]


async def test_no_call_inspects_a_signature(monkeypatch):
    db = CachedGraphDb(Positional(SHOP))
    monkeypatch.setattr(inspect, "signature", None)
    assert await db.search_entities("x", ["Gene"]) == [EntityStub("b", "Gene")]
    assert await db.metadata_for_nodes_batch(["tea"], ["name"]) == {"tea": {"name": "Tea"}}


class Older(MemoryBackend):
    """Batches and a stream without the arguments for parts, and plain methods."""

    async def search_entities(self, query):
        return await super().search_entities(query)

    async def edges_batch(self, ids):
        return await super().edges_batch(ids)

    async def edges_stream(self, ids):
        yield list(await super().edges_batch(ids))

    async def metadata_for_nodes_batch(self, ids):
        return await super().metadata_for_nodes_batch(ids)

    async def metadata_for_edges_batch(self, edges):
        return await super().metadata_for_edges_batch(edges)

    def comprehensive(self):
        return True

    def next_steps(self):
        return "Ask for tea."


class OlderWithoutStream(Older):
    edges_stream = GraphDbInterface.edges_stream


class Wrapper(ForwardingBackend):
    """A wrapper of another author, which changes a method of the eight and counts its calls."""

    def __init__(self, inner):
        super().__init__(inner)
        self.nodes = []

    async def get_node(self, entity_id):
        self.nodes.append(entity_id)
        return await super().get_node(entity_id)


CALLS = [
    ("describe_schema", {}),
    ("search_entities", {"query": "tea", "node_types": ["Drink"]}),
    ("bfs_query", {"seeds": ["tea"], "max_hops": 2, "fields": ["name"]}),
    ("bfs_query", {"seeds": ["tea"], "path": ["-made_of-> Ingredient", "<-made_of-"]}),
    ("describe_entity", {"id": "water"}),
]


@pytest.mark.parametrize("wrap", [lambda db: db, Wrapper, lambda db: Wrapper(Wrapper(db))])
@pytest.mark.parametrize("kind", [Older, OlderWithoutStream])
async def test_the_answers_are_those_of_full_signatures(kind, wrap):
    class Reference(MemoryBackend):
        async def next_steps(self):
            return "Ask for tea."

    async with open_graph(Reference(SHOP)) as due, open_graph(wrap(kind(SHOP))) as graph:
        for tool, arguments in CALLS:
            assert (await graph.call(tool, arguments)).text == (
                await due.call(tool, arguments)
            ).text


async def test_a_batch_that_is_missing_runs_over_the_wrapper_whatever_is_around_it():
    wrapper = Wrapper(RestBackend())
    db = CachedGraphDb(CircuitBreakerBackend(wrapper, max_pause=1))
    assert {node.id for node in await db.get_nodes_batch(["tea", "water", "gone"])} == {
        "tea",
        "water",
    }
    assert sorted(wrapper.nodes) == ["gone", "tea", "water"]


WRAPPERS = [Wrapper, lambda db: CircuitBreakerBackend(db, max_pause=1)]


@pytest.mark.parametrize("wrap", WRAPPERS)
@pytest.mark.parametrize("kind", [RestBackend, MemoryBackend, Older])
def test_a_wrapper_does_by_itself_what_the_backend_does(kind, wrap):
    assert Abilities.of(wrap(wrap(kind()))) == Abilities.of(kind())


def test_a_wrapper_has_the_methods_that_it_overrides_and_the_signatures_of_its_own():
    class Batches(ForwardingBackend):
        get_nodes_batch = MemoryBackend.get_nodes_batch
        edges_batch = Older.edges_batch

    own = Abilities.of(Batches(RestBackend()))
    assert own == Abilities(
        frozenset({"get_nodes_batch", "edges_batch"}), frozenset({"edges_batch"})
    )


def test_a_wrapper_forwards_every_method_of_the_interface():
    methods = {name for name in vars(GraphDbInterface) if not name.startswith("_")}
    assert methods - vars(ForwardingBackend).keys() == {"time_keys", "title", "description"}
    inner = MemoryBackend((), TimeKeys(["since"]))
    inner.title, inner.description = "Films", "Of the 1990s."
    wrapper = Wrapper(inner)
    assert wrapper.time_keys == TimeKeys(["since"])
    assert (wrapper.title, wrapper.description) == ("Films", "Of the 1990s.")


@pytest.mark.parametrize("wrap", [lambda db: db, *WRAPPERS, lambda db: Wrapper(Wrapper(db))])
async def test_what_the_eight_lack_is_composed_above_the_cache_whatever_is_around_them(wrap):
    seeds, ends = [f"s:{i}" for i in range(20)], [f"e:{i}" for i in range(71)]
    nodes = [NodeRecord(entity_id, "T") for entity_id in (*seeds, *ends)]
    edges = [EdgeRecord(seeds[i % 20], "to", end) for i, end in enumerate(ends)]
    backend, watch = watched(BareBackend)([*nodes, *edges])
    async with open_graph(wrap(backend), hooks=()) as graph:
        await graph.counted()
        watch.calls.clear()
        await graph.bfs_query(seeds, 1, topology_only=True)
        assert Counter(method for method, _ in watch.calls) == {
            "get_node": 91,  # once each; a ring that is composed below the cache reads 20 again
            "edges_from": 20,
            "edges_to": 20,
        }


async def test_arguments_may_be_named():
    for db in (CachedGraphDb(Older(SHOP)), CircuitBreakerBackend(Older(SHOP), max_pause=1)):
        assert set(await db.metadata_for_nodes_batch(ids=["tea"], keys=["name"])) == {"tea"}
        assert await db.edges_batch(ids=["tea"], direction="in") == []
        assert (await db.get_node(entity_id="tea")).entity_type == "Drink"
        assert await db.search_entities(query="tea", node_types=["Drink"])
