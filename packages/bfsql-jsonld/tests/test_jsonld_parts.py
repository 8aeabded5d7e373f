"""Partial rings and selected metadata keys: the requests sent, and that results are the same."""

import json
from contextlib import asynccontextmanager

import pytest

from bfsql import MemoryBackend
from bfsql.models import EdgeRecord, NodeRecord
from bfsql.models.parts import only, part_of
from bfsql_jsonld import JsonLdBackend
from bfsql_test_support.servers.web import WebServer

RECORDS = [
    *(NodeRecord(f"n{i}", "T", {"name": f"Node {i}", "year": i, "id": "x"}) for i in range(5)),
    *(
        EdgeRecord(f"n{i}", "pq"[i * j % 2], f"n{j}", {"since": i, "note": "x"})
        for i in range(5)
        for j in range(5)
        if i * j % 3 < 2
    ),
]
IDS = [f"n{i}" for i in range(5)]
PARTS = [
    {"predicates": predicates, "direction": direction}
    for predicates in (None, ["p"], ["q", "nothing", "\ud800"], [])
    for direction in (None, "out", "in")
]
RELATIONS = [("a", "p", "b"), ("b", "q", "a"), ("c", "p", "a")]


@pytest.mark.parametrize("batches", [True, False])
async def test_a_part_is_what_core_would_keep_of_the_ring(batches, monkeypatch):
    if not batches:
        monkeypatch.setattr("bfsql_jsonld.schema._text", lambda _: None)

    @asynccontextmanager
    async def memory():
        yield MemoryBackend(RECORDS)

    with WebServer() as server:
        async with server.offering(memory) as url:
            backend = await JsonLdBackend.create(url)
            try:
                for asked in (["n1"], [*IDS, "nobody"]):
                    ring = await backend.edges_batch(asked)
                    for part in PARTS:
                        wanted = set(part_of(ring, asked, **part))
                        assert set(await backend.edges_batch(asked, **part)) == wanted
                nodes = await backend.metadata_for_nodes_batch(IDS)
                edges = await backend.metadata_for_edges_batch(ring)
                for keys in (["name", "since"], ["id", "\ud800"], []):
                    some = await backend.metadata_for_nodes_batch(IDS, keys)
                    assert some == only(nodes, keys)
                    some_edges = await backend.metadata_for_edges_batch(ring, keys)
                    assert some_edges == only(edges, keys)
            finally:
                await backend.close()


def batches(parts):
    return {"batch": {"relations": "/r", "entities": "/e", **parts}}


def fields(pages, target):
    return [json.loads(body) for at, _, body in pages.asked if at == target]


async def test_an_api_that_takes_parts_is_asked_for_them(opened, pages):
    pages["/schema"] = batches({"parts": True})
    pages["/r"] = {"relations": [["a", "p", "b"]]}
    pages["/e"] = {"results": [{"id": "a", "@type": "T", "name": "Ada"}]}
    backend = await opened()
    found = await backend.edges_batch(["a"], predicates=["p", "o"], direction="out")
    assert found == [("a", "p", "b")]
    await backend.metadata_for_nodes_batch(["a"], ["name"])
    pages["/r"] = {"results": []}
    await backend.metadata_for_edges_batch([("a", "p", "b")], ["since"])
    assert fields(pages, "/r") == [
        {"ids": ["a"], "predicates": ["o", "p"], "direction": "out"},
        {"relations": [["a", "p", "b"]], "keys": ["since"]},
    ]
    assert fields(pages, "/e") == [{"ids": ["a"], "metadata": True, "keys": ["name"]}]


async def test_an_api_that_does_not_is_asked_for_the_whole(opened, pages):
    pages["/schema"] = batches({})
    pages["/r"] = {"relations": RELATIONS}
    pages["/e"] = {"results": [{"id": "a", "@type": "T", "name": "Ada", "year": 1}]}
    backend = await opened()
    assert await backend.edges_batch(["a"], predicates=["p"], direction="in") == [RELATIONS[2]]
    assert await backend.metadata_for_nodes_batch(["a"], ["year"]) == {"a": {"year": 1}}
    assert fields(pages, "/r") == [{"ids": ["a"]}]
    assert fields(pages, "/e") == [{"ids": ["a"], "metadata": True}]


async def test_one_direction_is_one_request_where_there_is_no_batch(opened, pages):
    pages["/schema"] = {}
    pages["/entities/a"] = {"id": "a", "@type": "T"}
    pages["/entities/a/relations?direction=out"] = {
        "relations": [{"subject": "a", "predicate": p, "object": "b"} for p in "pq"]
    }
    backend = await opened()
    found = await backend.edges_batch(["a"], predicates=["q"], direction="out")
    assert found == [("a", "q", "b")]
    assert not any("direction=in" in target for target in pages.targets)
