"""A small graph, and watched backends that hold it."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from bfsql.memory import MemoryBackend
from bfsql.models import Edge, EdgeRecord, GraphRecord, NodeRecord
from bfsql_test_support.backends.in_memory import BareBackend
from bfsql_test_support.backends.recording import Watch, watched

EDGE = Edge("a", "acts on", "b")
RECORDS: list[GraphRecord] = [
    NodeRecord("a", "Drug", {"name": "Ay", "synonyms": ["alpha"], "deep": {"list": [1]}}),
    NodeRecord("b", "Gene", {"name": "Bee"}),
    NodeRecord("c", "Gene", {"name": "Cee"}),
    EdgeRecord("a", "acts on", "b", {"sources": ["doc:1"], "provenance": [{"text_span": "x"}]}),
    EdgeRecord("b", "acts on", "c"),
    EdgeRecord("a", "acts on", "a"),
]


@pytest.fixture
def memory() -> tuple[MemoryBackend, Watch]:
    """A backend with its own batch methods."""
    return watched(MemoryBackend)(RECORDS)


@pytest.fixture
def bare() -> tuple[BareBackend, Watch]:
    """A backend with only the eight required methods."""
    return watched(BareBackend)(RECORDS)


@pytest.fixture
def primitives() -> list[Callable[[Any], Awaitable[Any]]]:
    """Every kind of request to a cache, each for something that exists."""
    return [
        lambda db: db.search_entities("a", ["Drug"]),
        lambda db: db.search_entities("a"),
        lambda db: db.edges_from("a"),
        lambda db: db.edges_to("a"),
        lambda db: db.get_node("a"),
        lambda db: db.metadata_for_node("a"),
        lambda db: db.metadata_for_edge(EDGE),
        lambda db: db.entity_types(),
        lambda db: db.predicates(),
        lambda db: db.get_nodes_batch(["a", "b"]),
        lambda db: db.edges_batch(["a", "b"]),
        lambda db: db.metadata_for_nodes_batch(["a", "b"]),
        lambda db: db.metadata_for_edges_batch([EDGE, ("b", "acts on", "c")]),
        lambda db: db.provenance_for_node("a", 20),
        lambda db: db.comprehensive(),
        lambda db: db.next_steps(),
    ]
