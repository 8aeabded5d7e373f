"""A search passes types if the backend's signature accepts them, and filters in any case."""

from __future__ import annotations

import pytest

from bfsql.cache import CachedGraphDb
from bfsql.memory import MemoryBackend
from bfsql.models import EntityStub

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
