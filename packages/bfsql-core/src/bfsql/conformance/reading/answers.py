"""The six tools, over whatever the store holds."""

from __future__ import annotations

import json
from typing import Any

from bfsql.answers import shapes
from bfsql.conformance.reading.looking import sample
from bfsql.conformance.rule import expect, rule
from bfsql.conformance.trial import Trial
from bfsql.graph import Graph, open_graph


@rule(
    "tools-answer",
    "all six tools answer over it",
    source="appendix A: the six tools and their answers",
    mode="reading",
)
async def tools_answer(trial: Trial) -> None:
    """Through the cache, in the exact shapes of the protocol, the asked ids in the answers."""
    async with trial.opened() as db, open_graph(db) as graph:
        ids = [node.id for node in [await db.get_node(i) for i in await sample(trial, db)]]
        ids = list(dict.fromkeys(i for i in ids if i.strip()))[:10]
        await _answer(graph, "describe_schema")
        for entity_id in ids[:3]:
            hits = await _answer(graph, "search_entities", query=entity_id)
            expect(
                entity_id in [hit["id"] for hit in hits],
                f"search_entities through the cache does not find the id {entity_id!r}.",
            )
            types = [(await db.get_node(entity_id)).entity_type]
            hits = await _answer(graph, "search_entities", query=entity_id, node_types=types)
            expect(hits, f"search_entities with node_types={types} lost {entity_id!r}.")
            found = await _answer(graph, "bfs_query", seeds=[entity_id], max_hops=1, limit=50)
            expect(found["seeds"] == [entity_id], f"bfs_query lost its seed {entity_id!r}.")
            found = await _answer(graph, "describe_entity", id=entity_id)
            expect(found["id"] == entity_id, f"describe_entity({entity_id!r}) is {found['id']!r}.")
        listed = await _answer(graph, "describe_entities", ids=ids)
        expect([record["id"] for record in listed] == ids, "describe_entities lost ids or order.")
        if len(ids) > 1:
            await _answer(graph, "intersect_subgraphs", seeds=ids[:2], k=1)


async def _answer(graph: Graph, tool: str, **arguments: Any) -> Any:
    answer = await graph.call(tool, arguments)
    shapes.ANSWERS[tool].validate_json(answer.text)
    return json.loads(answer.text)
