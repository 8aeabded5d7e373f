"""Backends with older signatures answer as others do; signatures are inspected once."""

from __future__ import annotations

import inspect

import pytest

from bfsql import open_graph
from bfsql.abc import ForwardingBackend, GraphDbInterface, implements
from bfsql.cache import CachedGraphDb, CircuitBreakerBackend
from bfsql.memory import MemoryBackend
from bfsql.models import EntityStub
from bfsql_test_support.backends.author_style import SHOP, RestBackend

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


async def test_a_guarded_backend_has_the_abilities_of_the_backend():
    guarded = CircuitBreakerBackend(RestBackend(), max_pause=1)
    assert not implements(guarded, "edges_batch")
    assert implements(CircuitBreakerBackend(MemoryBackend(), max_pause=1), "edges_batch")
    assert implements(Wrapper(RestBackend()), "edges_batch")
