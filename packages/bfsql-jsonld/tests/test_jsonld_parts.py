"""Partial rings and selected metadata keys: the requests sent, and what is kept of a whole."""

import json

import pytest

RELATIONS = [("a", "p", "b"), ("b", "q", "a"), ("c", "p", "a")]


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


@pytest.mark.parametrize(("direction", "edge"), [("out", ("a", "q", "b")), ("in", ("b", "q", "a"))])
async def test_one_direction_is_one_request_where_there_is_no_batch(opened, pages, direction, edge):
    pages["/schema"] = {}
    pages["/entities/a"] = {"id": "a", "@type": "T"}
    pages[f"/entities/a/relations?direction={direction}"] = {
        "relations": [{"subject": edge[0], "predicate": p, "object": edge[2]} for p in "pq"]
    }
    backend = await opened()
    assert await backend.edges_batch(["a"], predicates=["q"], direction=direction) == [edge]
    assert sum("direction=" in target for target in pages.targets) == 1
