"""Search among nodes that the kit knows."""

from __future__ import annotations

import inspect

from bfsql.abc import adapted
from bfsql.conformance.graphs import HOSTILE, crowd, hostile
from bfsql.conformance.rule import expect, rule
from bfsql.conformance.trial import Trial
from bfsql.graph import open_graph
from bfsql.models import NodeRecord

MOST = 20
"""Candidates of a search (chapter 12)."""

ORDER = "chapter 12: ranked means most likely matches first, at most 10-20 candidates"


@rule("search-id-first", "search gives the exact id first", source=ORDER, mode="filling")
async def search_id_first(trial: Trial) -> None:
    """Even where others bear that id as their name, and for hostile ids."""
    async with trial.filled(crowd()) as db:
        for entity_id in ("Paris", "c:05", "c:59"):
            hits = [stub.id for stub in await adapted(db).search_entities(entity_id)]
            expect(hits[:1] == [entity_id], f"A search for {entity_id!r} gave {hits[:4]}.")
    records = trial.kept(hostile())
    ids = {record.id for record in records if isinstance(record, NodeRecord)}
    async with trial.filled(records) as db, open_graph(db) as graph:
        for text in [text for text in HOSTILE if text in ids]:
            hits = [stub.id for stub in await adapted(db).search_entities(text)]
            expect(hits[:1] == [text], f"A search for the id {text[:80]!r} gave {hits[:2]}."[:300])
            content = (await graph.search_entities(text)).content["result"]
            through = [hit["id"] for hit in content]
            expect(
                through[:1] == [text],
                f"search_entities({text[:80]!r}) behind tools and cache gave {through[:2]}."[:300],
            )


@rule("search-name-next", "search gives exact names next, ties by id", source=ORDER, mode="filling")
async def search_name_next(trial: Trial) -> None:
    """Namesakes before those whose name is longer, with their names."""
    async with trial.filled(crowd()) as db:
        found = list(await db.search_entities("Paris"))
        named = [stub.id for stub in found if stub.id != "Paris"]
        wanted = [f"c:{n:02}" for n in range(len(named))]
        expect(
            named == wanted and len(named) == MOST - 1,
            f"A search for 'Paris' gave {[stub.id for stub in found]}; after the id 'Paris', the "
            f"first {MOST - 1} nodes of that name by id are right.",
        )
        expect(
            all(stub.name in (None, "Paris") for stub in found if stub.id in wanted),
            f"Search calls {named[:3]} by other names than 'Paris'.",
        )
        hilton = [stub.id for stub in await adapted(db).search_entities("Paris Hilton")]
        expect(hilton[:1] == ["b:0"], f"A search for 'Paris Hilton' gave {hilton[:3]}.")


@rule(
    "search-crowd",
    "search gives at most 20 candidates, each once, of the wanted types, whatever the crowd",
    source=ORDER,
    mode="filling",
)
async def search_crowd(trial: Trial) -> None:
    """Types are looked at before the twenty are counted, where the backend takes them."""
    async with trial.filled(crowd()) as db, open_graph(db) as graph:
        takes = "node_types" in inspect.signature(db.search_entities).parameters
        for query in ("Paris", "paris", "par", "c:", "Person"):
            hits = [stub.id for stub in await db.search_entities(query)]
            expect(len(hits) <= MOST, f"A search for {query!r} gave {len(hits)} candidates.")
            expect(len(set(hits)) == len(hits), f"A search for {query!r} gave one twice: {hits}.")
        for entity_type in ("Person", "Place"):
            content = (await graph.search_entities("Paris", node_types=[entity_type])).content
            found = content["result"]
            wrong = [hit["id"] for hit in found if hit["entity_type"] != entity_type]
            expect(not wrong, f"A search for {entity_type} gave others: {wrong[:3]}.")
            least = MOST if takes else 1
            expect(
                len(found) >= least,
                f"A search for 'Paris' of type {entity_type} gave {len(found)} candidates; thirty "
                "of them bear that name.",
            )
        none = await adapted(db).search_entities("Paris", ["no such type"])
        expect(not none, f"A search for a type that does not exist gave {none[:3]}.")
