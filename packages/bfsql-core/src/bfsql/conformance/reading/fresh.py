"""Answers belong to the caller, and are the same every time."""

from __future__ import annotations

import contextlib
from typing import Any

from bfsql.abc import GraphDbInterface
from bfsql.answers.clean import clean_metadata
from bfsql.conformance.reading.looking import entering, leaving, sample, some_edges
from bfsql.conformance.rule import expect, rule
from bfsql.conformance.trial import Trial
from bfsql.models import Edge


@rule(
    "stable-answers",
    "the same question gets the same answer",
    source="protocol 3: the same query gives the same bytes on every run",
    mode="reading",
)
async def stable_answers(trial: Trial) -> None:
    """Asked twice, in two orders."""
    async with trial.opened() as db:
        ids = (await sample(trial, db))[:10]
        first = {i: await _told(db, i) for i in ids}
        for entity_id in reversed(ids):
            again = await _told(db, entity_id)
            for what, value in again.items():
                expect(
                    value == first[entity_id][what],
                    f"{what} of {entity_id!r} was {first[entity_id][what]}, and then {value}.",
                )


@rule(
    "fresh-answers",
    "what a caller does to an answer changes no later one",
    source="chapter 8: a backend returns fresh data on every call and never caches",
    mode="reading",
)
async def fresh_answers(trial: Trial) -> None:
    """Every list is emptied, every mapping changed at every depth; then all is asked again."""
    async with trial.opened() as db:
        ids = (await sample(trial, db))[:10]
        before = {i: await _told(db, i) for i in ids}
        edges = await some_edges(trial, db)
        of_edges = [clean_metadata(await db.metadata_for_edge(Edge(*e))) for e in edges]
        lists = [list(await db.entity_types()), list(await db.predicates())]
        for entity_id in ids:
            _spoil(await db.metadata_for_node(entity_id))
            _spoil(await db.metadata_for_nodes_batch([entity_id]))
            for answer in (
                await db.edges_from(entity_id),
                await db.edges_to(entity_id),
                await db.edges_batch([entity_id]),
                await db.get_nodes_batch([entity_id]),
                await db.search_entities(entity_id),
                await db.entity_types(),
                await db.predicates(),
            ):
                _spoil(answer)
        for edge in edges:
            _spoil(await db.metadata_for_edge(Edge(*edge)))
        for entity_id in ids:
            after = await _told(db, entity_id)
            wrong = [what for what in after if after[what] != before[entity_id][what]]
            expect(not wrong, f"A caller's change of {wrong} of {entity_id!r} came back.")
        after_edges = [clean_metadata(await db.metadata_for_edge(Edge(*e))) for e in edges]
        expect(after_edges == of_edges, "A caller's change of an edge's metadata came back.")
        after_lists = [list(await db.entity_types()), list(await db.predicates())]
        expect(after_lists == lists, f"A caller's change of the schema came back: {after_lists}.")


async def _told(db: GraphDbInterface, entity_id: str) -> dict[str, Any]:
    node = await db.get_node(entity_id)
    return {
        "get_node": (node.id, node.entity_type),
        "edges_from": (await leaving(db, entity_id)).triples,
        "edges_to": (await entering(db, entity_id)).triples,
        "metadata_for_node": clean_metadata(await db.metadata_for_node(entity_id)),
        "search_entities": [stub.id for stub in await db.search_entities(entity_id)],
    }


def _spoil(value: Any) -> None:
    """Change what can be changed; what refuses is safe."""
    with contextlib.suppress(TypeError, AttributeError):
        for inner in list(value.values() if hasattr(value, "values") else value):
            if isinstance(inner, list | dict):
                _spoil(inner)
    with contextlib.suppress(TypeError, AttributeError):
        value["spoilt"] = "by a caller"
    with contextlib.suppress(TypeError, AttributeError):
        value.append("spoilt")
    with contextlib.suppress(TypeError, AttributeError):
        if isinstance(value, list):
            value.clear()
