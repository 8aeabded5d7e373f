"""Asks a loaded graph what a model would: for its schema, for names, and along its edges."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

import bfsql

_EDGE = re.compile(r"(.+?) -([^>]+)-> (.+)")


async def neighbours(graph: bfsql.Graph, name: str, predicate: str, near: str) -> set[str]:
    """The names of the nodes that a predicate connects with an entity.

    Args:
        graph: The graph.
        name: The name of the entity, or its id.
        predicate: The predicate.
        near: Whether the entity is the `subject` or the `object` of the edges.
    """
    found = await graph.bfs_query(seeds=[name], max_hops=1, predicates=[predicate])
    answer = found.content
    names = {one["id"]: one["metadata"].get("name", one["id"]) for one in answer["nodes"]}
    far = "object" if near == "subject" else "subject"
    return {
        names[edge[far]]
        for edge in answer["edges"]
        if (edge[near], edge["predicate"]) == (answer["seeds"][0], predicate)
    }


async def check_graph(path: Path, types: Collection[str], edges: Collection[str]) -> None:
    """Check the schema of a graph file, and questions along its first three edges.

    Args:
        path: The file.
        types: All types.
        edges: All edges, as `Tom -ACTED_IN-> Big`.
    """
    triples = [found.groups() for edge in edges if (found := _EDGE.fullmatch(edge))]
    assert len(triples) == len(edges)
    async with bfsql.open_graph("sqlite", path=path) as graph:
        schema = (await graph.describe_schema()).content
        assert {*schema["entity_types"]} == {*types}
        assert {*schema["predicates"]} == {predicate for _, predicate, _ in triples}
        for subject, predicate, object_ in triples[:3]:
            leaving = {o for s, p, o in triples if (s, p) == (subject, predicate)}
            assert await neighbours(graph, subject, predicate, "subject") == leaving
            entering = {s for s, p, o in triples if (p, o) == (predicate, object_)}
            assert await neighbours(graph, object_, predicate, "object") == entering
            best = (await graph.search_entities(subject)).content["result"][0]
            assert best["entity_type"] in types
            assert subject in {best["id"], best.get("name")}
