"""Asks a loaded graph what a model would: for its schema, for names, and along its edges."""

import re
from collections.abc import Collection
from pathlib import Path

import bfsql

_EDGE = re.compile(r"(.+?) -([^>]+)-> (.+)")


async def neighbours(graph: bfsql.Graph, name: str, predicate: str, near: str) -> set[str]:
    """The names of the nodes that a predicate connects with an entity.

    Args:
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


async def check_graph(
    path: Path, types: Collection[str], edges: Collection[str], *, whole: bool = True
) -> None:
    """Check the schema of a graph file, and questions along its first three edges.

    Args:
        edges: All edges, as `Tom -ACTED_IN-> Big`; an end may be asked for by another name, after
            an equals sign.
        whole: Whether these are all types and all edges, or some.
    """
    triples = [found.groups() for edge in edges if (found := _EDGE.fullmatch(edge))]
    assert len(triples) == len(edges)
    async with bfsql.open_graph("sqlite", path=path) as graph:
        schema = (await graph.describe_schema()).content
        predicates = {predicate for _, predicate, _ in triples}
        for listed, known in (("entity_types", {*types}), ("predicates", predicates)):
            assert known == {*schema[listed]} if whole else known <= {*schema[listed]}
        named = [(s.partition("="), p, o.partition("=")) for s, p, o in triples]
        for (subject, _, alias), predicate, (object_, _, other) in named[:3]:
            leaving = {o for (s, *_), p, (o, *_) in named if (s, p) == (subject, predicate)}
            entering = {s for (s, *_), p, (o, *_) in named if (p, o) == (predicate, object_)}
            for name in {subject, alias or subject}:
                assert await neighbours(graph, name, predicate, "subject") == leaving
            for name in {object_, other or object_}:
                assert await neighbours(graph, name, predicate, "object") == entering
            for name, asked in ((subject, alias or subject), (object_, other or object_)):
                best = (await graph.search_entities(asked)).content["result"][0]
                assert best["entity_type"] in schema["entity_types"]
                assert name in {best["id"], best.get("name")}
