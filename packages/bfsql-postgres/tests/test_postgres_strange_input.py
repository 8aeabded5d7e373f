"""Ids and values that were never meant for a database are unknown, or told as they are."""

import json
from collections.abc import Awaitable, Callable

import asyncpg
import pytest

from bfsql.errors import ToolError
from bfsql.graph import open_graph
from bfsql.models import Edge
from bfsql_postgres import PostgresBackend
from bfsql_servers.database import Database

Open = Callable[..., Awaitable[PostgresBackend]]

RING = [("a", "p", "b")]
both_ways = pytest.mark.parametrize("pooled", [False, True], ids=["direct", "pooled"])

STRANGE = [
    "\0",
    "a\0",
    "\0a",
    "\ud800",
    "a\udfff",
    "\udfff\ud800",
    "",
    " ",
    "a" * 100_000,
    "%",
    "'",
]


@both_ways
async def test_ids_that_no_text_can_be_are_unknown(small: Open, pooled: bool) -> None:
    backend = await small(pooled=pooled)
    asked = [*STRANGE, "a", *STRANGE]
    assert [node.id for node in await backend.get_nodes_batch(asked)] == ["a"]
    assert {tuple(edge) for edge in await backend.edges_batch(asked)} == set(RING)
    assert list(await backend.metadata_for_nodes_batch(asked)) == ["a"]
    triples = [(s, p, o) for one in STRANGE for s, p, o in ((one, "p", "b"), ("a", one, "b"))]
    assert list(await backend.metadata_for_edges_batch([*triples, *RING])) == RING
    for one in STRANGE:
        for ask in (backend.get_node, backend.metadata_for_node, backend.edges_from):
            with pytest.raises(KeyError):
                await ask(one)
        with pytest.raises(KeyError):
            await backend.metadata_for_edge(Edge("a", one, "b"))
        assert await backend.provenance_for_node(one, 5) == {"total": 0, "items": []}
        assert isinstance(await backend.search_entities(one, [one]), list)
    async with open_graph(backend) as graph:
        for one in ("a\0", "\ud800"):
            with pytest.raises(ToolError) as unknown:
                await graph.bfs_query([one], max_hops=1)
            assert unknown.value.kind in {"unknown_entity", "bad_value"}


@both_ways
async def test_65536_ids_are_one_question(small: Open, pooled: bool) -> None:
    backend = await small(pooled=pooled)
    ids = [f"no such id {n}" for n in range(65_533)] + ["a", "b", "c"]
    assert len(ids) == 65_536
    assert sorted(node.id for node in await backend.get_nodes_batch(ids)) == ["a", "b", "c"]
    assert {tuple(edge) for edge in await backend.edges_batch(ids)} == {*RING, ("b", "p", "c")}
    assert sorted(await backend.metadata_for_nodes_batch(ids)) == ["a", "b", "c"]
    triples = [("a", f"no such predicate {n}", "b") for n in range(65_535)] + RING
    assert list(await backend.metadata_for_edges_batch(triples)) == RING


@pytest.mark.parametrize("kind", ["json", "jsonb"])
async def test_properties_that_are_no_object_are_told_as_they_are(
    database: Database, schema: str, owner: asyncpg.Connection, kind: str
) -> None:
    values = {"array": [1, {"x": None}], "text": "so", "number": 1.5, "truth": True, "none": None}
    await owner.execute(
        "CREATE TABLE entity (entity_id text, entity_type text, "
        f"synonyms {kind}, properties {kind});"
        "CREATE TABLE relationship (subject_id text, predicate text, object_id text,"
        f"source_documents {kind}, properties {kind})"
    )
    for name, value in values.items():
        text = json.dumps(value)
        await owner.execute(
            f"INSERT INTO entity VALUES ($1, 'T', $2::text::{kind}, $2::{kind})", name, text
        )
        await owner.execute(
            f"INSERT INTO relationship VALUES ($1, 'p', $1, $2::text::{kind}, $2::{kind})",
            name,
            text,
        )
    backend = await PostgresBackend.create(database.reader_url, schema=schema)
    nodes = await backend.metadata_for_nodes_batch(list(values))
    assert {name: found.get("properties") for name, found in nodes.items()} == values
    edges = await backend.metadata_for_edges_batch([(name, "p", name) for name in values])
    assert {edge[0]: found.get("properties") for edge, found in edges.items()} == values
    async with open_graph(backend) as graph:
        content = (await graph.bfs_query(list(values), max_hops=1)).content
        assert (content["node_count"], content["edge_count"]) == (5, 5)
        for name, value in values.items():
            described = (await graph.describe_entity(name)).content
            assert described.get("properties") == value
        assert (await graph.search_entities("so")).content["result"]
    await backend.close()
