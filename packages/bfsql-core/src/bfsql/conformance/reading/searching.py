"""Search, held to what is true of every way to match."""

from __future__ import annotations

import inspect

from bfsql.abc import GraphDbInterface, adapted
from bfsql.conformance.graphs import HOSTILE
from bfsql.conformance.reading.looking import WORDS, sample
from bfsql.conformance.rule import Broken, Untried, expect, rule
from bfsql.conformance.trial import Trial

MOST = 20
"""Candidates of a search (chapter 12)."""


@rule(
    "found-by-id",
    "search finds a node by its own id",
    source="the backend contract: search takes a name, an alias or an id, most likely first",
    mode="reading",
)
async def found_by_id(trial: Trial) -> None:
    """The node comes first."""
    async with trial.opened() as db:
        for entity_id in await sample(trial, db):
            if not entity_id.strip():
                continue
            node = await db.get_node(entity_id)
            hits = [stub.id for stub in await adapted(db).search_entities(node.id)]
            expect(
                hits[:1] == [node.id],
                f"A search for the id {node.id!r} gave {hits[:3]}; the node itself is due first.",
            )


@rule(
    "found-by-name",
    "search finds a node by its own name",
    source="appendix A, search_entities: map a name to canonical ids",
    mode="reading",
)
async def found_by_name(trial: Trial) -> None:
    """Among the candidates, unless namesakes fill them."""
    async with trial.opened() as db:
        named = 0
        for entity_id in await sample(trial, db):
            name = (await db.metadata_for_node(entity_id)).get("name")
            if not isinstance(name, str) or not any(c.isalnum() for c in name):
                continue
            named += 1
            hits = await adapted(db).search_entities(name)
            same = sum(stub.name in (None, name) for stub in hits)
            if entity_id not in {stub.id for stub in hits} and same >= min(MOST, len(hits) or 1):
                trial.odd(f"More nodes are named {name!r} than a search gives.")
                continue
            expect(
                entity_id in {stub.id for stub in hits},
                f"A search for {name!r}, the name of {entity_id!r}, gave "
                f"{[stub.id for stub in hits[:5]]}.",
            )
        if not named:
            raise Untried("No node of the sample has a name.")


@rule(
    "search-types",
    "search honours the wanted types",
    source="appendix A, search_entities: node_types keeps the candidates of these types",
    mode="reading",
)
async def search_types(trial: Trial) -> None:
    """Asked of the backend itself where its signature takes types, and as core asks."""
    async with trial.opened() as db:
        for entity_id in (await sample(trial, db))[:10]:
            node = await db.get_node(entity_id)
            takes = "node_types" in inspect.signature(db.search_entities).parameters
            direct = (
                list(await db.search_entities(node.id, node_types=[node.entity_type]))
                if takes
                else []
            )
            for stub in (*direct, *await adapted(db).search_entities(node.id, [node.entity_type])):
                expect(
                    stub.entity_type == node.entity_type,
                    f"A search for {node.id!r} of type {node.entity_type!r} gave {stub}.",
                )
                found = await db.get_node(stub.id)
                expect(
                    found.entity_type == stub.entity_type,
                    f"Search says that {stub.id!r} is a {stub.entity_type!r}, get_node that it is "
                    f"a {found.entity_type!r}.",
                )
            none = ["no such type"]
            other = list(await db.search_entities(node.id, node_types=none)) if takes else []
            other += await adapted(db).search_entities(node.id, none)
            expect(not other, f"A search for {node.id!r} of no type that exists gave {other[:3]}.")


@rule(
    "search-bounds",
    "search gives at most 20 candidates, each once",
    source="chapter 12: at most 10-20 candidates",
    mode="reading",
)
async def search_bounds(trial: Trial) -> None:
    """For words, names and types of the store."""
    async with trial.opened() as db:
        for word in (*WORDS, *trial.words, *list(await db.entity_types())[:5]):
            hits = [stub.id for stub in await db.search_entities(word)]
            expect(len(hits) <= MOST, f"A search for {word!r} gave {len(hits)} candidates.")
            expect(len(set(hits)) == len(hits), f"A search for {word!r} gave one twice: {hits}.")


@rule(
    "search-any-text",
    "no text makes search fail",
    source="protocol 12 and rule 7 of the house: values never become query text",
    mode="reading",
)
async def search_any_text(trial: Trial) -> None:
    """Every hostile text, blank ones, operators of full-text languages."""
    operators = ("", " ", "*", "AND", "NOT a", "a OR", '"', "(", "a:b", "~", "/re/", "^2", "a -b")
    async with trial.opened() as db:
        for text in (*HOSTILE, *operators, "\ud800"):
            await _searched(db, text)


async def _searched(db: GraphDbInterface, text: str) -> None:
    try:
        hits = list(await db.search_entities(text))
    except Exception as fault:
        raise Broken(
            f"A search for {text[:60]!r} raised {type(fault).__name__}: {fault}"
        ) from fault
    for stub in hits:
        expect(
            hasattr(stub, "id") and hasattr(stub, "entity_type"),
            f"A search for {text[:60]!r} gave {stub!r}, which is no EntityStub.",
        )
